//! The compiler: which libLLVM there is.

use anymetal_driver::{CompileError, Compiler, MINIMUM_MAJOR, NEWEST_TESTED};

use super::finding::Finding;

const PART: &str = "compiler";

/// Looks for it as a compilation does.
pub(super) fn check() -> Finding {
    match Compiler::llvm() {
        Ok(llvm) => {
            let info = llvm.info();
            let value = format!("{} at {}, for {}", info.version, info.path.display(), info.host_cpu);
            Finding::ok(PART, "LLVM", value)
        }
        Err(error @ CompileError::CpuLevel(_)) => {
            Finding::problem(PART, "LLVM", error.to_string(), "correct the value")
        }
        Err(error) => {
            let reason = Compiler::why_interpreted().unwrap_or_else(|| error.to_string());
            let advice = format!(
                "install libLLVM {MINIMUM_MAJOR} to {NEWEST_TESTED}, or name its file in ANYMETAL_LLVM: kernels are \
                 interpreted, slowly"
            );
            Finding::warning(PART, "LLVM", reason, advice)
        }
    }
}

//! Isolated compiles: whether they are on, and whether they work.

use anymetal_driver::{
    CacheConfig, CompileError, Compiler, CompilerOptions, Isolate, Source, SourceOptions,
    missing_sandbox_parts,
};

use super::finding::Finding;

const PART: &str = "isolation";
const NAME: &str = "ANYMETAL_ISOLATE";

/// Compiles in a worker if the settings request it; otherwise looks whether that would be possible.
pub(super) fn check() -> Finding {
    let isolate = Isolate::from_environment();
    if isolate == Isolate::Off {
        let value = match missing_sandbox_parts().as_slice() {
            [] => "off; this system has Landlock and seccomp".to_owned(),
            missing => format!("off; this system has no {}", missing.join(" and no ")),
        };
        return Finding::ok(PART, NAME, value);
    }
    match compile(isolate) {
        Ok(()) => match missing_sandbox_parts().as_slice() {
            [] => Finding::ok(PART, NAME, "compile, with Landlock and seccomp"),
            missing => {
                let value = format!("compile, without {}", missing.join(" and without "));
                Finding::warning(PART, NAME, value, "use a kernel and a container that have both")
            }
        },
        Err(error) => Finding::problem(PART, NAME, error.to_string(), "see SECURITY.md"),
    }
}

fn compile(isolate: Isolate) -> Result<(), CompileError> {
    let compiler = Compiler::new(&CompilerOptions { cache: CacheConfig::memory_only(), isolate });
    let source = Source::from_text("doctor.metal", "kernel void nothing() {}", SourceOptions::default());
    compiler.library(source)?.reflect("nothing").map(drop)
}

//! Isolation of compiles and runs: whether it is on, and whether it works.

use anymetal::Device;
use anymetal_driver::{
    CacheConfig, CompileError, Compiler, CompilerOptions, Isolate, Source, SourceOptions,
    missing_sandbox_parts,
};

use super::finding::Finding;

const PART: &str = "isolation";
const NAME: &str = "ANYMETAL_ISOLATE";

/// Compiles in a worker if the settings request it, and with `run` starts the device; otherwise reports
/// whether the system supports that.
pub(super) fn check() -> Finding {
    let isolate = Isolate::from_environment();
    if isolate == Isolate::Off {
        let value = match missing_sandbox_parts().as_slice() {
            [] => "off; this system has Landlock and seccomp".to_owned(),
            missing => format!("off; this system has no {}", missing.join(" and no ")),
        };
        return Finding::ok(PART, NAME, value);
    }
    let runs = matches!(isolate, Isolate::Run(_));
    let works = compile(isolate).map_err(|error| error.to_string()).and_then(|()| match runs {
        true => Device::by_name("cpu").map(drop).map_err(|error| error.to_string()),
        false => Ok(()),
    });
    let mode = if runs { "run" } else { "compile" };
    match works {
        Ok(()) => match missing_sandbox_parts().as_slice() {
            [] => Finding::ok(PART, NAME, format!("{mode}, with Landlock and seccomp")),
            missing => {
                let value = format!("{mode}, without {}", missing.join(" and without "));
                Finding::warning(PART, NAME, value, "use a kernel and a container that have both")
            }
        },
        Err(error) => Finding::problem(PART, NAME, error, "see SECURITY.md"),
    }
}

fn compile(isolate: Isolate) -> Result<(), CompileError> {
    let compiler = Compiler::new(&CompilerOptions { cache: CacheConfig::memory_only(), isolate });
    let source = Source::from_text("doctor.metal", "kernel void nothing() {}", SourceOptions::default());
    compiler.library(source)?.reflect("nothing").map(drop)
}

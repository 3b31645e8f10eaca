//! Oclgrind in the place of the OpenCL loader.
//!
//! The library's path and Oclgrind's options are read from the environment when OpenCL is first used, so the
//! comparison runs in a child process that is started with them.

use std::path::Path;
use std::process::Command;

use crate::failure::Failure;

/// What the platform's name contains.
pub(super) const PLATFORM: &str = "Oclgrind";

/// What to do where there is none.
pub(super) const MISSING: &str = "Oclgrind is not installed. Debian and Ubuntu have it in the package `oclgrind`; \
     elsewhere name its library, liboclgrind-rt.so, in OPENCL_DYLIB_PATH";

/// Names the library that is loaded as OpenCL.
const LIBRARY: &str = "OPENCL_DYLIB_PATH";
/// Marks the child process: one of Oclgrind's own variables.
const DATA_RACES: &str = "OCLGRIND_DATA_RACES";
const INSTALLED: [&str; 2] =
    ["/usr/lib/oclgrind/liboclgrind-rt.so", "/usr/local/lib/oclgrind/liboclgrind-rt.so"];

/// Runs this very command again with Oclgrind as OpenCL, looking for data races and accesses out of bounds;
/// whether it succeeded. Its detector of undefined values stays off: it ends at instructions that it does
/// not know. `None` in the process that was started so.
pub(super) fn run_with_its_driver() -> Result<Option<bool>, Failure> {
    if std::env::var_os(DATA_RACES).is_some() {
        return Ok(None);
    }
    let installed = || INSTALLED.iter().find(|path| Path::new(path).exists()).map(|path| (*path).to_owned());
    let Some(library) = std::env::var(LIBRARY).ok().or_else(installed) else {
        eprintln!("error: {MISSING}");
        return Err(Failure::Told(4));
    };
    let program = std::env::current_exe().map_err(|error| cannot_start(&error))?;
    let status = Command::new(program)
        .args(std::env::args_os().skip(1))
        .env(LIBRARY, &library)
        .env(DATA_RACES, "1")
        .status()
        .map_err(|error| cannot_start(&error))?;
    match status.code() {
        Some(0) => Ok(Some(true)),
        Some(1) => Ok(Some(false)),
        code => Err(Failure::Told(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(4))),
    }
}

fn cannot_start(error: &std::io::Error) -> Failure {
    eprintln!("error: this program cannot be started again: {error}");
    Failure::Told(4)
}

//! Stage-in data of kernels: formats against a reference written from Metal's documentation, steps, regions
//! and indices, and what is refused; on compiled code with checks and without, and under the sanitizer.

mod formats;
mod mistakes;
mod steps;

use anymetal::{CheckMode, CompileOptions, Device, DeviceKind, Error, Library, LibraryDescriptor};

/// How accesses are checked, and so what runs the kernels. Only processors have the sanitizer.
fn modes() -> Result<&'static [CheckMode], Error> {
    Ok(match Device::system_default()?.capabilities().kind {
        DeviceKind::Cpu => &[CheckMode::Bounds, CheckMode::Off, CheckMode::Sanitize],
        _ => &[CheckMode::Bounds, CheckMode::Off],
    })
}

fn library(source: &str, check_mode: CheckMode) -> Result<Library, Error> {
    let options = CompileOptions::new().check_mode(check_mode);
    Device::system_default()?.create_library(&LibraryDescriptor::from_source(source).options(&options))
}

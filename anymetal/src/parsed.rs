//! Libraries of sources that were parsed elsewhere.
//!
//! Public for the command line, which translates other languages to MSL and can require the interpreter, and
//! not for programs: it changes without notice. From the library on, everything is as for programs.

use anymetal_driver::Target;

use crate::compile::CompiledLibrary;
use crate::device::Device;
use crate::error::Error;
use crate::library::{CompileOptions, Library};

/// The library of a parsed source. Options that only reading the source needs are ignored.
///
/// # Errors
/// Options that the device does not support.
pub fn library(
    device: &Device,
    parsed: anymetal_driver::Library,
    target: Target,
    options: &CompileOptions,
) -> Result<Library, Error> {
    let options = device.with_requirements(options)?;
    let compiled = CompiledLibrary::from_parsed(parsed, &options, target);
    Ok(Library::new(device.clone(), compiled, options.file_name.clone()))
}

//! `--device`: which device runs, and what the compiler makes code for.

use anymetal::Device;
use anymetal_compiler::Target;

use crate::failure::Failure;

/// The processor without machine code.
const INTERPRETER: &str = "interpreter";

/// A device and how to compile for it.
#[derive(Debug)]
pub(crate) struct Choice {
    /// The device.
    pub(crate) device: Device,
    /// What to compile for.
    pub(crate) target: Target,
    /// The name to report.
    pub(crate) name: String,
}

/// The device of that name, or the default one.
pub(crate) fn choose(name: Option<&str>) -> Result<Choice, Failure> {
    if name.is_some_and(|name| name.eq_ignore_ascii_case(INTERPRETER)) {
        let device = Device::by_name("cpu")?;
        return Ok(Choice { device, target: Target::Interpreter, name: INTERPRETER.to_owned() });
    }
    let device = match name {
        Some(name) => Device::by_name(name)?,
        None => Device::system_default()?,
    };
    let name = device.name().to_owned();
    Ok(Choice { device, target: Target::Cpu, name })
}

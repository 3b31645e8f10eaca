//! `--device` and `--family`: which device runs, what it refuses, and what the compiler makes code for.

use anymetal::config::Layers;
use anymetal::{Device, Family};
use anymetal_driver::{CompileError, Library, Specialisation, Target};

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

/// The device of that name, or the default one, for a family, or the settings' one.
pub(crate) fn choose(name: Option<&str>, family: Option<Family>) -> Result<Choice, Failure> {
    let is_interpreter = name.is_some_and(|name| name.eq_ignore_ascii_case(INTERPRETER));
    let mut settings = Layers::load(None).map_err(anymetal::Error::from)?;
    settings.code.family = family;
    settings.code.device = if is_interpreter { Some("cpu".to_owned()) } else { name.map(str::to_owned) };
    let device = Device::with_settings(&settings)?;
    let (target, name) = match is_interpreter {
        true => (Target::Interpreter, INTERPRETER.to_owned()),
        false => (Target::of_device(device.capabilities()), device.name().to_owned()),
    };
    Ok(Choice { device, target, name })
}

impl Choice {
    /// Refuses a kernel that uses what GPUs of the chosen family lack.
    pub(crate) fn check_family(
        &self,
        library: &Library,
        kernel: &str,
        specialisation: &Specialisation,
    ) -> Result<(), CompileError> {
        match self.device.family() {
            Some(family) => library.check_family(kernel, specialisation, family),
            None => Ok(()),
        }
    }
}

//! What kernels run as: machine code, or the interpreter where there is no compiler for machine code or a
//! kernel is too large for it.

use std::sync::Arc;

use anymetal_driver::Compiler;
use anymetal_hal::artifact::{Artifact, ArtifactTarget, ReducedEffort};

/// What a kernel runs as. The interpreter gives the same results and the same errors, and is much slower.
///
/// ```
/// # fn main() -> Result<(), anymetal::Error> {
/// use anymetal::{CompileOptions, Device, Error, LibraryDescriptor};
///
/// let device = Device::system_default()?;
/// // An error instead of the interpreter. For a whole program: `kernels.require-machine-code` in the
/// // settings.
/// let strict = CompileOptions::new().require_machine_code(true);
/// let nothing = LibraryDescriptor::from_source("kernel void nothing() {}").options(&strict);
/// let library = device.create_library(&nothing)?;
/// match library.pipeline("nothing") {
///     Ok(pipeline) => assert!(pipeline.executor().is_machine_code()),
///     Err(Error::NoMachineCode { kernel, reason }) => eprintln!("{kernel} would be interpreted: {reason}"),
///     Err(other) => return Err(other),
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Executor {
    /// Code of the device itself.
    MachineCode,
    /// The interpreter.
    Interpreter {
        /// Why there is no machine code, on one line.
        reason: Arc<str>,
    },
}

impl Executor {
    /// Whether it is machine code.
    pub fn is_machine_code(&self) -> bool {
        *self == Executor::MachineCode
    }

    /// The interpreter, for the sanitizer's sake.
    pub(crate) fn sanitizer() -> Self {
        Executor::Interpreter { reason: "it runs under the sanitizer".into() }
    }

    /// That of kernels which this process compiles now. Looks for libLLVM at the first call.
    pub(crate) fn of_new_code() -> Self {
        match Compiler::why_interpreted() {
            None => Executor::MachineCode,
            Some(reason) => Executor::Interpreter { reason: reason.into() },
        }
    }

    /// That of an artifact's code.
    pub(crate) fn of_code(artifact: &Artifact) -> Self {
        if artifact.target != ArtifactTarget::Interpreter {
            return Executor::MachineCode;
        }
        if let Some(reduced) = artifact.kernels.iter().find_map(|kernel| kernel.reduced_effort.as_ref()) {
            return Executor::past_budget(reduced);
        }
        let reason = Compiler::why_interpreted();
        let reason = reason.unwrap_or_else(|| "the library was made for the interpreter".to_owned());
        Executor::Interpreter { reason: reason.into() }
    }

    /// The interpreter, for a kernel that is too large for machine code.
    pub(crate) fn past_budget(reduced: &ReducedEffort) -> Self {
        Executor::Interpreter { reason: reduced.to_string().into() }
    }
}

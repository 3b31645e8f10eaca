//! Kernels under the sanitizer, in the shape that devices lend threads to.
//!
//! Owns [`SharedSession`] and the [`DispatchInterpreter`] of sanitized artifacts. Invariant: a launch with
//! findings ends as one without; loads out of bounds give zero, stores there are dropped.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anymetal_hal::artifact::{Artifact, ArtifactCode, ArtifactTarget};
use anymetal_hal::launch::{DispatchInterpreter, InterpreterDispatch, InterpreterFault};
use anymetal_interp::{Argument, Dispatch, Memory, Program};
use anymetal_ir::{ArgKind, KernelArg};
use anymetal_sanitizer::{ArgumentInfo, LaunchInfo, LaunchOutcome, ResidentInfo, SanitizerOptions, Session};
use anymetal_types::texture::BindingRole;

use crate::artifacts::kernel_of;
use crate::big_stack;
use crate::bug::RunBoundary;
use crate::error::CompileError;
use crate::executor::{self, Bindings};
use crate::library::{Library, Specialisation};
use crate::reflection;

/// A session that kernels of several libraries and devices report to. Clones are the same session.
#[derive(Clone, Debug)]
pub struct SharedSession(Arc<Mutex<Session>>);

impl SharedSession {
    /// Nothing found yet.
    pub fn new(options: SanitizerOptions) -> Self {
        SharedSession(Arc::new(Mutex::new(Session::new(options))))
    }

    /// The session; launches wait while the guard lives.
    pub fn lock(&self) -> MutexGuard<'_, Session> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One kernel, to be run under the sanitizer.
struct Sanitized {
    program: Program,
    bindings: Bindings,
    session: SharedSession,
    /// Called after each launch.
    after: Option<AfterLaunch>,
    boundary: RunBoundary,
}

/// What is done after each launch: reports to the terminal, files.
pub type AfterLaunch = Arc<dyn Fn(&SharedSession) + Send + Sync>;

impl fmt::Debug for Sanitized {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Sanitized").field("kernel", &self.program.kernel()).finish_non_exhaustive()
    }
}

impl Library {
    /// A kernel's artifact whose launches run under the sanitizer and report to the session. Nothing of it is
    /// cached, and no pass that would hide an error runs.
    pub fn sanitized_artifact(
        &self,
        kernel: &str,
        specialisation: &Specialisation,
        session: &SharedSession,
        after: Option<AfterLaunch>,
    ) -> Result<Arc<Artifact>, CompileError> {
        let module = self.module_for_sanitizer(kernel, specialisation)?;
        let constants = self.reflect(kernel)?.function_constants;
        self.add_sources(&mut session.lock())?;
        big_stack::run("sanitizer", || {
            let found = kernel_of(&module, kernel)?;
            let mut info = reflection::reflect(&module, found, constants);
            info.specialised_group = specialisation.group_size;
            let sanitized = Sanitized {
                program: executor::program(&module, kernel)?,
                bindings: Bindings::new(found),
                session: session.clone(),
                after,
                boundary: self.run_boundary(specialisation),
            };
            Ok(Arc::new(Artifact::new(
                ArtifactTarget::Interpreter,
                ArtifactCode::Interpreter(Arc::new(sanitized)),
                vec![info],
            )))
        })
    }
}

impl Sanitized {
    fn info(&self, request: &InterpreterDispatch<'_>, memory: &Memory<'_>) -> LaunchInfo {
        let bound = &memory.arguments;
        let label = |buffer: usize| {
            let label = request.labels.get(buffer).filter(|label| !label.is_empty());
            label.map(|&label| label.to_owned())
        };
        let describe = |(argument, bound): (&KernelArg, &Argument)| {
            let (label, bytes) = match *bound {
                Argument::Unbound => (None, 0),
                Argument::Threadgroup { len } => (None, len),
                Argument::Buffer { buffer, len, .. } => (label(buffer), len),
            };
            ArgumentInfo {
                label,
                bytes,
                element_bytes: if argument.kind == ArgKind::Buffer { argument.element_size } else { 1 },
                is_bound: *bound != Argument::Unbound,
                is_texture: argument.kind == ArgKind::Buffer
                    && matches!(BindingRole::of(argument.index), BindingRole::Texels(_)),
            }
        };
        let arguments = self.bindings.arguments.iter().zip(bound).map(describe).collect();
        let session = self.session.lock();
        let resident = memory.resident.iter().map(|resident| ResidentInfo {
            label: label(resident.buffer),
            bytes: memory.buffers.get(resident.buffer).map_or(0, |bytes| bytes.len() as u64),
        });
        let resident = resident.collect();
        let mut undefined = vec![None; memory.buffers.len()];
        for (argument, bound) in self.bindings.arguments.iter().zip(bound) {
            if let Argument::Buffer { buffer, .. } = *bound
                && session.options().undefined_arguments.contains(&argument.name)
            {
                undefined[buffer] = memory.buffers.get(buffer).map(|bytes| bytes.len() as u64);
            }
        }
        LaunchInfo { arguments, undefined, resident }
    }
}

impl DispatchInterpreter for Sanitized {
    fn dispatch(&self, request: InterpreterDispatch<'_>) -> Result<(), InterpreterFault> {
        if request.kernel != self.program.kernel() {
            return Err(InterpreterFault::UnknownKernel { kernel: request.kernel.to_owned() });
        }
        self.boundary.run(request.kernel, || self.run(request))
    }
}

impl Sanitized {
    fn run(&self, mut request: InterpreterDispatch<'_>) -> Result<(), InterpreterFault> {
        let mut memory = self.bindings.memory(&mut request);
        let info = self.info(&request, &memory);
        let dispatch = Dispatch::threads(request.grid_threads, request.group_size);
        let ended =
            self.session.lock().launch(&self.program, &dispatch, &mut memory, &info, Some(request.stop));
        if let Some(after) = &self.after {
            after(&self.session);
        }
        let refused = |what| InterpreterFault::Refused { what, file: String::new(), line: 0 };
        match ended {
            Ok(LaunchOutcome::Incomplete { stopped: true, .. }) => Err(InterpreterFault::Stopped),
            Ok(LaunchOutcome::Incomplete { reason, .. }) => Err(refused(reason)),
            Ok(_) => Ok(()),
            Err(error) => Err(refused(error.to_string())),
        }
    }
}

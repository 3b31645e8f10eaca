//! The interpreter in the shape that devices lend threads to.
//!
//! Owns [`Executor`], the [`DispatchInterpreter`] of interpreter artifacts. Invariant: memory outside the
//! bound ranges is untouched; the first access out of bounds ends the dispatch with an error, as the seam
//! demands.

use std::fmt;
use std::sync::Arc;

use anymetal_codegen::cpu::argument_slots;
use anymetal_hal::error::LoadedPointer;
use anymetal_hal::launch::{DispatchInterpreter, InterpreterDispatch, InterpreterFault, InterpreterResident};
use anymetal_interp::{
    AccessKind, Argument, Dispatch, Fault, InterpError, Limits, Memory, NoObserver, Program, Resident,
    Variable, run,
};
use anymetal_ir::{ArgKind, Kernel, KernelArg, Loc, Module};

use crate::bug::RunBoundary;
use crate::error::CompileError;
use crate::isolated::interpreter;
use crate::prepared::Prepared;

/// One kernel, ready to be interpreted.
pub(crate) struct Executor {
    /// What `program` was made of, for another process.
    prepared: Arc<Prepared>,
    program: Program,
    bindings: Bindings,
    boundary: RunBoundary,
}

/// A kernel's arguments and how dispatches number them.
pub(crate) struct Bindings {
    pub(crate) arguments: Vec<KernelArg>,
    /// The slot of each argument; none for disabled ones.
    slots: Vec<Option<u32>>,
}

impl Bindings {
    pub(crate) fn new(kernel: &Kernel) -> Self {
        Bindings { arguments: kernel.args.clone(), slots: argument_slots(kernel) }
    }

    /// The memory of a run: the buffers, what is bound of them, and those that pointers may lead to.
    pub(crate) fn memory<'m>(&self, request: &mut InterpreterDispatch<'m>) -> Memory<'m> {
        let arguments = self.bind(request);
        let resident = |&InterpreterResident { memory, address, writable }: &InterpreterResident| Resident {
            buffer: memory,
            address,
            writable,
        };
        let resident = request.resident.iter().map(resident).collect();
        Memory { buffers: std::mem::take(&mut request.memories), arguments, resident }
    }

    /// The binding of each argument, in source order.
    fn bind(&self, request: &InterpreterDispatch<'_>) -> Vec<Argument> {
        let bind = |(argument, slot): (&KernelArg, &Option<u32>)| {
            let Some(slot) = slot.map(|slot| slot as usize) else {
                // It is disabled.
                return Argument::Unbound;
            };
            match argument.kind {
                // A dispatch has entries up to the last slot that is bound.
                ArgKind::Buffer => match request.bindings.get(slot).copied().flatten() {
                    Some(at) => Argument::Buffer { buffer: at.memory, offset: at.offset, len: at.len },
                    None => Argument::Unbound,
                },
                ArgKind::ThreadgroupMemory => {
                    Argument::Threadgroup { len: request.threadgroup_lengths.get(slot).copied().unwrap_or(0) }
                }
            }
        };
        self.arguments.iter().zip(&self.slots).map(bind).collect()
    }
}

/// A kernel as the interpreter takes it.
pub(crate) fn program(module: &Module, kernel: &str) -> Result<Program, CompileError> {
    Program::new(module, kernel).map_err(|error| match error {
        InterpError::TooLarge { .. } => {
            CompileError::TooLarge { kernel: kernel.to_owned(), reason: error.to_string() }
        }
        other => CompileError::internal("interpreter", other.to_string()),
    })
}

impl fmt::Debug for Executor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Executor").field("kernel", &self.program.kernel()).finish_non_exhaustive()
    }
}

impl Executor {
    /// Prepares a kernel of a module.
    pub(crate) fn new(
        prepared: &Arc<Prepared>,
        kernel: &Kernel,
        boundary: RunBoundary,
    ) -> Result<Self, CompileError> {
        let (program, bindings) = (program(&prepared.module, &kernel.name)?, Bindings::new(kernel));
        Ok(Executor { prepared: Arc::clone(prepared), program, bindings, boundary })
    }

    fn run(&self, mut request: InterpreterDispatch<'_>) -> Result<(), InterpreterFault> {
        let dispatch = Dispatch::threads(request.grid_threads, request.group_size);
        let mut memory = self.bindings.memory(&mut request);
        let limits = Limits { stop: Some(request.stop), max_reported: 1, ..Limits::default() };
        match run(&self.program, &dispatch, &mut memory, limits, &mut NoObserver) {
            Ok(report) => match report.faults.first() {
                Some(fault) => Err(self.describe_fault(fault, &request)),
                None => Ok(()),
            },
            Err(InterpError::Stopped) => Err(InterpreterFault::Stopped),
            Err(error) => Err(self.refused(&error)),
        }
    }

    fn describe_fault(&self, fault: &Fault, request: &InterpreterDispatch<'_>) -> InterpreterFault {
        let argument = match fault.variable {
            Variable::Argument(position) => self.bindings.arguments.get(position as usize),
            Variable::Nothing
            | Variable::Threadgroup(_)
            | Variable::Global(_)
            | Variable::Local(..)
            | Variable::Resident(_)
            | Variable::Address => None,
        };
        let through = match fault.variable {
            Variable::Resident(number) => {
                let resident = request.resident.get(number as usize);
                let label = resident.and_then(|resident| request.labels.get(resident.memory));
                let label = label.copied().unwrap_or_default().to_owned();
                let is_store = fault.kind != AccessKind::Load;
                Some(match resident.is_some_and(|resident| !resident.writable) && is_store {
                    true => LoadedPointer::ReadOnly { label },
                    false => LoadedPointer::Buffer { label },
                })
            }
            Variable::Address => Some(LoadedPointer::Address(fault.offset as u64)),
            _ => None,
        };
        let [x, y, z] = fault.thread.position_in_group;
        let [size_x, size_y, _] = request.group_size;
        InterpreterFault::OutOfBounds {
            argument: argument.map(|argument| argument.index),
            argument_name: self.program.variable_name(fault.variable).to_owned(),
            through: through.map(Box::new),
            kind: fault.kind,
            byte_offset: fault.offset,
            bound_len: fault.bound,
            access_bytes: u32::try_from(fault.bytes).unwrap_or(u32::MAX),
            element_bytes: argument.map_or(0, |argument| u32::try_from(argument.element_size).unwrap_or(0)),
            file: self.program.file(fault.loc).to_owned(),
            line: fault.loc.line,
            column: fault.loc.column,
            group: fault.thread.group,
            thread_in_group: x
                .wrapping_add(size_x.wrapping_mul(y))
                .wrapping_add(size_x.wrapping_mul(size_y).wrapping_mul(z)),
        }
    }

    fn refused(&self, error: &InterpError) -> InterpreterFault {
        let at = match error {
            InterpError::DivergentBarrier(barrier) => barrier.first,
            _ => Loc::default(),
        };
        let file = self.program.file(at).to_owned();
        InterpreterFault::Refused { what: error.to_string(), file, line: at.line }
    }
}

impl DispatchInterpreter for Executor {
    fn dispatch(&self, request: InterpreterDispatch<'_>) -> Result<(), InterpreterFault> {
        if request.kernel != self.program.kernel() {
            return Err(InterpreterFault::UnknownKernel { kernel: request.kernel.to_owned() });
        }
        self.boundary.run(request.kernel, || self.run(request))
    }

    fn encoded(&self) -> Option<Vec<u8>> {
        Some(interpreter::encode(&self.prepared.module, self.program.kernel()))
    }
}

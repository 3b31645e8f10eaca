//! What a compiler and the CPU device agree on: the launch ABI of generated code, and interpreted dispatches.
//!
//! Owns the trait [`DispatchInterpreter`], by which a device runs dispatches without machine code. The tables
//! of generated code and the rules for them are the crate `anymetal-abi`, passed on here so that
//! devices depend on this crate alone.

use std::sync::atomic::AtomicU32;

use anymetal_abi::AccessKind;

use crate::error::LoadedPointer;

pub use anymetal_abi::functions;
pub use anymetal_abi::nvidia;
pub use anymetal_abi::resident;
pub use anymetal_abi::{
    ABI_VERSION, BoundBuffer, CpuEntry, CpuLaunch, CpuWorker, FAULT_SYMBOL, FaultFunction, FaultRecord,
    GRID_SYNC_SYMBOL, GridSyncFunction, MAX_ENTRY_STACK_BYTES, RecordedFault, SIMDGROUP_YIELD_SYMBOL,
    SimdgroupYieldFunction, ThreadgroupLayout, ThreadgroupSlot, WORKER_ALIGNMENT, YieldReason,
    argument_slots,
};

/// Runs dispatches without machine code: the compiler crate implements it over the interpreter, for machines
/// without LLVM. One call runs a whole dispatch on the calling thread.
pub trait DispatchInterpreter: Send + Sync {
    /// Runs every threadgroup of the dispatch. Returns early, with [`InterpreterFault::Stopped`], soon after
    /// `request.stop` became nonzero. Accesses out of bounds end the dispatch with an error; memory outside
    /// the bound ranges is untouched.
    fn dispatch(&self, request: InterpreterDispatch<'_>) -> Result<(), InterpreterFault>;

    /// The kernel in the compiler's own encoding, from which the same build in another process makes an
    /// equal interpreter. `None`: it depends on this process.
    fn encoded(&self) -> Option<Vec<u8>> {
        None
    }
}

/// One dispatch for the interpreter.
#[derive(Debug)]
pub struct InterpreterDispatch<'a> {
    /// The kernel's name.
    pub kernel: &'a str,
    /// The distinct buffers that are bound, whole. Two arguments may share one.
    pub memories: Vec<&'a mut [u8]>,
    /// The labels of the buffers, one for each memory; empty for bytes in the command and where there is
    /// none.
    pub labels: Vec<&'a str>,
    /// What is bound, by [`crate::artifact::ArgumentInfo::slot`]; `None`: nothing.
    pub bindings: Vec<Option<InterpreterBinding>>,
    /// The memories that pointers in memory may lead to. Empty if the kernel loads no pointers.
    pub resident: Vec<InterpreterResident>,
    /// Threads per grid.
    pub grid_threads: [u32; 3],
    /// Threadgroups per grid.
    pub groups: [u32; 3],
    /// Threads per full threadgroup.
    pub group_size: [u32; 3],
    /// The lengths of the dynamic threadgroup memory, by slot.
    pub threadgroup_lengths: Vec<u64>,
    /// Nonzero: leave.
    pub stop: &'a AtomicU32,
}

/// A memory that pointers in memory may lead to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InterpreterResident {
    /// Its number among the dispatch's memories.
    pub memory: usize,
    /// The address of its first byte.
    pub address: u64,
    /// Whether the kernel may store to it.
    pub writable: bool,
}

/// What an argument is bound to: a range of one of the dispatch's memories. The device has checked that
/// `offset + len` is within it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InterpreterBinding {
    /// The index into [`InterpreterDispatch::memories`].
    pub memory: usize,
    /// The first byte.
    pub offset: u64,
    /// The bytes from there on that are bound.
    pub len: u64,
}

/// Why an interpreted dispatch ended early.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InterpreterFault {
    /// `stop` was set.
    #[error("the dispatch was stopped")]
    Stopped,
    /// No such kernel; the device has checked the name, so compiler and device disagree.
    #[error("the interpreter has no kernel `{kernel}`")]
    UnknownKernel {
        /// The name asked for.
        kernel: String,
    },
    /// An access outside what is bound.
    #[error("`{argument_name}` was accessed out of bounds")]
    OutOfBounds {
        /// The Metal index of the argument, if the memory accessed is an argument's.
        argument: Option<u32>,
        /// Its name, or the variable's; may be empty.
        argument_name: String,
        /// Where a pointer that was loaded from memory leads to, if it was accessed through one.
        through: Option<Box<LoadedPointer>>,
        /// What the access did.
        kind: AccessKind,
        /// The byte offset from the start of what was bound.
        byte_offset: i64,
        /// The bytes that were bound.
        bound_len: u64,
        /// The bytes that the access touches.
        access_bytes: u32,
        /// The element's size; 0 if unknown.
        element_bytes: u32,
        /// The source file.
        file: String,
        /// The line, from 1; 0 if unknown.
        line: u32,
        /// The column, from 1; 0 if unknown.
        column: u32,
        /// The threadgroup's position.
        group: [u32; 3],
        /// The linear index of the thread in its threadgroup.
        thread_in_group: u32,
    },
    /// A bug of the interpreter.
    #[error("{report}")]
    Bug {
        /// Stage, kernel, message and reproducer.
        report: String,
    },
    /// The kernel does what the interpreter refuses: divergent barriers, a budget exceeded.
    #[error("{what}")]
    Refused {
        /// What it was, as a sentence without a full stop.
        what: String,
        /// The source file; may be empty.
        file: String,
        /// The line, from 1; 0 if unknown.
        line: u32,
    },
}

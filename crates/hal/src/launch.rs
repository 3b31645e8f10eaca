//! The launch ABI of the CPU: what generated code and the CPU device agree on.
//!
//! Owns the `repr(C)` tables and the rules for them. Invariant: everything here is plain data whose layout is
//! tested below; the code generator writes these offsets into machine code, so a change here changes
//! [`ABI_VERSION`], which is part of every cache fingerprint.
//!
//! # Who does what
//!
//! The **device** fills in one [`CpuLaunch`] per dispatch and one [`CpuWorker`] per worker thread, and calls
//! the entry ([`CpuEntry`]) any number of times, from several threads at once, each time with a worker of its
//! own and a range of threadgroups that nobody else has. Together the ranges cover each threadgroup of the grid
//! exactly once, in no order. Threadgroups are numbered linearly, x fastest:
//! `index = x + groups[0] * (y + groups[1] * z)`.
//!
//! The **generated code** runs the threadgroups `first_group .. end_group` one after the other and returns.
//! - *Partial threadgroups*: a thread whose position in the grid is not below `grid_threads` does not exist.
//!   Generated code computes each group's real size (`min(group_size, grid_threads - group * group_size)` per
//!   dimension), as Metal's `dispatchThreads` does. `[[threads_per_threadgroup]]` is that real size,
//!   `[[dispatch_threads_per_threadgroup]]` the full one. With `dispatchThreadgroups` the device sets
//!   `grid_threads = groups * group_size`.
//! - *Bounds*: an access is in bounds if `0 <= offset` and `offset + access_bytes <= len` of its
//!   [`BoundBuffer`]. Out of bounds a load gives zero, a store is dropped, an atomic gives zero and changes
//!   nothing, and the code calls [`FAULT_SYMBOL`] ([`FaultFunction`]) once per faulting access (for a vector of
//!   lanes: with the first faulting lane). It goes on after that.
//! - *Stop*: on every loop iteration that can repeat without bound, and before each threadgroup, the code reads
//!   `*stop` (a relaxed 4-byte load) and returns soon after it is nonzero. Results are then unspecified.
//! - It never unwinds, and it touches no memory but the bound buffers within their lengths, the worker's
//!   memory, its own stack and its own read-only data.
//!
//! # Lifetime and ordering
//!
//! The tables and everything they point to outlive the call; the code keeps no pointer past its return. All
//! fields but `*stop` and `*fault` are constant during a dispatch. The device makes what was written before the
//! dispatch (by the host or by earlier commands) visible to every worker before it calls the entry, and what
//! workers wrote visible to whoever waits. Within a dispatch, threadgroups see each other's memory only as
//! Metal's atomics and coherent accesses allow.
//!
//! # Memory of a worker
//!
//! `threadgroup_memory` holds the static part at offset 0 and each dynamic slot at the offset that
//! [`ThreadgroupLayout`] gives it; `scratch` holds [`crate::artifact::KernelInfo::scratch_bytes_for`] bytes for
//! the code's own use (frames of barrier regions). Both are aligned to [`WORKER_ALIGNMENT`], their contents are
//! undefined at each call and may be left in any state.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::artifact::FaultKind;

/// The version of everything in this module; part of a cache fingerprint.
pub const ABI_VERSION: u32 = 1;

/// The alignment of a worker's threadgroup memory and scratch, and of each dynamic slot.
pub const WORKER_ALIGNMENT: u64 = 64;

/// The most stack that an entry may use, calls included; larger frames belong in the scratch. The thread that
/// runs it may be a program's own with a small stack.
pub const MAX_ENTRY_STACK_BYTES: u64 = 256 * 1024;

/// The external symbol that generated code calls for an access out of bounds.
pub const FAULT_SYMBOL: &str = "anymetal_fault";

/// The entry of a compiled kernel: runs the threadgroups `first_group .. end_group` (linear, x fastest).
pub type CpuEntry = unsafe extern "C" fn(
    launch: *const CpuLaunch,
    worker: *const CpuWorker,
    first_group: u64,
    end_group: u64,
);

/// The function behind [`FAULT_SYMBOL`]: records the first fault of a dispatch. `thread_in_group` is the
/// linear index within the threadgroup, x fastest, by the full group size.
pub type FaultFunction = unsafe extern "C" fn(
    launch: *const CpuLaunch,
    site: u32,
    byte_offset: i64,
    bound_len: u64,
    group_linear: u64,
    thread_in_group: u32,
);

/// One entry of the buffer table: a buffer from the bound offset on. Unbound: null and 0.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct BoundBuffer {
    /// The first byte.
    pub base: *mut u8,
    /// The bytes from there to the end of what was bound.
    pub len: u64,
}

impl BoundBuffer {
    /// The entry of an argument that nothing is bound to; every access to it is out of bounds.
    pub const UNBOUND: BoundBuffer = BoundBuffer { base: std::ptr::null_mut(), len: 0 };
}

/// Where a dynamic threadgroup argument lies in the worker's threadgroup memory.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ThreadgroupSlot {
    /// Bytes from `CpuWorker::threadgroup_memory`.
    pub offset: u64,
    /// Bytes that the launch gave it.
    pub len: u64,
}

/// One dispatch, as generated code sees it.
#[repr(C)]
#[derive(Debug)]
pub struct CpuLaunch {
    /// The buffer table, by [`crate::artifact::ArgumentInfo::slot`].
    pub buffers: *const BoundBuffer,
    /// Its length.
    pub buffer_count: u64,
    /// The dynamic threadgroup memory, by slot.
    pub threadgroup_slots: *const ThreadgroupSlot,
    /// Its length.
    pub threadgroup_slot_count: u64,
    /// Nonzero: leave.
    pub stop: *const AtomicU32,
    /// The record of the first fault; generated code passes it on untouched.
    pub fault: *const FaultRecord,
    /// Threads per grid.
    pub grid_threads: [u32; 3],
    /// Threadgroups per grid.
    pub groups: [u32; 3],
    /// Threads per full threadgroup.
    pub group_size: [u32; 3],
    /// Zero; keeps the size a multiple of 8.
    pub reserved: u32,
}

/// One worker thread's own memory.
#[repr(C)]
#[derive(Debug)]
pub struct CpuWorker {
    /// Threadgroup memory: the static part, then the dynamic slots. Null if the kernel needs none.
    pub threadgroup_memory: *mut u8,
    /// Scratch of the code. Null if the kernel needs none.
    pub scratch: *mut u8,
    /// A number below the device's worker count, for debugging.
    pub worker_index: u32,
    /// Zero; keeps the size a multiple of 8.
    pub reserved: u32,
}

/// The first fault of a dispatch. Workers race to `claimed`; the winner writes the rest, and the device reads
/// it after all workers are done, so the plain fields are atomics only to stay in safe Rust.
#[repr(C)]
#[derive(Debug, Default)]
pub struct FaultRecord {
    /// 0: no fault; 1: claimed.
    pub claimed: AtomicU32,
    /// The index into [`crate::artifact::Artifact::fault_sites`].
    pub site: AtomicU32,
    /// The byte offset of the access from the start of what was bound, as two's complement.
    pub byte_offset: std::sync::atomic::AtomicU64,
    /// The bytes that were bound.
    pub bound_len: std::sync::atomic::AtomicU64,
    /// The linear index of the threadgroup.
    pub group_linear: std::sync::atomic::AtomicU64,
    /// The linear index of the thread in its threadgroup.
    pub thread_in_group: AtomicU32,
}

/// A fault as the device reads it back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordedFault {
    /// The index into [`crate::artifact::Artifact::fault_sites`].
    pub site: u32,
    /// The byte offset of the access from the start of what was bound.
    pub byte_offset: i64,
    /// The bytes that were bound.
    pub bound_len: u64,
    /// The linear index of the threadgroup.
    pub group_linear: u64,
    /// The linear index of the thread in its threadgroup.
    pub thread_in_group: u32,
}

impl FaultRecord {
    /// Records a fault if it is the first since [`FaultRecord::clear`].
    pub fn record(&self, fault: RecordedFault) {
        // A kernel that faults in every thread calls this very often: look before the exchange.
        if self.claimed.load(Ordering::Relaxed) != 0 {
            return;
        }
        if self.claimed.compare_exchange(0, 1, Ordering::Relaxed, Ordering::Relaxed).is_err() {
            return;
        }
        self.site.store(fault.site, Ordering::Relaxed);
        self.byte_offset.store(fault.byte_offset as u64, Ordering::Relaxed);
        self.bound_len.store(fault.bound_len, Ordering::Relaxed);
        self.group_linear.store(fault.group_linear, Ordering::Relaxed);
        self.thread_in_group.store(fault.thread_in_group, Ordering::Relaxed);
    }

    /// The fault recorded, if any. Meaningful only once every worker has finished (the device's completion
    /// count orders the workers' stores before this).
    pub fn recorded(&self) -> Option<RecordedFault> {
        (self.claimed.load(Ordering::Relaxed) != 0).then(|| RecordedFault {
            site: self.site.load(Ordering::Relaxed),
            byte_offset: self.byte_offset.load(Ordering::Relaxed) as i64,
            bound_len: self.bound_len.load(Ordering::Relaxed),
            group_linear: self.group_linear.load(Ordering::Relaxed),
            thread_in_group: self.thread_in_group.load(Ordering::Relaxed),
        })
    }

    /// Forgets the fault, for the next dispatch.
    pub fn clear(&self) {
        self.claimed.store(0, Ordering::Relaxed);
    }
}

/// Where threadgroup memory lies: the static part at 0, then each dynamic slot on a multiple of
/// [`WORKER_ALIGNMENT`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadgroupLayout {
    /// The dynamic slots, in slot order.
    pub slots: Vec<ThreadgroupSlot>,
    /// The bytes in all.
    pub total_bytes: u64,
}

impl ThreadgroupLayout {
    /// Lays out a static part and dynamic slots of those lengths; `None` if the sum overflows.
    pub fn new(static_bytes: u64, dynamic_lengths: &[u64]) -> Option<Self> {
        let mut end = static_bytes;
        let mut slots = Vec::with_capacity(dynamic_lengths.len());
        for &len in dynamic_lengths {
            let offset = end.checked_next_multiple_of(WORKER_ALIGNMENT)?;
            end = offset.checked_add(len)?;
            slots.push(ThreadgroupSlot { offset, len });
        }
        Some(ThreadgroupLayout { slots, total_bytes: end })
    }
}

/// Runs dispatches without machine code: the compiler crate implements it over the interpreter, for machines
/// without LLVM. One call runs a whole dispatch on the calling thread.
pub trait DispatchInterpreter: Send + Sync {
    /// Runs every threadgroup of the dispatch. Returns early, with [`InterpreterFault::Stopped`], soon after
    /// `request.stop` became nonzero. Accesses out of bounds end the dispatch with an error; memory outside
    /// the bound ranges is untouched.
    fn dispatch(&self, request: InterpreterDispatch<'_>) -> Result<(), InterpreterFault>;
}

/// One dispatch for the interpreter.
#[derive(Debug)]
pub struct InterpreterDispatch<'a> {
    /// The kernel's name.
    pub kernel: &'a str,
    /// The distinct buffers that are bound, whole. Two arguments may share one.
    pub memories: Vec<&'a mut [u8]>,
    /// What is bound, by [`crate::artifact::ArgumentInfo::slot`]; `None`: nothing.
    pub bindings: Vec<Option<InterpreterBinding>>,
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
        /// What the access did.
        kind: FaultKind,
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

#[cfg(test)]
mod tests {
    use std::mem::{offset_of, size_of};

    use super::*;

    /// The code generator writes these offsets into machine code.
    #[test]
    fn layout_of_the_tables_is_fixed() {
        assert_eq!((size_of::<BoundBuffer>(), offset_of!(BoundBuffer, len)), (16, 8));
        assert_eq!(size_of::<ThreadgroupSlot>(), 16);
        assert_eq!(offset_of!(CpuLaunch, buffers), 0);
        assert_eq!(offset_of!(CpuLaunch, buffer_count), 8);
        assert_eq!(offset_of!(CpuLaunch, threadgroup_slots), 16);
        assert_eq!(offset_of!(CpuLaunch, threadgroup_slot_count), 24);
        assert_eq!(offset_of!(CpuLaunch, stop), 32);
        assert_eq!(offset_of!(CpuLaunch, fault), 40);
        assert_eq!(offset_of!(CpuLaunch, grid_threads), 48);
        assert_eq!(offset_of!(CpuLaunch, groups), 60);
        assert_eq!(offset_of!(CpuLaunch, group_size), 72);
        assert_eq!(size_of::<CpuLaunch>(), 88);
        assert_eq!((offset_of!(CpuWorker, scratch), offset_of!(CpuWorker, worker_index)), (8, 16));
        assert_eq!(size_of::<CpuWorker>(), 24);
    }

    #[test]
    fn threadgroup_slots_are_aligned_and_follow_the_static_part() {
        let layout = ThreadgroupLayout::new(100, &[4, 0, 65]).unwrap();
        let offsets: Vec<u64> = layout.slots.iter().map(|slot| slot.offset).collect();
        assert_eq!(offsets, [128, 192, 192]);
        assert_eq!(layout.total_bytes, 257);
        assert_eq!(ThreadgroupLayout::new(u64::MAX, &[1]), None);
        assert_eq!(ThreadgroupLayout::new(0, &[u64::MAX, 1]), None);
    }

    #[test]
    fn only_the_first_fault_is_kept() {
        let record = FaultRecord::default();
        assert_eq!(record.recorded(), None);
        let fault =
            |site| RecordedFault { site, byte_offset: -4, bound_len: 8, group_linear: 7, thread_in_group: 3 };
        record.record(fault(1));
        record.record(fault(2));
        assert_eq!(record.recorded(), Some(fault(1)));
        record.clear();
        assert_eq!(record.recorded(), None);
    }
}

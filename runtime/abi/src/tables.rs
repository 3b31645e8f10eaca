//! The `repr(C)` tables of a launch and of a worker, and the layout of threadgroup memory.
//!
//! Invariant: generated code reads the tables by the offsets in [`crate::offsets`], which follow from the
//! declarations here.

use std::sync::atomic::AtomicU32;

use crate::WORKER_ALIGNMENT;
use crate::fault::FaultRecord;

/// The entry of a compiled kernel: runs the threadgroups `first_group .. end_group` (linear, x fastest).
pub type CpuEntry = unsafe extern "C" fn(
    launch: *const CpuLaunch,
    worker: *const CpuWorker,
    first_group: u64,
    end_group: u64,
);

/// The external symbol that generated code calls at a barrier of the grid.
pub const GRID_SYNC_SYMBOL: &str = "anymetal_grid_sync";

/// The type of the function [`GRID_SYNC_SYMBOL`]: waits for the other threadgroups of a cooperative launch.
/// `worker` is what the entry was called with.
pub type GridSyncFunction = unsafe extern "C" fn(worker: *const CpuWorker);

/// The external symbol that code with [independent SIMD-groups](crate#independent-simd-groups) calls to let
/// the other SIMD-groups run.
pub const SIMDGROUP_YIELD_SYMBOL: &str = "anymetal_simdgroup_yield";

/// The type of the function [`SIMDGROUP_YIELD_SYMBOL`]. `worker` is what the entry was called with; `reason`
/// is a [`YieldReason`].
pub type SimdgroupYieldFunction = unsafe extern "C" fn(worker: *const CpuWorker, reason: u32);

/// Why a SIMD-group lets the others run.
#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum YieldReason {
    /// It waits for memory to change, and looks again after each of the others had a turn.
    Waits = 0,
    /// It came to a barrier of the threadgroup.
    ThreadgroupBarrier = 1,
    /// It came to a barrier of the grid.
    GridBarrier = 2,
}

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

/// The range of a dynamic threadgroup argument in the worker's threadgroup memory.
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
    /// The buffer table, by slot ([`crate::argument_slots`]).
    pub buffers: *const BoundBuffer,
    /// Its length.
    pub buffer_count: u64,
    /// By slot: the bytes of the buffer before its entry's base. Only code of a module with
    /// `whole_buffers` reads it, which may access them.
    pub before: *const u64,
    /// The dynamic threadgroup memory, by slot.
    pub threadgroup_slots: *const ThreadgroupSlot,
    /// Its length.
    pub threadgroup_slot_count: u64,
    /// Nonzero: return soon.
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
    /// The buffers that pointers in memory may lead to, in the order and number that [`crate::resident`]
    /// says. Null for kernels that load no pointers.
    pub resident: *const BoundBuffer,
    /// Its length.
    pub resident_count: u64,
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
    /// The SIMD-group to run, for code with independent SIMD-groups; 0 otherwise.
    pub simdgroup: u32,
}

/// The layout of threadgroup memory: the static part at 0, then each dynamic slot on a multiple of
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

    /// As it is if `reserve` is 0 or nothing is laid out. Else at least that many bytes, and each slot
    /// reaches to their end.
    #[must_use]
    pub fn with_reserve(mut self, reserve: u64) -> Self {
        if reserve == 0 || self.total_bytes == 0 {
            return self;
        }
        self.total_bytes = self.total_bytes.max(reserve);
        for slot in &mut self.slots {
            slot.len = self.total_bytes.saturating_sub(slot.offset);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threadgroup_slots_are_aligned_and_follow_the_static_part() {
        let layout = ThreadgroupLayout::new(100, &[4, 0, 65]).unwrap();
        let offsets: Vec<u64> = layout.slots.iter().map(|slot| slot.offset).collect();
        assert_eq!(offsets, [128, 192, 192]);
        assert_eq!(layout.total_bytes, 257);
        let reserved = layout.with_reserve(200);
        let lengths: Vec<u64> = reserved.slots.iter().map(|slot| slot.len).collect();
        assert_eq!((lengths.as_slice(), reserved.total_bytes), ([129, 65, 65].as_slice(), 257));
        assert_eq!(ThreadgroupLayout::new(100, &[]).unwrap().with_reserve(4096).total_bytes, 4096);
        assert_eq!(ThreadgroupLayout::new(0, &[]).unwrap().with_reserve(4096).total_bytes, 0);
        assert_eq!(ThreadgroupLayout::new(u64::MAX, &[1]), None);
        assert_eq!(ThreadgroupLayout::new(0, &[u64::MAX, 1]), None);
    }
}

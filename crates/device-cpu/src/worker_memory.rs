//! The memory that a thread lends to the code it runs: threadgroup memory and scratch.
//!
//! Owns one growing block of each kind per thread. Invariant: a block is used by one entry call at a time (it
//! is thread-local and borrowed for the call), and its contents mean nothing between calls.

use std::cell::RefCell;

use anymetal_hal::launch::CpuWorker;

use crate::aligned::AlignedMemory;

thread_local! {
    static MEMORY: RefCell<WorkerMemory> = const { RefCell::new(WorkerMemory { threadgroup: None, scratch: None }) };
}

struct WorkerMemory {
    threadgroup: Option<AlignedMemory>,
    scratch: Option<AlignedMemory>,
}

/// What one dispatch needs of each worker.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WorkerNeeds {
    /// Bytes of threadgroup memory.
    pub(crate) threadgroup_bytes: u64,
    /// Bytes of scratch.
    pub(crate) scratch_bytes: u64,
}

/// No memory for a worker.
#[derive(Debug)]
pub(crate) struct OutOfWorkerMemory;

/// Calls `run` with this thread's worker table, grown to the needs.
pub(crate) fn with_worker<R>(
    worker_index: u32,
    needs: WorkerNeeds,
    run: impl FnOnce(&CpuWorker) -> R,
) -> Result<R, OutOfWorkerMemory> {
    MEMORY.with(|memory| {
        let memory = &mut *memory.borrow_mut();
        let threadgroup_memory = grown(&mut memory.threadgroup, needs.threadgroup_bytes)?;
        let scratch = grown(&mut memory.scratch, needs.scratch_bytes)?;
        Ok(run(&CpuWorker { threadgroup_memory, scratch, worker_index, reserved: 0 }))
    })
}

fn grown(block: &mut Option<AlignedMemory>, bytes: u64) -> Result<*mut u8, OutOfWorkerMemory> {
    if bytes == 0 {
        return Ok(std::ptr::null_mut());
    }
    let enough = block.as_ref().is_some_and(|block| block.len() as u64 >= bytes);
    if !enough {
        // Give the old block back first: both at once may be too much.
        *block = None;
        let bytes = usize::try_from(bytes).ok().and_then(|bytes| bytes.checked_next_multiple_of(4096));
        *block = bytes.and_then(AlignedMemory::zeroed);
    }
    block.as_ref().map(|block| block.start().as_ptr()).ok_or(OutOfWorkerMemory)
}

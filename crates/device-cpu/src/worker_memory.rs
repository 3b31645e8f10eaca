//! The memory that a thread lends to the code it runs: threadgroup memory and scratch.
//!
//! Owns one growing block of each kind per thread. Invariant: a block is used by one entry call at a time (it
//! is thread-local and borrowed for the call), and its contents mean nothing between calls.

use std::cell::RefCell;

use anymetal_hal::launch::{CpuWorker, WORKER_ALIGNMENT};

use crate::aligned::AlignedMemory;
use crate::guarded::Guard;

thread_local! {
    static MEMORY: RefCell<WorkerMemory> = const { RefCell::new(WorkerMemory::NONE) };
}

struct WorkerMemory {
    threadgroup: Option<AlignedMemory>,
    scratch: Option<AlignedMemory>,
}

impl WorkerMemory {
    const NONE: WorkerMemory = WorkerMemory { threadgroup: None, scratch: None };
}

/// What one dispatch needs of each worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
    guard: Option<Guard>,
    run: impl FnOnce(&CpuWorker) -> R,
) -> Result<R, OutOfWorkerMemory> {
    let lend = |memory: &mut WorkerMemory| {
        let threadgroup_memory = grown(&mut memory.threadgroup, needs.threadgroup_bytes, guard)?;
        let scratch = grown(&mut memory.scratch, needs.scratch_bytes, guard)?;
        Ok(run(&CpuWorker { threadgroup_memory, scratch, worker_index, reserved: 0 }))
    };
    // Destructors of a thread's other variables commit work too: its own block may be gone by then.
    if MEMORY.try_with(|_| ()).is_err() {
        let mut own = WorkerMemory::NONE;
        return lend(&mut own);
    }
    MEMORY.with(|memory| lend(&mut memory.borrow_mut()))
}

fn grown(
    block: &mut Option<AlignedMemory>,
    bytes: u64,
    guard: Option<Guard>,
) -> Result<*mut u8, OutOfWorkerMemory> {
    if bytes == 0 {
        return Ok(std::ptr::null_mut());
    }
    // A guard stands as near to the end as alignment allows, so a longer block is no good with one.
    let step = if guard.is_some() { WORKER_ALIGNMENT } else { 4096 };
    let wanted = bytes.checked_next_multiple_of(step).ok_or(OutOfWorkerMemory)?;
    let fits = block.as_ref().is_some_and(|block| {
        let len = block.len() as u64;
        block.guard() == guard && if guard.is_some() { len == wanted } else { len >= bytes }
    });
    if !fits {
        // Give the old block back first: both at once may be too much.
        *block = None;
        let wanted = usize::try_from(wanted).ok();
        *block = wanted.and_then(|wanted| AlignedMemory::zeroed_beside(wanted, guard));
    }
    block.as_ref().map(|block| block.start().as_ptr()).ok_or(OutOfWorkerMemory)
}

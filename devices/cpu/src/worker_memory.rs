//! The memory that a thread lends to the code it runs: threadgroup memory and scratch.
//!
//! Owns one growing block of each kind per thread. Invariants: a block is used by one entry call at a time
//! (it is thread-local and borrowed for the call), and the bytes of it that an entry call can read were
//! written by calls of the same dispatch, or are zero. The thread that submits may run kernels of several
//! programs, devices and tenants, so nothing longer-lived than a dispatch can own the contents.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};

use anymetal_hal::launch::{CpuWorker, WORKER_ALIGNMENT};

use crate::aligned::AlignedMemory;
use crate::guarded::Guard;

thread_local! {
    static MEMORY: RefCell<WorkerMemory> = const { RefCell::new(WorkerMemory::NONE) };
}

struct WorkerMemory {
    threadgroup: LentBlock,
    scratch: LentBlock,
    /// The dispatch that the blocks were last lent to.
    owner: u64,
}

impl WorkerMemory {
    const NONE: WorkerMemory =
        WorkerMemory { threadgroup: LentBlock::NONE, scratch: LentBlock::NONE, owner: 0 };
}

/// Memory that kernels write.
struct LentBlock {
    memory: Option<AlignedMemory>,
    /// The bytes from its start that may not be zero.
    dirty_bytes: usize,
}

impl LentBlock {
    const NONE: LentBlock = LentBlock { memory: None, dirty_bytes: 0 };
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

/// The memory of one dispatch's workers.
#[derive(Debug)]
pub(crate) struct DispatchMemory {
    needs: WorkerNeeds,
    guard: Option<Guard>,
    /// Identifies the dispatch among all of the process; 0 if it needs no memory.
    id: u64,
}

impl DispatchMemory {
    pub(crate) fn new(needs: WorkerNeeds, guard: Option<Guard>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let is_needed = needs.threadgroup_bytes > 0 || needs.scratch_bytes > 0;
        let id = if is_needed { NEXT.fetch_add(1, Ordering::Relaxed) } else { 0 };
        DispatchMemory { needs, guard, id }
    }

    /// Calls `run` with this thread's worker table. The memory in it is zero, except for bytes that an
    /// earlier call for the same dispatch wrote.
    pub(crate) fn with_worker<R>(
        &self,
        worker_index: u32,
        run: impl FnOnce(&CpuWorker) -> R,
    ) -> Result<R, OutOfWorkerMemory> {
        let nothing = CpuWorker {
            threadgroup_memory: std::ptr::null_mut(),
            scratch: std::ptr::null_mut(),
            worker_index,
            simdgroup: 0,
        };
        if self.id == 0 {
            return Ok(run(&nothing));
        }
        let lend = |memory: &mut WorkerMemory| {
            let is_new = std::mem::replace(&mut memory.owner, self.id) != self.id;
            let threadgroup_memory =
                memory.threadgroup.lend(self.needs.threadgroup_bytes, self.guard, is_new)?;
            let scratch = memory.scratch.lend(self.needs.scratch_bytes, self.guard, is_new)?;
            Ok(run(&CpuWorker { threadgroup_memory, scratch, ..nothing }))
        };
        // Destructors of a thread's other variables commit work too: its own block may be gone by then.
        if MEMORY.try_with(|_| ()).is_err() {
            let mut own = WorkerMemory::NONE;
            return lend(&mut own);
        }
        MEMORY.with(|memory| lend(&mut memory.borrow_mut()))
    }
}

impl LentBlock {
    /// The start of at least `bytes` bytes, which are zero for a new dispatch.
    fn lend(
        &mut self,
        bytes: u64,
        guard: Option<Guard>,
        is_new_dispatch: bool,
    ) -> Result<*mut u8, OutOfWorkerMemory> {
        if bytes == 0 {
            return Ok(std::ptr::null_mut());
        }
        self.grow(bytes, guard)?;
        let memory = self.memory.as_ref().ok_or(OutOfWorkerMemory)?;
        let (start, bytes) = (memory.start().as_ptr(), bytes as usize);
        assert!(bytes <= memory.len(), "a block of {} bytes is lent as {bytes}", memory.len());
        if is_new_dispatch {
            // SAFETY: the range is within the block (asserted above), which this thread alone has.
            unsafe { std::ptr::write_bytes(start, 0, bytes.min(self.dirty_bytes)) };
        }
        self.dirty_bytes = self.dirty_bytes.max(bytes);
        Ok(start)
    }

    fn grow(&mut self, bytes: u64, guard: Option<Guard>) -> Result<(), OutOfWorkerMemory> {
        // A guard stands as near to the end as alignment allows, so a longer block is no good with one.
        let step = if guard.is_some() { WORKER_ALIGNMENT } else { 4096 };
        let wanted = bytes.checked_next_multiple_of(step).ok_or(OutOfWorkerMemory)?;
        let fits = self.memory.as_ref().is_some_and(|block| {
            let len = block.len() as u64;
            block.guard() == guard && if guard.is_some() { len == wanted } else { len >= bytes }
        });
        if !fits {
            // Give the old block back first: both at once may be too much.
            *self = LentBlock::NONE;
            let wanted = usize::try_from(wanted).ok();
            self.memory = wanted.and_then(|wanted| AlignedMemory::zeroed_beside(wanted, guard));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEEDS: WorkerNeeds = WorkerNeeds { threadgroup_bytes: 5000, scratch_bytes: 300 };

    /// Lends memory, writes all of it, and returns the sums of what was there.
    fn sums(needs: WorkerNeeds, memory: &DispatchMemory) -> [u64; 2] {
        let run = |worker: &CpuWorker| {
            let blocks =
                [(worker.threadgroup_memory, needs.threadgroup_bytes), (worker.scratch, needs.scratch_bytes)];
            blocks.map(|(start, bytes)| {
                if bytes == 0 {
                    return 0;
                }
                // SAFETY: that many bytes are lent for the call.
                let bytes = unsafe { std::slice::from_raw_parts_mut(start, bytes as usize) };
                let sum = bytes.iter().map(|&byte| u64::from(byte)).sum();
                bytes.fill(1);
                sum
            })
        };
        memory.with_worker(0, run).unwrap()
    }

    #[test]
    fn a_dispatch_sees_only_what_it_wrote() {
        for guard in [None, Some(Guard::Behind)] {
            let first = DispatchMemory::new(NEEDS, guard);
            assert_eq!(sums(NEEDS, &first), [0, 0]);
            assert_eq!(sums(NEEDS, &first), [5000, 300], "one dispatch in several calls");
            // Smaller needs leave what larger ones wrote; larger needs take a new block.
            for (threadgroup_bytes, scratch_bytes) in [
                (5000, 300),
                (64, 64),
                (5000, 300),
                (0, 0),
                (0, 300),
                (5000, 0),
                (9000, 100_000),
                (5000, 300),
            ] {
                let needs = WorkerNeeds { threadgroup_bytes, scratch_bytes };
                let dispatch = DispatchMemory::new(needs, guard);
                assert_eq!(sums(needs, &dispatch), [0, 0], "{needs:?}");
            }
        }
    }
}

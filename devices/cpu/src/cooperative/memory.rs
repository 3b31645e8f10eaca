//! What each threadgroup of a cooperative launch has to itself: a stack, threadgroup memory, scratch.
//!
//! Owns [`GroupMemory`], and [`CachedGroupMemory`], which caches that of a kernel's last launch for its next.
//! Invariants: an inaccessible page is below each stack, no two threadgroups share a byte, and threadgroups
//! begin with threadgroup memory and scratch that are zero ([`GroupMemory::to_clear`]).

use std::sync::{Mutex, PoisonError};

use anymetal_hal::launch::{CpuWorker, WORKER_ALIGNMENT};

use crate::aligned::AlignedMemory;
use crate::guarded::Guard;
use crate::stacks::Stacks;
use crate::worker_memory::WorkerNeeds;

/// Memory of launches of more threadgroups is given back.
const MAX_KEPT_GROUPS: u64 = 1024;

/// Memory of each threadgroup of a launch.
#[derive(Debug)]
pub(super) struct GroupMemory {
    stacks: Stacks,
    /// One block for all threadgroups; with a guard, two for each.
    blocks: Vec<AlignedMemory>,
    groups: u64,
    needs: WorkerNeeds,
    stack_bytes: usize,
    guard: Option<Guard>,
    /// Whether an earlier launch wrote to it.
    is_used: bool,
}

impl GroupMemory {
    /// On failure the bytes that were requested.
    fn new(groups: u64, needs: WorkerNeeds, stack_bytes: usize, guard: Option<Guard>) -> Result<Self, u64> {
        let stack_total = (stack_bytes as u64).saturating_mul(groups);
        let stacks = Stacks::new(groups as usize, stack_bytes).ok_or(stack_total)?;
        let block = |bytes: u64| {
            let len = usize::try_from(bytes).ok();
            len.and_then(|len| AlignedMemory::zeroed_beside(len, guard)).ok_or(bytes)
        };
        let blocks = match guard {
            None => vec![block(stride(needs).saturating_mul(groups))?],
            Some(_) => {
                let each = [needs.threadgroup_bytes, needs.scratch_bytes].map(aligned);
                (0..groups).flat_map(|_| each).map(block).collect::<Result<_, _>>()?
            }
        };
        Ok(GroupMemory { stacks, blocks, groups, needs, stack_bytes, guard, is_used: false })
    }

    fn serves(&self, groups: u64, needs: WorkerNeeds, stack_bytes: usize, guard: Option<Guard>) -> bool {
        self.groups >= groups && (self.needs, self.stack_bytes, self.guard) == (needs, stack_bytes, guard)
    }

    /// The end of a threadgroup's stack, a multiple of the page size.
    pub(super) fn stack_end(&self, group: u64) -> *mut u8 {
        self.stacks.end(group as usize)
    }

    /// The bytes of each threadgroup's memory to clear before its code runs: none of fresh pages. The
    /// earlier launch may have been another tenant's.
    pub(super) fn to_clear(&self) -> WorkerNeeds {
        if self.is_used { self.needs } else { WorkerNeeds { threadgroup_bytes: 0, scratch_bytes: 0 } }
    }

    /// What a threadgroup's code gets.
    pub(super) fn worker(&self, group: u64) -> CpuWorker {
        let [threadgroup_memory, scratch] = match self.guard {
            Some(_) => [0, 1].map(|n| self.blocks[group as usize * 2 + n].start().as_ptr()),
            None => {
                let start =
                    self.blocks[0].start().as_ptr().wrapping_add((group * stride(self.needs)) as usize);
                [start, start.wrapping_add(aligned(self.needs.threadgroup_bytes) as usize)]
            }
        };
        let or_null = |bytes: u64, at: *mut u8| if bytes == 0 { std::ptr::null_mut() } else { at };
        CpuWorker {
            threadgroup_memory: or_null(self.needs.threadgroup_bytes, threadgroup_memory),
            scratch: or_null(self.needs.scratch_bytes, scratch),
            worker_index: 0,
            simdgroup: 0,
        }
    }
}

fn aligned(bytes: u64) -> u64 {
    bytes.next_multiple_of(WORKER_ALIGNMENT)
}

/// From one threadgroup's memory to the next: an odd number of cache lines, so that equal places of all do
/// not share a set of a cache.
fn stride(needs: WorkerNeeds) -> u64 {
    let bytes = aligned(needs.threadgroup_bytes) + aligned(needs.scratch_bytes);
    ((bytes / WORKER_ALIGNMENT) | 1) * WORKER_ALIGNMENT
}

/// The memory of a kernel's last cooperative launch.
#[derive(Debug, Default)]
pub(crate) struct CachedGroupMemory(Mutex<Option<GroupMemory>>);

impl CachedGroupMemory {
    /// Memory for a launch; on failure the bytes that were requested.
    pub(super) fn take(
        &self,
        groups: u64,
        needs: WorkerNeeds,
        stack_bytes: usize,
        guard: Option<Guard>,
    ) -> Result<GroupMemory, u64> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        match kept.filter(|memory| memory.serves(groups, needs, stack_bytes, guard)) {
            Some(memory) => Ok(memory),
            None => GroupMemory::new(groups, needs, stack_bytes, guard),
        }
    }

    /// Keeps the memory of a launch that ended.
    pub(super) fn keep(&self, mut memory: GroupMemory) {
        memory.is_used = true;
        if memory.groups <= MAX_KEPT_GROUPS {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(memory);
        }
    }
}

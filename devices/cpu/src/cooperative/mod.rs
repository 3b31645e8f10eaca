//! Cooperative launches: all threadgroups of a grid in progress at once, so that they can meet.
//!
//! Each threadgroup has a stack and worker memory of its own ([`memory`]). At a barrier of the grid its code
//! calls [`anymetal_grid_sync`], which leaves its stack for that of the thread that runs it ([`context`]).
//! Threads go through the threadgroups in rounds ([`rounds`]), one round from each barrier to the next; they
//! are the calling thread and the pool's helpers, as many as come.
//!
//! Invariant: in a round each threadgroup is run by one thread alone, and the end of a round orders what was
//! done in it before all of the next. So a [`Member`] is touched by one thread at a time.

mod memory;
mod rounds;

use std::cell::UnsafeCell;

use anymetal_hal::artifact::KernelInfo;
use anymetal_hal::error::DeviceError;
use anymetal_hal::launch::{CpuLaunch, CpuWorker};
use anymetal_hal::queue::Priority;

use crate::context;
use crate::guarded::Guard;
use crate::pool::{HelperPanicked, Pool};
use crate::simdgroups::{Code, OutOfStacks};
use crate::stacks::Stacks;
use crate::worker_memory::WorkerNeeds;
pub(crate) use memory::CachedGroupMemory;
use memory::GroupMemory;
use rounds::Rounds;

/// The most stacks of a cooperative launch: each has two ranges of pages, of which a process may have 65530
/// on Linux.
const MAX_STACKS: u64 = 8192;
/// The most memory of all threadgroups that is not stack.
const MAX_MEMORY_BYTES: u64 = 1 << 30;
/// The most address space of all stacks, of which a threadgroup touches a few pages.
const MAX_STACK_BYTES: u64 = 1 << 36;
/// Parts of a round per thread: more even out what takes different times, and cost a little each.
const PARTS_PER_THREAD: u64 = 4;

/// What a threadgroup of a cooperative launch runs on.
#[derive(Clone, Copy)]
pub(crate) struct StackNeeds {
    pub(crate) stacks: u64,
    /// Bytes of each.
    pub(crate) bytes: usize,
}

/// The threadgroups that a cooperative launch may have.
fn most_groups(needs: WorkerNeeds, stacks: StackNeeds) -> u64 {
    let own = needs.threadgroup_bytes.saturating_add(needs.scratch_bytes).max(1);
    let stack_bytes = stacks.stacks.saturating_mul(stacks.bytes as u64).max(1);
    (MAX_STACKS / stacks.stacks.max(1)).min(MAX_MEMORY_BYTES / own).min(MAX_STACK_BYTES / stack_bytes)
}

/// Refuses a grid that cannot be in progress as a whole.
pub(crate) fn check(
    kernel: &KernelInfo,
    groups: u64,
    needs: WorkerNeeds,
    stacks: StackNeeds,
) -> Result<(), DeviceError> {
    if !context::IS_SUPPORTED {
        return Err(DeviceError::Unsupported {
            device: "cpu".to_owned(),
            what: "cooperative launches on this architecture".to_owned(),
            alternative:
                "split the kernel at its grid barriers into kernels that are launched one after the \
                          other"
                    .to_owned(),
        });
    }
    let limit = most_groups(needs, stacks);
    if groups > limit {
        return Err(DeviceError::CooperativeGridTooLarge { kernel: kernel.name.clone(), groups, limit });
    }
    Ok(())
}

/// One threadgroup in progress.
#[repr(C, align(128))]
struct Member<'a> {
    /// What its code knows it by; first, so that the address of one is that of the other.
    worker: CpuWorker,
    /// Where it goes on, while it does not run.
    own: *mut u8,
    /// Where the thread that runs it goes on.
    thread: *mut u8,
    code: Code<'a>,
    /// Those of its SIMD-groups, if they are independent.
    stacks: Option<Stacks>,
    launch: *const CpuLaunch,
    group: u64,
    /// The bytes of its worker's memory that another launch wrote.
    to_clear: WorkerNeeds,
    has_ended: bool,
}

/// All threadgroups of a launch.
struct Members<'a>(Vec<UnsafeCell<Member<'a>>>);

// SAFETY: a member is touched only by the thread that has claimed its part of the round (see the module's
// invariant), and the launch table is shared under the rules of `anymetal_hal::launch`.
unsafe impl Sync for Members<'_> {}

impl<'a> Members<'a> {
    fn part(&self, range: std::ops::Range<u64>) -> &[UnsafeCell<Member<'a>>] {
        &self.0[range.start as usize..range.end as usize]
    }
}

/// What a cooperative launch is made of.
pub(crate) struct Cooperative<'a> {
    pub(crate) code: Code<'a>,
    /// A table that outlives the call, for threadgroups numbered below `groups`.
    pub(crate) launch: *const CpuLaunch,
    pub(crate) groups: u64,
    pub(crate) needs: WorkerNeeds,
    pub(crate) stack_bytes: usize,
    pub(crate) guard: Option<Guard>,
    /// Memory of launches before.
    pub(crate) group_memory: &'a CachedGroupMemory,
}

/// Why a cooperative launch failed.
#[derive(Debug)]
pub(crate) enum Failure {
    OutOfMemory { requested: u64 },
    Panicked,
}

impl From<OutOfStacks> for Failure {
    fn from(OutOfStacks { requested }: OutOfStacks) -> Self {
        Failure::OutOfMemory { requested }
    }
}

impl From<HelperPanicked> for Failure {
    fn from(HelperPanicked: HelperPanicked) -> Self {
        Failure::Panicked
    }
}

impl<'a> Cooperative<'a> {
    /// Runs all threadgroups to their end.
    ///
    /// # Safety
    /// The entry may be called with `launch`, by the rules of [`anymetal_hal::launch`], for each threadgroup
    /// once, and uses no more than `stack_bytes` of stack.
    pub(crate) unsafe fn run(self, pool: &Pool, priority: Priority) -> Result<(), Failure> {
        let memory = self.group_memory.take(self.groups, self.needs, self.stack_bytes, self.guard);
        let memory = memory.map_err(|requested| Failure::OutOfMemory { requested })?;
        // SAFETY: the table outlives the call, and is constant during it.
        let launch = unsafe { &*self.launch };
        let member = |group| Ok(self.member(group, &memory, self.code.stacks(launch)?));
        let members = Members((0..self.groups).map(member).collect::<Result<_, OutOfStacks>>()?);
        let threads = pool.width() as u64;
        let parts = self.groups.min(threads * PARTS_PER_THREAD);
        let rounds = Rounds::new(parts as usize, self.groups);
        let first_of = |part: u64| part * self.groups / parts;
        let body = |_worker: u32, first: u64, _end: u64| {
            let start = (first * parts / threads) as usize;
            rounds.take_part(start, |part| {
                let part = members.part(first_of(part as u64)..first_of(part as u64 + 1));
                // SAFETY: this thread has claimed the part, and nobody else touches its members until it is
                // done with it; what `resume` asks of the entry is what the caller promises.
                part.iter().filter(|member| unsafe { resume(member.get()) }).count() as u64
            });
        };
        pool.run_job(0..threads, threads, priority, &body)?;
        for member in members.0 {
            self.code.keep(member.into_inner().stacks);
        }
        self.group_memory.keep(memory);
        Ok(())
    }

    fn member(&self, group: u64, memory: &GroupMemory, stacks: Option<Stacks>) -> UnsafeCell<Member<'a>> {
        UnsafeCell::new(Member {
            worker: memory.worker(group),
            own: context::on_stack(memory.stack_end(group), start),
            thread: std::ptr::null_mut(),
            code: self.code,
            stacks,
            launch: self.launch,
            group,
            to_clear: memory.to_clear(),
            has_ended: false,
        })
    }
}

/// Runs a threadgroup up to its next barrier of the grid or its end; returns whether it ended by that.
///
/// # Safety
/// Nobody else touches the member meanwhile, and its entry may be called as it says.
unsafe fn resume(member: *mut Member<'_>) -> bool {
    // SAFETY: as the caller promises. No reference into the member lives across the switch: its own code
    // writes to it.
    unsafe {
        if (*member).has_ended {
            return false;
        }
        context::switch(&raw mut (*member).thread, (*member).own, member.cast());
        (*member).has_ended
    }
}

/// A threadgroup, on its own stack.
unsafe extern "C" fn start(member: *mut u8) -> ! {
    let member = member.cast::<Member<'_>>();
    // SAFETY: `resume` passed the member that has this stack; its worker's memory has the bytes that
    // `GroupMemory::to_clear` returned; the entry and its arguments are as `Cooperative::run` demands.
    // Nothing here needs to be dropped, for this stack is left for good.
    unsafe {
        let (code, launch, group) = ((*member).code, (*member).launch, (*member).group);
        let WorkerNeeds { threadgroup_bytes, scratch_bytes } = (*member).to_clear;
        let worker = &raw const (*member).worker;
        // Here rather than where the launch begins, so that all its threads share the clearing.
        for (memory, bytes) in
            [((*worker).threadgroup_memory, threadgroup_bytes), ((*worker).scratch, scratch_bytes)]
        {
            if bytes > 0 {
                memory.write_bytes(0, bytes as usize);
            }
        }
        code.run((*member).stacks.as_ref(), launch, worker, group..group + 1);
        (*member).has_ended = true;
        context::switch(&raw mut (*member).own, (*member).thread, member.cast());
    }
    // Who has ended is not resumed.
    std::process::abort()
}

/// See [`anymetal_hal::launch::GridSyncFunction`].
///
/// # Safety
/// `worker` is what the running entry was called with, in a cooperative launch.
pub(crate) unsafe extern "C" fn anymetal_grid_sync(worker: *const CpuWorker) {
    let member = worker.cast_mut().cast::<Member<'_>>();
    store_fence();
    // SAFETY: a cooperative launch passes the address of a member's first field, derived from a pointer to
    // the whole member; the thread that resumed it waits for the switch.
    unsafe { context::switch(&raw mut (*member).own, (*member).thread, member.cast()) }
}

/// Non-temporal stores are ordered with nothing else.
#[cfg(target_arch = "x86_64")]
fn store_fence() {
    // SAFETY: part of every x86-64 processor.
    unsafe { core::arch::x86_64::_mm_sfence() }
}

/// Generated code has non-temporal stores on x86-64 only.
#[cfg(not(target_arch = "x86_64"))]
fn store_fence() {}

#[cfg(all(test, not(loom)))]
mod tests;

//! Independent SIMD-groups: all SIMD-groups of a threadgroup are in progress at once, because they may wait
//! for each other.
//!
//! A call of such code runs a single SIMD-group ([`anymetal_hal::launch`]), and each call has its own stack.
//! [`Simdgroups::run`] resumes them in turn. A turn ends where the SIMD-group waits for memory to change, at
//! a barrier, or at the end of its code.
//!
//! Invariant: the thread that runs a threadgroup runs all its SIMD-groups. So a [`Member`] is touched by one
//! thread at a time, and SIMD-groups see each other's stores in the order in which they were made.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use anymetal_hal::artifact::KernelInfo;
use anymetal_hal::launch::{CpuEntry, CpuLaunch, CpuWorker, YieldReason};

use crate::context;
use crate::cooperative::anymetal_grid_sync;
use crate::stacks::Stacks;

/// Most stacks that are kept for later launches, per kernel: those of as many threadgroups at once.
const MAX_KEPT: usize = 64;
/// Turns of all SIMD-groups in which each only waited, until the thread lets others of the system run:
/// what they wait for may be another threadgroup's.
const TURNS_BEFORE_YIELD: u32 = 64;
/// Turns between two such pauses when there have been many: about a time slice of the system's.
const TURNS_BETWEEN_YIELDS: u32 = 1 << 16;

/// A kernel's code.
#[derive(Clone, Copy)]
pub(crate) struct Code<'a> {
    pub(crate) entry: CpuEntry,
    /// Stacks, if the kernel has independent SIMD-groups.
    pub(crate) simdgroups: Option<&'a Simdgroups>,
}

/// No memory for stacks.
#[derive(Debug)]
pub(crate) struct OutOfStacks {
    pub(crate) requested: u64,
}

impl Code<'_> {
    /// The stacks for [`Self::run`], which runs one threadgroup of the launch at a time.
    pub(crate) fn stacks(self, launch: &CpuLaunch) -> Result<Option<Stacks>, OutOfStacks> {
        self.simdgroups.map(|simdgroups| simdgroups.take(launch)).transpose()
    }

    /// Keeps stacks for another launch.
    pub(crate) fn keep(self, stacks: Option<Stacks>) {
        if let (Some(simdgroups), Some(stacks)) = (self.simdgroups, stacks) {
            simdgroups.keep(stacks);
        }
    }

    /// Runs threadgroups in order.
    ///
    /// # Safety
    /// The entry may be called with the launch and the worker, by the rules of [`anymetal_hal::launch`], for
    /// each of these threadgroups once. `stacks` are of [`Self::stacks`] for that launch, and nothing runs on
    /// them. If the kernel has barriers of the grid, `worker` is the threadgroup's worker in a
    /// cooperative launch.
    pub(crate) unsafe fn run(
        self,
        stacks: Option<&Stacks>,
        launch: *const CpuLaunch,
        worker: *const CpuWorker,
        groups: Range<u64>,
    ) {
        match (self.simdgroups, stacks) {
            // SAFETY: as the caller promises.
            (None, _) => unsafe { (self.entry)(launch, worker, groups.start, groups.end) },
            (Some(simdgroups), Some(stacks)) => {
                for group in groups {
                    // SAFETY: as the caller promises.
                    unsafe { simdgroups.run(self.entry, stacks, launch, worker, group) };
                }
            }
            (Some(_), None) => unreachable!("`stacks` made stacks for independent SIMD-groups"),
        }
    }
}

/// The stacks of a kernel's SIMD-groups.
#[derive(Debug)]
pub(crate) struct Simdgroups {
    stack_bytes: usize,
    lanes: u32,
    /// Not in use. Each is for one threadgroup.
    kept: Mutex<Vec<Stacks>>,
}

/// Where a SIMD-group is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum MemberState {
    /// It can go on.
    Ready,
    AtBarrier,
    AtGridBarrier,
    Ended,
}

/// One SIMD-group in progress.
#[repr(C)]
struct Member {
    /// The worker that its code is called with. It is the first field, so that its address is the member's.
    worker: CpuWorker,
    /// Its saved stack pointer while it does not run.
    own: *mut u8,
    /// The thread's saved stack pointer while the SIMD-group runs.
    thread: *mut u8,
    entry: CpuEntry,
    launch: *const CpuLaunch,
    group: u64,
    state: MemberState,
    /// Its last turn ended because it waits.
    waits: bool,
}

impl Simdgroups {
    /// For a kernel whose code needs `stack_bytes`; `None` if its SIMD-groups are not independent.
    pub(crate) fn of(kernel: &KernelInfo, stack_bytes: usize) -> Option<Self> {
        let lanes = kernel.simd_width.max(1);
        kernel.independent_simdgroups.then(|| Simdgroups { stack_bytes, lanes, kept: Mutex::default() })
    }

    /// Whether this machine can run them.
    pub(crate) const IS_SUPPORTED: bool = context::IS_SUPPORTED;

    /// The SIMD-groups of so many threads, each of which takes a stack.
    pub(crate) fn count(&self, threads: u32) -> u32 {
        threads.div_ceil(self.lanes)
    }

    fn group_memory(&self) -> MutexGuard<'_, Vec<Stacks>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, launch: &CpuLaunch) -> Result<Stacks, OutOfStacks> {
        let count = self.count(launch.group_size.iter().product()) as usize;
        let kept = self.group_memory().pop();
        if let Some(stacks) = kept.filter(|stacks| stacks.count() >= count) {
            return Ok(stacks);
        }
        let requested = (self.stack_bytes as u64).saturating_mul(count as u64);
        Stacks::new(count, self.stack_bytes).ok_or(OutOfStacks { requested })
    }

    fn keep(&self, stacks: Stacks) {
        let mut kept = self.group_memory();
        if kept.len() < MAX_KEPT {
            kept.push(stacks);
        }
    }

    /// Runs a threadgroup.
    ///
    /// # Safety
    /// As [`Code::run`].
    unsafe fn run(
        &self,
        entry: CpuEntry,
        stacks: &Stacks,
        launch: *const CpuLaunch,
        worker: *const CpuWorker,
        group: u64,
    ) {
        // SAFETY: the table outlives the call, and is constant during it.
        let count = self.count(threads_of(unsafe { &*launch }, group)) as usize;
        assert!(count <= stacks.count(), "a threadgroup has at most as many SIMD-groups as a full one");
        let member = |simdgroup: usize| Member {
            // SAFETY: the caller's worker is readable.
            worker: CpuWorker { simdgroup: simdgroup as u32, ..unsafe { worker.read() } },
            own: context::on_stack(stacks.end(simdgroup), start),
            thread: std::ptr::null_mut(),
            entry,
            launch,
            group,
            state: MemberState::Ready,
            waits: false,
        };
        let mut members: Vec<Member> = (0..count).map(member).collect();
        // SAFETY: each member has its own stack, on which nothing else runs; for the entry as the caller
        // promises.
        unsafe { run_to_end(&mut members, worker) };
    }
}

/// Resumes the SIMD-groups of a threadgroup in turn until all have ended.
///
/// # Safety
/// Each member has its own stack, on which nothing else runs, and its entry may be called with its fields.
/// `worker` is the threadgroup's; at a barrier of the grid it is passed to [`anymetal_grid_sync`].
unsafe fn run_to_end(members: &mut [Member], worker: *const CpuWorker) {
    let members = members.as_mut_ptr_range();
    let each = || (0..).map(|n| members.start.wrapping_add(n)).take_while(|member| *member < members.end);
    let mut idle_turns = 0u32;
    loop {
        let (mut has_ready, mut only_waited, mut meets_grid) = (false, true, false);
        for member in each() {
            // SAFETY: within the slice. No reference into a member lives across the switch: its own code
            // writes to it.
            unsafe {
                if (*member).state == MemberState::Ready {
                    (*member).waits = false;
                    context::switch(&raw mut (*member).thread, (*member).own, member.cast());
                    only_waited &= (*member).waits;
                }
                has_ready |= (*member).state == MemberState::Ready;
                meets_grid |= (*member).state == MemberState::AtGridBarrier;
            }
        }
        if has_ready {
            idle_turns = if only_waited { idle_turns.saturating_add(1) } else { 0 };
            if yields_after(idle_turns) {
                std::thread::yield_now();
            }
            continue;
        }
        idle_turns = 0;
        // All that have not ended are at a barrier.
        if meets_grid {
            // SAFETY: as the caller promises.
            unsafe { anymetal_grid_sync(worker) };
        }
        let mut all_ended = true;
        for member in each() {
            // SAFETY: within the slice, and its code does not run.
            unsafe {
                if (*member).state != MemberState::Ended {
                    (*member).state = MemberState::Ready;
                    all_ended = false;
                }
            }
        }
        if all_ended {
            return;
        }
    }
}

/// Whether the processor is offered to others after a number of turns in which all SIMD-groups only waited.
/// More and more rarely, because a loop that counts as waiting may compute, and on a busy machine each offer
/// costs it the time slices of all others.
fn yields_after(idle_turns: u32) -> bool {
    idle_turns >= TURNS_BEFORE_YIELD
        && (idle_turns.is_power_of_two() || idle_turns.is_multiple_of(TURNS_BETWEEN_YIELDS))
}

/// The threads of a threadgroup: fewer than in a full one at the grid's edges.
fn threads_of(launch: &CpuLaunch, group: u64) -> u32 {
    let [x, y] = [0, 1].map(|axis| u64::from(launch.groups[axis]));
    let position = [group % x, group / x % y, group / x / y];
    let extent = |axis: usize| {
        let full = launch.group_size[axis];
        // Below the grid's extent, which has 32 bits.
        let start = position[axis] as u32 * full;
        full.min(launch.grid_threads[axis] - start)
    };
    extent(0) * extent(1) * extent(2)
}

/// A SIMD-group, on its own stack.
unsafe extern "C" fn start(member: *mut u8) -> ! {
    let member = member.cast::<Member>();
    // SAFETY: `run_to_end` passed the member that has this stack; the entry and its arguments are as
    // `Code::run` demands. Nothing here needs to be dropped, for this stack is left for good.
    unsafe {
        let (entry, launch, group) = ((*member).entry, (*member).launch, (*member).group);
        entry(launch, &raw const (*member).worker, group, group + 1);
        (*member).state = MemberState::Ended;
        context::switch(&raw mut (*member).own, (*member).thread, member.cast());
    }
    // Who has ended is not resumed.
    std::process::abort()
}

/// See [`anymetal_hal::launch::SimdgroupYieldFunction`].
///
/// # Safety
/// Called by code with independent SIMD-groups; `worker` is the argument of its entry.
pub(crate) unsafe extern "C" fn anymetal_simdgroup_yield(worker: *const CpuWorker, reason: u32) {
    let member = worker.cast_mut().cast::<Member>();
    let state = match reason {
        _ if reason == YieldReason::ThreadgroupBarrier as u32 => MemberState::AtBarrier,
        _ if reason == YieldReason::GridBarrier as u32 => MemberState::AtGridBarrier,
        _ => MemberState::Ready,
    };
    // SAFETY: `start` passed the address of a member's first field, derived from a pointer to the whole
    // member; the thread that resumed it waits for the switch.
    unsafe {
        (*member).state = state;
        (*member).waits = state == MemberState::Ready;
        context::switch(&raw mut (*member).own, (*member).thread, member.cast());
    }
}

#[cfg(all(test, not(loom)))]
mod tests;

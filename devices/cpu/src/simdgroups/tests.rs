//! SIMD-groups of code written by hand.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use anymetal_hal::launch::{BoundBuffer, FaultRecord};

use super::*;
use crate::launch_memory::LaunchMemory;

const STACK_BYTES: usize = 64 << 10;
const LANES: u32 = 32;

/// State that the code below shares through the first buffer.
#[derive(Default)]
struct Shared {
    turn: AtomicU32,
    order: [AtomicU32; 32],
    mistakes: AtomicU64,
}

fn shared<'a>(launch: *const CpuLaunch) -> &'a Shared {
    // SAFETY: `run` binds it and waits for the launch.
    unsafe { &*(*(*launch).buffers).base.cast::<Shared>() }
}

/// Each SIMD-group waits for the next one, then meets the others, twice.
unsafe extern "C" fn wait_downwards(
    launch: *const CpuLaunch,
    worker: *const CpuWorker,
    first: u64,
    end: u64,
) {
    assert_eq!(end, first + 1);
    let shared = shared(launch);
    // SAFETY: as the device promises.
    let own = unsafe { (*worker).simdgroup };
    // SAFETY: as the device promises.
    let threads = threads_of(unsafe { &*launch }, first);
    let count = threads.div_ceil(LANES);
    // Kept in registers or on the stack.
    let kept = std::hint::black_box([f64::from(own); 8]);
    for round in 0..2 {
        while shared.turn.load(Ordering::Relaxed) != round * count + (count - 1 - own) {
            // SAFETY: with the worker of this call.
            unsafe { anymetal_simdgroup_yield(worker, YieldReason::Waits as u32) };
        }
        let turn = shared.turn.fetch_add(1, Ordering::Relaxed);
        shared.order[own as usize].store(turn, Ordering::Relaxed);
        // SAFETY: with the worker of this call.
        unsafe { anymetal_simdgroup_yield(worker, YieldReason::ThreadgroupBarrier as u32) };
        let all_came = shared.turn.load(Ordering::Relaxed) >= (round + 1) * count;
        let is_kept = kept == [f64::from(own); 8];
        shared.mistakes.fetch_add(u64::from(!all_came || !is_kept), Ordering::Relaxed);
        // SAFETY: with the worker of this call.
        unsafe { anymetal_simdgroup_yield(worker, YieldReason::ThreadgroupBarrier as u32) };
    }
    let is_last = shared.turn.load(Ordering::Relaxed) == 2 * count && own == 0;
    if is_last {
        shared.turn.store(0, Ordering::Relaxed);
    }
}

fn run(shared: &Shared, simdgroups: &Simdgroups, grid: [u32; 3], group_size: [u32; 3]) -> u64 {
    let (stop, fault) = (AtomicU32::new(0), FaultRecord::default());
    let buffer = BoundBuffer { base: std::ptr::from_ref(shared).cast_mut().cast(), len: 8 };
    let before = 0u64;
    let memory = LaunchMemory { buffer: &buffer, before: &before, stop: &stop, fault: &fault };
    let launch = memory.table(grid, group_size);
    let worker = CpuWorker {
        threadgroup_memory: std::ptr::null_mut(),
        scratch: std::ptr::null_mut(),
        worker_index: 0,
        simdgroup: 0,
    };
    let code = Code { entry: wait_downwards, simdgroups: Some(simdgroups) };
    let stacks = code.stacks(&launch).unwrap();
    let all = launch.groups.iter().map(|&count| u64::from(count)).product();
    // SAFETY: `wait_downwards` is made for this table and needs little stack.
    unsafe { code.run(stacks.as_ref(), &launch, &worker, 0..all) };
    code.keep(stacks);
    shared.mistakes.load(Ordering::Relaxed)
}

fn simdgroups() -> Simdgroups {
    let mut kernel = KernelInfo::new("k", "k");
    assert!(Simdgroups::of(&kernel, STACK_BYTES).is_none());
    kernel.independent_simdgroups = true;
    Simdgroups::of(&kernel, STACK_BYTES).unwrap()
}

#[test]
fn simdgroups_wait_for_later_ones_and_meet_at_barriers() {
    let simdgroups = simdgroups();
    for (grid, size) in [
        ([32, 1, 1], [32, 1, 1]),
        ([1024, 1, 1], [1024, 1, 1]),
        // Threadgroups with fewer SIMD-groups at the edges.
        ([1000, 1, 1], [256, 1, 1]),
        ([40, 21, 3], [16, 16, 2]),
        ([7, 1, 1], [1024, 1, 1]),
    ] {
        assert_eq!(run(&Shared::default(), &simdgroups, grid, size), 0, "{grid:?} in {size:?}");
    }
    let shared = Shared::default();
    run(&shared, &simdgroups, [128, 1, 1], [128, 1, 1]);
    let order = [0, 1, 2, 3].map(|own: usize| shared.order[own].load(Ordering::Relaxed));
    assert_eq!(order, [7, 6, 5, 4]);
}

#[test]
fn stacks_are_kept_for_the_next_launch() {
    let simdgroups = simdgroups();
    run(&Shared::default(), &simdgroups, [64, 1, 1], [64, 1, 1]);
    let first = simdgroups.group_memory()[0].end(0);
    run(&Shared::default(), &simdgroups, [64, 1, 1], [64, 1, 1]);
    assert_eq!(simdgroups.group_memory()[0].end(0), first);
    // Too few for a larger threadgroup.
    run(&Shared::default(), &simdgroups, [96, 1, 1], [96, 1, 1]);
    assert_eq!(simdgroups.group_memory().iter().map(Stacks::count).collect::<Vec<_>>(), [3]);
}

#[test]
fn idle_simdgroups_offer_the_processor_more_and_more_rarely() {
    let offers = |turns: u32| (0..=turns).filter(|&turn| yields_after(turn)).count();
    assert_eq!([63, 64, 127, 1 << 16, 1 << 20].map(offers), [0, 1, 1, 11, 26]);
}

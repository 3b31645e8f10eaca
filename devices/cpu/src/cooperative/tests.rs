//! Launches of kernels written by hand.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use anymetal_hal::launch::{BoundBuffer, FaultRecord, WORKER_ALIGNMENT};

use super::*;
use crate::launch_memory::LaunchMemory;
use crate::pool::PoolOptions;

const STACK_BYTES: usize = 64 << 10;
const ROUNDS: u64 = 50;

/// What the kernels below share, by way of the first buffer.
#[derive(Default)]
struct Shared {
    /// By threadgroup: the barriers it has come to.
    reached: Vec<AtomicU64>,
    mistakes: AtomicU64,
    /// Threadgroups end after so many rounds, plus their number if they are to end apart.
    ends_apart: bool,
}

fn shared<'a>(launch: *const CpuLaunch) -> &'a Shared {
    // SAFETY: `run` binds it and waits for the launch.
    unsafe { &*(*(*launch).buffers).base.cast::<Shared>() }
}

/// Counts up, and looks after each barrier whether all others have come as far.
unsafe extern "C" fn count(launch: *const CpuLaunch, worker: *const CpuWorker, first: u64, end: u64) {
    let shared = shared(launch);
    assert_eq!(end, first + 1);
    let rounds = |group: u64| if shared.ends_apart { ROUNDS + group } else { ROUNDS };
    // SAFETY: as the device promises: this threadgroup's own memory, of 64 bytes each.
    let own = unsafe { [(*worker).threadgroup_memory, (*worker).scratch] };
    for at in own {
        // SAFETY: as above.
        let has_leftovers = unsafe { at.cast::<[u64; 8]>().read() } != [0; 8];
        shared.mistakes.fetch_add(has_leftovers.into(), Ordering::Relaxed);
    }
    for round in 1..=rounds(first) {
        for at in own {
            // SAFETY: as above.
            unsafe { at.cast::<[u64; 8]>().write([first * 1000 + round; 8]) };
        }
        // Kept in registers or on the stack.
        let sums = std::hint::black_box([first as f64 + round as f64; 4]);
        shared.reached[first as usize].store(round, Ordering::Relaxed);
        // SAFETY: with the worker of this call.
        unsafe { anymetal_grid_sync(worker) };
        let behind =
            |(group, reached): (u64, &AtomicU64)| reached.load(Ordering::Relaxed) < round.min(rounds(group));
        let mut wrong = (0..).zip(&shared.reached).any(behind);
        wrong |= sums.iter().any(|&sum| sum != first as f64 + round as f64);
        for at in own {
            // SAFETY: as above.
            wrong |= unsafe { at.cast::<[u64; 8]>().read() } != [first * 1000 + round; 8];
        }
        shared.mistakes.fetch_add(wrong.into(), Ordering::Relaxed);
        // SAFETY: with the worker of this call.
        unsafe { anymetal_grid_sync(worker) };
    }
}

fn run(shared: &Shared, threads: usize, guard: Option<Guard>, group_memory: &CachedGroupMemory) {
    let pool = Pool::start(PoolOptions { threads, pinned: false }).unwrap();
    let (stop, fault) = (AtomicU32::new(0), FaultRecord::default());
    let groups = shared.reached.len() as u64;
    let buffer = BoundBuffer { base: std::ptr::from_ref(shared).cast_mut().cast(), len: 8 };
    let before = 0u64;
    let grid = [groups as u32, 1, 1];
    let launch =
        LaunchMemory { buffer: &buffer, before: &before, stop: &stop, fault: &fault }.table(grid, [1; 3]);
    let needs = WorkerNeeds { threadgroup_bytes: 64, scratch_bytes: 64 };
    let cooperative = Cooperative {
        code: Code { entry: count, simdgroups: None },
        launch: &raw const launch,
        groups,
        needs,
        stack_bytes: STACK_BYTES,
        guard,
        group_memory,
    };
    // SAFETY: `count` is made for this table and needs little stack.
    unsafe { cooperative.run(&pool, Priority::Normal) }.unwrap();
}

fn shared_of(groups: usize, ends_apart: bool) -> Shared {
    Shared { reached: (0..groups).map(|_| AtomicU64::new(0)).collect(), ends_apart, ..Shared::default() }
}

#[test]
fn all_threadgroups_meet_at_each_barrier() {
    let kept = CachedGroupMemory::default();
    for threads in [1, 2, 4] {
        for groups in [1, 2, 3, 40, 300] {
            let shared = shared_of(groups, false);
            run(&shared, threads, None, &kept);
            assert_eq!(shared.mistakes.load(Ordering::Relaxed), 0, "{groups} on {threads}");
            assert!(shared.reached.iter().all(|reached| reached.load(Ordering::Relaxed) == ROUNDS));
        }
    }
}

#[test]
fn those_that_have_ended_are_not_waited_for() {
    for guard in [None, Some(Guard::Behind), Some(Guard::Before)] {
        let shared = shared_of(20, true);
        run(&shared, 3, guard, &CachedGroupMemory::default());
        assert_eq!(shared.mistakes.load(Ordering::Relaxed), 0);
        let reached: Vec<u64> =
            shared.reached.iter().map(|reached| reached.load(Ordering::Relaxed)).collect();
        assert_eq!(reached, (0..20).map(|group| ROUNDS + group).collect::<Vec<_>>());
    }
}

#[test]
fn memory_is_apart_aligned_and_kept() {
    let needs = WorkerNeeds { threadgroup_bytes: 100, scratch_bytes: 1 };
    let kept = CachedGroupMemory::default();
    let memory = kept.take(5, needs, STACK_BYTES, None).unwrap();
    let mut places: Vec<usize> = (0..5)
        .map(|group| memory.worker(group))
        .flat_map(|worker| [worker.threadgroup_memory as usize, worker.scratch as usize])
        .collect();
    assert!(places.iter().all(|place| place.is_multiple_of(WORKER_ALIGNMENT as usize)));
    places.sort_unstable();
    assert!(places.windows(2).all(|pair| pair[1] - pair[0] >= 64));
    let first = memory.stack_end(0);
    assert!(memory.stack_end(1) as usize - first as usize > STACK_BYTES);
    kept.keep(memory);
    assert_eq!(kept.take(4, needs, STACK_BYTES, None).unwrap().stack_end(0), first);
}

#[test]
fn the_limit_follows_from_what_a_threadgroup_takes() {
    let needs = |bytes| WorkerNeeds { threadgroup_bytes: bytes, scratch_bytes: 0 };
    let stacks = |stacks, bytes| StackNeeds { stacks, bytes };
    assert_eq!(most_groups(needs(0), stacks(1, 1 << 20)), MAX_STACKS);
    assert_eq!(most_groups(needs(1 << 20), stacks(1, 1 << 20)), 1024);
    assert_eq!(most_groups(needs(0), stacks(1, 64 << 20)), 1024);
    assert_eq!(most_groups(needs(0), stacks(32, 1 << 20)), 256);
    assert_eq!(most_groups(needs(0), stacks(32, 64 << 20)), 32);
    let kernel = KernelInfo::new("k", "k");
    let refused = check(&kernel, 1025, needs(1 << 20), stacks(1, 1 << 20));
    let (kernel, groups) = ("k".to_owned(), 1025);
    let expected = DeviceError::CooperativeGridTooLarge { kernel, groups, limit: 1024 };
    assert_eq!(refused, Err(expected));
}

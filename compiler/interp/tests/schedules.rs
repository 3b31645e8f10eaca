//! Schedules: what depends on the order of threads shows, what does not stays; divergent barriers that a run
//! goes on after.

mod support;

use std::collections::BTreeSet;

use anymetal_interp::{InterpError, Limits, Memory, NoObserver, Program, Report, Schedule, run};
use anymetal_ir::{AtomicOp, BarrierScope, BinOp, Builder, Module, Op, Query, Space, Type, Value};
use support::*;

const SEEDS: u64 = 16;

fn limits(seed: u64) -> Limits<'static> {
    Limits { schedule: Schedule::Shuffled { seed }, max_steps: 100_000, ..Limits::default() }
}

/// Runs the kernel on a buffer of `len` zeros in threadgroups of 64 threads.
fn run_with(
    module: &Module,
    threads: u32,
    len: usize,
    limits: Limits<'_>,
) -> Result<(Vec<i32>, Report), InterpError> {
    let mut buffer = bytes_i32(&vec![0; len]);
    let mut memory = Memory::new().bind(&mut buffer);
    if module.kernels[0].args.len() > 1 {
        memory = memory.threadgroup(256);
    }
    let program = Program::new(module, "k").expect("it is a program");
    let report = run(&program, &grid(threads, 64), &mut memory, limits, &mut NoObserver)?;
    Ok((i32s(&buffer), report))
}

/// The different results of the seeds.
fn results(module: &Module, threads: u32, len: usize) -> BTreeSet<Vec<i32>> {
    (0..SEEDS)
        .map(|seed| {
            let result = run_with(module, threads, len, limits(seed)).expect("it runs");
            let again = run_with(module, threads, len, limits(seed)).expect("it runs");
            assert_eq!(result, again, "seed {seed} gives the same run again");
            result.0
        })
        .collect()
}

/// Each thread writes its element of threadgroup memory and reads one of the other SIMD-group.
fn exchange(barrier: bool) -> Module {
    kernel(&[Space::Device, Space::Threadgroup], |b, p| {
        let (x, t) = (thread_x(b), thread_in_group(b));
        let zero = b.i32(0);
        store_at(b, p[1], t, zero);
        b.push(Op::Barrier(BarrierScope::Threadgroup, None));
        let value = add_const(b, x, 1);
        store_at(b, p[1], t, value);
        if barrier {
            b.push(Op::Barrier(BarrierScope::Threadgroup, None));
        }
        let distance = b.i32(32);
        let other = b.binary(BinOp::Xor, t, distance);
        let value = load_i32(b, p[1], other);
        store_at(b, p[0], x, value);
    })
}

#[test]
fn a_missing_barrier_shows_in_the_result_of_some_seed() {
    let correct: Vec<i32> = (0..128).map(|x| (x ^ 32) + 1).collect();
    assert_eq!(results(&exchange(true), 128, 128), BTreeSet::from([correct.clone()]));
    let racy = results(&exchange(false), 128, 128);
    assert!(racy.len() > 1, "{racy:?}");
    assert!(racy.iter().any(|result| *result != correct));
}

fn all_to_one(access: impl Fn(&mut Builder<'_>, &[Value])) -> Module {
    kernel(&[Space::Device], |b, p| access(b, p))
}

#[test]
fn another_lane_wins_with_another_seed() {
    let plain = all_to_one(|b, p| {
        let x = thread_x(b);
        b.store(p[0], x, 4);
    });
    let in_order = run_with(&plain, 32, 1, Limits::default()).expect("it runs");
    assert_eq!(in_order.0, [31], "in order the highest lane wins");
    let winners = results(&plain, 32, 1);
    assert!(winners.len() > 4, "{winners:?}");
    assert!(winners.iter().all(|winner| (0..32).contains(&winner[0])));

    let atomic = all_to_one(|b, p| {
        let x = thread_x(b);
        b.infer(Op::AtomicRmw(AtomicOp::Add, p[0], x));
    });
    assert_eq!(results(&atomic, 256, 1), BTreeSet::from([vec![(0..256).sum()]]));
    let exchanged = all_to_one(|b, p| {
        let x = thread_x(b);
        b.infer(Op::AtomicRmw(AtomicOp::Exchange, p[0], x));
    });
    assert!(results(&exchanged, 32, 1).len() > 4, "lanes of atomics have an order, too");
}

#[test]
fn one_lane_writes_all_components() {
    let module = all_to_one(|b, p| {
        let x = thread_x(b);
        let vector = b.value(Op::Splat(x), Type::Vector(anymetal_ir::Scalar::I32, 4));
        b.store(p[0], vector, 16);
    });
    for result in results(&module, 32, 4) {
        assert_eq!(result, [result[0]; 4]);
    }
}

/// The threadgroup `waiting` spins until the other one of two has set a flag.
fn waits_for_the_other(waiting: i32) -> Module {
    kernel(&[Space::Device], |b, p| {
        let group = b.query(Query::ThreadgroupPositionInGrid(0));
        let waits = equal(b, group, waiting);
        b.if_else(
            waits,
            |b| {
                b.endless_loop(
                    |b, label| {
                        let flag = b.value(Op::AtomicLoad(p[0]), Type::I32);
                        let set = equal(b, flag, 1);
                        b.if_else(set, |b| b.push(Op::break_(label)), |_| {});
                    },
                    |_, _| {},
                );
            },
            |b| {
                let one = b.i32(1);
                b.push(Op::AtomicStore(p[0], one));
            },
        );
    })
}

#[test]
fn waiting_for_another_threadgroup_ends_with_the_budget() {
    let exceeded = Err(InterpError::BudgetExceeded { budget: 100_000 });
    let in_order = Limits { max_steps: 100_000, ..Limits::default() };
    assert_eq!(run_with(&waits_for_the_other(0), 128, 1, in_order), exceeded);
    assert!(run_with(&waits_for_the_other(1), 128, 1, in_order).is_ok());
    for waiting in [0, 1] {
        let outcomes: Vec<_> =
            (0..SEEDS).map(|seed| run_with(&waits_for_the_other(waiting), 128, 1, limits(seed))).collect();
        assert!(outcomes.iter().all(|outcome| outcome.is_ok() || *outcome == exceeded), "{outcomes:?}");
        assert!(
            outcomes.iter().any(Result::is_ok) && outcomes.contains(&exceeded),
            "{waiting}: {outcomes:?}"
        );
    }
}

#[test]
fn a_run_may_go_on_after_a_divergent_barrier() {
    let module = kernel(&[Space::Device], |b, p| {
        let t = thread_in_group(b);
        let low = less(b, t, 32);
        let barrier = |n| {
            move |b: &mut Builder<'_>| {
                b.loc = line(n);
                b.push(Op::Barrier(BarrierScope::Threadgroup, None));
            }
        };
        b.if_else(low, barrier(3), barrier(5));
        store_at(b, p[0], t, t);
    });
    let stopped = run_with(&module, 64, 64, Limits::default());
    assert!(matches!(stopped, Err(InterpError::DivergentBarrier(_))), "{stopped:?}");
    let limits = Limits { continue_after_divergence: true, ..Limits::default() };
    let (result, report) = run_with(&module, 64, 64, limits).expect("it goes on");
    assert_eq!(result, (0..64).collect::<Vec<_>>());
    assert!(!report.is_clean());
    assert_eq!(report.divergent_barrier_count, 1);
    assert_eq!((report.divergent_barriers[0].first.line, report.divergent_barriers[0].second.line), (3, 5));
}

#[test]
fn a_sample_of_threadgroups_is_spread_evenly() {
    let module = kernel(&[Space::Device], |b, p| {
        let x = thread_x(b);
        let one = b.i32(1);
        store_at(b, p[0], x, one);
    });
    let ran = |max_groups, schedule| {
        let limits = Limits { max_groups: Some(max_groups), schedule, ..Limits::default() };
        let (elements, _) = run_with(&module, 512, 512, limits).expect("it runs");
        (0..8).filter(|group| elements[64 * group] == 1).collect::<Vec<_>>()
    };
    for schedule in [Schedule::InOrder, Schedule::Shuffled { seed: 5 }] {
        assert_eq!(ran(3, schedule), [0, 3, 7]);
        assert_eq!(ran(1, schedule), [0]);
        assert_eq!(ran(100, schedule), [0, 1, 2, 3, 4, 5, 6, 7]);
    }
}

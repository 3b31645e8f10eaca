//! Barriers of the grid: what they order under any schedule, and what is refused.

mod support;

use anymetal_interp::{Dispatch, InterpError, Limits, Memory, NoObserver, Program, Schedule, run};
use anymetal_ir::{BarrierScope, BinOp, Builder, Module, Op, Query, Space};
use support::*;

fn meet(b: &mut Builder<'_>) {
    b.push(Op::Barrier(BarrierScope::Grid, None));
}

/// Each thread writes its number and, a barrier later, reads that of the thread opposite.
fn opposite(threads: i32) -> Module {
    kernel(&[Space::Device, Space::Device], |b, p| {
        let x = thread_x(b);
        store_at(b, p[0], x, x);
        meet(b);
        let last = b.i32(threads - 1);
        let other = b.binary(BinOp::Sub, last, x);
        let value = load_i32(b, p[0], other);
        store_at(b, p[1], x, value);
    })
}

#[test]
fn what_all_threadgroups_wrote_before_is_there_after() {
    let module = opposite(200);
    let program = Program::new(&module, "k").expect("it is a program");
    for seed in 0..8 {
        let (mut x, mut y) = (bytes_i32(&[0; 200]), bytes_i32(&[0; 200]));
        let mut memory = Memory::new().bind(&mut x).bind(&mut y);
        let limits =
            Limits { schedule: Schedule::Shuffled { seed }, max_groups: Some(1), ..Limits::default() };
        let report = run(&program, &grid(200, 48), &mut memory, limits, &mut NoObserver).expect("it runs");
        assert!(report.is_clean());
        assert_eq!(i32s(&y), (0..200).rev().collect::<Vec<_>>(), "seed {seed}");
    }
}

#[test]
fn threadgroups_at_different_barriers_are_an_error() {
    let module = kernel(&[], |b, _| {
        let group = b.query(Query::ThreadgroupPositionInGrid(0));
        let first = equal(b, group, 0);
        b.if_else(
            first,
            |b| {
                b.loc = line(3);
                meet(b);
            },
            |b| {
                b.loc = line(5);
                meet(b);
            },
        );
    });
    let result = run_k(&module, grid(64, 32), &mut Memory::new());
    let Err(InterpError::DivergentBarrier(divergent)) = result else { panic!("{result:?}") };
    assert_eq!((divergent.first.line, divergent.second.line), (3, 5));
    assert_eq!((divergent.first_thread.group_linear, divergent.second_thread.group_linear), (0, 1));
}

#[test]
fn a_grid_that_does_not_fit_is_refused() {
    let module = opposite(1);
    let (mut x, mut y) = (Vec::new(), Vec::new());
    let mut memory = Memory::new().bind(&mut x).bind(&mut y);
    let result = run_k(&module, Dispatch::groups([1 << 26, 1, 1], [32, 1, 1]), &mut memory);
    assert!(matches!(result, Err(InterpError::TooLarge { .. })), "{result:?}");
}

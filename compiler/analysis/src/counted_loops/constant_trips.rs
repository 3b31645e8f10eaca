//! Constant trip counts, found by evaluating the exit test for each value of the counter.
//!
//! In `i < 4 && i + first < n` the counter alone decides on one part of the test, which bounds the trip
//! count.

use super::{ExitTest, as_exit_test, exit_test};
use crate::limits::{MAX_BRANCHING_DEPTH, MAX_TEST_PARTS, MAX_UNROLLED_TRIPS};
use crate::walk_insts;
use anymetal_ir::eval::{eval_binary, eval_cast, eval_compare, eval_unary, mask};
use anymetal_ir::{BinOp, Function, Inst, Op, Type, Value, ValueDef, Values};

/// A loop with a constant trip count, or a constant bound of it, and with one continue, which ends its body.
#[derive(Debug)]
pub struct ConstantTrips {
    /// The exit test: the `if` that leaves the loop.
    pub test: Inst,
    /// Whether the test precedes everything else in an iteration; it ends the iteration otherwise.
    pub is_tested_first: bool,
    /// What the test passes to the loop's results.
    pub results: Values,
    /// Complete executions of the body, at most.
    pub trip_count: usize,
    /// Whether the test may leave before the last of them.
    pub may_leave_early: bool,
    /// The counter: a parameter of the loop.
    pub counter: Value,
    /// The counter's next value.
    pub next: Value,
    /// The continue.
    pub last: Inst,
    /// What the continue passes to the next iteration.
    pub passed: Values,
}

/// The loop, if the exit test at its beginning or end leaves after a constant, small number of iterations at
/// the latest.
pub fn constant_trips(function: &Function, inst: Inst) -> Option<ConstantTrips> {
    constant_trips_up_to(function, inst, MAX_UNROLLED_TRIPS)
}

/// As [`constant_trips`], for loops of up to `most` iterations, each of which is evaluated.
pub fn constant_trips_up_to(function: &Function, inst: Inst, most: usize) -> Option<ConstantTrips> {
    let Op::Loop { label, ref inits, body, .. } = function.inst(inst).op else {
        // Some other instruction.
        return None;
    };
    let [.., before_last, last] = *function.block(body) else {
        // A body without both a test and a continue.
        return None;
    };
    let Op::Continue(_, passed) = &function.inst(last).op else {
        // The body ends in another way.
        return None;
    };
    let (test, is_tested_first) = match exit_test(function, inst) {
        Some(test) => (test, true),
        None => (as_exit_test(function, before_last, label)?, false),
    };
    let mut continues = 0;
    walk_insts(function, body, &mut |inst| {
        continues += usize::from(matches!(function.inst(inst).op, Op::Continue(of, _) if of == label));
    });
    if continues != 1 {
        return None;
    }
    let form = Form { is_tested_first, inits, passed, most };
    let bound = |cond| bound(function, inst, ExitTest { cond, ..test }, &form);
    let exact = bound(test.cond);
    let may_leave_early = exact.is_none();
    let of_parts = || leaving_parts(function, test).into_iter().find_map(bound);
    let Bound { counter, next, trip_count } = exact.or_else(of_parts)?;
    let results = results_at(function, test);
    let (test, passed) = (test.inst, passed.clone());
    Some(ConstantTrips {
        test,
        is_tested_first,
        results,
        trip_count,
        may_leave_early,
        counter,
        next,
        last,
        passed,
    })
}

/// How often a loop runs at most.
struct Bound {
    counter: Value,
    next: Value,
    trip_count: usize,
}

/// What a loop's parameters are, and where it is tested.
struct Form<'a> {
    is_tested_first: bool,
    inits: &'a [Value],
    passed: &'a [Value],
    /// Maximum trip count.
    most: usize,
}

/// The bound that follows from a test that depends on one parameter alone.
fn bound(function: &Function, inst: Inst, test: ExitTest, form: &Form<'_>) -> Option<Bound> {
    let Form { is_tested_first, inits, passed, most } = *form;
    let (counter, n) = counter_in(function, inst, test.cond, 0)?;
    let next = passed[n];
    let mut value = function.as_const(inits[n])?;
    let mut trip_count = 0;
    loop {
        let done = (evaluate(function, test.cond, (counter, value), 0)? != 0) == test.leaves_when;
        if is_tested_first && done {
            break;
        }
        trip_count += 1;
        if trip_count > most {
            return None;
        }
        value = evaluate(function, next, (counter, value), 0)?;
        if !is_tested_first && done {
            break;
        }
    }
    Some(Bound { counter, next, trip_count })
}

/// The parts of a test's condition that each suffice to leave: of `a && b` as the condition to go on, `a` and
/// `b`.
fn leaving_parts(function: &Function, test: ExitTest) -> Vec<Value> {
    let joins = if test.leaves_when { BinOp::Or } else { BinOp::And };
    let (mut parts, mut rest) = (Vec::new(), vec![test.cond]);
    while let Some(value) = rest.pop() {
        match function.def(value) {
            Some(&Op::Binary(op, a, b)) if op == joins && parts.len() + rest.len() < MAX_TEST_PARTS => {
                rest.extend([b, a]);
            }
            _ => parts.push(value),
        }
    }
    parts
}

/// What the break of an exit test passes.
fn results_at(function: &Function, test: ExitTest) -> Values {
    let Op::If { then, otherwise, .. } = function.inst(test.inst).op else {
        unreachable!("{} is an exit test, so it is a branch", test.inst)
    };
    let leaving = if test.leaves_when { then } else { otherwise };
    let last = *function.block(leaving).last().expect("the leaving arm of an exit test breaks");
    function.inst(last).op.passed().iter().copied().collect()
}

/// The one parameter of the loop that a condition depends on, and its number.
fn counter_in(function: &Function, inst: Inst, value: Value, depth: u32) -> Option<(Value, usize)> {
    if let ValueDef::LoopParam(of, n) = function.values[value.index()].def {
        return (of == inst).then_some((value, n as usize));
    }
    match function.def(value)? {
        _ if depth >= MAX_BRANCHING_DEPTH => None,
        op @ (Op::Unary(..) | Op::Binary(..) | Op::Compare(..) | Op::Cast(..)) => {
            let mut found = None;
            let mut several = false;
            op.for_each_operand(|operand| {
                if let Some(counter) = counter_in(function, inst, operand, depth + 1) {
                    several |= found.is_some_and(|other| other != counter);
                    found = Some(counter);
                }
            });
            found.filter(|_| !several)
        }
        _ => None,
    }
}

/// The value of an expression over constants and the counter, which has these bits.
fn evaluate(function: &Function, value: Value, counter: (Value, u64), depth: u32) -> Option<u64> {
    let scalar = match function.ty(value) {
        Type::Scalar(scalar) if depth <= MAX_BRANCHING_DEPTH => scalar,
        _ => return None,
    };
    if value == counter.0 {
        return Some(counter.1 & mask(scalar));
    }
    let operand = |value: Value| {
        let ty = function.ty(value).scalar()?;
        let bits = evaluate(function, value, counter, depth + 1)?;
        assert_eq!(bits & !mask(ty), 0, "{bits:#x} does not fit {}", ty.name());
        Some((ty, bits))
    };
    match function.def(value)? {
        Op::Const(bits) => Some(*bits),
        Op::Unary(op, a) => operand(*a).map(|(ty, a)| eval_unary(*op, ty, a)),
        Op::Binary(op, a, b) => {
            let ((ty, a), (_, b)) = (operand(*a)?, operand(*b)?);
            Some(eval_binary(*op, ty, a, b))
        }
        Op::Compare(op, a, b) => {
            let ((ty, a), (_, b)) = (operand(*a)?, operand(*b)?);
            Some(u64::from(eval_compare(*op, ty, a, b)))
        }
        Op::Cast(op, a) => operand(*a).map(|(from, a)| eval_cast(*op, from, scalar, a)),
        _ => None,
    }
}

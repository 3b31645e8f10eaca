//! Counted loops: the exit test, the counter and its step, the limit, trip counts.
//!
//! The counterpart of LLVM's ScalarEvolution for loops whose counter is one of the [`Variables`], shared by
//! all passes and code generators. [`CountedLoops`] matches the form of a loop; it assumes neither a start
//! value nor that the loop terminates. [`trip_counts`] proves upper bounds of trip counts; [`constant_trips`]
//! evaluates short loops.

mod constant_trips;
mod trip_counts;

pub use constant_trips::{ConstantTrips, constant_trips};
pub use trip_counts::{CounterRange, TripCounts};

use super::{Variables, walk_insts};
use anymetal_ir::{BinOp, Block, CmpOp, Function, Inst, Label, Local, Op, Scalar, Value};

/// The `if` that leaves a loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ExitTest {
    /// The `if`.
    pub inst: Inst,
    /// Its condition.
    pub cond: Value,
    /// Whether the loop is left where the condition holds, and not where it does not.
    pub leaves_when: bool,
}

/// An exit test that compares a variable with something else.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ComparedCounter {
    /// The test.
    pub test: ExitTest,
    /// The variable.
    pub counter: Local,
    /// The counter as the test reads it.
    pub current: Value,
    /// The other operand of the comparison.
    pub limit: Value,
    /// The loop continues while this comparison of counter and limit holds.
    pub goes_on: CmpOp,
}

/// A loop whose counter goes up or down by a constant, to a limit that stays.
#[derive(Clone, Debug)]
pub struct CountedLoop {
    /// The loop's label.
    pub label: Label,
    /// The `if` that leaves the loop.
    pub test: Inst,
    /// The variable that counts.
    pub counter: Local,
    /// The counter as the test reads it.
    pub current: Value,
    /// The counter's type: `I32` or `I64`.
    pub scalar: Scalar,
    /// The other operand of the comparison.
    pub limit: Value,
    /// The loop continues while this comparison of counter and limit holds.
    pub goes_on: CmpOp,
    /// The amount added to the counter in each iteration, its only change; towards the limit.
    pub step: i64,
}

impl CountedLoop {
    /// Whether the counter may be equal to the limit inside of the loop.
    pub fn is_inclusive(&self) -> bool {
        matches!(self.goes_on, CmpOp::ULe | CmpOp::SLe | CmpOp::UGe | CmpOp::SGe)
    }

    fn is_signed(&self) -> bool {
        matches!(self.goes_on, CmpOp::SLt | CmpOp::SLe | CmpOp::SGt | CmpOp::SGe)
    }
}

/// The exit test that precedes everything with a side effect in the loop's body.
fn exit_test(function: &Function, inst: Inst) -> Option<ExitTest> {
    let (label, body, _) = function.as_loop(inst)?;
    let has_effect = |inst: &&Inst| function.inst(**inst).op.has_side_effects();
    let first = *function.block(body).iter().find(has_effect)?;
    as_exit_test(function, first, label)
}

/// The instruction as an exit test of the loop with the label: an `if` that does nothing but leave.
fn as_exit_test(function: &Function, inst: Inst, label: Label) -> Option<ExitTest> {
    let Op::If { cond, then, otherwise, .. } = function.inst(inst).op else {
        // Some other instruction.
        return None;
    };
    let [then, otherwise] = [then, otherwise].map(|block| function.block(block));
    let leaves = |insts: &[Inst]| matches!(insts, [only] if matches!(function.inst(*only).op, Op::Break(of, _) if of == label));
    let leaves_when = leaves(then) && otherwise.is_empty();
    let is_test = leaves_when || then.is_empty() && leaves(otherwise);
    is_test.then_some(ExitTest { inst, cond, leaves_when })
}

/// Recognises counted loops of a function.
#[derive(Clone, Copy, Debug)]
pub struct CountedLoops<'a> {
    function: &'a Function,
    variables: &'a Variables,
}

impl<'a> CountedLoops<'a> {
    /// `variables`: those of the function.
    pub fn new(function: &'a Function, variables: &'a Variables) -> Self {
        Self { function, variables }
    }

    /// The exit test that precedes everything with a side effect in the loop's body.
    pub fn exit_test(&self, inst: Inst) -> Option<ExitTest> {
        exit_test(self.function, inst)
    }

    /// The instruction as an exit test of the loop with the label: an `if` that does nothing but leave.
    pub fn as_exit_test(&self, inst: Inst, label: Label) -> Option<ExitTest> {
        as_exit_test(self.function, inst, label)
    }

    /// The variable that the test compares with something else, if it does.
    pub fn compared(&self, test: ExitTest, inst: Inst) -> Option<ComparedCounter> {
        self.compared_by(test, |value| self.counter_of(value, inst))
    }

    /// The same for a test of the counter's next value, which the loop has stored or is about to store.
    fn compared_next(&self, test: ExitTest, inst: Inst) -> Option<ComparedCounter> {
        self.compared_by(test, |value| self.stepped_counter(value, inst))
    }

    fn compared_by(
        &self,
        test: ExitTest,
        counter_of: impl Fn(Value) -> Option<Local>,
    ) -> Option<ComparedCounter> {
        let Op::Compare(op, a, b) = *self.condition(test.cond)? else {
            // The condition is not a comparison.
            return None;
        };
        let goes_on = if test.leaves_when != self.is_negated(test.cond) { op.negated()? } else { op };
        let (counter, current, limit, goes_on) = match (counter_of(a), counter_of(b)) {
            (Some(counter), None) => (counter, a, b, goes_on),
            (None, Some(counter)) => (counter, b, a, goes_on.swapped()),
            _ => return None,
        };
        Some(ComparedCounter { test, counter, current, limit, goes_on })
    }

    /// The operation that defines the condition, without a surrounding negation.
    fn condition(&self, cond: Value) -> Option<&'a Op> {
        match self.function.def(cond)? {
            Op::Unary(anymetal_ir::UnOp::Not, inner) => self.function.def(*inner),
            op => Some(op),
        }
    }

    fn is_negated(&self, cond: Value) -> bool {
        matches!(self.function.def(cond), Some(Op::Unary(anymetal_ir::UnOp::Not, _)))
    }

    /// The loop, if its first effect is the exit test of a counted loop.
    pub fn find(&self, inst: Inst) -> Option<CountedLoop> {
        self.counted(self.compared(self.exit_test(inst)?, inst)?, inst)
    }

    /// The loop as a counted loop with this counter.
    fn counted(&self, compared: ComparedCounter, inst: Inst) -> Option<CountedLoop> {
        /// The largest step that is handled.
        const MAX_STEP: u64 = 1 << 16;
        let ComparedCounter { test, counter, current, limit, goes_on } = compared;
        let scalar = self.function.ty(current).scalar().filter(|s| matches!(s, Scalar::I32 | Scalar::I64))?;
        let step = self.step(counter, scalar, inst)?;
        let leads_there = match goes_on {
            CmpOp::ULt | CmpOp::ULe | CmpOp::SLt | CmpOp::SLe => step > 0,
            CmpOp::UGt | CmpOp::UGe | CmpOp::SGt | CmpOp::SGe => step < 0,
            CmpOp::Ne => step.unsigned_abs() == 1,
            _ => false,
        };
        let (label, ..) = self.function.as_loop(inst).expect("what has an exit test is a loop");
        assert!(step != 0 || !leads_there, "a counter with step 0 does not reach its limit");
        let is_small = step.unsigned_abs() <= MAX_STEP;
        let stays = !self.is_inside(limit, inst) || self.function.as_const(limit).is_some();
        (leads_there && is_small && stays).then_some(CountedLoop {
            label,
            test: test.inst,
            counter,
            current,
            scalar,
            limit,
            goes_on,
            step,
        })
    }

    /// The variable that a value in the loop is loaded from.
    fn counter_of(&self, value: Value, inst: Inst) -> Option<Local> {
        match self.function.def(value) {
            Some(Op::Load { ptr, volatile: false, .. }) if self.is_inside(value, inst) => {
                self.variables.at(*ptr)
            }
            _ => None,
        }
    }

    /// The variable to which the loop stores a value, as its only store to it.
    fn stepped_counter(&self, value: Value, inst: Inst) -> Option<Local> {
        let mut counter = None;
        self.each(inst, &mut |inst| {
            if let Op::Store { ptr, value: stored, .. } = self.function.inst(inst).op
                && stored == value
            {
                counter = counter.or(self.variables.at(ptr));
            }
        });
        counter.filter(|&counter| self.only_store(counter, inst) == Some(value))
    }

    /// The stored value, if the loop stores to the variable exactly once in each complete iteration.
    pub fn only_store(&self, counter: Local, inst: Inst) -> Option<Value> {
        let (label, body, continuing) = self.function.as_loop(inst)?;
        let (mut writes, mut continues) = (0, false);
        self.each(inst, &mut |inst| {
            writes += usize::from(self.writes(inst, counter));
            continues |= self.function.inst(inst).op == Op::continue_(label);
        });
        let stored = |block: Block| {
            self.function.block(block).iter().find_map(|&inst| match self.function.inst(inst).op {
                Op::Store { ptr, value, .. } if self.variables.at(ptr) == Some(counter) => Some(value),
                _ => None,
            })
        };
        let in_body = || stored(body).filter(|_| !continues);
        stored(continuing).or_else(in_body).filter(|_| writes == 1)
    }

    /// Whether the instruction itself changes the variable.
    fn writes(&self, inst: Inst, counter: Local) -> bool {
        match self.function.inst(inst).op {
            Op::Store { ptr, .. } => self.variables.at(ptr) == Some(counter),
            Op::LocalStart(local) => local == counter,
            _ => false,
        }
    }

    /// The constant that is added to the counter.
    fn step(&self, counter: Local, scalar: Scalar, inst: Inst) -> Option<i64> {
        let stored = self.only_store(counter, inst)?;
        let Op::Binary(op, a, b) = self.function.def(stored)? else {
            // The counter is set, not moved.
            return None;
        };
        let is_counter = |value: Value| self.counter_of(value, inst) == Some(counter);
        let constant = |value: Value| {
            let bits = self.function.as_const(value)?;
            Some(if scalar == Scalar::I32 { i64::from(bits as u32 as i32) } else { bits as i64 })
        };
        if self.function.ty(stored).scalar() != Some(scalar) {
            return None;
        }
        match op {
            BinOp::Add if is_counter(*a) => constant(*b),
            BinOp::Add if is_counter(*b) => constant(*a),
            BinOp::Sub if is_counter(*a) => constant(*b)?.checked_neg(),
            _ => None,
        }
    }

    /// The value of the counter after these instructions.
    pub fn stored_before(&self, counter: Local, before: &[Inst]) -> Option<Value> {
        for &inst in before.iter().rev() {
            match self.function.inst(inst).op {
                Op::Store { ptr, value, .. } if self.variables.at(ptr) == Some(counter) => {
                    return Some(value);
                }
                Op::LocalStart(local) if local == counter => return None,
                _ => {}
            }
            if self.is_written_in(inst, counter) {
                return None;
            }
        }
        None
    }

    /// Whether something nested in the instruction changes the variable.
    pub fn is_written_in(&self, inst: Inst, counter: Local) -> bool {
        let mut is_written = false;
        self.each(inst, &mut |inst| is_written |= self.writes(inst, counter));
        is_written
    }

    /// Whether a value is computed in the loop.
    fn is_inside(&self, value: Value, inst: Inst) -> bool {
        let mut is_inside = false;
        self.each(inst, &mut |inst| is_inside |= self.function.inst(inst).result == Some(value));
        is_inside
    }

    fn each(&self, inst: Inst, note: &mut impl FnMut(Inst)) {
        for block in self.function.inst(inst).op.blocks() {
            walk_insts(self.function, block, note);
        }
    }
}

//! Counted loops: the exit test, the counter and its step, the limit, trip counts.
//!
//! The counterpart of LLVM's ScalarEvolution for loops whose counter is a parameter, shared by all passes and
//! code generators. [`CountedLoops`] matches the form of a loop; it does not assume that the loop terminates.
//! [`trip_counts`] proves upper bounds of trip counts; [`constant_trips`] evaluates short loops.

mod constant_trips;
mod trip_counts;

pub use constant_trips::{ConstantTrips, constant_trips, constant_trips_up_to};
pub use trip_counts::{CounterRange, TripCounts};

use super::{IncomingValues, textual_ranges};
use crate::limits::MAX_STEP;
use anymetal_ir::{BinOp, CmpOp, Function, Inst, Label, Op, Scalar, Value, ValueDef};

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

/// An exit test that compares a parameter of the loop, or its next value, with something else.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ComparedCounter {
    /// The test.
    pub test: ExitTest,
    /// The parameter.
    pub counter: Value,
    /// Whether its next value is compared.
    pub is_next: bool,
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
    pub test: ExitTest,
    /// The parameter that counts.
    pub counter: Value,
    /// Its first value.
    pub start: Value,
    /// The counter's type: `I32` or `I64`.
    pub scalar: Scalar,
    /// The other operand of the comparison.
    pub limit: Value,
    /// The loop continues while this comparison of counter and limit holds.
    pub goes_on: CmpOp,
    /// The amount added to the counter in each iteration; towards the limit.
    pub step: i64,
}

impl CountedLoop {
    /// Whether the counter may be equal to the limit inside of the loop.
    pub fn is_inclusive(&self) -> bool {
        matches!(self.goes_on, CmpOp::ULe | CmpOp::SLe | CmpOp::UGe | CmpOp::SGe)
    }

    /// Whether counter and limit are compared as signed integers.
    pub fn is_signed(&self) -> bool {
        matches!(self.goes_on, CmpOp::SLt | CmpOp::SLe | CmpOp::SGt | CmpOp::SGe)
    }
}

/// The exit test that precedes everything with a side effect in the loop's body.
pub fn exit_test(function: &Function, inst: Inst) -> Option<ExitTest> {
    let (label, body, _) = function.as_loop(inst)?;
    let has_effect = |inst: &&Inst| function.inst(**inst).op.has_side_effects();
    let first = *function.block(body).iter().find(has_effect)?;
    as_exit_test(function, first, label)
}

/// The instruction as an exit test of the loop with the label: an `if` that does nothing but leave.
pub fn as_exit_test(function: &Function, inst: Inst, label: Label) -> Option<ExitTest> {
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

/// Recognises counted loops of a function, whose loops have parameters.
#[derive(Clone, Debug)]
pub struct CountedLoops<'a> {
    function: &'a Function,
    incoming: IncomingValues,
    /// Where each instruction, with those nested in it, is in the text.
    ranges: Vec<(u32, u32)>,
}

impl<'a> CountedLoops<'a> {
    /// Analyses the function.
    pub fn new(function: &'a Function) -> Self {
        Self { function, incoming: IncomingValues::of(function), ranges: textual_ranges(function) }
    }

    /// The function.
    pub fn function(&self) -> &'a Function {
        self.function
    }

    /// The first value of a loop's parameter.
    pub fn start(&self, param: Value) -> Value {
        let (inst, number) =
            self.place(param).unwrap_or_else(|| unreachable!("{param} is no loop's parameter"));
        match &self.function.inst(inst).op {
            Op::Loop { inits, .. } => inits[number],
            op => unreachable!("{op:?} has a parameter"),
        }
    }

    /// The value of a loop's parameter in the next iteration, if all continues pass the same.
    pub fn next(&self, param: Value) -> Option<Value> {
        let (inst, number) = self.place(param)?;
        let passed = |jump: &Inst| self.function.inst(*jump).op.passed()[number];
        let (first, others) = self.incoming.to_params(inst).split_first()?;
        let next = passed(first);
        others.iter().all(|jump| passed(jump) == next).then_some(next)
    }

    /// The loop and the number of a parameter.
    fn place(&self, param: Value) -> Option<(Inst, usize)> {
        match self.function.values[param.index()].def {
            ValueDef::LoopParam(inst, number) => Some((inst, number as usize)),
            // Not a parameter of a loop.
            _ => None,
        }
    }

    /// Whether a value is computed in the loop.
    pub fn is_inside(&self, value: Value, inst: Inst) -> bool {
        let (start, end) = self.ranges[inst.index()];
        match self.function.values[value.index()].def {
            ValueDef::Param(_) => false,
            ValueDef::LoopParam(of, _) if of == inst => true,
            // A result of the loop itself comes after it.
            ValueDef::Result(of, _) if of == inst => false,
            ValueDef::Inst(def) | ValueDef::LoopParam(def, _) | ValueDef::Result(def, _) => {
                (start..end).contains(&self.ranges[def.index()].0)
            }
        }
    }

    /// The parameter that the test compares with something else, if it does.
    pub fn compared(&self, test: ExitTest, inst: Inst) -> Option<ComparedCounter> {
        let is_param = |value| self.place(value).is_some_and(|(of, _)| of == inst);
        self.compared_by(test, false, |value| is_param(value).then_some(value))
    }

    /// The same for a test of the parameter's next value.
    fn compared_next(&self, test: ExitTest, inst: Inst) -> Option<ComparedCounter> {
        let params = self.function.inst(inst).op.params();
        let is_next = |param: Value, value| value != param && self.next(param) == Some(value);
        self.compared_by(test, true, |value| params.iter().copied().find(|&param| is_next(param, value)))
    }

    fn compared_by(
        &self,
        test: ExitTest,
        is_next: bool,
        counter_of: impl Fn(Value) -> Option<Value>,
    ) -> Option<ComparedCounter> {
        let (is_negated, op) = match self.function.def(test.cond)? {
            Op::Unary(anymetal_ir::UnOp::Not, inner) => (true, self.function.def(*inner)?),
            op => (false, op),
        };
        let Op::Compare(op, a, b) = *op else {
            // The condition is not a comparison.
            return None;
        };
        let goes_on = if test.leaves_when != is_negated { op.negated()? } else { op };
        let (counter, limit, goes_on) = match (counter_of(a), counter_of(b)) {
            (Some(counter), None) => (counter, b, goes_on),
            (None, Some(counter)) => (counter, a, goes_on.swapped()),
            _ => return None,
        };
        Some(ComparedCounter { test, counter, is_next, limit, goes_on })
    }

    /// The loop, if its first effect is the exit test of a counted loop.
    pub fn find(&self, inst: Inst) -> Option<CountedLoop> {
        self.counted(self.compared(exit_test(self.function, inst)?, inst)?, inst)
    }

    /// The loop as a counted loop with this counter.
    fn counted(&self, compared: ComparedCounter, inst: Inst) -> Option<CountedLoop> {
        let ComparedCounter { test, counter, limit, goes_on, .. } = compared;
        let scalar = self.function.ty(counter).scalar().filter(|s| matches!(s, Scalar::I32 | Scalar::I64))?;
        let step = self.constant_step(counter, scalar)?;
        let leads_there = match goes_on {
            CmpOp::ULt | CmpOp::ULe | CmpOp::SLt | CmpOp::SLe => step > 0,
            CmpOp::UGt | CmpOp::UGe | CmpOp::SGt | CmpOp::SGe => step < 0,
            CmpOp::Ne => step.unsigned_abs() == 1,
            _ => false,
        };
        let (label, ..) = self.function.as_loop(inst).expect("what has an exit test is a loop");
        assert!(step != 0 || !leads_there, "a counter with step 0 does not reach its limit");
        let is_small = step.unsigned_abs() <= MAX_STEP;
        let start = self.start(counter);
        (leads_there && is_small && self.stays(limit, inst)).then_some(CountedLoop {
            label,
            test,
            counter,
            start,
            scalar,
            limit,
            goes_on,
            step,
        })
    }

    /// Whether a value is the same in all iterations of the loop.
    fn stays(&self, value: Value, inst: Inst) -> bool {
        !self.is_inside(value, inst) || self.function.as_const(value).is_some()
    }

    /// The value that is added to the counter in each iteration of the loop, if it is a constant or computed
    /// before the loop.
    pub fn step(&self, counter: Value) -> Option<Value> {
        let (inst, _) = self.place(counter)?;
        let step = match *self.function.def(self.next(counter)?)? {
            Op::Binary(BinOp::Add, a, b) if a == counter => b,
            Op::Binary(BinOp::Add, a, b) if b == counter => a,
            // The counter is set, or moved in another way.
            _ => return None,
        };
        self.stays(step, inst).then_some(step)
    }

    /// The constant that is added to the counter.
    fn constant_step(&self, counter: Value, scalar: Scalar) -> Option<i64> {
        let constant = |value: Value| {
            let bits = self.function.as_const(value)?;
            Some(if scalar == Scalar::I32 { i64::from(bits as u32 as i32) } else { bits as i64 })
        };
        match *self.function.def(self.next(counter)?)? {
            Op::Binary(BinOp::Sub, a, b) if a == counter => constant(b)?.checked_neg(),
            _ => constant(self.step(counter)?),
        }
    }
}

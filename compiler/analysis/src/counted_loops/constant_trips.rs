//! Constant trip counts, found by evaluating the exit test for each value of the counter.

use rustc_hash::FxHashSet;

use super::{CountedLoops, walk_insts};
use anymetal_ir::eval::{eval_binary, eval_cast, eval_compare, eval_unary};
use anymetal_ir::{Block, Inst, Local, Op, Type, Value};

/// Maximum trip count of a loop that is unrolled.
const MAX_TRIPS: usize = 32;

/// A loop with a constant trip count.
#[derive(Debug)]
pub struct ConstantTrips {
    /// The exit test: the `if` that leaves the loop.
    pub test: Inst,
    /// Complete executions of the body.
    pub trip_count: usize,
    /// The counter's next value.
    pub next: Value,
    /// The loads of the counter.
    pub loads: FxHashSet<Value>,
}

impl CountedLoops<'_> {
    /// The loop, if the exit test at its beginning or end leaves after a constant, small number of
    /// iterations. `before`: the instructions before the loop in its block.
    pub fn constant_trips(&self, inst: Inst, before: &[Inst]) -> Option<ConstantTrips> {
        let (label, body, continuing) = self.function.as_loop(inst)?;
        let (test, tested_first) = match self.exit_test(inst) {
            Some(test) => (test, true),
            None => (self.as_exit_test(*self.function.block(continuing).last()?, label)?, false),
        };
        let counter = self.counter_in(test.cond, 0)?;
        let next = self.only_store_in(counter, inst, continuing)?;
        let expression = Expression { loops: self, current: self.current_loads(counter, body, continuing) };
        let mut value = self.function.as_const(self.stored_before(counter, before)?)?;
        let mut trip_count = 0;
        loop {
            let done = (expression.evaluate(test.cond, value, 0)? != 0) == test.leaves_when;
            if tested_first && done {
                break;
            }
            trip_count += 1;
            if trip_count > MAX_TRIPS {
                return None;
            }
            value = expression.evaluate(next, value, 0)?;
            if !tested_first && done {
                break;
            }
        }
        Some(ConstantTrips { test: test.inst, trip_count, next, loads: expression.current })
    }

    /// The one variable that a condition reads.
    fn counter_in(&self, value: Value, depth: usize) -> Option<Local> {
        const MAX_DEPTH: usize = 6;
        let op = self.function.def(value)?;
        match op {
            Op::Load { ptr, .. } => self.variables.at(*ptr),
            _ if depth >= MAX_DEPTH => None,
            Op::Unary(..) | Op::Binary(..) | Op::Compare(..) | Op::Cast(..) => {
                let mut found = None;
                let mut several = false;
                op.for_each_operand(|operand| {
                    if let Some(local) = self.counter_in(operand, depth + 1) {
                        several |= found.is_some_and(|other| other != local);
                        found = Some(local);
                    }
                });
                found.filter(|_| !several)
            }
            _ => None,
        }
    }

    /// The loads in the loop that read the counter's value of the current iteration: all but those after the
    /// store.
    fn current_loads(&self, counter: Local, body: Block, continuing: Block) -> FxHashSet<Value> {
        let mut loads = FxHashSet::default();
        let mut note = |inst: Inst| {
            let data = self.function.inst(inst);
            if let (Op::Load { ptr, volatile: false, .. }, Some(result)) = (&data.op, data.result)
                && self.variables.at(*ptr) == Some(counter)
            {
                loads.insert(result);
            }
        };
        walk_insts(self.function, body, &mut note);
        for &inst in self.function.block(continuing) {
            match self.function.inst(inst).op {
                Op::Store { ptr, .. } if self.variables.at(ptr) == Some(counter) => break,
                _ => note(inst),
            }
        }
        loads
    }

    /// The value of the loop's only store to the counter, if it is directly in the continuing block.
    fn only_store_in(&self, counter: Local, inst: Inst, continuing: Block) -> Option<Value> {
        let stored = self.only_store(counter, inst)?;
        let is_here = |inst: &Inst| matches!(self.function.inst(*inst).op, Op::Store { ptr, value, .. } if value == stored && self.variables.at(ptr) == Some(counter));
        self.function.block(continuing).iter().any(is_here).then_some(stored)
    }
}

/// Evaluates expressions over constants and the counter.
struct Expression<'a, 'f> {
    loops: &'a CountedLoops<'f>,
    /// The loads of the counter's current value.
    current: FxHashSet<Value>,
}

impl Expression<'_, '_> {
    /// The expression's value while the counter holds these bits.
    fn evaluate(&self, value: Value, current: u64, depth: usize) -> Option<u64> {
        const MAX_DEPTH: usize = 8;
        let function = self.loops.function;
        let scalar = match function.ty(value) {
            Type::Scalar(scalar) if depth <= MAX_DEPTH => scalar,
            _ => return None,
        };
        let operand = |value: Value| {
            let operand_ty = function.ty(value).scalar()?;
            let bits = self.evaluate(value, current, depth + 1)?;
            assert_eq!(
                bits & !anymetal_ir::eval::mask(operand_ty),
                0,
                "{bits:#x} does not fit {}",
                operand_ty.name()
            );
            Some((operand_ty, bits))
        };
        match function.def(value)? {
            Op::Const(bits) => Some(*bits),
            Op::Load { .. } => {
                self.current.contains(&value).then_some(current & anymetal_ir::eval::mask(scalar))
            }
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
}

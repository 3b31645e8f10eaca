//! Constant trip counts, found by evaluating the exit test for each value of the counter.

use rustc_hash::FxHashSet;

use super::Unroller;
use crate::analysis::walk_insts;
use crate::eval::{eval_binary, eval_cast, eval_compare, eval_unary};
use crate::{Block, Inst, Label, Local, Op, Type, Value};

/// Maximum trip count of a loop that is unrolled.
const MAX_TRIPS: usize = 32;

/// A loop with a constant trip count.
pub(super) struct CountedLoop {
    /// The exit test: the `if` that leaves the loop.
    pub(super) test: Inst,
    /// Complete executions of the body.
    pub(super) trip_count: usize,
    /// The counter's next value.
    pub(super) next: Value,
    /// The loads of the counter.
    pub(super) loads: FxHashSet<Value>,
}

impl Unroller<'_> {
    /// `before`: the instructions before the loop in its block.
    pub(super) fn trip_count(&self, inst: Inst, before: &[Inst]) -> Option<CountedLoop> {
        let (label, body, continuing) = self.function.as_loop(inst)?;
        let (test, tested_first) = self.find_test(label, body, continuing)?;
        let Op::If { cond, then, .. } = self.function.inst(test).op else {
            unreachable!("{test} leaves the loop, so it is a branch")
        };
        let leaves_when = !self.function.block(then).is_empty();
        let counter = self.counter(cond, 0)?;
        let next = self.only_store(counter, inst, continuing)?;
        let expression =
            Expression { unroller: self, current: self.current_loads(counter, body, continuing) };
        let mut value = self.stored_before(counter, before)?;
        let mut trip_count = 0;
        loop {
            let done = (expression.evaluate(cond, value, 0)? != 0) == leaves_when;
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
        Some(CountedLoop { test, trip_count, next, loads: expression.current })
    }

    /// The `if` that leaves the loop, and whether it comes first.
    fn find_test(&self, label: Label, body: Block, continuing: Block) -> Option<(Inst, bool)> {
        let is_test = |inst: Inst| match self.function.inst(inst).op {
            Op::If { then, otherwise, .. } => {
                let leaves = |block: Block| {
                    let insts = self.function.block(block);
                    insts.len() == 1 && self.function.inst(insts[0]).op == Op::Break(label)
                };
                let empty = |block: Block| self.function.block(block).is_empty();
                leaves(then) && empty(otherwise) || empty(then) && leaves(otherwise)
            }
            _ => false,
        };
        let first = self.function.block(body).iter().copied().find(|&inst| !self.is_free_of_effects(inst));
        if let Some(inst) = first.filter(|&inst| is_test(inst)) {
            return Some((inst, true));
        }
        let last = *self.function.block(continuing).last()?;
        is_test(last).then_some((last, false))
    }

    /// Whether it has no effect and cannot leave the block.
    fn is_free_of_effects(&self, inst: Inst) -> bool {
        !self.function.inst(inst).op.has_side_effects()
    }

    /// The one variable that a condition reads.
    fn counter(&self, value: Value, depth: usize) -> Option<Local> {
        const MAX_DEPTH: usize = 6;
        let op = self.function.def(value)?;
        match op {
            Op::Load { ptr, .. } => self.variable(*ptr),
            _ if depth >= MAX_DEPTH => None,
            Op::Unary(..) | Op::Binary(..) | Op::Compare(..) | Op::Cast(..) => {
                let mut found = None;
                let mut several = false;
                op.for_each_operand(|operand| {
                    if let Some(local) = self.counter(operand, depth + 1) {
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
                && self.variable(*ptr) == Some(counter)
            {
                loads.insert(result);
            }
        };
        walk_insts(self.function, body, &mut note);
        for &inst in self.function.block(continuing) {
            match self.function.inst(inst).op {
                Op::Store { ptr, .. } if self.variable(ptr) == Some(counter) => break,
                _ => note(inst),
            }
        }
        loads
    }

    /// The value of the loop's only store to the counter, if it is directly in the continuing block and the
    /// lifetime does not restart in the loop.
    fn only_store(&self, counter: Local, inst: Inst, continuing: Block) -> Option<Value> {
        let mut writes = 0;
        let mut note = |inst: Inst| match self.function.inst(inst).op {
            Op::Store { ptr, .. } => writes += usize::from(self.variable(ptr) == Some(counter)),
            Op::LocalStart(local) => writes += usize::from(local == counter),
            _ => {}
        };
        for block in self.function.inst(inst).op.blocks() {
            walk_insts(self.function, block, &mut note);
        }
        let store =
            self.function.block(continuing).iter().find_map(|&inst| match self.function.inst(inst).op {
                Op::Store { ptr, value, .. } if self.variable(ptr) == Some(counter) => Some(value),
                _ => None,
            });
        store.filter(|_| writes == 1)
    }

    /// The constant that the counter holds after these instructions.
    fn stored_before(&self, counter: Local, before: &[Inst]) -> Option<u64> {
        for &inst in before.iter().rev() {
            let op = &self.function.inst(inst).op;
            match op {
                Op::Store { ptr, value, .. } if self.variable(*ptr) == Some(counter) => {
                    return self.function.as_const(*value);
                }
                Op::LocalStart(local) if *local == counter => return None,
                _ => {}
            }
            let mut written = false;
            for block in op.blocks() {
                walk_insts(self.function, block, &mut |inst| match self.function.inst(inst).op {
                    Op::Store { ptr, .. } => written |= self.variable(ptr) == Some(counter),
                    Op::LocalStart(local) => written |= local == counter,
                    _ => {}
                });
            }
            if written {
                return None;
            }
        }
        None
    }
}

/// Evaluates expressions over constants and the counter.
struct Expression<'a, 'f> {
    unroller: &'a Unroller<'f>,
    /// The loads that give the counter's value.
    current: FxHashSet<Value>,
}

impl Expression<'_, '_> {
    /// The expression's value while the counter holds these bits.
    fn evaluate(&self, value: Value, current: u64, depth: usize) -> Option<u64> {
        const MAX_DEPTH: usize = 8;
        let function = &*self.unroller.function;
        let scalar = match function.ty(value) {
            Type::Scalar(scalar) if depth <= MAX_DEPTH => scalar,
            _ => return None,
        };
        let operand = |value: Value| {
            let operand_ty = function.ty(value).scalar()?;
            let bits = self.evaluate(value, current, depth + 1)?;
            assert_eq!(
                bits & !crate::eval::mask(operand_ty),
                0,
                "{bits:#x} does not fit {}",
                operand_ty.name()
            );
            Some((operand_ty, bits))
        };
        match function.def(value)? {
            Op::Const(bits) => Some(*bits),
            Op::Load { .. } => self.current.contains(&value).then_some(current & crate::eval::mask(scalar)),
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

//! Loops with a counter: one variable that goes up or down by a constant, and a limit that stays.
//!
//! The exit test must be the first effect of the loop's body. Nothing is assumed of the counter's start, nor
//! that the loop ends.

use anymetal_ir::analysis::walk_insts;
use anymetal_ir::{BinOp, Block, CmpOp, Function, Inst, Label, Local, Op, Scalar, Type, Value};

use crate::cpu::shape::queries::Geometry;
use crate::cpu::shape::range::upper_bound;
use crate::elementwise::arith::swapped;
use crate::patterns::comparison;

/// The largest step that is handled.
const MAX_STEP: u64 = 1 << 16;
/// Rounds of a counter that is halved until it is zero.
const MAX_HALVINGS: u64 = 64;

/// A counted loop.
#[derive(Clone, Debug)]
pub(super) struct CountedLoop {
    pub(super) label: Label,
    /// The `if` that leaves the loop.
    pub(super) test: Inst,
    /// The counter, and what it is in the test.
    pub(super) counter: Local,
    pub(super) current: Value,
    pub(super) scalar: Scalar,
    pub(super) limit: Value,
    /// The loop goes on as long as the counter compares so with the limit.
    pub(super) goes_on: CmpOp,
    /// What is added to the counter each round, the only change of it; it leads towards the limit.
    pub(super) step: i64,
}

impl CountedLoop {
    /// Whether the counter may be equal to the limit.
    pub(super) fn is_inclusive(&self) -> bool {
        matches!(self.goes_on, CmpOp::ULe | CmpOp::SLe | CmpOp::UGe | CmpOp::SGe)
    }

    fn is_signed(&self) -> bool {
        matches!(self.goes_on, CmpOp::SLt | CmpOp::SLe | CmpOp::SGt | CmpOp::SGe)
    }
}

/// A counter where its loop goes on.
#[derive(Clone, Debug)]
pub(super) struct Counter {
    /// What it is before the loop, if that is one value.
    pub(super) start: Option<Value>,
    pub(super) limit: Value,
    pub(super) goes_on: CmpOp,
    pub(super) step: i64,
}

/// Finds counted loops of a function.
#[derive(Debug)]
pub(super) struct CountedLoops<'a> {
    function: &'a Function,
    geometry: Geometry,
    /// Locals of which only whole loads and stores are made.
    variables: Vec<bool>,
}

impl<'a> CountedLoops<'a> {
    pub(super) fn new(function: &'a Function, geometry: Geometry) -> Self {
        Self { function, geometry, variables: variables(function) }
    }

    /// The loop, if it is counted.
    pub(super) fn find(&self, inst: Inst) -> Option<CountedLoop> {
        let (test, leaves_when, cond) = self.exit_test(inst)?;
        let (op, a, b) = comparison(self.function, cond)?;
        let goes_on = if leaves_when { inverse(op)? } else { op };
        let (counter, current, limit, goes_on) = match (self.variable(a, inst), self.variable(b, inst)) {
            (Some(counter), None) => (counter, a, b, goes_on),
            (None, Some(counter)) => (counter, b, a, swapped(goes_on)?),
            _ => return None,
        };
        let scalar = self.function.ty(current).scalar().filter(|s| matches!(s, Scalar::I32 | Scalar::I64))?;
        let step = self.step(counter, scalar, inst)?;
        let leads_there = match goes_on {
            CmpOp::ULt | CmpOp::ULe | CmpOp::SLt | CmpOp::SLe => step > 0,
            CmpOp::UGt | CmpOp::UGe | CmpOp::SGt | CmpOp::SGe => step < 0,
            CmpOp::Ne => step.abs() == 1,
            _ => false,
        };
        let Op::Loop { label, .. } = self.function.inst(inst).op else {
            unreachable!("{inst} has an exit test, so it is a loop")
        };
        assert!(step != 0 || !leads_there, "a counter with step 0 does not reach its limit");
        let is_small = step.unsigned_abs() <= MAX_STEP;
        let stays = !self.is_inside(limit, inst) || self.function.as_const(limit).is_some();
        (leads_there && is_small && stays).then_some(CountedLoop {
            label,
            test,
            counter,
            current,
            scalar,
            limit,
            goes_on,
            step,
        })
    }

    /// The most rounds that a loop can have; `before`: what is before it in its block.
    pub(super) fn max_trips(&self, inst: Inst, before: &[Inst]) -> Option<u64> {
        let Some(counted) = self.find(inst) else {
            return self.is_halved(inst).then_some(MAX_HALVINGS);
        };
        let step = counted.step.unsigned_abs();
        let most = anymetal_ir::eval::mask(counted.scalar) >> u32::from(counted.is_signed());
        let bound = |value| Some(upper_bound(self.function, self.geometry, value)).filter(|&b| b <= most);
        let start = || self.stored_before(counted.counter, before).and_then(bound);
        match counted.goes_on {
            // It must not step over the limit to the other end.
            CmpOp::ULt | CmpOp::ULe => {
                bound(counted.limit).filter(|limit| limit.checked_add(step).is_some_and(|end| end <= most))
            }
            CmpOp::SLt | CmpOp::SLe => {
                start()?;
                bound(counted.limit).filter(|limit| limit.checked_add(step).is_some_and(|end| end <= most))
            }
            CmpOp::UGt if step == 1 => start(),
            // Down to zero or minus one.
            CmpOp::SGt | CmpOp::SGe if step == 1 => {
                let limit = self.function.as_const(counted.limit)?;
                start().filter(|_| limit <= most)
            }
            _ => None,
        }
        .map(|bound| bound / step + 2)
    }

    /// The counter as the loop's accesses see it, if none is before the test: there it is beyond its last
    /// value. `before`: what is before the loop in its block.
    pub(super) fn counter(&self, inst: Inst, before: &[Inst]) -> Option<(Value, Counter)> {
        let counted = self.find(inst)?;
        if self.accesses_before_test(&counted, inst) {
            return None;
        }
        let start = self.stored_before(counted.counter, before);
        let CountedLoop { limit, goes_on, step, .. } = counted;
        Some((counted.current, Counter { start, limit, goes_on, step }))
    }

    fn accesses_before_test(&self, counted: &CountedLoop, inst: Inst) -> bool {
        let Op::Loop { body, .. } = self.function.inst(inst).op else {
            unreachable!("{inst} has a counter, so it is a loop")
        };
        let mut before_test = self.function.block(body).iter().take_while(|&&inst| inst != counted.test);
        before_test.any(|inst| match self.function.inst(*inst).op {
            Op::Load { ptr, .. } => self.local(ptr).is_none(),
            _ => !self.function.inst(*inst).op.is_pure(),
        })
    }

    /// The counter as the loop's accesses see it, and its largest value, if it is never negative; `before`:
    /// what is before the loop in its block.
    pub(super) fn counter_bound(&self, inst: Inst, before: &[Inst]) -> Option<(Value, u64)> {
        let counted = self.find(inst)?;
        if self.accesses_before_test(&counted, inst) {
            return None;
        }
        let most = anymetal_ir::eval::mask(counted.scalar) >> u32::from(counted.is_signed());
        let bound = |value| upper_bound(self.function, self.geometry, value);
        let limit = bound(counted.limit);
        let is_never_negative = match counted.goes_on {
            CmpOp::ULt | CmpOp::ULe => true,
            // It starts there, and does not step over the largest value.
            CmpOp::SLt | CmpOp::SLe => {
                let start = self.stored_before(counted.counter, before).map(bound);
                let end = limit.checked_add(counted.step.unsigned_abs());
                start.is_some_and(|start| start <= most) && end.is_some_and(|end| end <= most)
            }
            _ => false,
        };
        let last = if counted.is_inclusive() { limit } else { limit.saturating_sub(1) };
        is_never_negative.then_some((counted.current, last))
    }

    /// The `if` that leaves a loop, whether it does when its condition holds, and the condition.
    fn exit_test(&self, inst: Inst) -> Option<(Inst, bool, Value)> {
        let Op::Loop { label, body, .. } = self.function.inst(inst).op else {
            // Some other construct.
            return None;
        };
        let has_effect = |inst: &&Inst| self.function.inst(**inst).op.has_side_effects();
        let test = *self.function.block(body).iter().find(has_effect)?;
        let Op::If { cond, then, otherwise } = self.function.inst(test).op else {
            // The first effect of a round is not a test.
            return None;
        };
        let [then, otherwise] = [then, otherwise].map(|block| self.function.block(block));
        let leaves =
            |insts: &[Inst]| matches!(insts, [only] if self.function.inst(*only).op == Op::Break(label));
        let leaves_when = leaves(then) && otherwise.is_empty();
        (leaves_when || then.is_empty() && leaves(otherwise)).then_some((test, leaves_when, cond))
    }

    /// The variable that a value in the loop is loaded from.
    fn variable(&self, value: Value, inst: Inst) -> Option<Local> {
        match self.function.def(value) {
            Some(Op::Load { ptr, volatile: false, .. }) if self.is_inside(value, inst) => self.local(*ptr),
            _ => None,
        }
    }

    fn local(&self, pointer: Value) -> Option<Local> {
        match self.function.def(pointer) {
            Some(Op::LocalAddr(local)) => Some(*local).filter(|local| self.variables[local.index()]),
            _ => None,
        }
    }

    /// What is stored to a variable in the loop, if that is done once in each round that does not leave.
    fn stored(&self, counter: Local, inst: Inst) -> Option<Value> {
        let Op::Loop { label, body, continuing } = self.function.inst(inst).op else {
            unreachable!("{inst} has a counter, so it is a loop")
        };
        let (mut writes, mut continues) = (0, false);
        self.each(inst, &mut |inst| match self.function.inst(inst).op {
            Op::Store { ptr, .. } => writes += usize::from(self.local(ptr) == Some(counter)),
            Op::LocalStart(local) => writes += usize::from(local == counter),
            Op::Continue(to) => continues |= to == label,
            _ => {}
        });
        let stored = |block: Block| {
            self.function.block(block).iter().find_map(|&inst| match self.function.inst(inst).op {
                Op::Store { ptr, value, .. } if self.local(ptr) == Some(counter) => Some(value),
                _ => None,
            })
        };
        let in_body = || stored(body).filter(|_| !continues);
        stored(continuing).or_else(in_body).filter(|_| writes == 1)
    }

    /// The constant that is added to the counter.
    fn step(&self, counter: Local, scalar: Scalar, inst: Inst) -> Option<i64> {
        let stored = self.stored(counter, inst)?;
        let Op::Binary(op, a, b) = self.function.def(stored)? else {
            // The counter is set, not moved.
            return None;
        };
        let is_counter = |value: Value| self.variable(value, inst) == Some(counter);
        let constant = |value: Value| {
            let bits = self.function.as_const(value)?;
            Some(if scalar == Scalar::I32 { i64::from(bits as u32 as i32) } else { bits as i64 })
        };
        match op {
            BinOp::Add if is_counter(*a) => constant(*b),
            BinOp::Add if is_counter(*b) => constant(*a),
            BinOp::Sub if is_counter(*a) => constant(*b)?.checked_neg(),
            _ => None,
        }
    }

    /// Whether the loop ends when its counter, halved each round, is zero.
    fn is_halved(&self, inst: Inst) -> bool {
        let halved = || {
            let (_, leaves_when, cond) = self.exit_test(inst)?;
            let (op, a, b) = comparison(self.function, cond)?;
            let counter = self.variable(a, inst)?;
            let ends_at_zero = match op {
                CmpOp::Ne | CmpOp::UGt | CmpOp::SGt => !leaves_when,
                CmpOp::Eq => leaves_when,
                _ => false,
            };
            let Op::Binary(op, halved, by) = self.function.def(self.stored(counter, inst)?)? else {
                // The counter is set, not divided.
                return None;
            };
            let by = self.function.as_const(*by)?;
            let is_less = match op {
                BinOp::LShr => (1..32).contains(&by),
                BinOp::UDiv => by >= 2,
                _ => false,
            };
            let is_zero = self.function.as_const(b) == Some(0);
            Some(ends_at_zero && is_zero && is_less && self.variable(*halved, inst) == Some(counter))
        };
        halved().unwrap_or(false)
    }

    /// What the counter holds after these instructions.
    fn stored_before(&self, counter: Local, before: &[Inst]) -> Option<Value> {
        for &inst in before.iter().rev() {
            match self.function.inst(inst).op {
                Op::Store { ptr, value, .. } if self.local(ptr) == Some(counter) => return Some(value),
                Op::LocalStart(local) if local == counter => return None,
                _ => {}
            }
            let mut is_written = false;
            self.each(inst, &mut |inst| match self.function.inst(inst).op {
                Op::Store { ptr, .. } => is_written |= self.local(ptr) == Some(counter),
                Op::LocalStart(local) => is_written |= local == counter,
                _ => {}
            });
            if is_written {
                return None;
            }
        }
        None
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

/// The locals of which only whole loads and stores of one type are made.
fn variables(function: &Function) -> Vec<bool> {
    let mut types: Vec<Option<Type>> = vec![None; function.locals.len()];
    let mut variables = vec![true; function.locals.len()];
    walk_insts(function, function.body, &mut |inst| {
        let data = function.inst(inst);
        let access = match data.op {
            Op::Load { ptr, .. } => data.result.map(|result| (ptr, function.ty(result))),
            Op::Store { ptr, value, .. } => Some((ptr, function.ty(value))),
            _ => None,
        };
        data.op.for_each_operand(|operand| {
            let Some(Op::LocalAddr(local)) = function.def(operand) else { return };
            let is_access = access.is_some_and(|(ptr, _)| ptr == operand);
            let stores_it = matches!(data.op, Op::Store { value, .. } if value == operand);
            let ty = access.map(|(_, ty)| ty);
            let known = types[local.index()].get_or_insert(ty.unwrap_or(Type::Scalar(Scalar::Bool)));
            variables[local.index()] &= is_access && !stores_it && Some(*known) == ty;
        });
    });
    variables
}

/// The comparison that holds when `op` does not.
fn inverse(op: CmpOp) -> Option<CmpOp> {
    Some(match op {
        CmpOp::Eq => CmpOp::Ne,
        CmpOp::Ne => CmpOp::Eq,
        CmpOp::ULt => CmpOp::UGe,
        CmpOp::ULe => CmpOp::UGt,
        CmpOp::UGt => CmpOp::ULe,
        CmpOp::UGe => CmpOp::ULt,
        CmpOp::SLt => CmpOp::SGe,
        CmpOp::SLe => CmpOp::SGt,
        CmpOp::SGt => CmpOp::SLe,
        CmpOp::SGe => CmpOp::SLt,
        CmpOp::FEq | CmpOp::FLt | CmpOp::FLe | CmpOp::FGt | CmpOp::FGe | CmpOp::FNe => return None,
    })
}

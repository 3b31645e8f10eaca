//! Loops with a small known trip count, which need not poll the stop flag.

use anymetal_ir::{BinOp, Block, CmpOp, Function, Inst, Label, Op, UnOp, Value};

use super::Emitter;

/// The largest constant that a counter may run to.
const MAX_BOUND: u64 = 1 << 16;

impl Emitter<'_, '_> {
    /// Whether the loop compares a promoted variable with a small constant in each iteration, leaves when it
    /// is reached, and only ever moves the promoted variable by a constant.
    pub(super) fn is_counted(&self, label: Label, body: Block, continuing: Block) -> bool {
        let function = self.facts.function;
        let exits = function.block(body).iter().chain(function.block(continuing));
        let mut vars = exits.filter_map(|&inst| self.exit_counter(label, inst));
        vars.any(|(var, _)| self.steps_once(var, body, continuing))
    }

    /// How many iterations such a loop seems to have, if its counter starts near zero.
    pub(super) fn trips(&self, label: Label, body: Block, continuing: Block) -> Option<usize> {
        let function = self.facts.function;
        let exits = function.block(body).iter().chain(function.block(continuing));
        let (var, bound) = exits.filter_map(|&inst| self.exit_counter(label, inst)).next()?;
        let step = function.block(continuing).iter().find_map(|&inst| self.step_by(var, inst))?;
        usize::try_from(bound.div_ceil(step)).ok()
    }

    /// The promoted variable that an `if (…) break` compares with a constant, and that.
    fn exit_counter(&self, label: Label, inst: Inst) -> Option<(usize, u64)> {
        let function = self.facts.function;
        let Op::If { cond, then, otherwise } = function.inst(inst).op else {
            // Not a test.
            return None;
        };
        let leaves = |block: Block| matches!(function.block(block), [only] if function.inst(*only).op == Op::Break(label));
        if !leaves(then) && !leaves(otherwise) {
            return None;
        }
        let compared = match function.def(cond)? {
            Op::Unary(UnOp::Not, inner) => function.def(*inner)?,
            op => op,
        };
        let Op::Compare(op, a, b) = compared else {
            // The condition is not a comparison.
            return None;
        };
        let ordered = !matches!(op, CmpOp::Eq | CmpOp::Ne);
        let (var, bound) = match (self.promoted_of(*a), self.promoted_of(*b)) {
            (Some(var), None) => (var, *b),
            (None, Some(var)) => (var, *a),
            _ => return None,
        };
        let bound = function.as_const(bound).filter(|&bits| ordered && bits <= MAX_BOUND)?;
        Some((var, bound))
    }

    /// The promoted variable that a value was loaded from.
    fn promoted_of(&self, value: Value) -> Option<usize> {
        let Op::Load { ptr, .. } = self.facts.function.def(value)? else {
            // The value is computed.
            return None;
        };
        let size = i64::from(self.facts.function.ty(value).size());
        let vars = self.facts.storage.vars_at(*ptr, size)?;
        (vars.len() == 1).then_some(vars.start)
    }

    fn steps_once(&self, var: usize, body: Block, continuing: Block) -> bool {
        let function = self.facts.function;
        let steps =
            function.block(continuing).iter().filter(|&&inst| self.step_by(var, inst).is_some()).count();
        steps == 1 && self.writes(function, var, body) == 0 && self.writes(function, var, continuing) == 1
    }

    /// By how much the instruction moves the promoted variable, if it does nothing else.
    fn step_by(&self, var: usize, inst: Inst) -> Option<u64> {
        let function = self.facts.function;
        let Op::Store { ptr, value, .. } = function.inst(inst).op else {
            // The instruction changes no variable.
            return None;
        };
        let size = i64::from(function.ty(value).size());
        if self.facts.storage.vars_at(ptr, size) != Some(var..var + 1) {
            return None;
        }
        match *function.def(value)? {
            Op::Binary(BinOp::Add | BinOp::Sub, a, b) if self.promoted_of(a) == Some(var) => {
                function.as_const(b).filter(|&step| step != 0)
            }
            _ => None,
        }
    }

    /// How many instructions write to the promoted variable.
    fn writes(&self, function: &Function, var: usize, block: Block) -> usize {
        let storage = self.facts.storage;
        let touches = |pointer: Value, size: u64| {
            let size = i64::try_from(size).unwrap_or(i64::MAX);
            usize::from(storage.vars_at(pointer, size).is_some_and(|vars| vars.contains(&var)))
        };
        let in_inst = |&inst: &Inst| {
            let op = &function.inst(inst).op;
            let own = match op {
                Op::Store { ptr, value, .. } => touches(*ptr, u64::from(function.ty(*value).size())),
                Op::MemCopy { dst, size, .. } | Op::MemZero { dst, size, .. } => touches(*dst, *size),
                _ => 0,
            };
            own + op.blocks().iter().map(|&nested| self.writes(function, var, nested)).sum::<usize>()
        };
        function.block(block).iter().map(in_inst).sum()
    }
}

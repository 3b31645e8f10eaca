//! Loops that end soon by themselves, which need not ask whether to stop.

use anymetal_ir::{BinOp, Block, CmpOp, Function, Inst, Label, Op, UnOp, Value};

use super::Emitter;

/// The largest constant that a counter may run to.
const MAX_BOUND: u64 = 1 << 16;

impl Emitter<'_, '_> {
    /// Whether the loop compares a cell with a small constant in each iteration, leaves when it is
    /// reached, and only ever moves the cell by a constant.
    pub(super) fn is_counted(&self, label: Label, body: Block, continuing: Block) -> bool {
        let function = self.facts.function;
        let exits = function.block(body).iter().chain(function.block(continuing));
        let mut cells = exits.filter_map(|&inst| self.exit_counter(label, inst));
        cells.any(|cell| self.steps_once(cell, body, continuing))
    }

    /// The cell that an `if (…) break` compares with a constant.
    fn exit_counter(&self, label: Label, inst: Inst) -> Option<usize> {
        let function = self.facts.function;
        let Op::If { cond, then, otherwise } = function.inst(inst).op else { return None };
        let leaves = |block: Block| matches!(function.block(block), [only] if function.inst(*only).op == Op::Break(label));
        if !leaves(then) && !leaves(otherwise) {
            return None;
        }
        let compared = match function.def(cond)? {
            Op::Unary(UnOp::Not, inner) => function.def(*inner)?,
            op => op,
        };
        let Op::Compare(op, a, b) = compared else { return None };
        let ordered = !matches!(op, CmpOp::Eq | CmpOp::Ne);
        let small = |value: Value| function.as_const(value).is_some_and(|bits| bits <= MAX_BOUND);
        match (self.cell_of(*a), self.cell_of(*b)) {
            (Some(cell), None) if ordered && small(*b) => Some(cell),
            (None, Some(cell)) if ordered && small(*a) => Some(cell),
            _ => None,
        }
    }

    /// The cell that a value was loaded from.
    fn cell_of(&self, value: Value) -> Option<usize> {
        let Op::Load { ptr, .. } = self.facts.function.def(value)? else { return None };
        let size = i64::from(self.facts.function.ty(value).size());
        let cells = self.facts.storage.cells_at(*ptr, size)?;
        (cells.len() == 1).then_some(cells.start)
    }

    fn steps_once(&self, cell: usize, body: Block, continuing: Block) -> bool {
        let function = self.facts.function;
        let steps = function.block(continuing).iter().filter(|&&inst| self.is_step(cell, inst)).count();
        steps == 1 && self.writes(function, cell, body) == 0 && self.writes(function, cell, continuing) == 1
    }

    fn is_step(&self, cell: usize, inst: Inst) -> bool {
        let function = self.facts.function;
        let Op::Store { ptr, value, .. } = function.inst(inst).op else { return false };
        let size = i64::from(function.ty(value).size());
        if self.facts.storage.cells_at(ptr, size) != Some(cell..cell + 1) {
            return false;
        }
        match function.def(value) {
            Some(Op::Binary(BinOp::Add | BinOp::Sub, a, b)) => {
                self.cell_of(*a) == Some(cell) && function.as_const(*b).is_some_and(|step| step != 0)
            }
            _ => false,
        }
    }

    /// How many instructions write to the cell.
    fn writes(&self, function: &Function, cell: usize, block: Block) -> usize {
        let storage = self.facts.storage;
        let touches = |pointer: Value, size: u64| {
            let size = i64::try_from(size).unwrap_or(i64::MAX);
            usize::from(storage.cells_at(pointer, size).is_some_and(|cells| cells.contains(&cell)))
        };
        let in_inst = |&inst: &Inst| {
            let op = &function.inst(inst).op;
            let own = match op {
                Op::Store { ptr, value, .. } => touches(*ptr, u64::from(function.ty(*value).size())),
                Op::MemCopy { dst, size, .. } | Op::MemZero { dst, size, .. } => touches(*dst, *size),
                _ => 0,
            };
            own + op.blocks().iter().map(|&nested| self.writes(function, cell, nested)).sum::<usize>()
        };
        function.block(block).iter().map(in_inst).sum()
    }
}

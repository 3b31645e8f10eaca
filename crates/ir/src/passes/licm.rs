//! Moves out of a loop what its first iteration is sure to compute and every iteration computes
//! alike: pure operations, and loads from constant memory, at the start of the body.
//!
//! "At the start" means before anything that may leave the iteration or wait. So no access happens
//! that would not have happened anyway. A loop's bound, read from an argument in its condition, is
//! the case that matters.

use super::early_cse::is_reusable;
use crate::{Block, Function, Inst, Op};

/// Hoists within one function; returns whether anything changed.
pub fn licm(function: &mut Function) -> bool {
    let mut visible = vec![false; function.values.len()];
    for param in &function.params {
        visible[param.index()] = true;
    }
    let mut hoister = Hoister { function, visible, changed: false };
    let body = hoister.function.body;
    hoister.block(body);
    hoister.changed
}

struct Hoister<'a> {
    function: &'a mut Function,
    /// Values defined so far in the blocks around here.
    visible: Vec<bool>,
    changed: bool,
}

impl Hoister<'_> {
    fn block(&mut self, block: Block) {
        let insts = std::mem::take(&mut self.function.blocks[block.index()].insts);
        let mut out = Vec::with_capacity(insts.len());
        for inst in insts {
            // Inner loops first: what they give up may move on.
            for nested in self.function.inst(inst).op.blocks() {
                self.block(nested);
            }
            if let Op::Loop { body, .. } = self.function.inst(inst).op {
                self.start_of(body, &mut out);
            }
            self.show(inst, true);
            out.push(inst);
        }
        for &inst in &out {
            self.show(inst, false);
        }
        self.function.blocks[block.index()].insts = out;
    }

    fn show(&mut self, inst: Inst, visible: bool) {
        if let Some(result) = self.function.inst(inst).result {
            self.visible[result.index()] = visible;
        }
    }

    fn start_of(&mut self, body: Block, out: &mut Vec<Inst>) {
        let insts = std::mem::take(&mut self.function.blocks[body.index()].insts);
        let mut kept = Vec::with_capacity(insts.len());
        let mut at_start = true;
        for inst in insts {
            let op = &self.function.inst(inst).op;
            at_start &= !(op.is_terminator() || waits(op) || !op.blocks().is_empty());
            let mut invariant = true;
            op.for_each_operand(|value| invariant &= self.visible[value.index()]);
            if at_start && invariant && is_reusable(self.function, op) {
                self.show(inst, true);
                out.push(inst);
                self.changed = true;
            } else {
                kept.push(inst);
            }
        }
        self.function.blocks[body.index()].insts = kept;
    }
}

/// Whether other threads may act before it is done.
fn waits(op: &Op) -> bool {
    matches!(op, Op::Barrier(_) | Op::Call(..))
}

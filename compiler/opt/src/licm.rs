//! Loop-invariant code motion without speculation: hoists invariant pure operations, and loads from
//! constant memory, from the start of a loop's body to before the loop.
//!
//! The start of the body ends at the first operation that may leave the iteration or synchronise, so
//! the first iteration executes everything that is hoisted. The case that matters is a loop bound
//! that the condition loads from an argument.

use super::early_cse::is_reusable;
use super::rewrite_blocks::{BlockRewriter, rewrite_blocks};
use anymetal_ir::{Block, Function, Inst, Op};

/// Hoists within one function; returns whether anything changed.
pub fn licm(function: &mut Function) -> bool {
    let mut visible = vec![false; function.values.len()];
    for param in &function.params {
        visible[param.index()] = true;
    }
    let mut hoister = Licm { function, visible, changed: false };
    rewrite_blocks(&mut hoister);
    debug_assert_eq!(
        hoister.visible.iter().filter(|visible| **visible).count(),
        hoister.function.params.len(),
        "only parameters are visible outside of the body",
    );
    hoister.changed
}

struct Licm<'a> {
    function: &'a mut Function,
    /// Whether each value is defined at the current position.
    visible: Vec<bool>,
    changed: bool,
}

impl BlockRewriter for Licm<'_> {
    fn function(&mut self) -> &mut Function {
        self.function
    }

    fn rewrite(&mut self, inst: Inst, out: &mut Vec<Inst>) {
        // Inner loops are done: what was hoisted out of them may be hoisted further.
        if let Op::Loop { body, ref params, .. } = self.function.inst(inst).op {
            for param in params {
                self.visible[param.index()] = false;
            }
            self.hoist_start(body, out);
        }
        self.set_visible(inst, true);
        out.push(inst);
    }

    fn enter(&mut self, inst: Inst) {
        for &param in self.function.inst(inst).op.params() {
            self.visible[param.index()] = true;
        }
    }

    fn end_block(&mut self, insts: &[Inst]) {
        for &inst in insts {
            self.set_visible(inst, false);
        }
    }
}

impl Licm<'_> {
    fn set_visible(&mut self, inst: Inst, visible: bool) {
        for result in self.function.results(inst) {
            let before = std::mem::replace(&mut self.visible[result.index()], visible);
            assert_ne!(before, visible, "the scope of {result} begins once and ends once");
        }
    }

    fn hoist_start(&mut self, body: Block, out: &mut Vec<Inst>) {
        let insts = std::mem::take(&mut self.function.blocks[body.index()].insts);
        let mut kept = Vec::with_capacity(insts.len());
        let mut at_start = true;
        for inst in insts {
            let op = &self.function.inst(inst).op;
            at_start &= !(op.ends_block() || synchronises(op) || !op.blocks().is_empty());
            let mut invariant = true;
            op.for_each_operand(|value| invariant &= self.visible[value.index()]);
            if at_start && invariant && is_reusable(self.function, op) {
                self.set_visible(inst, true);
                out.push(inst);
                self.changed = true;
            } else {
                kept.push(inst);
            }
        }
        self.function.blocks[body.index()].insts = kept;
    }
}

/// Whether other threads' accesses may be ordered before its end.
fn synchronises(op: &Op) -> bool {
    matches!(op, Op::Barrier(..) | Op::Call(..))
}

//! Branches: on conditions that all lanes agree on, and on those that divide them.

use anymetal_ir::{Block, CmpOp, Inst, Op, Value};

use super::Context;
use super::jump::jump_of;
use crate::cpu::emit::{Emitter, Mask};
use crate::llvm::{BlockName, MASK, Opd};
use anymetal_simd::constructs::BranchForm;
use anymetal_simd::limits::MAX_COPY;

impl Emitter<'_, '_> {
    pub(super) fn if_else(&mut self, inst: Inst, cond: Value, then: Block, otherwise: Block) {
        let form = self.plan.constructs.branch(inst);
        match form {
            BranchForm::Constant(known) => return self.block(if known { then } else { otherwise }),
            BranchForm::Uniform => return self.uniform_if(cond, then, otherwise),
            BranchForm::Unbranched | BranchForm::Masked => {}
        }
        self.remark_branch(inst, cond, then, otherwise);
        let condition = self.vector(cond, 0);
        let before = self.position.mask.clone();
        let on = self.both(&before, &condition);
        // The same register may be the mask of an `if` around this one, whose tests are others.
        let outer_tests = self.tests_of(&on);
        self.note_tests(cond, &before, &on);
        match form {
            BranchForm::Unbranched => self.unbranched_if(&condition, &on, then, otherwise),
            _ => self.divergent_if(inst, &condition, &on, then, otherwise),
        }
        self.set_tests(&on, outer_tests);
    }

    /// Both arms under their masks.
    fn unbranched_if(&mut self, condition: &Opd, on: &Opd, then: Block, otherwise: Block) {
        let before = self.position.mask.clone();
        self.position.mask = Mask::Some(on.clone());
        self.block(then);
        if !self.plan.facts.function.block(otherwise).is_empty() {
            self.position.mask = Mask::Some(self.without(&before, condition));
            self.block(otherwise);
        }
        self.position.mask = before;
    }

    fn divergent_if(&mut self, inst: Inst, condition: &Opd, on: &Opd, then: Block, otherwise: Block) {
        self.t.expect(on, MASK);
        let before = self.position.mask.clone();
        let escapes = self.plan.regions.escapes(inst);
        let first = self.arm(then, Mask::Some(on.clone()), escapes, true);
        let second = match self.plan.facts.function.block(otherwise).is_empty() && !escapes {
            true => before.clone(),
            false => {
                let off = self.without(&before, condition);
                self.note_opposite_tests(on, &off);
                self.arm(otherwise, Mask::Some(off), escapes, false)
            }
        };
        self.position.mask = before;
        if escapes {
            self.position.mask = self.either(&first, &second);
        }
    }

    pub(super) fn either(&mut self, a: &Mask, b: &Mask) -> Mask {
        match (a.operand(), b.operand()) {
            (none, _) if none.is_zeros() => b.clone(),
            (_, none) if none.is_zeros() => a.clone(),
            (x, y) => Mask::Some(self.t.or(&x, &y)),
        }
    }

    /// One arm of a divergent `if`; gives the lanes that come to its end.
    pub(super) fn arm(&mut self, block: Block, mask: Mask, escapes: bool, may_copy: bool) -> Mask {
        let function = self.plan.facts.function;
        let insts = function.block(block);
        if insts.is_empty() {
            return mask;
        }
        if let [only] = insts
            && let Some((target, is_continue)) = jump_of(&function.inst(*only).op)
        {
            let (_, context) = self.waiting_point(target, is_continue);
            self.record_jump(context, is_continue, &mask);
            return Mask::Some(Opd::zero(MASK));
        }
        let slot = escapes.then(|| {
            let slot = self.t.alloca(MASK, 4);
            self.t.store(&Opd::zero(MASK), &slot, 4);
            slot
        });
        let (run, end) = (self.t.block(), self.t.block());
        self.position.contexts.push(Context::Arm { end });
        let copy = may_copy
            && self.position.copies_left > 0
            && self.position.contexts.len() == 2
            && self.touches_memory(insts)
            && self.size(insts) <= MAX_COPY;
        if copy {
            let (full, partial) = (self.t.block(), self.t.block());
            let all = self.all(&mask);
            self.t.branch_if(&all, full, partial);
            self.t.label(full);
            self.position.copies_left -= 1;
            self.arm_body(insts, Mask::All, slot.as_ref(), end);
            self.position.copies_left += 1;
            self.t.label(partial);
        }
        let any = self.any(&mask);
        self.t.branch_if(&any, run, end);
        self.t.label(run);
        let copies = std::mem::take(&mut self.position.copies_left);
        // With all lanes on, this copy is not the one that runs.
        let may_version = self.position.may_version_guards;
        self.position.may_version_guards &= !copy;
        self.arm_body(insts, mask, slot.as_ref(), end);
        (self.position.copies_left, self.position.may_version_guards) = (copies, may_version);
        self.t.label(end);
        let left = self.position.contexts.pop();
        assert!(matches!(left, Some(Context::Arm { end: left }) if left == end), "arms nest");
        match slot {
            Some(slot) => Mask::Some(self.t.load(MASK, &slot, 4)),
            None => Mask::All,
        }
    }

    fn arm_body(&mut self, insts: &[Inst], mask: Mask, slot: Option<&Opd>, end: BlockName) {
        self.position.mask = mask;
        self.instructions(insts);
        if let Some(slot) = slot {
            let left = self.position.mask.operand();
            self.t.store(&left, slot, 4);
        }
        self.t.branch(end);
    }

    /// Whether a condition says that all lanes are on that the current mask may have on.
    fn needs_all_lanes(&self, cond: Value) -> bool {
        let function = self.plan.facts.function;
        let Some(&Op::Compare(CmpOp::Eq, active, all)) = function.def(cond) else {
            // Some other condition.
            return false;
        };
        function.as_const(all) == Some(u64::from(u32::MAX))
            && self.known.active_masks.get(&active) == Some(&self.position.mask)
    }

    fn uniform_if(&mut self, cond: Value, then: Block, otherwise: Block) {
        let before = self.position.mask.clone();
        let asks_for_all = self.needs_all_lanes(cond);
        if asks_for_all && before == Mask::All {
            return self.block(then);
        }
        let (condition, with) = match asks_for_all {
            true => (self.all(&before), Mask::All),
            false => (self.uniform(cond, 0), before.clone()),
        };
        let slot = self.t.alloca(MASK, 4);
        let (yes, no, join) = (self.t.block(), self.t.block(), self.t.block());
        self.t.branch_if(&condition, yes, no);
        let mut changed = false;
        for (label, block, mask) in [(yes, then, &with), (no, otherwise, &before)] {
            changed |= self.arm_to(label, mask, &slot, join, |this| this.block(block));
        }
        self.t.label(join);
        self.position.mask = if changed { Mask::Some(self.t.load(MASK, &slot, 4)) } else { before };
    }

    /// Emits one of the ways that part here and meet at `join`, under a mask; what is left of that goes to
    /// `slot`. Returns whether the way changes it.
    pub(in crate::cpu::emit) fn arm_to(
        &mut self,
        label: BlockName,
        mask: &Mask,
        slot: &Opd,
        join: BlockName,
        emit: impl FnOnce(&mut Self),
    ) -> bool {
        self.t.label(label);
        self.position.mask = mask.clone();
        emit(self);
        let mut changed = false;
        if !self.t.is_ended() {
            changed = self.position.mask != *mask;
            let left = self.position.mask.operand();
            self.t.store(&left, slot, 4);
        }
        self.t.branch(join);
        changed
    }
}

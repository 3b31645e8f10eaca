//! Loops: the lanes that go on, those that left, and where each wait.

use anymetal_ir::{Block, Inst, Label};

use super::Context;
use crate::cpu::emit::{Emitter, Mask};
use crate::llvm::{BlockName, Bound, MASK, Opd};

impl Emitter<'_, '_> {
    pub(in crate::cpu::emit) fn endless(&mut self, inst: Inst, label: Label, body: Block, continuing: Block) {
        let depth = self.position.contexts.len();
        let construct = self.plan.divergence.construct(inst);
        let outer = self.position.mask.clone();
        let (head, next, exit) = (self.t.block(), self.t.block(), self.t.block());
        let copies = std::mem::take(&mut self.position.copies_left);
        let tracked = construct.lanes_leave && construct.is_crossed;
        let new_slot = |this: &mut Self, wanted: bool, initial: &Opd| {
            wanted.then(|| {
                let slot = this.t.alloca(MASK, 4);
                this.t.store(initial, &slot, 4);
                slot
            })
        };
        let none = Opd::zero(MASK);
        let exit_slot = new_slot(self, tracked, &none);
        let continue_slot = new_slot(self, construct.lanes_leave, &none);
        let lanes_slot = new_slot(self, construct.lanes_leave, &outer.operand());
        let context = |continuing| Context::Construct {
            inst,
            label,
            exit,
            continuing,
            exit_slot: exit_slot.clone(),
            continue_slot: continue_slot.clone(),
        };
        let has_copy = self.loop_while_all_stay(inst, (label, body, continuing), (head, exit));
        self.remark_loop(inst, (label, body), has_copy);
        self.t.loop_header(head, self.plan.polls.of_loop(inst).trips().map(Bound::Trips));
        if let (Some(lanes), Some(waiting)) = (&lanes_slot, &continue_slot) {
            self.position.mask = Mask::Some(self.t.load(MASK, lanes, 4));
            self.t.store(&none, waiting, 4);
        }
        self.position.contexts.push(context(Some(next)));
        self.block(body);
        self.position.contexts.pop();
        self.position.contexts.push(context(None));
        if let Some(waiting) = &continue_slot {
            let left = self.position.mask.clone();
            self.collect(waiting, &left);
            self.t.label(next);
            self.position.mask = Mask::Some(self.t.load(MASK, waiting, 4));
            self.leave_loop_if_none(exit);
        } else {
            self.t.label(next);
            self.position.mask = outer.clone();
        }
        self.block(continuing);
        self.end_iteration(inst);
        if let Some(lanes) = &lanes_slot {
            let left = self.position.mask.operand();
            self.t.store(&left, lanes, 4);
            self.leave_loop_if_none(exit);
        }
        self.t.branch(head);
        self.position.contexts.pop();
        self.t.label(exit);
        assert_eq!(self.position.contexts.len(), depth, "a loop restores the context stack");
        self.position.copies_left = copies;
        self.position.mask = match exit_slot {
            Some(slot) => Mask::Some(self.t.load(MASK, &slot, 4)),
            None => outer,
        };
    }

    fn leave_loop_if_none(&mut self, exit: BlockName) {
        let mask = self.position.mask.clone();
        let any = self.any(&mask);
        let go = self.t.block();
        self.t.branch_if(&any, go, exit);
        self.t.label(go);
    }
}

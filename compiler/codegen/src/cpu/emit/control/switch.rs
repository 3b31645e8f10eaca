//! Scopes and switches: constructs that lanes leave at their end or by a jump.

use anymetal_ir::{Block, Inst, Label, SwitchCase, Value};

use super::Context;
use crate::cpu::emit::{Emitter, Mask};
use crate::llvm::{self, BlockName, I1, IntPredicate, LANES, MASK, Opd, scalar_type, wrap_int};

impl Emitter<'_, '_> {
    pub(super) fn scope(&mut self, inst: Inst, label: Label, body: Block) {
        let outer = self.position.mask.clone();
        let exit = self.t.block();
        let exit_slot = self.open_construct(inst, label, exit);
        self.block(body);
        self.close_construct(exit, exit_slot, outer);
    }

    /// Pushes a scope's or switch's context; gives its slot if it is tracked.
    fn open_construct(&mut self, inst: Inst, label: Label, exit: BlockName) -> Option<Opd> {
        let construct = self.plan.divergence.construct(inst);
        let exit_slot = (construct.lanes_leave && construct.is_crossed
            || construct.diverges && construct.is_crossed)
            .then(|| {
                let slot = self.t.alloca(MASK, 4);
                self.t.store(&Opd::zero(MASK), &slot, 4);
                slot
            });
        let slot = exit_slot.clone();
        self.position.contexts.push(Context::Construct {
            inst,
            label,
            exit,
            continuing: None,
            exit_slot,
            continue_slot: None,
        });
        slot
    }

    fn close_construct(&mut self, exit: BlockName, exit_slot: Option<Opd>, outer: Mask) {
        let left = self.position.contexts.pop();
        assert!(
            matches!(left, Some(Context::Construct { exit: left, .. }) if left == exit),
            "constructs nest"
        );
        self.position.mask = match exit_slot {
            Some(slot) => {
                let left = self.position.mask.clone();
                self.collect(&slot, &left);
                self.t.label(exit);
                Mask::Some(self.t.load(MASK, &slot, 4))
            }
            None => {
                self.t.label(exit);
                outer
            }
        };
    }

    pub(super) fn switch(
        &mut self,
        inst: Inst,
        label: Label,
        selector: Value,
        cases: &[SwitchCase],
        default: Block,
    ) {
        let outer = self.position.mask.clone();
        let exit = self.t.block();
        let slot = self.open_construct(inst, label, exit);
        if self.plan.divergence.construct(inst).diverges {
            self.divergent_switch(selector, cases, default, slot.as_ref());
            // The arms have collected their lanes.
            self.position.mask = Mask::Some(Opd::zero(MASK));
        } else {
            let bodies: Vec<Block> = cases.iter().map(|case| case.body).chain([default]).collect();
            let labels = self.branch_to_cases(selector, cases);
            for (body, label) in bodies.into_iter().zip(labels) {
                self.t.label(label);
                self.position.mask = outer.clone();
                self.block(body);
                if let Some(slot) = &slot {
                    let left = self.position.mask.clone();
                    self.collect(slot, &left);
                }
                self.t.branch(exit);
            }
            self.position.mask = Mask::Some(Opd::zero(MASK));
        }
        self.close_construct(exit, slot, outer);
    }

    /// A real switch on a uniform selector; gives the labels of the cases, the default's last.
    fn branch_to_cases(&mut self, selector: Value, cases: &[SwitchCase]) -> Vec<BlockName> {
        let value = self.uniform(selector, 0);
        self.branch_to_cases_on(&value, selector, cases)
    }

    /// As above, on a scalar.
    pub(in crate::cpu::emit) fn branch_to_cases_on(
        &mut self,
        value: &Opd,
        selector: Value,
        cases: &[SwitchCase],
    ) -> Vec<BlockName> {
        let ty = scalar_type(self.scalar(selector));
        assert!(ty.is_int() && ty != I1, "a switch does not select by a {ty}");
        self.t.expect(value, ty);
        let labels: Vec<BlockName> = (0..=cases.len()).map(|_| self.t.block()).collect();
        let targets = cases.iter().zip(&labels);
        let targets = targets
            .flat_map(|(case, &label)| case.values.iter().map(move |&value| (wrap_int(ty, value), label)));
        self.t.switch(value, labels[cases.len()], &targets.collect::<Vec<_>>());
        labels
    }

    fn divergent_switch(
        &mut self,
        selector: Value,
        cases: &[SwitchCase],
        default: Block,
        slot: Option<&Opd>,
    ) {
        if cases.len() > LANES {
            return self.switch_by_lanes(selector, cases, default, slot);
        }
        let outer = self.position.mask.clone();
        let element = scalar_type(self.scalar(selector));
        let selector = self.vector(selector, 0);
        let mut left = outer;
        for case in cases {
            let matches = self.matches(element, &selector, case);
            let own = Mask::Some(self.both(&left, &matches));
            left = Mask::Some(self.without(&left, &matches));
            self.case(case.body, own, slot);
        }
        self.case(default, left, slot);
    }

    /// The lanes whose selector has one of the case's values.
    fn matches(&mut self, element: llvm::Type, selector: &Opd, case: &SwitchCase) -> Opd {
        let mut matches = Opd::zero(MASK);
        for &value in &case.values {
            let value = wrap_int(element, value);
            let one = self.t.icmp(IntPredicate::Eq, selector, value);
            matches = self.t.or(&matches, &one);
        }
        matches
    }

    /// A switch with more cases than there are lanes: a loop that takes the case of the first lane that is
    /// left, so at most as many tests as lanes are made, and no value is live across the tests of all cases.
    /// The lanes of the default are collected and run together after the loop.
    fn switch_by_lanes(&mut self, selector: Value, cases: &[SwitchCase], default: Block, slot: Option<&Opd>) {
        let outer = self.position.mask.clone();
        let element = scalar_type(self.scalar(selector));
        let vector = self.vector(selector, 0);
        let (left_slot, default_slot) = (self.t.alloca(MASK, 4), self.t.alloca(MASK, 4));
        self.t.store(&outer.operand(), &left_slot, 4);
        self.t.store(&Opd::zero(MASK), &default_slot, 4);
        // Cases run in the order of lanes: one that is emitted later may have had its effects.
        self.position.bail = None;
        let (head, next, done) = (self.t.block(), self.t.block(), self.t.block());
        self.t.label(head);
        let left = Mask::Some(self.t.load(MASK, &left_slot, 4));
        self.position.mask = left.clone();
        let lane = self.first_lane();
        let value = self.t.extract(&vector, &lane);
        let labels = self.branch_to_cases_on(&value, selector, cases);
        for (case, &label) in cases.iter().zip(&labels) {
            self.t.label(label);
            let matches = self.matches(element, &vector, case);
            let own = self.both(&left, &matches);
            let rest = self.without(&left, &matches);
            self.t.store(&rest, &left_slot, 4);
            self.position.contexts.push(Context::Arm { end: next });
            self.position.mask = Mask::Some(own);
            self.block(case.body);
            let arm = self.position.contexts.pop();
            assert!(matches!(arm, Some(Context::Arm { end }) if end == next), "cases nest");
            if let Some(slot) = slot {
                let ended = self.position.mask.clone();
                self.collect(slot, &ended);
            }
            self.t.branch(next);
        }
        self.t.label(labels[cases.len()]);
        let value = self.t.splat(&value);
        let same = self.t.icmp(IntPredicate::Eq, &vector, &value);
        let own = Mask::Some(self.both(&left, &same));
        let rest = self.without(&left, &same);
        self.t.store(&rest, &left_slot, 4);
        self.collect(&default_slot, &own);
        self.t.label(next);
        // Each iteration takes at least one lane, so there are at most 32; cases may be long.
        self.poll();
        let rest = Mask::Some(self.t.load(MASK, &left_slot, 4));
        let more = self.any(&rest);
        self.t.branch_if(&more, head, done);
        self.t.label(done);
        let own = Mask::Some(self.t.load(MASK, &default_slot, 4));
        self.case(default, own, slot);
    }

    pub(super) fn case(&mut self, body: Block, mask: Mask, slot: Option<&Opd>) {
        let (run, end) = (self.t.block(), self.t.block());
        let any = self.any(&mask);
        self.t.branch_if(&any, run, end);
        self.t.label(run);
        self.position.contexts.push(Context::Arm { end });
        self.position.mask = mask;
        self.block(body);
        let left = self.position.contexts.pop();
        assert!(matches!(left, Some(Context::Arm { end: left }) if left == end), "cases nest");
        if let Some(slot) = slot {
            let left = self.position.mask.clone();
            self.collect(slot, &left);
        }
        self.t.label(end);
    }
}

//! Scopes and switches: constructs that lanes leave at their end or by a jump.

use anymetal_ir::{Block, Inst, Label, SwitchCase, Value};

use super::Context;
use crate::cpu::emit::{Emitter, Mask};
use crate::cpu::llvm_text::{BlockName, MASK, Opd};

impl Emitter<'_, '_> {
    pub(super) fn scope(&mut self, inst: Inst, label: Label, body: Block) {
        let outer = self.mask.clone();
        let exit = self.t.block();
        let exit_slot = self.open_construct(inst, label, exit);
        self.block(body);
        self.close_construct(exit, exit_slot, outer);
    }

    /// Pushes a scope's or switch's context; gives its slot if it is tracked.
    fn open_construct(&mut self, inst: Inst, label: Label, exit: BlockName) -> Option<Opd> {
        let construct = self.flow.construct(inst);
        let exit_slot = (construct.lanes_leave && construct.is_crossed
            || construct.diverges && construct.is_crossed)
            .then(|| {
                let slot = self.t.alloca(MASK, 4);
                self.t.store(MASK, &Opd::text("zeroinitializer"), &slot, 4);
                slot
            });
        let slot = exit_slot.clone();
        self.contexts.push(Context::Construct {
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
        let left = self.contexts.pop();
        assert!(
            matches!(left, Some(Context::Construct { exit: left, .. }) if left == exit),
            "constructs nest"
        );
        self.mask = match exit_slot {
            Some(slot) => {
                let left = self.mask.clone();
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
        let outer = self.mask.clone();
        let exit = self.t.block();
        let slot = self.open_construct(inst, label, exit);
        if self.flow.construct(inst).diverges {
            self.divergent_switch(selector, cases, default, slot.as_ref());
            // The arms have collected their lanes.
            self.mask = Mask::Some(Opd::text("zeroinitializer"));
        } else {
            let bodies: Vec<Block> = cases.iter().map(|case| case.body).chain([default]).collect();
            let labels = self.branch_to_cases(selector, cases);
            for (body, label) in bodies.into_iter().zip(labels) {
                self.t.label(label);
                self.mask = outer.clone();
                self.block(body);
                if let Some(slot) = &slot {
                    let left = self.mask.clone();
                    self.collect(slot, &left);
                }
                self.t.branch(exit);
            }
            self.mask = Mask::Some(Opd::text("zeroinitializer"));
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
        let ty = crate::cpu::llvm_text::scalar_type(self.scalar(selector));
        assert!(ty.starts_with('i') && ty != "i1", "a switch does not select by a {ty}");
        self.t.expect(value, ty);
        let labels: Vec<BlockName> = (0..=cases.len()).map(|_| self.t.block()).collect();
        let mut table = String::new();
        for (case, label) in cases.iter().zip(&labels) {
            for &value in &case.values {
                let value = crate::cpu::llvm_text::wrap_int(ty, value);
                table.push_str(&format!(" {ty} {value}, label %b{label}"));
            }
        }
        debug_assert!(
            {
                let mut seen = std::collections::BTreeSet::new();
                cases
                    .iter()
                    .flat_map(|case| &case.values)
                    .all(|&value| seen.insert(crate::cpu::llvm_text::wrap_int(ty, value)))
            },
            "the case values of a switch are distinct"
        );
        let default = labels[cases.len()];
        self.t.terminator(format_args!("switch {ty} {value}, label %b{default} [{table} ]"));
        labels
    }

    fn divergent_switch(
        &mut self,
        selector: Value,
        cases: &[SwitchCase],
        default: Block,
        slot: Option<&Opd>,
    ) {
        let outer = self.mask.clone();
        let element = crate::cpu::llvm_text::scalar_type(self.scalar(selector));
        let selector = self.vector(selector, 0);
        let ty = crate::cpu::llvm_text::lanes_type(element);
        let mut left = outer;
        for case in cases {
            let mut matches = Opd::text("zeroinitializer");
            for &value in &case.values {
                let value = crate::cpu::llvm_text::wrap_int(element, value);
                let one = self.t.value(format_args!("icmp eq {ty} {selector}, splat ({element} {value})"));
                matches = self.t.value(format_args!("or {MASK} {matches}, {one}"));
            }
            let own = Mask::Some(self.both(&left, &matches));
            left = Mask::Some(self.without(&left, &matches));
            self.case(case.body, own, slot);
        }
        self.case(default, left, slot);
    }

    pub(super) fn case(&mut self, body: Block, mask: Mask, slot: Option<&Opd>) {
        let (run, end) = (self.t.block(), self.t.block());
        let any = self.any(&mask);
        self.t.branch_if(&any, run, end);
        self.t.label(run);
        self.contexts.push(Context::Arm { end });
        self.mask = mask;
        self.block(body);
        let left = self.contexts.pop();
        assert!(matches!(left, Some(Context::Arm { end: left }) if left == end), "cases nest");
        if let Some(slot) = slot {
            let left = self.mask.clone();
            self.collect(slot, &left);
        }
        self.t.label(end);
    }
}

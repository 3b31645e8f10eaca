//! Branches: `if`, `switch` and `scope`.
//!
//! A tracked construct ends in a meeting place where all lanes that entered it vote which of them stay; the
//! others then go on to the next one around, until they are where they want to be.

use std::collections::BTreeSet;

use anymetal_ir::{Block, Inst, Label, Op, Scalar, SwitchCase, Value};

use super::Emitter;
use super::frames::{Exit, Frame};
use crate::cpu::CodegenError;
use crate::llvm::{self, BlockName, I32, IntPredicate, Opd, wrap_int};

impl Emitter<'_> {
    pub(super) fn construct(&mut self, inst: Inst) -> Result<(), CodegenError> {
        let tracked = self.facts.convergence.is_tracked(inst);
        let op = &self.input.function.inst(inst).op;
        if self.piece_test(inst)? {
            return Ok(());
        }
        self.carried.enter(op.results());
        match op {
            Op::If { cond, then, otherwise, .. } => self.branch(*cond, *then, *otherwise, tracked),
            Op::Switch { label, selector, cases, default, .. } => {
                self.switch(*label, *selector, cases, *default, tracked)
            }
            Op::Scope { label, body, .. } => self.scope(*label, *body, tracked),
            Op::Loop { .. } => self.endless_loop(inst, tracked),
            op => unreachable!("{op:?} is not a construct"),
        }?;
        let results = self.carried.leave();
        self.define_carried(results);
        Ok(())
    }

    /// Begins a construct that control enters here; gives its end, and the lanes that enter if it is tracked.
    fn begin(&mut self, label: Option<Label>, tracked: bool) -> (BlockName, Option<Opd>) {
        let end = self.t.block();
        let meet = tracked.then_some(end);
        let frame = Frame { label, meet, break_to: end, continue_to: end, exits: BTreeSet::new() };
        self.frames.push(frame);
        (end, tracked.then(|| self.active_lanes()))
    }

    /// Ends a construct.
    fn end(&mut self, label: Option<Label>, end: BlockName, entered: Option<&Opd>) {
        let exits = self.frames.pop();
        self.t.label(end);
        if let Some(entered) = entered {
            self.meet(label.map(Exit::Break), entered, exits);
        }
    }

    /// The meeting place of the lanes `entered`: those that came normally or by `own` go on here, the others
    /// on their way.
    pub(super) fn meet(&mut self, own: Option<Exit>, entered: &Opd, mut exits: BTreeSet<Exit>) {
        let came_by_own = own.is_some_and(|own| exits.remove(&own));
        if exits.is_empty() && !came_by_own {
            // Lanes that returned are gone and do not vote.
            let here = self.ballot(entered, &Opd::bool(true));
            return self.set_active_lanes(&here);
        }
        let variable = self.exit_variable();
        let wanted = self.t.load(I32, &variable, 4);
        let mut stays = self.t.icmp(IntPredicate::Eq, &wanted, 0);
        if let Some(own) = own.filter(|_| came_by_own) {
            let by_own = self.t.icmp(IntPredicate::Eq, &wanted, own.code());
            stays = self.t.or(&stays, &by_own);
        }
        let here = self.ballot(entered, &stays);
        self.set_active_lanes(&here);
        let (on, leave) = (self.t.block(), self.t.block());
        if !exits.is_empty() {
            self.t.branch_if(&stays, on, leave);
            self.t.label(leave);
            self.dispatch(&wanted, &exits);
        }
        self.t.label(on);
        self.t.store(&Opd::int(I32, 0), &variable, 4);
    }

    fn branch(
        &mut self,
        cond: Value,
        then: Block,
        otherwise: Block,
        tracked: bool,
    ) -> Result<(), CodegenError> {
        debug_assert!(self.scalar(cond) == Scalar::Bool, "conditions are booleans");
        let cond = self.one(cond);
        let (end, entered) = self.begin(None, tracked);
        let masks = entered.as_ref().map(|entered| {
            let yes = self.ballot(entered, &cond);
            let no = self.t.xor(entered, &yes);
            [yes, no]
        });
        let (yes, no) = (self.t.block(), self.t.block());
        self.t.branch_if(&cond, yes, no);
        for (at, (name, block)) in [(yes, then), (no, otherwise)].into_iter().enumerate() {
            self.t.label(name);
            if let Some(masks) = &masks {
                self.set_active_lanes(&masks[at]);
            }
            self.block(block)?;
            self.t.branch(end);
        }
        self.end(None, end, entered.as_ref());
        Ok(())
    }

    fn scope(&mut self, label: Label, body: Block, tracked: bool) -> Result<(), CodegenError> {
        let (end, entered) = self.begin(Some(label), tracked);
        self.block(body)?;
        self.end(Some(label), end, entered.as_ref());
        Ok(())
    }

    fn switch(
        &mut self,
        label: Label,
        selector: Value,
        cases: &[SwitchCase],
        default: Block,
        tracked: bool,
    ) -> Result<(), CodegenError> {
        let scalar = self.scalar(selector);
        let ty = crate::llvm::scalar_type(scalar);
        let selector = self.one(selector);
        let (end, entered) = self.begin(Some(label), tracked);
        let bodies: Vec<Block> = cases.iter().map(|case| case.body).chain([default]).collect();
        let names: Vec<BlockName> = bodies.iter().map(|_| self.t.block()).collect();
        let masks = entered.as_ref().map(|entered| self.case_masks(entered, ty, &selector, cases));
        assert!(scalar.is_int() && !names.is_empty(), "a switch selects a block by an integer");
        let targets = cases.iter().zip(&names);
        let targets = targets
            .flat_map(|(case, &name)| case.values.iter().map(move |&value| (wrap_int(ty, value), name)));
        let targets: Vec<_> = targets.collect();
        self.t.switch(&selector, names[cases.len()], &targets);
        for (at, (name, body)) in names.into_iter().zip(bodies).enumerate() {
            self.t.label(name);
            if let Some(masks) = &masks {
                self.set_active_lanes(&masks[at]);
            }
            self.block(body)?;
            self.t.branch(end);
        }
        self.end(Some(label), end, entered.as_ref());
        Ok(())
    }

    /// The lanes of each case, and of none of them at last.
    fn case_masks(
        &mut self,
        entered: &Opd,
        ty: llvm::Type,
        selector: &Opd,
        cases: &[SwitchCase],
    ) -> Vec<Opd> {
        let mut rest = entered.clone();
        let mut masks = Vec::new();
        for case in cases {
            let mut is_case = Opd::bool(false);
            for &value in &case.values {
                let equal = self.t.icmp(IntPredicate::Eq, selector, wrap_int(ty, value));
                is_case = self.t.or(&is_case, &equal);
            }
            let mask = self.ballot(entered, &is_case);
            rest = self.t.xor(&rest, &mask);
            masks.push(mask);
        }
        assert_eq!(masks.len(), cases.len(), "every case has a mask");
        masks.push(rest);
        masks
    }
}

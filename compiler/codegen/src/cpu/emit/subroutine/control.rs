//! Control flow of subroutines: branches that all lanes take together, masks where they part.
//!
//! A jump is *direct* if all lanes that are on take it, and none waits on its way: it is a branch. Lanes that
//! jump otherwise are noted at the target, and off until then. Invariant: where lanes wait the masks say so,
//! so code may run under a mask without lanes, as long as it ends: loops ask for lanes each time around.

use anymetal_analysis::walk_insts;
use anymetal_ir::{Block, Inst, Label, Op, SwitchCase, Value};

use super::{Emitter, Mask};
use crate::elementwise::Width;
use crate::llvm::{BlockName, Bound, IntPredicate, Opd};

/// A construct with a label around the position.
#[derive(Clone, Debug)]
pub(super) struct Construct {
    label: Label,
    is_direct: bool,
    exit: BlockName,
    /// Of a loop that is left directly: where `continue` goes.
    continuing: Option<BlockName>,
    /// The lanes that come to the exit, unless they are those that came in.
    exit_slot: Option<Opd>,
    continue_slot: Option<Opd>,
}

impl Emitter<'_, '_> {
    pub(super) fn block(&mut self, block: Block) {
        for &inst in self.sub.function.block(block) {
            self.inst(inst);
            if self.t.is_ended() {
                return;
            }
        }
    }

    pub(super) fn control(&mut self, inst: Inst) {
        let function = self.sub.function;
        match &function.inst(inst).op {
            Op::If { cond, then, otherwise, .. } => self.if_else(*cond, *then, *otherwise),
            Op::Loop { label, body, continuing, .. } if self.is_direct_loop(*label, *body, *continuing) => {
                self.direct_loop(inst, *label, *body, *continuing);
            }
            Op::Loop { label, body, continuing, .. } => self.masked_loop(inst, *label, *body, *continuing),
            Op::Scope { label, body, .. } => self.scope(*label, *body),
            Op::Switch { label, selector, cases, default, .. } => {
                self.switch(*label, *selector, cases, *default);
            }
            Op::Break(label, _) => self.leave(*label, false),
            Op::Continue(label, _) => self.leave(*label, true),
            Op::Return(value) => self.return_(*value),
            op => unreachable!("{op:?} is not control flow"),
        }
    }

    fn new_mask(&mut self, initial: &Opd) -> Opd {
        let ty = self.mask_type();
        let slot = self.t.alloca(ty, 4);
        self.t.store(initial, &slot, 4);
        slot
    }

    fn keep_mask(&mut self, slot: Option<&Opd>) {
        if let Some(slot) = slot {
            let mask = self.mask_operand();
            self.t.store(&mask, slot, 4);
        }
    }

    fn kept_mask(&mut self, slot: &Opd) -> Opd {
        let ty = self.mask_type();
        self.t.load(ty, slot, 4)
    }

    fn add_lanes(&mut self, slot: &Opd, lanes: &Opd) {
        self.t.expect(lanes, self.mask_type());
        let old = self.kept_mask(slot);
        let new = self.either(&old, lanes);
        self.t.store(&new, slot, 4);
    }

    /// Whether lanes may leave the blocks other than at their ends and together.
    fn changes_mask(&self, blocks: &[Block]) -> bool {
        let function = self.sub.function;
        let (mut own, mut targets, mut returns) = (Vec::new(), Vec::new(), false);
        for &block in blocks {
            walk_insts(function, block, &mut |inst| match &function.inst(inst).op {
                Op::Break(label, _) | Op::Continue(label, _) => targets.push(*label),
                Op::Return(_) => returns = true,
                op => own.extend(op.label()),
            });
        }
        let is_masked = |label: &Label| {
            let construct = self.constructs.iter().find(|construct| construct.label == *label);
            construct.is_some_and(|construct| !construct.is_direct)
        };
        returns || targets.iter().any(|label| !own.contains(label) && is_masked(label))
    }

    fn returns(&self, blocks: &[Block]) -> bool {
        let function = self.sub.function;
        let mut found = false;
        for &block in blocks {
            walk_insts(function, block, &mut |inst| {
                found |= matches!(function.inst(inst).op, Op::Return(_));
            });
        }
        found
    }

    fn is_direct_loop(&self, label: Label, body: Block, continuing: Block) -> bool {
        !self.sub.exits_diverge(label) && !self.returns(&[body, continuing])
    }

    // --- branches

    fn if_else(&mut self, cond: Value, then: Block, otherwise: Block) {
        let changes = self.changes_mask(&[then, otherwise]);
        if self.sub.is_uniform(cond) {
            let condition = self.component(cond, 0);
            return self.uniform_if(&condition, then, otherwise, changes);
        }
        let condition = self.at(cond, 0, self.width());
        let before = self.mask.clone();
        let mask = self.mask_operand();
        let on = self.both(&mask, &condition);
        let unmet = self.not(&condition);
        let off = self.both(&mask, &unmet);
        let first = self.arm(then, on, changes);
        let second = self.arm(otherwise, off, changes);
        self.mask = if changes { Mask::Some(self.either(&first, &second)) } else { before };
    }

    fn uniform_if(&mut self, condition: &Opd, then: Block, otherwise: Block, changes: bool) {
        let before = self.mask.clone();
        let slot = changes.then(|| self.new_mask(&Opd::zero(self.mask_type())));
        let (yes, no, join) = (self.t.block(), self.t.block(), self.t.block());
        self.t.branch_if(condition, yes, no);
        for (label, block) in [(yes, then), (no, otherwise)] {
            self.start(label);
            self.mask = before.clone();
            self.block(block);
            self.keep_mask(slot.as_ref());
            self.t.branch(join);
        }
        self.start(join);
        self.mask = match slot {
            Some(slot) => Mask::Some(self.kept_mask(&slot)),
            None => before,
        };
    }

    /// Starts a block that the one before does not fall into.
    fn start(&mut self, label: BlockName) {
        assert!(self.t.is_ended(), "the preceding block has a terminator");
        self.t.label(label);
    }

    /// Runs a block for lanes, if there are any; gives those that come to its end.
    fn arm(&mut self, block: Block, lanes: Opd, changes: bool) -> Opd {
        if self.sub.function.block(block).is_empty() {
            return lanes;
        }
        let slot = changes.then(|| self.new_mask(&Opd::zero(self.mask_type())));
        let (run, end) = (self.t.block(), self.t.block());
        let any = self.any(&lanes);
        self.t.branch_if(&any, run, end);
        self.t.label(run);
        self.mask = Mask::Some(lanes.clone());
        self.part(block, slot.as_ref(), end);
        match slot {
            Some(slot) => self.kept_mask(&slot),
            None => lanes,
        }
    }

    /// The rest of an arm: lanes that jump out of the block wait at `end`.
    fn part(&mut self, block: Block, slot: Option<&Opd>, end: BlockName) {
        self.arms.push(end);
        self.block(block);
        let left = self.arms.pop();
        assert_eq!(left, Some(end), "arms nest");
        self.keep_mask(slot);
        self.t.branch(end);
        self.t.label(end);
    }

    // --- constructs with labels

    /// Opens a construct that is no loop.
    fn open(&mut self, label: Label, changes: bool) -> (Construct, Mask) {
        let is_direct = !self.sub.exits_diverge(label);
        let exit = self.t.block();
        let wants_slot = changes || !is_direct;
        let exit_slot = wants_slot.then(|| self.new_mask(&Opd::zero(self.mask_type())));
        let construct =
            Construct { label, is_direct, exit, continuing: None, exit_slot, continue_slot: None };
        self.constructs.push(construct.clone());
        (construct, self.mask.clone())
    }

    /// Closes it: the lanes that came to the exit are on.
    fn close(&mut self, construct: &Construct, before: Mask, changes: bool) {
        self.t.branch(construct.exit);
        self.t.label(construct.exit);
        let left = self.constructs.pop();
        assert!(left.is_some_and(|left| left.label == construct.label), "constructs nest");
        self.mask = match &construct.exit_slot {
            Some(slot) if changes => Mask::Some(self.kept_mask(slot)),
            _ => before,
        };
    }

    fn scope(&mut self, label: Label, body: Block) {
        let changes = self.changes_mask(&[body]);
        let (construct, before) = self.open(label, changes);
        if construct.is_direct {
            self.block(body);
            self.keep_mask(construct.exit_slot.as_ref());
        } else {
            let end = self.t.block();
            let slot = self.new_mask(&Opd::zero(self.mask_type()));
            self.part(body, Some(&slot), end);
            self.add_to_exit(&construct, &slot);
        }
        self.close(&construct, before, changes);
    }

    fn add_to_exit(&mut self, construct: &Construct, slot: &Opd) {
        let lanes = self.kept_mask(slot);
        let exit = construct.exit_slot.as_ref().expect("constructs that lanes leave one by one have a slot");
        self.add_lanes(exit, &lanes);
    }

    fn switch(&mut self, label: Label, selector: Value, cases: &[SwitchCase], default: Block) {
        let mut blocks: Vec<Block> = cases.iter().map(|case| case.body).collect();
        blocks.push(default);
        let changes = self.changes_mask(&blocks);
        let (construct, before) = self.open(label, changes);
        if self.sub.is_uniform(selector) && construct.is_direct {
            self.uniform_switch(&construct, selector, cases, default);
        } else {
            self.masked_switch(&construct, selector, cases, default);
        }
        self.close(&construct, before, changes);
    }

    fn uniform_switch(
        &mut self,
        construct: &Construct,
        selector: Value,
        cases: &[SwitchCase],
        default: Block,
    ) {
        let before = self.mask.clone();
        for case in cases {
            let is_case = self.is_case(selector, case, Width::One);
            let (run, next) = (self.t.block(), self.t.block());
            self.t.branch_if(&is_case, run, next);
            self.start(run);
            self.mask = before.clone();
            self.block(case.body);
            self.keep_mask(construct.exit_slot.as_ref());
            self.t.branch(construct.exit);
            self.start(next);
        }
        self.mask = before;
        self.block(default);
        self.keep_mask(construct.exit_slot.as_ref());
    }

    fn masked_switch(
        &mut self,
        construct: &Construct,
        selector: Value,
        cases: &[SwitchCase],
        default: Block,
    ) {
        let mut left = self.mask_operand();
        for case in cases {
            let is_case = self.is_case(selector, case, self.width());
            let on = self.both(&left, &is_case);
            let others = self.not(&is_case);
            left = self.both(&left, &others);
            self.exit_arm(construct, case.body, on);
        }
        self.exit_arm(construct, default, left);
    }

    /// An arm whose end is the construct's exit.
    fn exit_arm(&mut self, construct: &Construct, block: Block, lanes: Opd) {
        let ended = self.arm(block, lanes, true);
        if let Some(exit) = &construct.exit_slot {
            self.add_lanes(exit, &ended);
        }
    }

    fn is_case(&mut self, selector: Value, case: &SwitchCase, width: Width) -> Opd {
        let value = self.at(selector, 0, width);
        let mut is_case: Option<Opd> = None;
        for &number in &case.values {
            let equal = self.t.icmp(IntPredicate::Eq, &value, number);
            is_case = Some(match is_case {
                None => equal,
                Some(others) => self.t.or(&others, &equal),
            });
        }
        is_case.unwrap_or_else(|| width.constant(&Opd::bool(false)))
    }

    // --- loops

    fn direct_loop(&mut self, inst: Inst, label: Label, body: Block, continuing: Block) {
        let before = self.mask.clone();
        let (head, next, exit) = (self.t.block(), self.t.block(), self.t.block());
        self.t.loop_header(head, self.polls.of_loop(inst).trips().map(Bound::Trips));
        self.constructs.push(Construct {
            label,
            is_direct: true,
            exit,
            continuing: Some(next),
            exit_slot: None,
            continue_slot: None,
        });
        self.block(body);
        self.t.label(next);
        self.mask = before.clone();
        self.block(continuing);
        self.end_iteration(inst);
        self.t.branch(head);
        let left = self.constructs.pop();
        assert!(left.is_some_and(|left| left.label == label), "constructs nest");
        self.start(exit);
        self.mask = before;
    }

    fn masked_loop(&mut self, inst: Inst, label: Label, body: Block, continuing: Block) {
        let changes = self.changes_mask(&[body, continuing]);
        let before = self.mask.clone();
        let none = Opd::zero(self.mask_type());
        let mask = self.mask_operand();
        let (on, exit_slot) = (self.new_mask(&mask), self.new_mask(&none));
        let continue_slot = self.new_mask(&none);
        let (head, run, exit) = (self.t.block(), self.t.block(), self.t.block());
        self.t.loop_header(head, self.polls.of_loop(inst).trips().map(Bound::Trips));
        let lanes = self.kept_mask(&on);
        self.t.store(&none, &continue_slot, 4);
        let any = self.any(&lanes);
        self.t.branch_if(&any, run, exit);
        self.start(run);
        self.mask = Mask::Some(lanes);
        self.constructs.push(Construct {
            label,
            is_direct: false,
            exit,
            continuing: None,
            exit_slot: Some(exit_slot.clone()),
            continue_slot: Some(continue_slot.clone()),
        });
        for (at, block) in [body, continuing].into_iter().enumerate() {
            let (end, slot) = (self.t.block(), self.new_mask(&none));
            self.part(block, Some(&slot), end);
            let mut lanes = self.kept_mask(&slot);
            if at == 0 {
                let continued = self.kept_mask(&continue_slot);
                lanes = self.either(&lanes, &continued);
            }
            self.mask = Mask::Some(lanes);
        }
        let left = self.constructs.pop();
        assert!(left.is_some_and(|left| left.label == label), "constructs nest");
        self.keep_mask(Some(&on));
        self.end_iteration(inst);
        self.t.branch(head);
        self.start(exit);
        self.mask = if changes { Mask::Some(self.kept_mask(&exit_slot)) } else { before };
    }

    /// Polls before the next iteration, where the loop does.
    fn end_iteration(&mut self, inst: Inst) {
        if self.polls.of_loop(inst).trips().is_none() {
            self.poll();
        }
    }

    /// Leaves soon after the device asks.
    pub(super) fn poll(&mut self) {
        let stop = self.t.load_stop_flag(&self.stop);
        let go_on = self.t.icmp(IntPredicate::Eq, &stop, 0);
        let go = self.t.block();
        let exit = self.exit;
        self.t.branch_likely(&go_on, go, exit);
        self.t.label(go);
    }

    // --- jumps

    fn leave(&mut self, label: Label, is_continue: bool) {
        let construct = self.constructs.iter().rev().find(|construct| construct.label == label).cloned();
        let construct = construct.expect("the label of a jump belongs to an enclosing construct");
        assert!(
            !is_continue || construct.continuing.is_some() || construct.continue_slot.is_some(),
            "only loops continue"
        );
        if construct.is_direct {
            if !is_continue {
                self.keep_mask(construct.exit_slot.as_ref());
            }
            let to = if is_continue { construct.continuing } else { None };
            return self.t.branch(to.unwrap_or(construct.exit));
        }
        let slot = if is_continue { construct.continue_slot } else { construct.exit_slot };
        if let Some(slot) = slot {
            let lanes = self.mask_operand();
            self.add_lanes(&slot, &lanes);
        }
        self.wait();
    }

    /// No lane is left in this block.
    fn wait(&mut self) {
        let to = self.arms.last().copied().unwrap_or(self.exit);
        self.t.branch(to);
    }

    fn return_(&mut self, value: Option<Value>) {
        assert_eq!(value.is_some(), self.result.is_some(), "a function returns what its type says");
        if let (Some(value), Some(into)) = (value, self.result.clone()) {
            let ty = self.sub.function.ty(value);
            for k in 0..usize::from(ty.lanes()) {
                let mut new = self.at(value, k, self.width());
                let place = self.passed(&into, ty, k);
                // Lanes that are off may have a result: of another return, or of an earlier call for a
                // part of the batch.
                if self.mask != Mask::Entry || self.sub.is_called_for_parts() {
                    let old = self.load_passed(ty, &place);
                    let mask = self.mask_operand();
                    new = self.t.select(&mask, &new, &old);
                }
                self.store_passed(ty, &new, &place);
            }
        }
        self.wait();
    }
}

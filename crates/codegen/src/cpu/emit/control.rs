//! Branches and loops inside a region, and the masks that they make.
//!
//! Lanes that leave the path being executed *wait*: at the end of their arm, behind a construct, or
//! at `continuing`. A jump of all lanes that are left goes to the nearest waiting point that it
//! passes, or to its target. A tracked construct keeps a slot with the lanes that came to its end;
//! others know that all their lanes do.

use anymetal_ir::{Block, Inst, Label, Op, SwitchCase, Value};

use super::{Emitter, Mask};
use crate::cpu::launch_abi::LAUNCH_STOP;
use crate::cpu::llvm_text::{BlockName, MASK, Opd};
use crate::cpu::shape::Lanes;

/// Code larger than this (in instructions) is not copied for the case that all lanes are on.
pub(super) const MAX_COPY: usize = 600;
/// Arms cheaper than this run under their mask without a branch.
const MAX_INLINE_COST: u32 = 14;

/// A place where lanes may wait, or a jump target, around the current position.
#[derive(Clone, Debug)]
pub(super) enum Context {
    /// An arm that only some lanes entered, or a region.
    Arm {
        /// Its end.
        end: BlockName,
    },
    /// A construct with a label.
    Construct {
        inst: Inst,
        label: Label,
        exit: BlockName,
        /// The continuing block, while in the body of a loop.
        continuing: Option<BlockName>,
        exit_slot: Option<Opd>,
        continue_slot: Option<Opd>,
    },
}

impl Emitter<'_, '_> {
    /// Emits the instructions of a block under the current mask.
    pub(super) fn block(&mut self, block: Block) {
        let function = self.facts.function;
        self.instructions(function.block(block));
    }

    pub(super) fn instructions(&mut self, insts: &[Inst]) {
        self.aside(|this| this.each_instruction(insts));
    }

    fn each_instruction(&mut self, insts: &[Inst]) {
        for (index, &inst) in insts.iter().enumerate() {
            if self.rest_with_open_windows(&insts[index..]) {
                return;
            }
            let before = self.mask.clone();
            self.instruction(inst);
            if self.t.is_ended() {
                return;
            }
            if self.mask != before && index + 1 < insts.len() {
                let rest = &insts[index + 1..];
                if self.rest_with_all_on(rest) {
                    return;
                }
                self.leave_if_none();
            }
        }
        self.settle_all_matrices();
    }

    /// After lanes left at the top of a region: a copy of the rest for the case that none did.
    fn rest_with_all_on(&mut self, rest: &[Inst]) -> bool {
        let is_top = self.contexts.len() == 1;
        if !is_top || self.copies_left == 0 || self.size(rest) > MAX_COPY || !self.touches_memory(rest) {
            return false;
        }
        let mask = self.mask.clone();
        let slot = self.t.alloca(MASK, 4);
        self.t.store(MASK, &Opd::text("zeroinitializer"), &slot, 4);
        let (full, partial, done) = (self.t.block(), self.t.block(), self.t.block());
        let all = self.all(&mask);
        self.t.branch_if(&all, full, partial);
        self.t.label(full);
        self.mask = Mask::All;
        self.copies_left -= 1;
        self.instructions(rest);
        // Lanes may have left in either copy.
        let left = self.mask.operand();
        self.t.store(MASK, &left, &slot, 4);
        self.t.branch(done);
        self.t.label(partial);
        self.mask = mask;
        self.leave_if_none();
        let windows = std::mem::replace(&mut self.may_open_windows, false);
        self.instructions(rest);
        self.may_open_windows = windows;
        let left = self.mask.operand();
        self.t.store(MASK, &left, &slot, 4);
        self.copies_left += 1;
        self.t.label(done);
        self.mask = Mask::Some(self.t.load(MASK, &slot, 4));
        true
    }

    fn instruction(&mut self, inst: Inst) {
        let function = self.facts.function;
        let op = &function.inst(inst).op;
        let is_store = matches!(op, Op::Store { .. });
        if has_effects(op) && !is_store {
            self.bail = None;
        }
        if op.is_terminator() || !op.blocks().is_empty() {
            self.settle_all_matrices();
        }
        match op {
            Op::If { cond, then, otherwise } => self.if_else(inst, *cond, *then, *otherwise),
            Op::Loop { label, body, continuing } => self.endless(inst, *label, *body, *continuing),
            Op::Scope { label, body } => self.scope(inst, *label, *body),
            Op::Switch { label, selector, cases, default } => {
                self.switch(inst, *label, *selector, cases, *default);
            }
            Op::Break(label) => self.jump(Some(*label), false),
            Op::Continue(label) => self.jump(Some(*label), true),
            Op::Return(_) => self.jump(None, false),
            _ => {
                self.simple(inst);
                self.save_result(inst);
            }
        }
        // A store checks before it writes.
        if is_store {
            self.bail = None;
        }
    }

    /// How many instructions, nested ones included.
    pub(super) fn size(&self, insts: &[Inst]) -> usize {
        let function = self.facts.function;
        let nested = |inst: &Inst| {
            let blocks = function.inst(*inst).op.blocks();
            1 + blocks.iter().map(|&block| self.size(function.block(block))).sum::<usize>()
        };
        insts.iter().map(nested).sum()
    }

    fn touches_memory(&self, insts: &[Inst]) -> bool {
        let function = self.facts.function;
        insts.iter().any(|&inst| {
            let op = &function.inst(inst).op;
            match op {
                Op::Load { ptr, .. } | Op::Store { ptr, .. } => {
                    self.facts.storage.cells_at(*ptr, 1).is_none()
                }
                Op::MemCopy { .. } | Op::MemZero { .. } => true,
                op => op.blocks().iter().any(|&block| self.touches_memory(function.block(block))),
            }
        })
    }

    // --- jumps

    /// Adds the lanes of `mask` to a slot.
    fn collect(&mut self, slot: &Opd, mask: &Mask) {
        let old = self.t.load(MASK, slot, 4);
        let new = self.t.value(format_args!("or {MASK} {old}, {}", mask.operand()));
        self.t.store(MASK, &new, slot, 4);
    }

    /// Where the nearest lanes wait on the way to a target (`None`: to the end of the region).
    /// Returns the index of the target's context too.
    fn waiting_point(&self, target: Option<Label>, is_continue: bool) -> (BlockName, Option<usize>) {
        let mut wait: Option<BlockName> = None;
        for (index, context) in self.contexts.iter().enumerate().rev() {
            match context {
                Context::Arm { end } => wait = wait.or(Some(*end)),
                Context::Construct { inst, label, exit, continuing, .. } => {
                    let construct = self.flow.construct(*inst);
                    let body_waits = continuing.filter(|_| construct.continue_waits);
                    if Some(*label) == target {
                        let destination = match continuing {
                            Some(continuing) if is_continue => *continuing,
                            _ => body_waits.unwrap_or(*exit),
                        };
                        return (wait.unwrap_or(destination), Some(index));
                    }
                    wait = wait.or(body_waits);
                    if construct.break_waits {
                        wait = wait.or(Some(*exit));
                    }
                }
            }
        }
        (wait.unwrap_or(self.exit), None)
    }

    /// Notes the lanes that jump, where anyone wants to know.
    fn record_jump(&mut self, target: Option<usize>, is_continue: bool, mask: &Mask) {
        let Some(Context::Construct { exit_slot, continue_slot, .. }) =
            target.map(|index| &self.contexts[index])
        else {
            return;
        };
        let slot = if is_continue { continue_slot.clone() } else { exit_slot.clone() };
        if let Some(slot) = slot {
            self.collect(&slot, mask);
        }
    }

    /// All active lanes jump.
    fn jump(&mut self, target: Option<Label>, is_continue: bool) {
        let (destination, context) = self.waiting_point(target, is_continue);
        let mask = self.mask.clone();
        self.record_jump(context, is_continue, &mask);
        self.t.branch(destination);
    }

    /// Goes on only if lanes are left.
    pub(super) fn leave_if_none(&mut self) {
        let mask = self.mask.clone();
        let any = self.any(&mask);
        let (destination, _) = self.waiting_point(None, false);
        let go = self.t.block();
        self.t.branch_if(&any, go, destination);
        self.t.label(go);
    }

    /// Leaves the kernel soon after the device asks.
    pub(super) fn poll(&mut self) {
        let stop = self.stop_flag();
        let go_on = self.t.icmp("eq", "i32", &stop, &Opd::Int(0));
        let go = self.t.block();
        let exit = self.exit;
        self.t.branch_likely(&go_on, go, exit);
        self.t.label(go);
    }

    /// What the device sets when it wants kernels to stop.
    pub(super) fn stop_flag(&mut self) -> Opd {
        let slot = self.stop_pointer();
        self.t.value(format_args!("load volatile i32, ptr {slot}, align 4"))
    }

    fn stop_pointer(&mut self) -> Opd {
        if let Some(slot) = &self.stop {
            return slot.clone();
        }
        let launch = self.group.launch.clone();
        let field = self.t.entry_value(format_args!("getelementptr i8, ptr {launch}, i64 {LAUNCH_STOP}"));
        let slot = self.t.entry_value(format_args!("load ptr, ptr {field}, align 8, !invariant.load !1"));
        self.stop = Some(slot.clone());
        slot
    }

    // --- if

    fn if_else(&mut self, inst: Inst, cond: Value, then: Block, otherwise: Block) {
        let construct = self.flow.construct(inst);
        if let Some(known) = self.shape(cond, 0).lanes().and_then(Lanes::constant) {
            return self.block(if known & 1 == 1 { then } else { otherwise });
        }
        if !construct.diverges {
            return self.uniform_if(cond, then, otherwise);
        }
        let condition = self.vector(cond, 0);
        let before = self.mask.clone();
        let on = self.both(&before, &condition);
        // The same register may be the mask of an `if` around this one, whose tests are others.
        let outer_tests = self.tests_of(&on);
        self.note_tests(cond, &before, &on);
        self.divergent_if(inst, &condition, &on, then, otherwise);
        self.set_tests(&on, outer_tests);
    }

    fn divergent_if(&mut self, inst: Inst, condition: &Opd, on: &Opd, then: Block, otherwise: Block) {
        let before = self.mask.clone();
        let (yes, no) = (self.is_cheap(then), self.is_cheap(otherwise));
        let escapes = self.plan.escapes(inst);
        if yes && no && !escapes {
            self.mask = Mask::Some(on.clone());
            self.block(then);
            if !self.facts.function.block(otherwise).is_empty() {
                self.mask = Mask::Some(self.without(&before, condition));
                self.block(otherwise);
            }
            self.mask = before;
            return;
        }
        let first = self.arm(then, Mask::Some(on.clone()), escapes, true);
        let second = match self.facts.function.block(otherwise).is_empty() && !escapes {
            true => before.clone(),
            false => {
                let off = self.without(&before, condition);
                self.note_opposite_tests(on, &off);
                self.arm(otherwise, Mask::Some(off), escapes, false)
            }
        };
        self.mask = before;
        if escapes {
            self.mask = self.either(&first, &second);
        }
    }

    fn either(&mut self, a: &Mask, b: &Mask) -> Mask {
        match (a.operand(), b.operand()) {
            (none, _) if none.is_text("zeroinitializer") => b.clone(),
            (_, none) if none.is_text("zeroinitializer") => a.clone(),
            (x, y) => Mask::Some(self.t.value(format_args!("or {MASK} {x}, {y}"))),
        }
    }

    /// One arm of a divergent `if`; gives the lanes that come to its end.
    fn arm(&mut self, block: Block, mask: Mask, escapes: bool, may_copy: bool) -> Mask {
        let function = self.facts.function;
        let insts = function.block(block);
        if insts.is_empty() {
            return mask;
        }
        if let [only] = insts
            && let Some((target, is_continue)) = jump_of(&function.inst(*only).op)
        {
            let (_, context) = self.waiting_point(target, is_continue);
            self.record_jump(context, is_continue, &mask);
            return Mask::Some(Opd::text("zeroinitializer"));
        }
        let slot = escapes.then(|| {
            let slot = self.t.alloca(MASK, 4);
            self.t.store(MASK, &Opd::text("zeroinitializer"), &slot, 4);
            slot
        });
        let (run, end) = (self.t.block(), self.t.block());
        self.contexts.push(Context::Arm { end });
        let copy = may_copy
            && self.copies_left > 0
            && self.contexts.len() == 2
            && self.touches_memory(insts)
            && self.size(insts) <= MAX_COPY;
        if copy {
            let (full, partial) = (self.t.block(), self.t.block());
            let all = self.all(&mask);
            self.t.branch_if(&all, full, partial);
            self.t.label(full);
            self.copies_left -= 1;
            self.arm_body(insts, Mask::All, slot.as_ref(), end);
            self.copies_left += 1;
            self.t.label(partial);
        }
        let any = self.any(&mask);
        self.t.branch_if(&any, run, end);
        self.t.label(run);
        let copies = std::mem::take(&mut self.copies_left);
        // With all lanes on, this copy is not the one that runs.
        let windows = self.may_open_windows;
        self.may_open_windows &= !copy;
        self.arm_body(insts, mask, slot.as_ref(), end);
        (self.copies_left, self.may_open_windows) = (copies, windows);
        self.t.label(end);
        self.contexts.pop();
        match slot {
            Some(slot) => Mask::Some(self.t.load(MASK, &slot, 4)),
            None => Mask::All,
        }
    }

    fn arm_body(&mut self, insts: &[Inst], mask: Mask, slot: Option<&Opd>, end: BlockName) {
        self.mask = mask;
        self.instructions(insts);
        if let Some(slot) = slot {
            let left = self.mask.operand();
            self.t.store(MASK, &left, slot, 4);
        }
        self.t.branch(end);
    }

    fn uniform_if(&mut self, cond: Value, then: Block, otherwise: Block) {
        let condition = self.uniform(cond, 0);
        let before = self.mask.clone();
        let slot = self.t.alloca(MASK, 4);
        let (yes, no, join) = (self.t.block(), self.t.block(), self.t.block());
        self.t.branch_if(&condition, yes, no);
        let mut changed = false;
        for (label, block) in [(yes, then), (no, otherwise)] {
            changed |= self.way(label, &before, &slot, join, |this| this.block(block));
        }
        self.t.label(join);
        self.mask = if changed { Mask::Some(self.t.load(MASK, &slot, 4)) } else { before };
    }

    /// Emits one of the ways that part here and meet at `join`, under a mask; what is left of that goes to `slot`.
    /// Returns whether the way changes it.
    pub(super) fn way(
        &mut self,
        label: BlockName,
        mask: &Mask,
        slot: &Opd,
        join: BlockName,
        emit: impl FnOnce(&mut Self),
    ) -> bool {
        self.t.label(label);
        self.mask = mask.clone();
        emit(self);
        let mut changed = false;
        if !self.t.is_ended() {
            changed = self.mask != *mask;
            let left = self.mask.operand();
            self.t.store(MASK, &left, slot, 4);
        }
        self.t.branch(join);
        changed
    }

    /// Whether a block may run under any mask without a branch around it: it has no effects but
    /// stores to cells, and costs little.
    fn is_cheap(&self, block: Block) -> bool {
        let function = self.facts.function;
        let mut cost = 0;
        for &inst in function.block(block) {
            let data = function.inst(inst);
            cost += match &data.op {
                Op::Store { ptr, .. } if self.facts.storage.cells_at(*ptr, 1).is_some() => 1,
                Op::Load { ptr, .. } if self.facts.storage.cells_at(*ptr, 1).is_some() => 0,
                Op::LocalStart(_) => 0,
                Op::Const(_)
                | Op::Undef
                | Op::Splat(_)
                | Op::Compose(_)
                | Op::Extract(..)
                | Op::Insert(..)
                | Op::Shuffle(..)
                | Op::LocalAddr(_)
                | Op::ThreadgroupAddr(_)
                | Op::GlobalAddr(_)
                | Op::PtrAdd { .. } => 0,
                Op::Unary(..) | Op::Compare(..) | Op::Select(..) => 1,
                Op::Binary(op, ..) => binary_cost(*op),
                Op::Cast(..) => 2,
                Op::Math(function, _) => math_cost(*function),
                _ => return false,
            } * self.weight(inst);
        }
        cost <= MAX_INLINE_COST
    }

    /// How many vector instructions an instruction becomes, roughly.
    fn weight(&self, inst: Inst) -> u32 {
        let Some(result) = self.facts.function.inst(inst).result else { return 1 };
        self.flow.values[result.index()].iter().filter(|shape| !shape.is_uniform()).count() as u32
    }

    // --- loops

    fn endless(&mut self, inst: Inst, label: Label, body: Block, continuing: Block) {
        let construct = self.flow.construct(inst);
        let outer = self.mask.clone();
        let (head, next, exit) = (self.t.block(), self.t.block(), self.t.block());
        let copies = std::mem::take(&mut self.copies_left);
        let tracked = construct.lanes_leave && construct.is_crossed;
        let new_slot = |this: &mut Self, wanted: bool, initial: &Opd| {
            wanted.then(|| {
                let slot = this.t.alloca(MASK, 4);
                this.t.store(MASK, initial, &slot, 4);
                slot
            })
        };
        let none = Opd::text("zeroinitializer");
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
        self.loop_while_all_stay(inst, (label, body, continuing), (head, exit));
        self.t.label(head);
        if let (Some(lanes), Some(waiting)) = (&lanes_slot, &continue_slot) {
            self.mask = Mask::Some(self.t.load(MASK, lanes, 4));
            self.t.store(MASK, &none, waiting, 4);
        }
        self.contexts.push(context(Some(next)));
        self.block(body);
        self.contexts.pop();
        self.contexts.push(context(None));
        if let Some(waiting) = &continue_slot {
            let left = self.mask.clone();
            self.collect(waiting, &left);
            self.t.label(next);
            self.mask = Mask::Some(self.t.load(MASK, waiting, 4));
            self.leave_loop_if_none(exit);
        } else {
            self.t.label(next);
            self.mask = outer.clone();
        }
        self.block(continuing);
        if !self.is_counted(label, body, continuing) {
            self.poll();
        }
        if let Some(lanes) = &lanes_slot {
            let left = self.mask.operand();
            self.t.store(MASK, &left, lanes, 4);
            self.leave_loop_if_none(exit);
        }
        self.t.branch(head);
        self.contexts.pop();
        self.t.label(exit);
        self.copies_left = copies;
        self.mask = match exit_slot {
            Some(slot) => Mask::Some(self.t.load(MASK, &slot, 4)),
            None => outer,
        };
    }

    fn leave_loop_if_none(&mut self, exit: BlockName) {
        let mask = self.mask.clone();
        let any = self.any(&mask);
        let go = self.t.block();
        self.t.branch_if(&any, go, exit);
        self.t.label(go);
    }

    fn scope(&mut self, inst: Inst, label: Label, body: Block) {
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
        self.contexts.pop();
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

    // --- switch

    fn switch(&mut self, inst: Inst, label: Label, selector: Value, cases: &[SwitchCase], default: Block) {
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
    pub(super) fn branch_to_cases_on(
        &mut self,
        value: &Opd,
        selector: Value,
        cases: &[SwitchCase],
    ) -> Vec<BlockName> {
        let ty = crate::cpu::llvm_text::scalar_type(self.scalar(selector));
        let labels: Vec<BlockName> = (0..=cases.len()).map(|_| self.t.block()).collect();
        let mut table = String::new();
        for (case, label) in cases.iter().zip(&labels) {
            for &value in &case.values {
                let value = crate::cpu::llvm_text::wrap_int(ty, value);
                table.push_str(&format!(" {ty} {value}, label %b{label}"));
            }
        }
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

    fn case(&mut self, body: Block, mask: Mask, slot: Option<&Opd>) {
        let (run, end) = (self.t.block(), self.t.block());
        let any = self.any(&mask);
        self.t.branch_if(&any, run, end);
        self.t.label(run);
        self.contexts.push(Context::Arm { end });
        self.mask = mask;
        self.block(body);
        self.contexts.pop();
        if let Some(slot) = slot {
            let left = self.mask.clone();
            self.collect(slot, &left);
        }
        self.t.label(end);
    }
}

/// Whether an iteration cannot be repeated once the operation has run.
fn has_effects(op: &Op) -> bool {
    !(super::group::is_pure(op) || matches!(op, Op::Load { .. } | Op::LocalStart(_) | Op::Simd(..)))
}

fn jump_of(op: &Op) -> Option<(Option<Label>, bool)> {
    match op {
        Op::Break(label) => Some((Some(*label), false)),
        Op::Continue(label) => Some((Some(*label), true)),
        Op::Return(_) => Some((None, false)),
        _ => None,
    }
}

fn binary_cost(op: anymetal_ir::BinOp) -> u32 {
    use anymetal_ir::BinOp;
    match op {
        BinOp::FDiv | BinOp::UDiv | BinOp::SDiv | BinOp::URem | BinOp::SRem => 12,
        BinOp::FRem => 100,
        _ => 1,
    }
}

fn math_cost(function: anymetal_ir::MathFn) -> u32 {
    use anymetal_ir::MathFn;
    match function {
        MathFn::Fma | MathFn::FAbs | MathFn::FMin | MathFn::FMax | MathFn::CopySign => 1,
        MathFn::Floor | MathFn::Ceil | MathFn::Trunc | MathFn::Rint | MathFn::IsNan | MathFn::IsInf => 2,
        _ => 100,
    }
}

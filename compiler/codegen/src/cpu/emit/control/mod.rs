//! Branches and loops inside a region, and their execution masks.
//!
//! Lanes that leave the executed path *wait*: at the end of their arm, after a construct, or at
//! `continuing`. A jump of all remaining lanes goes to the nearest waiting point that it passes, or to its
//! target. A tracked construct has a slot with the mask of lanes that reached its end; for other constructs
//! all their lanes do.

mod branch;
mod jump;
mod loops;
mod switch;

use anymetal_ir::{Block, Inst, Label, Op};

use super::{Emitter, Mask};
use crate::llvm::{BlockName, MASK, Opd};
use anymetal_simd::limits::MAX_COPY;
use anymetal_simd::regions;

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
        let function = self.plan.facts.function;
        self.instructions(function.block(block));
    }

    pub(super) fn instructions(&mut self, insts: &[Inst]) {
        self.aside(|this| this.each_instruction(insts));
    }

    fn each_instruction(&mut self, insts: &[Inst]) {
        for (index, &inst) in insts.iter().enumerate() {
            if self.version_rest(&insts[index..]) {
                return;
            }
            let before = self.position.mask.clone();
            self.instruction(inst);
            if self.t.is_ended() {
                return;
            }
            if self.position.mask != before && index + 1 < insts.len() {
                let rest = &insts[index + 1..];
                if self.rest_with_all_on(rest) {
                    return;
                }
                self.leave_if_none();
            }
        }
        self.flush_all_matrices();
    }

    /// After lanes left at the top of a region: a copy of the rest for the case that none did.
    fn rest_with_all_on(&mut self, rest: &[Inst]) -> bool {
        let is_top = self.position.contexts.len() == 1;
        if !is_top
            || self.position.copies_left == 0
            || self.size(rest) > MAX_COPY
            || !self.touches_memory(rest)
        {
            return false;
        }
        let mask = self.position.mask.clone();
        let slot = self.t.alloca(MASK, 4);
        self.t.store(&Opd::zero(MASK), &slot, 4);
        let (full, partial, done) = (self.t.block(), self.t.block(), self.t.block());
        let all = self.all(&mask);
        self.t.branch_if(&all, full, partial);
        self.t.label(full);
        self.position.mask = Mask::All;
        self.position.copies_left -= 1;
        self.instructions(rest);
        // Lanes may have left in either copy.
        let left = self.position.mask.operand();
        self.t.store(&left, &slot, 4);
        self.t.branch(done);
        self.t.label(partial);
        self.position.mask = mask;
        self.leave_if_none();
        let may_version = std::mem::replace(&mut self.position.may_version_guards, false);
        self.instructions(rest);
        self.position.may_version_guards = may_version;
        let left = self.position.mask.operand();
        self.t.store(&left, &slot, 4);
        self.position.copies_left += 1;
        self.t.label(done);
        self.position.mask = Mask::Some(self.t.load(MASK, &slot, 4));
        true
    }

    fn instruction(&mut self, inst: Inst) {
        if self.t.len() > self.shared.options.max_text_bytes {
            // Nothing more is emitted: all that follows is unreachable.
            self.shared.is_cut = true;
            return self.t.unreachable();
        }
        let function = self.plan.facts.function;
        let op = &function.inst(inst).op;
        debug_assert!(!self.t.is_ended(), "{inst} follows a jump");
        debug_assert!(
            !self.position.mask.operand().is_zeros(),
            "{inst} is emitted under a mask without active lanes"
        );
        let is_store = matches!(op, Op::Store { .. });
        if !op.is_repeatable() && !is_store {
            self.position.bail = None;
        }
        if op.is_terminator() || !op.blocks().is_empty() {
            self.flush_all_matrices();
        }
        match op {
            Op::If { cond, then, otherwise, .. } => self.if_else(inst, *cond, *then, *otherwise),
            Op::Loop { label, body, continuing, .. } => {
                if !self.predicated_loop(inst, (*label, *body, *continuing)) {
                    self.endless(inst, *label, *body, *continuing);
                }
            }
            Op::Scope { label, body, .. } => self.scope(inst, *label, *body),
            Op::Switch { label, selector, cases, default, .. } => {
                self.switch(inst, *label, *selector, cases, *default);
            }
            Op::Break(label, _) => self.jump(Some(*label), false),
            Op::Continue(label, _) => self.jump(Some(*label), true),
            Op::Return(_) => self.jump(None, false),
            _ => {
                self.simple(inst);
                self.save_result(inst);
            }
        }
        // A store checks before it writes.
        if is_store {
            self.position.bail = None;
        }
    }

    /// How many instructions, nested ones included.
    pub(super) fn size(&self, insts: &[Inst]) -> usize {
        regions::size(self.plan.facts.function, insts)
    }

    fn touches_memory(&self, insts: &[Inst]) -> bool {
        let function = self.plan.facts.function;
        insts.iter().any(|&inst| {
            let op = &function.inst(inst).op;
            match op {
                Op::Load { ptr, .. } | Op::Store { ptr, .. } => {
                    self.plan.facts.storage.vars_at(*ptr, 1).is_none()
                }
                Op::MemCopy { .. } | Op::MemZero { .. } => true,
                op => op.blocks().iter().any(|&block| self.touches_memory(function.block(block))),
            }
        })
    }
}

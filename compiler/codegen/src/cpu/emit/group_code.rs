//! Group-level code: what runs once per threadgroup, and the branches and loops around regions.
//!
//! Invariant: conditions and selectors here are the same for all threads that have not returned, so one
//! branch of the worker stands for all of theirs.

use anymetal_abi::{GRID_SYNC_SYMBOL, SIMDGROUP_YIELD_SYMBOL, YieldReason};
use anymetal_ir::{Block, Inst, Label, Op, Value};
use anymetal_opt::RemarkId;

use super::lane::Lane;
use super::{Emitter, Mask};
use crate::llvm::{BlockName, MASK, Opd, scalar_type};
use anymetal_simd::regions::Step;

/// A jump target at group level.
#[derive(Clone, Copy, Debug)]
pub(super) struct GroupLabel {
    pub(super) label: Label,
    pub(super) exit: BlockName,
    pub(super) continuing: BlockName,
}

impl Emitter<'_, '_> {
    /// Emits the whole body.
    pub(super) fn body(&mut self) {
        if self.plan.regions.tracks_live {
            self.initialise_live();
        }
        let body = self.plan.facts.function.body;
        self.group_block(body);
    }

    fn group_block(&mut self, block: Block) {
        self.aside(|this| this.group_steps(block));
    }

    fn group_steps(&mut self, block: Block) {
        for step in self.plan.regions.steps(block).to_vec() {
            if self.t.is_ended() {
                return;
            }
            match step {
                Step::Group(inst) => {
                    self.position.mask = Mask::All;
                    self.at_group_level();
                    match self.plan.facts.function.inst(inst).op {
                        Op::If { .. } => self.instructions(&[inst]),
                        _ => self.simple(inst),
                    }
                }
                Step::Region(number) => self.region(number),
                Step::Construct(inst) => self.group_construct(inst),
                Step::Jump(inst) => self.group_jump(inst),
            }
        }
    }

    pub(super) fn at_group_level(&mut self) {
        self.position.simdgroup = Opd::i32(0);
        self.position.first = Opd::i32(0);
    }

    fn group_jump(&mut self, inst: Inst) {
        let find = |this: &Self, label: Label| {
            let found = this.position.group_labels.iter().rev().find(|found| found.label == label).copied();
            found.expect("the label of a group-level jump belongs to an enclosing group-level construct")
        };
        let destination = match self.plan.facts.function.inst(inst).op {
            Op::Break(label, _) => find(self, label).exit,
            Op::Continue(label, _) => find(self, label).continuing,
            Op::Return(_) => self.position.exit,
            ref op => unreachable!("{op:?} is not a jump"),
        };
        self.t.branch(destination);
    }

    fn group_construct(&mut self, inst: Inst) {
        let entered = self.group_work.enter();
        self.group_level_construct(inst);
        self.group_work.leave(entered);
    }

    fn group_level_construct(&mut self, inst: Inst) {
        let function = self.plan.facts.function;
        let begun = self.group_work;
        match &function.inst(inst).op {
            Op::If { cond, then, otherwise, .. } => {
                let condition = self.group_value(inst, *cond);
                let (yes, no, join) = (self.t.block(), self.t.block(), self.t.block());
                self.t.branch_if(&condition, yes, no);
                for (label, block) in [(yes, *then), (no, *otherwise)] {
                    self.t.label(label);
                    self.group_work.begin_arm(begun);
                    self.group_block(block);
                    self.t.branch(join);
                }
                self.t.label(join);
            }
            Op::Loop { label, body, continuing, .. } => {
                self.remark(inst, RemarkId::LoopThreadgroup, |_, remark| remark);
                let (head, next, exit) = (self.t.block(), self.t.block(), self.t.block());
                self.position.group_labels.push(GroupLabel { label: *label, exit, continuing: next });
                self.t.label(head);
                self.group_block(*body);
                self.t.label(next);
                self.group_block(*continuing);
                self.poll();
                self.t.branch(head);
                self.position.group_labels.pop();
                self.t.label(exit);
            }
            Op::Scope { label, body, .. } => {
                let exit = self.t.block();
                self.position.group_labels.push(GroupLabel { label: *label, exit, continuing: exit });
                self.group_block(*body);
                self.position.group_labels.pop();
                self.t.label(exit);
            }
            Op::Switch { label, selector, cases, default, .. } => {
                let exit = self.t.block();
                self.position.group_labels.push(GroupLabel { label: *label, exit, continuing: exit });
                let value = self.group_value(inst, *selector);
                let labels = self.branch_to_cases_on(&value, *selector, cases);
                let bodies = cases.iter().map(|case| case.body).chain([*default]);
                for (body, label) in bodies.zip(labels) {
                    self.t.label(label);
                    self.group_work.begin_arm(begun);
                    self.group_block(body);
                    self.t.branch(exit);
                }
                self.position.group_labels.pop();
                self.t.label(exit);
            }
            op => unreachable!("{op:?} does not contain barriers"),
        }
    }

    /// Lets the device run the other threadgroups until they have come to this barrier. To LLVM it is a call
    /// that may read and write all memory.
    pub(super) fn grid_barrier(&mut self) {
        if self.own_simdgroup.is_some() {
            return self.yield_simdgroup(YieldReason::GridBarrier);
        }
        let worker = self.group.worker.clone();
        self.shared.declares.insert(format!("declare void @{GRID_SYNC_SYMBOL}(ptr)"));
        self.t.call_void(GRID_SYNC_SYMBOL, &[&worker]);
    }

    /// Lets the device run the other SIMD-groups of the threadgroup. To LLVM it is a call that may read and
    /// write all memory.
    pub(super) fn yield_simdgroup(&mut self, reason: YieldReason) {
        let worker = self.group.worker.clone();
        self.shared.declares.insert(format!("declare void @{SIMDGROUP_YIELD_SYMBOL}(ptr, i32)"));
        let reason = reason as u32;
        self.t.call_void(SIMDGROUP_YIELD_SYMBOL, &[&worker, &Opd::i32(reason.into())]);
    }

    /// A condition or selector of group-level code: known once for the group, or taken from a lane
    /// that has not returned, because all of those agree.
    fn group_value(&mut self, inst: Inst, value: Value) -> Opd {
        let Some(&number) = self.plan.regions.samples.get(&inst) else {
            // Every SIMD-group computes the same lanes. A kernel whose barriers are not divergent agrees in
            // all of them.
            return self.at(value, 0, 0);
        };
        let element = scalar_type(self.scalar(value));
        let slot = self.t.alloca(element, 8);
        let done = self.t.block();
        let next_simdgroup = self.begin_simdgroups();
        self.fetch_values(number);
        let end = self.t.block();
        self.position.mask = Mask::All;
        if self.plan.regions.tracks_live {
            let live = self.leave_without_live(end);
            self.position.mask = Mask::Some(self.t.bitcast(&live, MASK));
        }
        let one = match self.lane(value, 0) {
            Lane::Affine { shape, .. } if shape.is_uniform() => self.uniform(value, 0),
            _ => {
                let all = self.vector(value, 0);
                let lane = self.first_lane();
                self.t.extract(&all, &lane)
            }
        };
        self.t.store(&one, &slot, 8);
        self.t.branch(done);
        self.t.label(end);
        self.end_simdgroups(next_simdgroup);
        // Nobody is left.
        let exit = self.position.exit;
        self.t.branch(exit);
        self.t.label(done);
        self.t.load(element, &slot, 8)
    }
}

//! Emits a region: for which SIMD-groups, and under which mask.
//!
//! A region's code may have several versions: for full SIMD-groups and the partial last one, or for
//! SIMD-groups of which no lane has returned and others. Invariant: each version fetches and saves its
//! variables as the regions before it left them.

use super::control::Context;
use super::group_span::Span;
use super::{Emitter, Mask};
use crate::limits::cpu::MAX_REGION_COPY;
use crate::llvm::{I32, IntPredicate, MASK, Opd};

impl Emitter<'_, '_> {
    pub(super) fn region(&mut self, number: usize) {
        if self.plan.regions.regions[number].insts.is_empty() {
            return;
        }
        let no_barriers = self.plan.regions.regions.len() == 1 && !self.plan.regions.tracks_live;
        let is_edge = self.is_edge();
        let may_be_partial =
            self.plan.facts.geometry.threads().is_none_or(|threads| !threads.is_multiple_of(32));
        let single = self.plan.facts.geometry.threads().is_some_and(|threads| threads < 32);
        let insts = self.plan.regions.regions[number].insts.clone();
        let polls = self.poll_before_region(&insts);
        let runs_all = self.own_simdgroup.is_none();
        if runs_all && no_barriers && may_be_partial && !is_edge && !single {
            return self.region_with_tail(number, polls);
        }
        if runs_all && let Some(span) = self.span_of_region(number) {
            return self.region_in_span(number, &span, !is_edge, polls);
        }
        let done = if runs_all { self.region_interior(number, polls) } else { None };
        let simdgroups = self.begin_simdgroups_at(&Opd::i32(0), polls);
        self.simdgroup_of_region(number, runs_all && !is_edge);
        self.end_simdgroups(simdgroups);
        if let Some(done) = done {
            self.t.label(done);
        }
    }

    /// Runs a region for those SIMD-groups that have something to do in it.
    fn region_in_span(&mut self, number: usize, span: &Span, may_copy: bool, polls: bool) {
        let (enter, done) = (self.t.block(), self.t.block());
        let some = self.t.icmp(IntPredicate::ULt, &span.start, &span.end);
        self.t.branch_if(&some, enter, done);
        self.t.label(enter);
        if span.is_single() {
            self.enter_simdgroup(span.start.clone());
            self.simdgroup_of_region(number, may_copy);
        } else {
            let simdgroups = self.begin_simdgroups_at(&span.start, polls);
            self.simdgroup_of_region(number, may_copy);
            self.end_simdgroups_at(simdgroups, &span.end);
        }
        self.t.label(done);
        self.at_group_level();
    }

    /// Full SIMD-groups in a loop, then the partial one.
    fn region_with_tail(&mut self, number: usize, polls: bool) {
        let threads = self.group.threads.clone();
        let full = match &threads {
            Opd::Int(_, threads) => Opd::i32(threads / 32),
            threads => self.t.lshr(threads, 5),
        };
        let rest = match &threads {
            Opd::Int(_, threads) => Opd::i32(threads % 32),
            threads => self.t.and(threads, 31),
        };
        let (enter, tail, done) = (self.t.block(), self.t.block(), self.t.block());
        let any_full = self.t.icmp(IntPredicate::Ne, &full, 0);
        self.t.branch_if(&any_full, enter, tail);
        self.t.label(enter);
        let simdgroups = self.begin_simdgroups_at(&Opd::i32(0), polls);
        self.lanes_of_region(number, Mask::All);
        self.next_simdgroup(simdgroups, &full, tail);
        self.t.label(tail);
        let any_rest = self.t.icmp(IntPredicate::Ne, &rest, 0);
        let partial = self.t.block();
        self.t.branch_if(&any_rest, partial, done);
        self.t.label(partial);
        self.enter_simdgroup(full);
        let mask = self.existing_lanes();
        let copies = std::mem::take(&mut self.position.copies_left);
        self.lanes_of_region(number, mask);
        self.position.copies_left = copies;
        self.t.label(done);
        self.at_group_level();
    }

    /// One SIMD-group's turn in a region.
    fn simdgroup_of_region(&mut self, number: usize, may_copy: bool) {
        let end = self.t.block();
        let mut mask = self.existing_lanes();
        let mut copy = false;
        if self.plan.regions.tracks_live {
            let live = self.leave_without_live(end);
            let insts = self.plan.regions.regions[number].insts.clone();
            if may_copy && self.size(&insts) <= MAX_REGION_COPY {
                let (full, partial) = (self.t.block(), self.t.block());
                let all = self.t.icmp(IntPredicate::Eq, &live, -1);
                self.t.branch_if(&all, full, partial);
                self.t.label(full);
                self.lanes_of_region(number, Mask::All);
                self.t.branch(end);
                self.t.label(partial);
                copy = true;
            }
            mask = Mask::Some(self.t.bitcast(&live, MASK));
        }
        let copies = self.position.copies_left;
        if copy || !may_copy || mask != Mask::All {
            self.position.copies_left = 0;
        }
        self.lanes_of_region(number, mask);
        self.position.copies_left = copies;
        self.t.label(end);
    }

    /// The region's code under a mask, between fetching and keeping its variables.
    fn lanes_of_region(&mut self, number: usize, mask: Mask) {
        assert_eq!(self.values.turn, 0, "regions do not nest");
        self.values.turns += 1;
        self.values.turn = self.values.turns;
        self.with_no_available_checks(|this| this.region_under(number, mask));
        self.values.turn = 0;
    }

    fn region_under(&mut self, number: usize, mask: Mask) {
        assert!(self.position.contexts.is_empty(), "a region starts outside of divergent constructs");
        assert!(self.position.bail.is_none(), "a region does not start inside a loop without masks");
        self.fetch_values(number);
        self.fetch_promoted(number);
        let end = self.t.block();
        self.position.region_slot = self.plan.regions.tracks_live.then(|| {
            let slot = self.t.alloca(MASK, 4);
            self.t.store(&Opd::zero(MASK), &slot, 4);
            slot
        });
        self.position.mask = mask.clone();
        self.position.contexts.push(Context::Arm { end });
        let insts = self.plan.regions.regions[number].insts.clone();
        self.instructions(&insts);
        self.end_of_region_part();
        self.t.label(end);
        let left = self.position.contexts.pop();
        assert!(matches!(left, Some(Context::Arm { end: left }) if left == end), "constructs nest");
        self.save_promoted(number);
        if let Some(slot) = self.position.region_slot.take() {
            let left = self.t.load(MASK, &slot, 4);
            let live = self.t.bitcast(&left, I32);
            let at = self.frame.clone();
            self.t.store(&live, &at, 4);
        }
    }

    /// Notes which lanes came to the end of the region's code.
    fn end_of_region_part(&mut self) {
        if let Some(slot) = self.position.region_slot.clone() {
            let left = self.position.mask.operand();
            self.t.store(&left, &slot, 4);
        }
    }

    /// Whether the version runs only threadgroups cut off at the grid's edge.
    pub(super) fn is_edge(&self) -> bool {
        self.plan.facts.geometry.size().is_none() && self.shared.options.group_size.is_some()
    }
}

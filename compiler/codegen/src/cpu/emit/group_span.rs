//! Regions in which only some SIMD-groups have something to do.
//!
//! Between two barriers there is often nothing but `if (thread < n) …` or `if (simdgroup == 0) …`:
//! the steps of a tree, the thread that writes the result. The loop then runs over the SIMD-groups
//! that have such threads.

use anymetal_ir::{CmpOp, Inst, Op, Query, Value};

use super::Emitter;
use crate::llvm::{I32, Opd};
use anymetal_analysis::divergence::Position;
use anymetal_analysis::patterns::comparison;

/// The SIMD-groups from `start` to before `end`.
#[derive(Clone, Debug)]
pub(super) struct Span {
    /// The first.
    pub(super) start: Opd,
    /// After the last.
    pub(super) end: Opd,
}

impl Span {
    /// Whether it is known to be one SIMD-group at most.
    pub(super) fn is_single(&self) -> bool {
        matches!((&self.start, &self.end), (Opd::Int(_, start), Opd::Int(_, end)) if end - start <= 1)
    }
}

/// What a region's condition compares.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Subject {
    /// The index in the threadgroup.
    Thread,
    /// The SIMD-group's number.
    SimdGroup,
}

impl Emitter<'_, '_> {
    /// The SIMD-groups with something to do in a region, if a comparison tells.
    pub(super) fn span_of_region(&mut self, number: usize) -> Option<Span> {
        let (position, op, limit) = self.condition_of_region(number)?;
        let limit = self.uniform(limit, 0);
        let (threads, simdgroups) = (self.group.threads.clone(), self.group.simdgroups.clone());
        let (zero, one) = (Opd::i32(0), Opd::i32(1));
        let below = |this: &mut Self, limit: &Opd| match position {
            Subject::Thread => {
                let limit = this.min(limit, &threads);
                this.divided_up(&limit, 32)
            }
            Subject::SimdGroup => this.min(limit, &simdgroups),
        };
        Some(match op {
            CmpOp::ULt => Span { start: zero, end: below(self, &limit) },
            CmpOp::Eq => {
                let start = match (position, &limit) {
                    (Subject::SimdGroup, _) => limit.clone(),
                    (_, Opd::Int(_, limit)) => Opd::i32(i64::from(*limit as u32 >> 5)),
                    _ => self.t.lshr(&limit, 5),
                };
                // A number that no SIMD-group has selects no lane; it must not wrap to the first.
                let start = self.min(&start, &simdgroups);
                let next = self.t.add(&start, &one);
                let end = self.min(&next, &simdgroups);
                Span { start, end }
            }
            _ => return None,
        })
    }

    fn min(&mut self, a: &Opd, b: &Opd) -> Opd {
        self.t.expect(a, I32);
        self.t.expect(b, I32);
        match (a, b) {
            (Opd::Int(_, a), Opd::Int(_, b)) => Opd::i32(i64::from((*a as u32).min(*b as u32))),
            _ => self.t.intrinsic("umin", "", &[a, b]),
        }
    }

    /// The comparison of a position with a value of the group, if the region does nothing else than
    /// what depends on it.
    fn condition_of_region(&self, number: usize) -> Option<(Subject, CmpOp, Value)> {
        let function = self.plan.facts.function;
        let insts = &self.plan.regions.regions[number].insts;
        let (&last, before) = insts.split_last()?;
        let Op::If { cond, otherwise, .. } = function.inst(last).op else {
            // The region does something without a condition.
            return None;
        };
        let is_kept = |inst: &Inst| {
            let result = function.inst(*inst).result;
            result.is_some_and(|value| self.plan.regions.saved.contains(&value))
        };
        let is_idle = |inst: &Inst| {
            let op = &function.inst(*inst).op;
            (op.only_computes() || matches!(op, Op::LocalStart(_))) && !is_kept(inst)
        };
        if !function.block(otherwise).is_empty()
            || !before.iter().all(is_idle)
            || self.plan.regions.tracks_live
        {
            return None;
        }
        let (op, a, b) = comparison(function, cond)?;
        let (position, op, limit) = match (self.position_of(a), self.position_of(b), op) {
            (Some(position), None, op) => (position, op, b),
            (None, Some(position), CmpOp::UGt) => (position, CmpOp::ULt, a),
            (None, Some(position), CmpOp::Eq) => (position, CmpOp::Eq, a),
            _ => return None,
        };
        let known = self.plan.regions.is_group_value(function, &self.plan.divergence, limit);
        (known && self.shape(limit, 0).is_uniform()).then_some((position, op, limit))
    }

    fn position_of(&self, value: Value) -> Option<Subject> {
        match *self.plan.facts.function.def(value)? {
            Op::Query(query) => self.subject_of(query),
            _ => None,
        }
    }

    fn subject_of(&self, query: Query) -> Option<Subject> {
        match query {
            Query::ThreadIndexInThreadgroup => Some(Subject::Thread),
            Query::SimdgroupIndexInThreadgroup => Some(Subject::SimdGroup),
            Query::ThreadPositionInThreadgroup(axis) => match self.plan.facts.geometry.position(axis) {
                position @ Position::Based { .. } if position == Position::linear() => Some(Subject::Thread),
                _ => None,
            },
            _ => None,
        }
    }
}

//! Loops whose accesses are tested before them, for the first and the last iteration.
//!
//! Where the test holds, a copy of the loop runs in which these accesses have no checks. Otherwise the loop
//! with checks runs.

use anymetal_ir::{Block, Inst, Label, Op, Scalar};
use anymetal_simd::access::Strategy;
use anymetal_simd::loop_predication::{PredicatedAccess, PredicatedLoop};

use super::available_checks::Test;
use super::lane::Lane;
use super::memory::Address;
use super::{Emitter, Mask};
use crate::limits::cpu::{MAX_DISTANCE, MAX_WIDE_COUNTER};
use crate::llvm::{Binary, I64, IntPredicate, Opd, scalar_type};
use anymetal_abi::AccessKind;

/// An iteration in which addresses are evaluated, as the number of those before it.
struct Iteration {
    number: Opd,
    /// Whether accesses must be in bounds in it.
    tests: bool,
}

impl Emitter<'_, '_> {
    /// Writes the loop twice, if there is a test before it; `false` if not.
    pub(super) fn predicated_loop(
        &mut self,
        inst: Inst,
        (label, body, continuing): (Label, Block, Block),
    ) -> bool {
        let plan = self.plan;
        let Some(predicated) = plan.predicated_loops.get(&inst) else {
            // The plan tests nothing before this loop.
            return false;
        };
        let is_checked = self.shared.options.checks && self.test_of_loads() == Test::AllInBounds;
        if !is_checked || self.position.mask != Mask::All || !self.position.may_version_guards {
            return false;
        }
        let Some(ok) = self.test_of_loop(predicated) else {
            // All is known to be in bounds.
            return false;
        };
        let (fast, checked, done) = (self.t.block(), self.t.block(), self.t.block());
        self.t.branch_likely(&ok, fast, checked);
        self.t.label(fast);
        self.aside(|this| {
            for PredicatedAccess { pointer, range, .. } in &predicated.accesses {
                let key = (*pointer, range.start, range.end - range.start, Test::AllInBounds);
                this.note_of(key, &Opd::bool(true));
            }
            this.endless(inst, label, body, continuing);
        });
        self.t.branch(done);
        self.t.label(checked);
        self.endless(inst, label, body, continuing);
        self.t.label(done);
        true
    }

    /// Whether all accesses are in bounds in all iterations, where it is not known anyway.
    fn test_of_loop(&mut self, predicated: &PredicatedLoop) -> Option<Opd> {
        let (last, no_wrap) = self.last_iteration(predicated);
        let max = Opd::i64(MAX_DISTANCE);
        let mut ok = self.t.icmp(IntPredicate::ULt, &last, &max);
        ok = self.t.and(&ok, &no_wrap);
        let mut is_needed = false;
        let iterations = [
            Iteration { number: Opd::i64(0), tests: true },
            Iteration { number: Opd::i64(1), tests: false },
            Iteration { number: last.clone(), tests: true },
        ];
        let mut offsets: Vec<Vec<Vec<Opd>>> = Vec::new();
        for iteration in &iterations {
            self.evaluate_slice(predicated, &iteration.number);
            let mut of_iteration = Vec::new();
            for access in &predicated.accesses {
                let tests = iteration.tests && (access.changes || offsets.is_empty());
                let (bases, inside) =
                    self.with_no_available_checks(|this| this.access_before_loop(access, tests));
                is_needed |= !inside.is_true();
                ok = self.t.and(&ok, &inside);
                of_iteration.push(bases);
            }
            offsets.push(of_iteration);
        }
        if !is_needed {
            return None;
        }
        for (number, access) in predicated.accesses.iter().enumerate() {
            if !access.changes {
                continue;
            }
            let [first, second, at_last] = [&offsets[0][number], &offsets[1][number], &offsets[2][number]];
            for ((first, second), at_last) in first.iter().zip(second).zip(at_last) {
                let step = self.t.sub(second, first);
                let all = self.t.sub(at_last, first);
                let expected = self.t.mul(&step, &last);
                let is_small = self.t.icmp(IntPredicate::ULt, &step, &max);
                let is_linear = self.t.icmp(IntPredicate::Eq, &all, &expected);
                ok = self.t.and(&ok, &is_small);
                ok = self.t.and(&ok, &is_linear);
            }
        }
        Some(ok)
    }

    /// The iterations before the last one, and whether the counter passes the limit without a wrap, if these
    /// are fewer than [`MAX_DISTANCE`]. Where there is no iteration, or the distance of counter and limit
    /// wraps, they are not.
    fn last_iteration(&mut self, predicated: &PredicatedLoop) -> (Opd, Opd) {
        let counted = &predicated.counted;
        let is_signed = counted.is_signed();
        let [start, limit] = [counted.start, counted.limit].map(|value| {
            let value = self.uniform(value, 0);
            match (counted.scalar, is_signed) {
                (Scalar::I64, _) => value,
                (_, true) => self.t.sext(&value, I64),
                (_, false) => self.t.zext(&value, I64),
            }
        });
        let distance = self.t.sub(&limit, &start);
        let distance = if counted.is_inclusive() { distance } else { self.t.sub(&distance, 1) };
        let last = self.t.binary(Binary::UDiv, &distance, counted.step);
        let (below, predicate) = match (counted.scalar, is_signed) {
            (Scalar::I64, false) => (MAX_WIDE_COUNTER, IntPredicate::ULt),
            (Scalar::I64, true) => (MAX_WIDE_COUNTER, IntPredicate::SLt),
            (_, true) => ((1 << 31) - counted.step, IntPredicate::SLt),
            (_, false) => ((1 << 32) - counted.step, IntPredicate::SLt),
        };
        let counter = match counted.scalar {
            // Adding fewer than 2^31 steps to it does not wrap.
            Scalar::I64 => start,
            _ => {
                let moved = self.t.mul(&last, counted.step);
                self.t.add(&start, &moved)
            }
        };
        let no_wrap = self.t.icmp(predicate, &counter, &Opd::i64(below));
        (last, no_wrap)
    }

    /// Computes the addresses of an iteration, as they are in the first, but with the variables of that one.
    fn evaluate_slice(&mut self, predicated: &PredicatedLoop, iteration: &Opd) {
        let function = self.plan.facts.function;
        for &inst in &predicated.slice {
            self.simple(inst);
            let Some(&step) = predicated.inductions.get(&inst) else { continue };
            let result = function.result(inst);
            let element = scalar_type(self.scalar(result));
            let grown = self.t.mul(iteration, step);
            let grown = if element == I64 { grown } else { self.t.trunc(&grown, element) };
            let lane = self.lane(result, 0);
            let lane = self.moved(&lane, &grown, false);
            self.define(result, vec![lane]);
        }
    }

    /// The offsets of an access, one for each base, and whether all lanes are in bounds, if that is asked.
    fn access_before_loop(&mut self, access: &PredicatedAccess, tests: bool) -> (Vec<Opd>, Opd) {
        let plan = self.plan;
        let PredicatedAccess { inst, pointer, ref range, .. } = *access;
        let kind = match plan.facts.function.inst(inst).op {
            Op::Store { .. } => AccessKind::Store,
            _ => AccessKind::Load,
        };
        // Nothing is reported before the loop.
        let address = Address { extra: range.start, ..self.address(pointer, 0, kind) };
        let Lane::Affine { bases, shape, .. } = address.offset.clone() else {
            unreachable!("{inst} has places with a pattern, so its pointer is affine")
        };
        let bytes = range.end - range.start;
        let inside = match plan.strategy(inst) {
            _ if !tests => Opd::bool(true),
            Some(Strategy::Uniform) => {
                let start = self.t.add(&bases[0], range.start);
                self.one_in_bounds(&address, &start, bytes)
            }
            _ => self.all_in_bounds(&address, &shape, &bases, bytes, Test::AllInBounds),
        };
        (bases, inside)
    }
}

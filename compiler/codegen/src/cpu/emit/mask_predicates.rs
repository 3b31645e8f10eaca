//! Scalar tests for masks that come from comparing thread positions with uniform values.
//!
//! `gid < n` is on in all lanes exactly if it is on in the last one, and in any exactly if it is in
//! the first, as long as the position does not wrap within the SIMD-group. So the common guard of a
//! kernel costs a scalar comparison, and the vector one only where lanes really differ.

use anymetal_ir::{CmpOp, Value};
use anymetal_simd::constructs::LaneComparison;

use super::{Emitter, Mask};
use crate::llvm::{I1, IntPredicate, LANES, Opd, scalar_type, wrap_int};

/// What is known of a mask.
#[derive(Clone, Debug)]
pub(super) struct MaskTests {
    /// Whether any lane is on.
    pub(super) any: Opd,
    /// Whether all are.
    pub(super) all: Opd,
    /// So many are, the first ones, if that is known now.
    pub(super) leading: Option<usize>,
}

impl Emitter<'_, '_> {
    /// Notes the scalar tests of `on`, the lanes of `before` for which the condition holds.
    pub(super) fn note_tests(&mut self, condition: Value, before: &Mask, on: &Opd) {
        // A constant mask needs no tests.
        let Opd::Reg(_, register) = on else { return };
        if *before != Mask::All {
            return;
        }
        let Some(comparison) = self.lane_comparison(condition).filter(|found| !found.may_wrap) else {
            // The mask is tested by its bits.
            return;
        };
        if let Some((any, all)) = self.tests_without_wrap(&comparison) {
            let leading = self.leading_lanes(&comparison);
            self.known.mask_tests.insert(*register, MaskTests { any, all, leading });
        }
    }

    /// The tests noted for a mask.
    pub(super) fn tests_of(&self, mask: &Opd) -> Option<MaskTests> {
        if let Opd::Reg(_, register) = mask { self.known.mask_tests.get(register).cloned() } else { None }
    }

    /// Notes or forgets the tests of a mask.
    pub(super) fn set_tests(&mut self, mask: &Opd, tests: Option<MaskTests>) {
        let Opd::Reg(_, register) = mask else { return };
        match tests {
            Some(tests) => self.known.mask_tests.insert(*register, tests),
            None => self.known.mask_tests.remove(register),
        };
    }

    /// Notes those of the other lanes.
    pub(super) fn note_opposite_tests(&mut self, on: &Opd, off: &Opd) {
        let (Opd::Reg(_, on), Opd::Reg(_, off)) = (on, off) else { return };
        let Some(tests) = self.known.mask_tests.get(on).cloned() else { return };
        let (any, all) = (self.negated(&tests.all), self.negated(&tests.any));
        self.known.mask_tests.insert(*off, MaskTests { any, all, leading: None });
    }

    pub(super) fn negated(&mut self, test: &Opd) -> Opd {
        self.t.expect(test, I1);
        match test {
            test if test.is_true() => Opd::bool(false),
            test if test.is_false() => Opd::bool(true),
            test => self.t.not(test),
        }
    }

    /// How many lanes are below a limit, where both that and the first lane's value are known.
    fn leading_lanes(&mut self, comparison: &LaneComparison) -> Option<usize> {
        if comparison.op != CmpOp::ULt || !comparison.is_consecutive() {
            return None;
        }
        let first = self.at(comparison.affine, 0, 0);
        let (Opd::Int(_, first), Opd::Int(_, limit)) = (first, self.uniform(comparison.other, 0)) else {
            // Known only at run time.
            return None;
        };
        usize::try_from(limit.checked_sub(first)?).ok().filter(|_| first >= 0).map(|count| count.min(LANES))
    }

    /// Whether the comparison holds in any and in all lanes; where lanes may wrap, a test finds out. "Any"
    /// may then be said of none, and "not all" of all.
    pub(super) fn lane_tests(&mut self, condition: Value) -> Option<(Opd, Opd)> {
        let comparison = self.lane_comparison(condition)?;
        let (any, all) = self.tests_without_wrap(&comparison)?;
        if !comparison.may_wrap {
            return Some((any, all));
        }
        let fits = self.fits_all(&comparison);
        let wraps = self.negated(&fits);
        let all = self.t.and(&fits, &all);
        let any = self.t.or(&any, &wraps);
        Some((any, all))
    }

    /// Whether the comparison holds in all lanes, if all are on.
    pub(super) fn holds_for_all(&mut self, condition: Value) -> Option<Opd> {
        if self.position.mask != Mask::All {
            return None;
        }
        let comparison = self.lane_comparison(condition)?;
        let (_, all) = self.tests_without_wrap(&comparison)?;
        if !comparison.may_wrap {
            return Some(all);
        }
        let fits = self.fits_all(&comparison);
        // Rare enough, and often known not to be.
        let lanes = self.vector(condition, 0);
        let bits = self.mask_bits(&Mask::Some(lanes));
        let each = self.t.icmp(IntPredicate::Eq, &bits, -1);
        Some(self.t.select(&fits, &all, &each))
    }

    /// Whether no lane's value wraps.
    fn fits_all(&mut self, comparison: &LaneComparison) -> Opd {
        let (min, max) = self.least_and_most(comparison);
        let ordered = if comparison.is_signed() { IntPredicate::SLe } else { IntPredicate::ULe };
        self.t.icmp(ordered, &min, &max)
    }

    /// The comparison of a thread position with a uniform value, if the condition is one.
    fn lane_comparison(&self, condition: Value) -> Option<LaneComparison> {
        let comparison = LaneComparison::of(self.plan.facts, &self.plan.divergence, condition)?;
        // The result of a comparison may come from another region without its operands.
        comparison.operands().iter().all(|&operand| self.is_here(operand)).then_some(comparison)
    }

    /// The smallest and the largest of the lanes' values, unless they wrap.
    fn least_and_most(&mut self, comparison: &LaneComparison) -> (Opd, Opd) {
        assert_eq!(comparison.lanes.segments, 1, "only lanes with one base have known extremes");
        let element = scalar_type(self.scalar(comparison.affine));
        let first = self.at(comparison.affine, 0, 0);
        let (low, high) = comparison.lanes.extent();
        let start = comparison.lanes.at(0);
        let min = self.t.add(&first, wrap_int(element, low - start));
        let max = self.t.add(&first, wrap_int(element, high - start));
        (min, max)
    }

    fn tests_without_wrap(&mut self, comparison: &LaneComparison) -> Option<(Opd, Opd)> {
        let limit = self.uniform(comparison.other, 0);
        let (low, high) = comparison.lanes.extent();
        let (min, max) = self.least_and_most(comparison);
        let is_consecutive = comparison.is_consecutive();
        let t = &mut self.t;
        let mut test = |name: IntPredicate, x: &Opd| t.icmp(name, x, &limit);
        Some(match comparison.op {
            CmpOp::ULt => (test(IntPredicate::ULt, &min), test(IntPredicate::ULt, &max)),
            CmpOp::ULe => (test(IntPredicate::ULe, &min), test(IntPredicate::ULe, &max)),
            CmpOp::UGt => (test(IntPredicate::UGt, &max), test(IntPredicate::UGt, &min)),
            CmpOp::UGe => (test(IntPredicate::UGe, &max), test(IntPredicate::UGe, &min)),
            CmpOp::SLt => (test(IntPredicate::SLt, &min), test(IntPredicate::SLt, &max)),
            CmpOp::SLe => (test(IntPredicate::SLe, &min), test(IntPredicate::SLe, &max)),
            CmpOp::SGt => (test(IntPredicate::SGt, &max), test(IntPredicate::SGt, &min)),
            CmpOp::SGe => (test(IntPredicate::SGe, &max), test(IntPredicate::SGe, &min)),
            CmpOp::Eq if is_consecutive => {
                let distance = t.sub(&limit, &min);
                let any = t.icmp(IntPredicate::ULt, &distance, high - low + 1);
                (any, Opd::bool(false))
            }
            CmpOp::Ne if is_consecutive => {
                let distance = t.sub(&limit, &min);
                let all = t.icmp(IntPredicate::UGe, &distance, high - low + 1);
                (Opd::bool(true), all)
            }
            _ => return None,
        })
    }
}

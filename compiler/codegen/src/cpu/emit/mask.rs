//! Which lanes are on.
//!
//! Invariant: a mask has at least one lane on wherever code runs under it, so there is a first and a last
//! one.

use super::{Emitter, mask_predicates};
use crate::llvm::{I32, IntPredicate, LANES, MASK, Opd};

/// The active lanes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Mask {
    /// All 32.
    All,
    /// Those of a `<32 x i1>`; at least one.
    Some(Opd),
}

impl Mask {
    /// As a vector of `i1`.
    pub(super) fn operand(&self) -> Opd {
        match self {
            Self::All => Opd::bool(true).splat(LANES),
            Self::Some(mask) => mask.clone(),
        }
    }
}

impl Emitter<'_, '_> {
    pub(super) fn mask_bits(&mut self, mask: &Mask) -> Opd {
        self.t.expect(&mask.operand(), MASK);
        match mask {
            Mask::All => Opd::i32(-1),
            Mask::Some(mask) => self.t.bitcast(mask, I32),
        }
    }

    pub(super) fn any(&mut self, mask: &Mask) -> Opd {
        if let Some(tests) = self.known_tests(mask) {
            return tests.any;
        }
        let bits = self.mask_bits(mask);
        self.t.icmp(IntPredicate::Ne, &bits, 0)
    }

    pub(super) fn known_tests(&self, mask: &Mask) -> Option<mask_predicates::MaskTests> {
        if let Mask::Some(mask) = mask { self.tests_of(mask) } else { None }
    }

    pub(super) fn all(&mut self, mask: &Mask) -> Opd {
        if let Some(tests) = self.known_tests(mask) {
            return tests.all;
        }
        let bits = self.mask_bits(mask);
        self.t.icmp(IntPredicate::Eq, &bits, -1)
    }

    /// The lanes of both.
    pub(super) fn both(&mut self, mask: &Mask, lanes: &Opd) -> Opd {
        self.t.expect(lanes, MASK);
        match mask {
            Mask::All => lanes.clone(),
            // Not `and`: a lane that is off may hold poison in `lanes`.
            Mask::Some(mask) => self.t.select(mask, lanes, &Opd::zero(MASK)),
        }
    }

    pub(super) fn without(&mut self, mask: &Mask, lanes: &Opd) -> Opd {
        let rest = self.t.not(lanes);
        self.both(mask, &rest)
    }

    /// The number of the first active lane, as `i32`.
    pub(super) fn first_lane(&mut self) -> Opd {
        debug_assert!(
            !self.position.mask.operand().is_zeros(),
            "code runs only while at least one lane is active"
        );
        match self.position.mask.clone() {
            Mask::All => Opd::i32(0),
            mask => {
                let bits = self.mask_bits(&mask);
                self.t.count_zeros("cttz", &bits, false)
            }
        }
    }

    /// The number of the last active lane, as `i32`.
    pub(super) fn last_lane(&mut self) -> Opd {
        debug_assert!(
            !self.position.mask.operand().is_zeros(),
            "code runs only while at least one lane is active"
        );
        match self.position.mask.clone() {
            Mask::All => Opd::i32(31),
            mask => {
                let bits = self.mask_bits(&mask);
                let zeros = self.t.count_zeros("ctlz", &bits, false);
                self.t.sub(&Opd::int(I32, 31), &zeros)
            }
        }
    }
}

//! Which lanes are on.
//!
//! Invariant: a mask has at least one lane on wherever code runs under it, so there is a first and a last
//! one.

use super::{Emitter, mask_predicates};
use crate::cpu::llvm_text::{MASK, Opd};

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
            Self::All => Opd::text("splat (i1 true)"),
            Self::Some(mask) => mask.clone(),
        }
    }
}

impl Emitter<'_, '_> {
    pub(super) fn mask_bits(&mut self, mask: &Mask) -> Opd {
        self.t.expect(&mask.operand(), MASK);
        match mask {
            Mask::All => Opd::Int(-1),
            Mask::Some(mask) => self.t.value(format_args!("bitcast {MASK} {mask} to i32")),
        }
    }

    pub(super) fn any(&mut self, mask: &Mask) -> Opd {
        if let Some(tests) = self.known_tests(mask) {
            return tests.any;
        }
        let bits = self.mask_bits(mask);
        self.t.icmp("ne", "i32", &bits, &Opd::Int(0))
    }

    pub(super) fn known_tests(&self, mask: &Mask) -> Option<mask_predicates::MaskTests> {
        if let Mask::Some(mask) = mask { self.tests_of(mask) } else { None }
    }

    pub(super) fn all(&mut self, mask: &Mask) -> Opd {
        if let Some(tests) = self.known_tests(mask) {
            return tests.all;
        }
        let bits = self.mask_bits(mask);
        self.t.icmp("eq", "i32", &bits, &Opd::Int(-1))
    }

    /// The lanes of both.
    pub(super) fn both(&mut self, mask: &Mask, lanes: &Opd) -> Opd {
        self.t.expect(lanes, MASK);
        match mask {
            Mask::All => lanes.clone(),
            // Not `and`: a lane that is off may hold poison in `lanes`.
            Mask::Some(mask) => {
                self.t.value(format_args!("select {MASK} {mask}, {MASK} {lanes}, {MASK} zeroinitializer"))
            }
        }
    }

    pub(super) fn without(&mut self, mask: &Mask, lanes: &Opd) -> Opd {
        let rest = self.t.value(format_args!("xor {MASK} {lanes}, splat (i1 true)"));
        self.both(mask, &rest)
    }

    /// The number of the first active lane, as `i32`.
    pub(super) fn first_lane(&mut self) -> Opd {
        debug_assert!(
            !self.position.mask.operand().is_text("zeroinitializer"),
            "code runs only while at least one lane is active"
        );
        match self.position.mask.clone() {
            Mask::All => Opd::Int(0),
            mask => {
                let bits = self.mask_bits(&mask);
                self.t.declare("declare i32 @llvm.cttz.i32(i32, i1)");
                self.t.value(format_args!("call i32 @llvm.cttz.i32(i32 {bits}, i1 false)"))
            }
        }
    }

    /// The number of the last active lane, as `i32`.
    pub(super) fn last_lane(&mut self) -> Opd {
        debug_assert!(
            !self.position.mask.operand().is_text("zeroinitializer"),
            "code runs only while at least one lane is active"
        );
        match self.position.mask.clone() {
            Mask::All => Opd::Int(31),
            mask => {
                let bits = self.mask_bits(&mask);
                self.t.declare("declare i32 @llvm.ctlz.i32(i32, i1)");
                let zeros = self.t.value(format_args!("call i32 @llvm.ctlz.i32(i32 {bits}, i1 false)"));
                self.t.sub("i32", &Opd::Int(31), &zeros)
            }
        }
    }
}

//! Reductions and prefix operations.
//!
//! Reductions are butterflies from distance 16 to 1, in which a lane that is off takes part with the
//! operation's neutral element; all lanes get the same result, so it is computed once, with half as
//! many lanes in each step.

use anymetal_ir::{BinOp, FpMode, MathFn, Scalar, SimdOp, Value};

use crate::cpu::emit::arith::{self, Arithmetic};
use crate::cpu::emit::lane::Width;
use crate::cpu::emit::{Emitter, Mask, cast, zero_of};
use crate::cpu::llvm_text::{LANES, MASK, Opd, lanes_type, scalar_type};

/// How two values become one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Combine {
    Binary(BinOp),
    Math(MathFn),
}

impl Combine {
    pub(super) fn of(op: SimdOp, scalar: Scalar) -> Option<Self> {
        let float = scalar.is_float();
        let sum = Self::Binary(if float { BinOp::FAdd } else { BinOp::Add });
        let product = Self::Binary(if float { BinOp::FMul } else { BinOp::Mul });
        Some(match op {
            SimdOp::Sum | SimdOp::QuadSum | SimdOp::PrefixInclusiveSum | SimdOp::PrefixExclusiveSum => sum,
            SimdOp::Product
            | SimdOp::QuadProduct
            | SimdOp::PrefixInclusiveProduct
            | SimdOp::PrefixExclusiveProduct => product,
            SimdOp::FMin | SimdOp::QuadFMin => Self::Math(MathFn::FMin),
            SimdOp::FMax | SimdOp::QuadFMax => Self::Math(MathFn::FMax),
            SimdOp::UMin => Self::Binary(BinOp::UMin),
            SimdOp::UMax => Self::Binary(BinOp::UMax),
            SimdOp::SMin => Self::Binary(BinOp::SMin),
            SimdOp::SMax => Self::Binary(BinOp::SMax),
            SimdOp::And => Self::Binary(BinOp::And),
            SimdOp::Or => Self::Binary(BinOp::Or),
            SimdOp::Xor => Self::Binary(BinOp::Xor),
            _ => return None,
        })
    }

    /// What changes nothing. A float minimum in fast mode compares, so it takes infinity, not NaN.
    fn neutral(self, scalar: Scalar, fp: FpMode) -> Opd {
        let bits = scalar.bits();
        let float = |single: u32, half: u16, brain: u16| match scalar {
            Scalar::F16 => Opd::text(format!("0xH{half:04X}")),
            Scalar::Bf16 => Opd::Int(i64::from(brain as i16)),
            _ => Opd::text(format!("0x{:016X}", f64::from(f32::from_bits(single)).to_bits())),
        };
        let fast = fp == FpMode::Fast;
        match self {
            Self::Binary(BinOp::FAdd) => float(0x8000_0000, 0x8000, 0x8000),
            Self::Binary(BinOp::FMul) => float(0x3F80_0000, 0x3C00, 0x3F80),
            Self::Math(MathFn::FMin) if fast => float(0x7F80_0000, 0x7C00, 0x7F80),
            Self::Math(MathFn::FMax) if fast => float(0xFF80_0000, 0xFC00, 0xFF80),
            Self::Math(_) => float(0x7FC0_0000, 0x7E00, 0x7FC0),
            Self::Binary(op) if scalar == Scalar::Bool => {
                Opd::bool(matches!(op, BinOp::And | BinOp::UMin | BinOp::Mul))
            }
            Self::Binary(BinOp::Mul) => Opd::Int(1),
            Self::Binary(BinOp::UMin | BinOp::And) => Opd::Int(-1),
            Self::Binary(BinOp::SMin) => Opd::Int(i64::MAX >> (64 - bits)),
            Self::Binary(BinOp::SMax) => Opd::Int(i64::MIN >> (64 - bits)),
            Self::Binary(_) => Opd::Int(0),
        }
    }
}

impl Emitter<'_, '_> {
    /// The value, or the neutral element where lanes are off.
    fn filled(&mut self, element: &str, vector: &Opd, neutral: &Opd) -> Opd {
        self.t.expect(neutral, element);
        match self.mask.clone() {
            Mask::All => vector.clone(),
            Mask::Some(mask) => {
                let fill = Width::All.constant(element, neutral);
                self.t.select(MASK, &mask, &lanes_type(element), vector, &fill)
            }
        }
    }

    fn combined(
        &mut self,
        combine: Combine,
        scalar: Scalar,
        fp: FpMode,
        width: Width,
        a: &Opd,
        b: &Opd,
    ) -> Opd {
        match combine {
            Combine::Binary(op) => {
                // Reassociating inside one step means nothing, but flags would let LLVM reorder steps.
                let how = Arithmetic { width, fp, scalar, constant: None };
                arith::binary(&mut self.t, &mut self.shared.library, how, op, a, b)
            }
            Combine::Math(function) => self.math_call(function, scalar, fp, width, a, b),
        }
    }

    fn math_call(
        &mut self,
        function: MathFn,
        scalar: Scalar,
        fp: FpMode,
        width: Width,
        a: &Opd,
        b: &Opd,
    ) -> Opd {
        let name = self.shared.library.require(function, scalar, fp, width.count() as u32).to_owned();
        let outside = scalar_type(scalar);
        let x = cast::reinterpret(&mut self.t, width, scalar_type(scalar), outside, a);
        let y = cast::reinterpret(&mut self.t, width, scalar_type(scalar), outside, b);
        let ty = width.of(outside);
        let value = self.t.value(format_args!("call {ty} @{name}({ty} {x}, {ty} {y})"));
        cast::reinterpret(&mut self.t, width, outside, scalar_type(scalar), &value)
    }

    /// The reduction of a value's first component.
    pub(in crate::cpu::emit) fn reduce_value(
        &mut self,
        op: SimdOp,
        scalar: Scalar,
        fp: FpMode,
        value: Value,
    ) -> Opd {
        let vector = self.vector(value, 0);
        match Combine::of(op, scalar) {
            Some(combine) => self.reduce(combine, scalar, fp, &vector),
            None => unreachable!("{op:?} does not combine two values"),
        }
    }

    pub(super) fn reduce(&mut self, combine: Combine, scalar: Scalar, fp: FpMode, vector: &Opd) -> Opd {
        self.t.expect(vector, &lanes_type(scalar_type(scalar)));
        let element = scalar_type(scalar);
        let neutral = combine.neutral(scalar, fp);
        let mut current = self.filled(element, vector, &neutral);
        let mut lanes = LANES;
        while lanes > 1 {
            let half = lanes / 2;
            let low: Vec<_> = (0..half).map(Some).collect();
            let high: Vec<_> = (half..lanes).map(Some).collect();
            let poison = Opd::text("poison");
            if half == 1 {
                let a = self.t.value(format_args!("extractelement <2 x {element}> {current}, i64 0"));
                let b = self.t.value(format_args!("extractelement <2 x {element}> {current}, i64 1"));
                return self.combined(combine, scalar, fp, Width::One, &a, &b);
            }
            let a = self.t.shuffle(element, lanes, &current, &poison, &low);
            let b = self.t.shuffle(element, lanes, &current, &poison, &high);
            current = self.combined(combine, scalar, fp, Width::Few(half), &a, &b);
            lanes = half;
        }
        unreachable!("halving {LANES} lanes reaches two")
    }

    pub(super) fn quad_reduce(&mut self, combine: Combine, scalar: Scalar, fp: FpMode, vector: &Opd) -> Opd {
        let element = scalar_type(scalar);
        let neutral = combine.neutral(scalar, fp);
        let mut current = self.filled(element, vector, &neutral);
        for delta in [2, 1] {
            let picks: Vec<_> = (0..LANES).map(|lane| Some(lane ^ delta)).collect();
            let other = self.t.shuffle(element, LANES, &current, &Opd::text("poison"), &picks);
            current = self.combined(combine, scalar, fp, Width::All, &current, &other);
        }
        current
    }

    pub(super) fn prefix(
        &mut self,
        combine: Combine,
        scalar: Scalar,
        fp: FpMode,
        vector: &Opd,
        exclusive: bool,
    ) -> Opd {
        if scalar.is_float() && fp == FpMode::Safe {
            return self.prefix_in_order(combine, scalar, vector, exclusive);
        }
        let element = scalar_type(scalar);
        let neutral = combine.neutral(scalar, fp);
        let none = Width::All.constant(element, &neutral);
        let mut current = self.filled(element, vector, &neutral);
        let shifted = |this: &mut Self, vector: &Opd, by: usize, fill: &Opd| {
            let picks: Vec<_> =
                (0..LANES).map(|lane| Some(if lane >= by { lane - by } else { LANES + lane })).collect();
            this.t.shuffle(element, LANES, vector, fill, &picks)
        };
        for by in [1, 2, 4, 8, 16] {
            let lower = shifted(self, &current, by, &none);
            current = self.combined(combine, scalar, fp, Width::All, &lower, &current);
        }
        if !exclusive {
            return current;
        }
        let is_product = matches!(combine, Combine::Binary(BinOp::FMul | BinOp::Mul));
        let start = if is_product { neutral } else { zero_of(scalar) };
        let start = Width::All.constant(element, &start);
        shifted(self, &current, 1, &start)
    }

    /// Lane after lane, as exact rounding demands.
    fn prefix_in_order(&mut self, combine: Combine, scalar: Scalar, vector: &Opd, exclusive: bool) -> Opd {
        assert!(scalar.is_float(), "only sums of floats depend on their order");
        let element = scalar_type(scalar);
        let ty = lanes_type(element);
        let mut before = combine.neutral(scalar, FpMode::Safe);
        let is_product = combine == Combine::Binary(BinOp::FMul);
        let start = if is_product { before.clone() } else { zero_of(scalar) };
        let mask = self.mask.clone().operand();
        let mut seen = Opd::bool(false);
        let mut result = Opd::text("poison");
        for lane in 0..LANES {
            let own = self.t.value(format_args!("extractelement {ty} {vector}, i64 {lane}"));
            let active = self.t.value(format_args!("extractelement {MASK} {mask}, i64 {lane}"));
            let inclusive = self.combined(combine, scalar, FpMode::Safe, Width::One, &before, &own);
            let out = if exclusive {
                self.t.select("i1", &seen, element, &before, &start)
            } else {
                inclusive.clone()
            };
            result = self.t.value(format_args!("insertelement {ty} {result}, {element} {out}, i64 {lane}"));
            before = self.t.select("i1", &active, element, &inclusive, &before);
            seen = self.t.value(format_args!("or i1 {seen}, {active}"));
        }
        result
    }
}

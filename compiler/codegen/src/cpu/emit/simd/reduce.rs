//! Reductions and prefix operations.
//!
//! Reductions are butterflies from distance 16 to 1, in which a lane that is off takes part with the
//! operation's neutral element; all lanes get the same result, so it is computed once, with half as
//! many lanes in each step.

use anymetal_ir::{BinOp, Combination, Combine, CombinedLanes, FpMode, MathFn, Scalar, SimdOp, Value};

use crate::cpu::emit::arith::{self, Arithmetic};
use crate::cpu::emit::lane::Width;
use crate::cpu::emit::{Emitter, Mask, zero_of};
use crate::llvm::{self, I16, LANES, Opd, scalar_type};

/// What changes nothing. A float minimum in fast mode compares, so it takes infinity, not NaN.
fn neutral(combine: Combine, scalar: Scalar, fp: FpMode) -> Opd {
    let bits = scalar.bits();
    let float = |single: u32, half: u16, brain: u16| match scalar {
        Scalar::F16 => Opd::half(half),
        Scalar::Bf16 => Opd::int(I16, i64::from(brain as i16)),
        _ => Opd::float(f64::from(f32::from_bits(single))),
    };
    let fast = fp == FpMode::Fast;
    match combine {
        Combine::Binary(BinOp::FAdd) => float(0x8000_0000, 0x8000, 0x8000),
        Combine::Binary(BinOp::FMul) => float(0x3F80_0000, 0x3C00, 0x3F80),
        Combine::Math(MathFn::FMin) if fast => float(0x7F80_0000, 0x7C00, 0x7F80),
        Combine::Math(MathFn::FMax) if fast => float(0xFF80_0000, 0xFC00, 0xFF80),
        Combine::Math(_) => float(0x7FC0_0000, 0x7E00, 0x7FC0),
        Combine::Binary(op) if scalar == Scalar::Bool => {
            Opd::bool(matches!(op, BinOp::And | BinOp::UMin | BinOp::Mul))
        }
        Combine::Binary(BinOp::Mul) => Opd::int(scalar_type(scalar), 1),
        Combine::Binary(BinOp::UMin | BinOp::And) => Opd::int(scalar_type(scalar), -1),
        Combine::Binary(BinOp::SMin) => Opd::int(scalar_type(scalar), i64::MAX >> (64 - bits)),
        Combine::Binary(BinOp::SMax) => Opd::int(scalar_type(scalar), i64::MIN >> (64 - bits)),
        Combine::Binary(_) => zero_of(scalar),
    }
}

impl Emitter<'_, '_> {
    /// The value, or another where lanes are off: the neutral element, or the zero that shuffles read there.
    pub(super) fn filled(&mut self, element: llvm::Type, vector: &Opd, off: &Opd) -> Opd {
        self.t.expect(off, element);
        match self.position.mask.clone() {
            Mask::All => vector.clone(),
            Mask::Some(mask) => {
                let fill = Width::All.constant(off);
                self.t.select(&mask, vector, &fill)
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
        let x = self.t.reinterpret(a, outside);
        let y = self.t.reinterpret(b, outside);
        let ty = width.of(outside);
        let value = self.t.call(ty, &name, &[&x, &y]);
        self.t.reinterpret(&value, scalar_type(scalar))
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
        match op.combination(scalar) {
            Some(combination) => self.reduce(combination.combine, scalar, fp, &vector),
            None => unreachable!("{op:?} does not combine two values"),
        }
    }

    pub(super) fn reduce(&mut self, combine: Combine, scalar: Scalar, fp: FpMode, vector: &Opd) -> Opd {
        self.t.expect(vector, scalar_type(scalar).lanes());
        let element = scalar_type(scalar);
        let neutral = neutral(combine, scalar, fp);
        let mut current = self.filled(element, vector, &neutral);
        let mut lanes = LANES;
        while lanes > 1 {
            let half = lanes / 2;
            let low: Vec<_> = (0..half).map(Some).collect();
            let high: Vec<_> = (half..lanes).map(Some).collect();
            if half == 1 {
                let a = self.t.extract(&current, 0);
                let b = self.t.extract(&current, 1);
                return self.combined(combine, scalar, fp, Width::One, &a, &b);
            }
            let a = self.t.pick(&current, &low);
            let b = self.t.pick(&current, &high);
            current = self.combined(combine, scalar, fp, Width::Few(half), &a, &b);
            lanes = half;
        }
        unreachable!("halving {LANES} lanes reaches two")
    }

    pub(super) fn quad_reduce(&mut self, combine: Combine, scalar: Scalar, fp: FpMode, vector: &Opd) -> Opd {
        let element = scalar_type(scalar);
        let neutral = neutral(combine, scalar, fp);
        let mut current = self.filled(element, vector, &neutral);
        for delta in [2, 1] {
            let picks: Vec<_> = (0..LANES).map(|lane| Some(lane ^ delta)).collect();
            let other = self.t.pick(&current, &picks);
            current = self.combined(combine, scalar, fp, Width::All, &current, &other);
        }
        current
    }

    pub(super) fn prefix(
        &mut self,
        combination: Combination,
        scalar: Scalar,
        fp: FpMode,
        vector: &Opd,
    ) -> Opd {
        if scalar.is_float() && fp == FpMode::Safe {
            return self.prefix_in_order(combination, scalar, vector);
        }
        let Combination { combine, width, lanes } = combination;
        let element = scalar_type(scalar);
        // Where the sign of a zero does not matter, 0 changes no sum, and is the first lane's own result.
        let start = if combination.starts_at_one() { neutral(combine, scalar, fp) } else { zero_of(scalar) };
        let fill = Width::All.constant(&start);
        let mut current = self.filled(element, vector, &start);
        let shifted = |this: &mut Self, vector: &Opd, by: usize| {
            let pick = |lane| if lane % width >= by { lane - by } else { LANES + lane };
            let picks: Vec<_> = (0..LANES).map(|lane| Some(pick(lane))).collect();
            this.t.shuffle(vector, &fill, &picks)
        };
        for by in [1, 2, 4, 8, 16].into_iter().filter(|&by| by < width) {
            let lower = shifted(self, &current, by);
            current = self.combined(combine, scalar, fp, Width::All, &lower, &current);
        }
        match lanes {
            CombinedLanes::BelowThis => shifted(self, &current, 1),
            _ => current,
        }
    }

    /// Lane after lane, as exact rounding demands.
    fn prefix_in_order(&mut self, combination: Combination, scalar: Scalar, vector: &Opd) -> Opd {
        assert!(scalar.is_float(), "only sums of floats depend on their order");
        let Combination { combine, width, lanes } = combination;
        let element = scalar_type(scalar);
        let ty = element.lanes();
        let neutral = neutral(combine, scalar, FpMode::Safe);
        let start = if combination.starts_at_one() { neutral.clone() } else { zero_of(scalar) };
        let mask = self.position.mask.clone().operand();
        let (mut before, mut seen) = (neutral.clone(), Opd::bool(false));
        let mut result = Opd::poison(ty);
        for lane in 0..LANES {
            if lane % width == 0 {
                (before, seen) = (neutral.clone(), Opd::bool(false));
            }
            let own = self.t.extract(vector, lane);
            let active = self.t.extract(&mask, lane);
            let inclusive = self.combined(combine, scalar, FpMode::Safe, Width::One, &before, &own);
            let out = match lanes {
                CombinedLanes::BelowThis => self.t.select(&seen, &before, &start),
                _ => inclusive.clone(),
            };
            result = self.t.insert(&result, &out, lane);
            before = self.t.select(&active, &inclusive, &before);
            seen = self.t.or(&seen, &active);
        }
        result
    }
}

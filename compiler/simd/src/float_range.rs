//! Ranges of floats that are about to become integers, and signs of those below reciprocal roots.
//!
//! Conversions give the nearest integer there is and 0 for a NaN, which takes most processors several
//! instructions. Programs often limit what they convert, as the channels of a texel: then one is enough.
//! Invariant: a value with a range is no NaN and lies in it, in every lane and element.

use anymetal_analysis::limits::MAX_BRANCHING_DEPTH;
use anymetal_ir::{BinOp, CastOp, FpMode, Function, MathFn, Op, Scalar, Value, ValueDef, eval};

/// The least and the greatest value; either may be infinite.
type Range = [f64; 2];

/// Whether no lane's number is outside of the integers of that type, once it is rounded towards zero.
pub fn fits(function: &Function, value: Value, to: Scalar, is_signed: bool) -> bool {
    let above = (1u128 << (to.bits() - u32::from(is_signed))) as f64;
    let least = if is_signed { -above } else { 0.0 };
    range(function, value, MAX_BRANCHING_DEPTH).is_some_and(|[min, max]| min >= least && max < above)
}

fn range(function: &Function, value: Value, depth: u32) -> Option<Range> {
    let depth = depth.checked_sub(1)?;
    let ValueDef::Inst(inst) = function.values[value.index()].def else {
        // A parameter may be anything.
        return None;
    };
    let data = function.inst(inst);
    let of = |value: Value| range(function, value, depth);
    match &data.op {
        Op::Const(bits) => constant(function, value, *bits),
        Op::Splat(a) | Op::Extract(a, _) => of(*a),
        Op::Compose(parts) => parts.iter().map(|&part| of(part)).reduce(|a, b| Some(union(a?, b?))).flatten(),
        Op::Select(_, a, b) => Some(union(of(*a)?, of(*b)?)),
        Op::Cast(CastOp::SToF, a) => of_integer(function, *a, true),
        Op::Cast(CastOp::UToF, a) => of_integer(function, *a, false),
        Op::Binary(BinOp::FAdd, a, b) if data.fp == FpMode::Safe => sum(function, value, of(*a)?, of(*b)?),
        Op::Math(MathFn::Floor | MathFn::Ceil | MathFn::Trunc | MathFn::Rint, args) => {
            let [min, max] = of(args[0])?;
            Some([min.floor(), max.ceil()])
        }
        // A NaN gives way to the other operand, but not where it may be taken for a number.
        Op::Math(MathFn::FMax, args) if data.fp != FpMode::Fast => match (of(args[0]), of(args[1])) {
            (Some(a), Some(b)) => Some([a[0].max(b[0]), a[1].max(b[1])]),
            (a, b) => Some([a.or(b)?[0], f64::INFINITY]),
        },
        Op::Math(MathFn::FMin, args) if data.fp != FpMode::Fast => match (of(args[0]), of(args[1])) {
            (Some(a), Some(b)) => Some([a[0].min(b[0]), a[1].min(b[1])]),
            (a, b) => Some([f64::NEG_INFINITY, a.or(b)?[1]]),
        },
        _ => None,
    }
}

/// Whether each number is positive and normal, or a NaN, as sums of squares and a constant are.
pub fn is_positive_normal(function: &Function, value: Value) -> bool {
    sign(function, value, MAX_BRANCHING_DEPTH) == Some(Sign::PositiveNormal)
}

/// What is known of the numbers that are no NaN.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Sign {
    NotNegative,
    PositiveNormal,
}

fn sign(function: &Function, value: Value, depth: u32) -> Option<Sign> {
    let depth = depth.checked_sub(1)?;
    let ValueDef::Inst(inst) = function.values[value.index()].def else {
        // A parameter may be anything.
        return None;
    };
    let of = |value: Value| sign(function, value, depth);
    match &function.inst(inst).op {
        Op::Const(bits) => match constant(function, value, *bits)?[0] {
            number if number >= f64::from(f32::MIN_POSITIVE) => Some(Sign::PositiveNormal),
            number => (number >= 0.0).then_some(Sign::NotNegative),
        },
        Op::Splat(a) | Op::Extract(a, _) => of(*a),
        Op::Select(_, a, b) => Some(of(*a)?.min(of(*b)?)),
        Op::Binary(BinOp::FAdd, a, b) => Some(of(*a)?.max(of(*b)?)),
        Op::Binary(BinOp::FMul, a, b) if a == b => Some(Sign::NotNegative),
        Op::Math(MathFn::FMax, args) => of(args[0]).max(of(args[1])),
        Op::Math(MathFn::FAbs | MathFn::Sqrt, _) => Some(Sign::NotNegative),
        Op::Math(MathFn::Fma, args) if args[0] == args[1] => of(args[2]),
        _ => None,
    }
}

fn union(a: Range, b: Range) -> Range {
    debug_assert!(a[0] <= a[1] && b[0] <= b[1], "the ends of a range are ordered: {a:?}, {b:?}");
    [a[0].min(b[0]), a[1].max(b[1])]
}

fn constant(function: &Function, value: Value, bits: u64) -> Option<Range> {
    let scalar = function.ty(value).scalar()?;
    let is_float = matches!(scalar, Scalar::F32 | Scalar::F16 | Scalar::Bf16);
    let number = is_float.then(|| eval::widen(scalar, bits))?;
    (!number.is_nan()).then_some([number, number])
}

/// Of an integer that becomes a `float`: what is rounded is no further than the type's powers of two.
fn of_integer(function: &Function, value: Value, is_signed: bool) -> Option<Range> {
    let bits = function.ty(value).scalar()?.bits();
    let above = (1u128 << (bits - u32::from(is_signed))) as f64;
    Some([if is_signed { -above } else { 0.0 }, above])
}

/// Sums of `float`: rounding keeps their order, so the ends are the rounded sums of the ends.
fn sum(function: &Function, value: Value, a: Range, b: Range) -> Option<Range> {
    let end = |x: f64, y: f64| {
        let sum = x + y;
        let is_exact = sum.is_finite() && sum - x == y && sum - y == x;
        is_exact.then_some(f64::from(sum as f32))
    };
    let is_float = function.ty(value).scalar() == Some(Scalar::F32);
    is_float.then_some([end(a[0], b[0])?, end(a[1], b[1])?])
}

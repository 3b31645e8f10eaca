//! Library functions whose result is exact or correctly rounded.

use super::{float, mask, narrow, widen};
use crate::{MathFn, Scalar};

/// The result of a library function, or `None` for those (sine, exponential, reciprocal root, …)
/// whose accuracy is the executor's business. `ty` is the first argument's scalar type.
///
/// The minimum of zeros of opposite sign is the negative one, the maximum the positive one; an
/// executor may give either.
pub fn eval_math(function: MathFn, ty: Scalar, args: &[u64]) -> Option<u64> {
    assert_eq!(args.len(), function.arity(), "the arguments of {}", function.name());
    if ty.is_float() { float_function(function, ty, args) } else { integer_function(function, ty, args[0]) }
}

fn float_function(function: MathFn, ty: Scalar, args: &[u64]) -> Option<u64> {
    let a = args[0];
    let x = widen(ty, a);
    let sign_bit = 1u64 << (ty.bits() - 1);
    Some(match function {
        MathFn::Sqrt => float::from_f32(ty, float::to_f32(ty, a).sqrt()),
        MathFn::Fma => float::fma(ty, a, args[1], args[2]),
        MathFn::FAbs => a & !sign_bit,
        MathFn::Floor => narrow(ty, x.floor()),
        MathFn::Ceil => narrow(ty, x.ceil()),
        MathFn::Trunc => narrow(ty, x.trunc()),
        MathFn::Rint => narrow(ty, x.round_ties_even()),
        MathFn::Round => narrow(ty, x.round()),
        MathFn::Fmod => float::binary(crate::BinOp::FRem, ty, a, args[1]),
        MathFn::Divide => float::binary(crate::BinOp::FDiv, ty, a, args[1]),
        MathFn::FMin | MathFn::FMax => min_or_max(function == MathFn::FMin, ty, a, args[1]),
        MathFn::CopySign => (a & !sign_bit) | (args[1] & sign_bit),
        MathFn::NextAfter => next_after(ty, a, args[1]),
        MathFn::Ldexp => scale(ty, x, args[1] as u32 as i32),
        MathFn::FrexpMantissa | MathFn::FrexpExponent | MathFn::Ilogb => decompose(function, ty, a),
        MathFn::IsNan => u64::from(x.is_nan()),
        MathFn::IsInf => u64::from(x.is_infinite()),
        MathFn::IsFinite => u64::from(x.is_finite()),
        MathFn::IsNormal => u64::from(x.is_finite() && x.abs() >= least_normal(ty)),
        MathFn::SignBit => u64::from(a & sign_bit != 0),
        _ => return None,
    })
}

fn integer_function(function: MathFn, ty: Scalar, a: u64) -> Option<u64> {
    let bits = ty.bits();
    Some(match function {
        MathFn::PopCount => u64::from(a.count_ones()),
        MathFn::Clz => u64::from(a.leading_zeros() - (64 - bits)),
        MathFn::Ctz => u64::from(a.trailing_zeros().min(bits)),
        MathFn::ReverseBits => (a.reverse_bits() >> (64 - bits)) & mask(ty),
        _ => return None,
    })
}

fn least_normal(ty: Scalar) -> f64 {
    match ty {
        Scalar::F16 => 2f64.powi(-14),
        _ => 2f64.powi(-126),
    }
}

fn min_or_max(min: bool, ty: Scalar, a: u64, b: u64) -> u64 {
    let (x, y) = (widen(ty, a), widen(ty, b));
    match (x.is_nan(), y.is_nan()) {
        (true, true) => narrow(ty, f64::NAN),
        (true, false) => b,
        (false, true) => a,
        (false, false) if x == y => {
            // Equal numbers differ at most in the sign of zero.
            if min { a | b } else { a & b }
        }
        (false, false) => {
            if (x < y) == min {
                a
            } else {
                b
            }
        }
    }
}

fn next_after(ty: Scalar, a: u64, b: u64) -> u64 {
    let sign_bit = 1u64 << (ty.bits() - 1);
    let (x, y) = (widen(ty, a), widen(ty, b));
    if x.is_nan() || y.is_nan() {
        narrow(ty, f64::NAN)
    } else if x == y {
        b
    } else if x == 0.0 {
        // The least subnormal with the sign of the direction.
        (b & sign_bit) | 1
    } else if (x < y) == (x > 0.0) {
        a + 1
    } else {
        a - 1
    }
}

/// `x × 2^exponent`, rounded once. Beyond ±600 every type has long overflowed or vanished.
fn scale(ty: Scalar, x: f64, exponent: i32) -> u64 {
    let exponent = exponent.clamp(-600, 600);
    narrow(ty, x * f64::from_bits(((1023 + i64::from(exponent)) as u64) << 52))
}

/// `frexp` and `ilogb`. Every float type's subnormals are normal as `f64`.
fn decompose(function: MathFn, ty: Scalar, a: u64) -> u64 {
    let x = widen(ty, a);
    let bits = x.to_bits();
    let exponent = ((bits >> 52) & 0x7ff) as i64 - 1023;
    let ordinary = x.is_finite() && x != 0.0;
    match function {
        MathFn::FrexpMantissa if ordinary => {
            narrow(ty, f64::from_bits((bits & !(0x7ff << 52)) | (1022 << 52)))
        }
        MathFn::FrexpMantissa => a,
        MathFn::FrexpExponent if ordinary => (exponent + 1) as u32 as u64,
        MathFn::FrexpExponent => 0,
        _ if ordinary => exponent as u32 as u64,
        _ if x.is_infinite() => i32::MAX as u64,
        _ => i32::MIN as u32 as u64,
    }
}

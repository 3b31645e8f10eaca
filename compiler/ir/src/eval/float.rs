//! Float arithmetic on bits.
//!
//! Everything is computed in `f64`, which holds each of the three types exactly, or in `f32`;
//! [`narrow`] rounds once. Sum, product, quotient and square root of `F16` and `BF16` may be taken
//! in `f32` first: 24 bits are at least twice their precision plus two, where double rounding
//! cannot show. `F32` uses `f32` itself.

use crate::{BinOp, Scalar};

/// The number that the bits of a float type represent.
pub fn widen(ty: Scalar, bits: u64) -> f64 {
    f64::from(to_f32(ty, bits))
}

/// The bits of a float type nearest to `x`, ties to even. A NaN becomes the canonical one.
pub fn narrow(ty: Scalar, x: f64) -> u64 {
    match ty {
        Scalar::F32 => from_f32(ty, x as f32),
        Scalar::F16 => narrow_to(x, 10, 15),
        Scalar::Bf16 => narrow_to(x, 7, 127),
        _ => panic!("{} is not a float type", ty.name()),
    }
}

pub(super) fn to_f32(ty: Scalar, bits: u64) -> f32 {
    match ty {
        Scalar::F32 => f32::from_bits(bits as u32),
        Scalar::F16 => half::f16::from_bits(bits as u16).to_f32(),
        Scalar::Bf16 => f32::from_bits((bits as u32) << 16),
        _ => panic!("{} is not a float type", ty.name()),
    }
}

pub(super) fn from_f32(ty: Scalar, x: f32) -> u64 {
    match ty {
        Scalar::F32 if x.is_nan() => 0x7fc0_0000,
        Scalar::F32 => u64::from(x.to_bits()),
        _ => narrow(ty, f64::from(x)),
    }
}

/// Rounds to a format with `fraction` stored mantissa bits and the given exponent bias, which fits
/// in 16 bits. Written out because the conversions of `half` drop the low half of an `f64` before
/// they look for ties.
fn narrow_to(x: f64, fraction: u32, bias: i64) -> u64 {
    let sign = u64::from(x.is_sign_negative()) << 15;
    let infinity = ((2 * bias + 1) as u64) << fraction;
    if x.is_nan() {
        return infinity | (1 << (fraction - 1));
    }
    if x.is_infinite() {
        return sign | infinity;
    }
    let bits = x.to_bits();
    let exponent = ((bits >> 52) & 0x7ff) as i64 - 1023 + bias;
    // Subnormal doubles are far below half of the least subnormal: they round to zero.
    if (bits >> 52) & 0x7ff == 0 {
        return sign;
    }
    let mantissa = (bits & ((1 << 52) - 1)) | (1 << 52);
    // For normal results the implicit bit adds one to the exponent field, hence `exponent - 1`.
    let (shift, field) = if exponent >= 1 {
        (52 - i64::from(fraction), exponent - 1)
    } else {
        (52 - i64::from(fraction) + 1 - exponent, 0)
    };
    if shift > 54 {
        return sign;
    }
    let kept = mantissa >> shift;
    let rest = mantissa & ((1 << shift) - 1);
    let half = 1u64 << (shift - 1);
    let round = u64::from(rest > half || (rest == half && kept & 1 == 1));
    let result = (((field as u64) << fraction) + kept + round).min(infinity);
    sign | result
}

pub(super) fn binary(op: BinOp, ty: Scalar, a: u64, b: u64) -> u64 {
    let (a, b) = (to_f32(ty, a), to_f32(ty, b));
    let result = match op {
        BinOp::FAdd => a + b,
        BinOp::FSub => a - b,
        BinOp::FMul => a * b,
        BinOp::FDiv => a / b,
        BinOp::FRem => a % b,
        _ => panic!("{op:?} is not a float operation"),
    };
    from_f32(ty, result)
}

/// `a × b + c`, rounded once.
pub(super) fn fma(ty: Scalar, a: u64, b: u64, c: u64) -> u64 {
    if ty == Scalar::F32 {
        return from_f32(ty, to_f32(ty, a).mul_add(to_f32(ty, b), to_f32(ty, c)));
    }
    // The product is exact in `f64`; the sum is rounded to odd, so that rounding it again to the
    // narrow type sees whether it was exact.
    let (product, c) = (widen(ty, a) * widen(ty, b), widen(ty, c));
    let sum = product + c;
    if !sum.is_finite() {
        return narrow(ty, sum);
    }
    let rounded_c = sum - product;
    let error = (product - (sum - rounded_c)) + (c - rounded_c);
    let bits = sum.to_bits();
    let sum = if error == 0.0 || bits & 1 == 1 {
        sum
    } else if (error > 0.0) == (sum > 0.0) {
        f64::from_bits(bits + 1)
    } else {
        f64::from_bits(bits - 1)
    };
    narrow(ty, sum)
}

//! `pow` and `powr`: 2^(y log2 |x|).
//!
//! Precise: the logarithm and its product with `y` are doubles, the power of two a float. Fast: the
//! logarithm is a pair of floats.

use super::Tier;
use super::body::Lane;
use super::exponential::{EXP2_NORMAL, ROUND, ROUND_DOUBLE, exp2_power};
use super::logarithm::{log2_double, log2_pair};
use super::value::Val;

const SIGN: i32 = i32::MIN;

/// 2^100.
const LOG2_OF_ZERO_SCALE: f32 = 1.267_650_6e30;

pub(super) fn pow<'b>(tier: Tier, x: Val<'b>, y: Val<'b>) -> Val<'b> {
    let magnitude = if tier == Tier::Fast { fast_magnitude(x, y) } else { precise_magnitude(x, y) };
    let integral = y.unary("nearbyint").eq(y);
    let half = y * 0.5_f32;
    let odd = integral & half.unary("nearbyint").ne(half);
    let sign = odd.select(x.bits() & SIGN, 0);
    let signed = (magnitude.bits() | sign).as_float(Lane::F32);
    // A negative base (not -0, not -∞) with an exponent that is no integer.
    let negative = x.lt(0.0_f32) & x.gt(f32::NEG_INFINITY);
    let result = (negative & !integral).select(x.like(f32::NAN), signed);
    if tier == Tier::Fast {
        return result;
    }
    let infinite = (y.bits() & !SIGN).eq(0x7F80_0000);
    let one = y.eq(0.0_f32) | x.eq(1.0_f32) | (x.eq(-1.0_f32) & infinite);
    let result = x.is_nan().select(x, result);
    one.select(x.like(1.0_f32), result)
}

/// For bases from zero up.
pub(super) fn powr<'b>(tier: Tier, x: Val<'b>, y: Val<'b>) -> Val<'b> {
    if tier == Tier::Fast {
        return fast_magnitude(x, y);
    }
    let result = precise_magnitude(x, y);
    let invalid = x.lt(0.0_f32) | x.is_nan();
    invalid.select(x.like(f32::NAN), result)
}

/// |x|^y; NaN where zero times infinity occurs, and garbage for NaN in x.
fn precise_magnitude<'b>(x: Val<'b>, y: Val<'b>) -> Val<'b> {
    let log = log2_double(x);
    let log = x.eq(0.0_f32).select(log.like(f64::NEG_INFINITY), log);
    let log = (x.bits() & !SIGN).eq(0x7F80_0000).select(log.like(f64::INFINITY), log);
    let product = (log * y.extend(Lane::F64)).at_least(-160.0).at_most(140.0);
    let rounded = product + ROUND_DOUBLE;
    let r = (product - (rounded - ROUND_DOUBLE)).round_to(Lane::F32);
    exp2_power(Tier::Precise, r, rounded.bits().truncate(Lane::I32)).value()
}

/// |x|^y. A base that counts as zero has a finite logarithm, so that its power 0 is one; the scale makes the
/// product as large as an infinite one for any other exponent.
fn fast_magnitude<'b>(x: Val<'b>, y: Val<'b>) -> Val<'b> {
    let (log, log_low) = log2_pair(x);
    let product = y * log;
    let low = y.fma(log_low, y.fma(log, -product));
    let vanishing = x.abs().lt(f32::MIN_POSITIVE);
    let product = vanishing.select(product * LOG2_OF_ZERO_SCALE, product);
    let rounded = product + ROUND;
    let r = (product - (rounded - ROUND)) + low;
    exp2_power(Tier::Fast, r, rounded.bits() - ROUND.to_bits().cast_signed())
        .value_within(product, EXP2_NORMAL)
}

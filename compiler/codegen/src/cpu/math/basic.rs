//! Functions that are exact or correctly rounded by IEEE 754 operations and bit manipulation.

use anymetal_ir::MathFn;

use super::Tier;
use super::body::{Body, Lane};
use super::value::Val;

const MAGNITUDE: i32 = 0x7FFF_FFFF;
const INFINITY: i32 = 0x7F80_0000;
const SMALLEST_NORMAL: f32 = f32::MIN_POSITIVE;

pub(super) fn emit<'b>(function: MathFn, tier: Tier, body: &'b Body, arguments: &[Val<'b>]) -> Val<'b> {
    let x = arguments[0];
    let second = || arguments[1];
    match function {
        MathFn::FAbs => x.abs(),
        MathFn::CopySign => x.with_sign_of(second()),
        MathFn::Sqrt => x.sqrt(),
        MathFn::Rsqrt => rsqrt(tier, x),
        MathFn::Fma => x.fma(second(), arguments[2]),
        MathFn::Divide => x / second(),
        MathFn::FMin => minimum(tier, x, second()),
        MathFn::FMax => maximum(tier, x, second()),
        MathFn::Fmod => fmod(tier, body, x, second()),
        MathFn::NextAfter => next_after(x, second()),
        MathFn::Ldexp => ldexp(x, second()),
        MathFn::FrexpMantissa => frexp_mantissa(x),
        MathFn::FrexpExponent => frexp_exponent(x),
        MathFn::Ilogb => ilogb(x),
        other => panic!("{other:?} does not take floats"),
    }
}

/// Precise: correctly rounded (the double result is never so near to the middle of two floats that
/// its own error matters; all inputs were tried). Fast: within 2 ulp; zeros and denormals are selected
/// apart, since the refinement of an infinite estimate is NaN.
fn rsqrt(tier: Tier, x: Val<'_>) -> Val<'_> {
    match tier {
        Tier::Precise => {
            let x = x.extend(Lane::F64);
            (x.like(1.0) / x.sqrt()).round_to(Lane::F32)
        }
        Tier::Fast => {
            let infinity = x.like(f32::INFINITY).with_sign_of(x);
            x.abs().lt(SMALLEST_NORMAL).select(infinity, rsqrt_of_normal(x))
        }
    }
}

/// Of a number that is infinite or normal, or NaN: the refinement of the estimate for infinity, 0, multiplies
/// it with infinity.
pub(super) fn rsqrt_of_normal(x: Val<'_>) -> Val<'_> {
    x.eq(f32::INFINITY).select(x.like(0.0), x.approximate_rsqrt())
}

/// A NaN operand counts as missing; in fast mode one compare and select, one instruction on most
/// machines. (Not `llvm.minnum`: of half vectors, into which LLVM turns the widened one, it becomes a
/// call per lane.)
fn minimum<'b>(tier: Tier, x: Val<'b>, y: Val<'b>) -> Val<'b> {
    let smaller = x.lt(y).select(x, y);
    if tier == Tier::Fast { smaller } else { y.is_nan().select(x, smaller) }
}

fn maximum<'b>(tier: Tier, x: Val<'b>, y: Val<'b>) -> Val<'b> {
    let larger = x.gt(y).select(x, y);
    if tier == Tier::Fast { larger } else { y.is_nan().select(x, larger) }
}

/// The remainder of truncated division, exactly.
///
/// In doubles: one step subtracts from the remainder `r` the multiple of `y` given by the upper 28
/// bits of `r / y`, which shrinks `r` by 2^27 at least or ends. The multiple has at most 24 + 28 bits
/// and the difference is a multiple of its last bit, so nothing is rounded. A quotient that was
/// rounded up leaves a negative rest smaller than `y`, put right at the end. Lanes whose quotient is
/// below 2^28 need one step, ten are the most. Zero `y` or infinite `x` give NaN, which ends the loop.
fn fmod<'b>(tier: Tier, body: &'b Body, x: Val<'b>, y: Val<'b>) -> Val<'b> {
    if tier == Tier::Fast {
        return fast_fmod(x, y);
    }
    let divisor = y.abs().extend(Lane::F64);
    let start = x.abs().extend(Lane::F64);
    let rest = body.repeat_while_any(start, 10, |rest| {
        let quotient = ((rest / divisor).bits() & !((1_i64 << 25) - 1)).as_float(Lane::F64);
        let rest = (-quotient.unary("trunc")).fma(divisor, rest);
        (rest, rest.abs().ge(divisor))
    });
    let rest = rest.lt(0.0).select(rest + divisor, rest);
    let result = rest.round_to(Lane::F32).with_sign_of(x);
    // An infinite divisor leaves x, but zero times infinity was NaN above.
    let infinite_divisor = (y.bits() & MAGNITUDE).eq(INFINITY) & (x.bits() & MAGNITUDE).lt(INFINITY);
    infinite_divisor.select(x, result)
}

/// One step with a float quotient, exact while that is below 2^23; zero where nothing is left of it.
fn fast_fmod<'b>(x: Val<'b>, y: Val<'b>) -> Val<'b> {
    let (magnitude, divisor) = (x.abs(), y.abs());
    let quotient = (magnitude / divisor).unary("trunc");
    let rest = (-quotient).fma(divisor, magnitude);
    let rest = rest.lt(0.0).select(rest + divisor, rest);
    // An infinite quotient leaves minus infinity.
    rest.abs().lt(divisor).select(rest, 0.0).with_sign_of(x)
}

/// The neighbour of `x` towards `y`. As sign and magnitude, a step away from zero adds one to the
/// bits and a step towards it subtracts one.
fn next_after<'b>(x: Val<'b>, y: Val<'b>) -> Val<'b> {
    let bits = x.bits();
    let away = x.lt(y) ^ bits.lt(0);
    let stepped = bits + away.select(x.body.i32(1), -1);
    let smallest = (y.bits() & !MAGNITUDE) | 1;
    let from_zero = (bits & MAGNITUDE).eq(0);
    let moved = from_zero.select(smallest, stepped).as_float(Lane::F32);
    let result = x.eq(y).select(y, moved);
    x.unordered(y).select(x + y, result)
}

/// `x × 2^n`, rounded once: the product in doubles is exact.
fn ldexp<'b>(x: Val<'b>, n: Val<'b>) -> Val<'b> {
    // ±300 takes any float to infinity or zero.
    let n = n.lt(-300).select(n.like(-300), n);
    let n = n.gt(300).select(n.like(300), n);
    let scale = ((n + 1023).zero_extend(Lane::I64) << 52).as_float(Lane::F64);
    (x.extend(Lane::F64) * scale).round_to(Lane::F32)
}

/// A denormal argument scaled by 2^24 into the normal range, and the mask of where that was done.
fn normalised(x: Val<'_>) -> (Val<'_>, Val<'_>) {
    let denormal = x.abs().lt(SMALLEST_NORMAL);
    (denormal.select(x * 16_777_216.0_f32, x), denormal)
}

/// Whether `x` is zero, infinite or NaN.
fn has_no_exponent(x: Val<'_>) -> Val<'_> {
    !((x.bits() & MAGNITUDE) - 1).ult(INFINITY - 1)
}

fn frexp_mantissa(x: Val<'_>) -> Val<'_> {
    let (scaled, _) = normalised(x);
    let half = ((scaled.bits() & !INFINITY) | 0x3F00_0000).as_float(Lane::F32);
    has_no_exponent(x).select(x, half)
}

/// Zero for zero, infinities and NaN.
fn frexp_exponent(x: Val<'_>) -> Val<'_> {
    has_no_exponent(x).select(x.body.i32(0), biased_exponent(x) - 126)
}

fn biased_exponent(x: Val<'_>) -> Val<'_> {
    let (scaled, denormal) = normalised(x);
    let exponent = (scaled.bits() & MAGNITUDE).lshr(23);
    denormal.select(exponent - 24, exponent)
}

/// `FP_ILOGB0` and `FP_ILOGBNAN` are the smallest integer; an infinity gives the largest.
fn ilogb(x: Val<'_>) -> Val<'_> {
    let magnitude = x.bits() & MAGNITUDE;
    let special = magnitude.eq(INFINITY).select(x.body.i32(i32::MAX), i32::MIN);
    has_no_exponent(x).select(special, biased_exponent(x) - 127)
}

//! Functions on `half` and `bfloat` lanes: computed in `float`, rounded once at the end.
//!
//! Exact in between, so the results are those of the `float` function rounded: within one half ulp
//! and a little of the true value. Exceptions: `fma` is rounded once, in both tiers, and `nextafter` steps
//! by the narrow type's own bits.
//!
//! A `bfloat` is its bits, and its conversion is written in integers: the machine instruction for it
//! treats denormals as zero, and machines without one would call a function per lane.

use anymetal_ir::MathFn;

use super::body::{Body, Lane};
use super::value::Val;
use super::{Tier, single};

pub(super) fn emit<'b>(function: MathFn, tier: Tier, body: &'b Body, arguments: &[Val<'b>]) -> Val<'b> {
    let lane = arguments[0].lane;
    match function {
        MathFn::FAbs => return (arguments[0].bits() & 0x7FFF).as_float(lane),
        MathFn::SignBit => return arguments[0].bits().lt(0),
        MathFn::CopySign => {
            let (magnitude, sign) = (arguments[0].bits() & 0x7FFF, arguments[1].bits() & 0x8000);
            return (magnitude | sign).as_float(lane);
        }
        MathFn::NextAfter => return next_after(arguments[0], arguments[1]),
        MathFn::IsNormal => return is_normal(arguments[0]),
        MathFn::Fma if lane == Lane::F16 => return half_fma(arguments),
        MathFn::Fma => return bfloat_fma(arguments),
        _ => {}
    }
    let wide = |&argument: &Val<'b>| if argument.lane == lane { widen(argument) } else { argument };
    let arguments: Vec<Val<'b>> = arguments.iter().map(wide).collect();
    let result = single(function, tier, body, &arguments);
    if result.lane == Lane::F32 { narrow(result, lane) } else { result }
}

/// Exactly, to `float`.
fn widen(x: Val<'_>) -> Val<'_> {
    if x.lane == Lane::F16 {
        return x.extend(Lane::F32);
    }
    (x.bits().zero_extend(Lane::I32) << 16).as_float(Lane::F32)
}

/// From `float`, to nearest even.
fn narrow(x: Val<'_>, lane: Lane) -> Val<'_> {
    if lane == Lane::F16 {
        return x.round_to(Lane::F16);
    }
    let bits = x.bits();
    let upper = bits.lshr(16);
    // Adding just below one half of the last place, and one more when that place is odd.
    let rounded = (bits + 0x7FFF + (upper & 1)).lshr(16);
    // The addition would carry a NaN into infinity or zero.
    let result = x.is_nan().select(upper | 0x40, rounded);
    result.truncate(Lane::I16).as_float(Lane::I16)
}

/// A `float` holds the product of two halves, and what its sum with a third loses is a `float` as well
/// (Knuth's two-sum). So the sum is rounded to odd: what was lost decides its last bit.
fn half_fma<'b>(arguments: &[Val<'b>]) -> Val<'b> {
    let [a, b, addend] = [arguments[0], arguments[1], arguments[2]].map(widen);
    let product = a * b;
    let sum = product + addend;
    let of_addend = sum - product;
    let lost = (product - (sum - of_addend)) + (addend - of_addend);
    // Of NaN and infinite sums the difference is NaN: nothing was lost.
    let is_inexact = lost.lt(0.0) | lost.gt(0.0);
    let bits = sum.bits();
    // What was lost has the other sign where the sum was rounded away from zero.
    let is_too_large = (bits ^ lost.bits()).lt(0);
    let odd = bits | 1;
    let even = (bits & 1).eq(0);
    let towards_zero = is_too_large.select(bits - 1, odd);
    let odd = (is_inexact & even).select(towards_zero, bits);
    odd.as_float(Lane::F32).round_to(Lane::F16)
}

/// Through `double`: a `float` lacks the range of products of bfloats.
fn bfloat_fma<'b>(arguments: &[Val<'b>]) -> Val<'b> {
    let lane = arguments[0].lane;
    let wide: Vec<Val<'b>> = arguments.iter().map(|&x| widen(x).extend(Lane::F64)).collect();
    narrow(round_to_odd(wide[0].fma(wide[1], wide[2])), lane)
}

/// To `float` such that a second rounding to fewer bits gives what one rounding would have given:
/// towards zero, with the last bit set if anything was lost.
fn round_to_odd(x: Val<'_>) -> Val<'_> {
    let near = x.round_to(Lane::F32);
    let back = near.extend(Lane::F64);
    let bits = near.bits();
    // Rounding went away from zero: one step back.
    let away = back.abs().gt(x.abs());
    let towards_zero = away.select(bits - 1, bits);
    let result = back.eq(x).select(bits, towards_zero | 1);
    x.is_nan().select(bits, result).as_float(Lane::F32)
}

/// As for `float`, on 16 bits.
fn next_after<'b>(x: Val<'b>, y: Val<'b>) -> Val<'b> {
    let (wide_x, wide_y, bits) = (widen(x), widen(y), x.bits());
    let away = wide_x.lt(wide_y) ^ bits.lt(0);
    let stepped = bits + away.select(bits.like(1), -1);
    let from_zero = (bits & 0x7FFF).eq(0);
    let moved = from_zero.select((y.bits() & 0x8000) | 1, stepped);
    let result = wide_x.eq(wide_y).select(y.bits(), moved);
    let quiet = wide_x.is_nan().select(bits, y.bits());
    wide_x.unordered(wide_y).select(quiet, result).as_float(x.lane)
}

fn is_normal(x: Val<'_>) -> Val<'_> {
    let (infinity, smallest) = if x.lane == Lane::F16 { (0x7C00, 0x0400) } else { (0x7F80, 0x0080) };
    ((x.bits() & 0x7FFF) - smallest).ult(infinity - smallest)
}

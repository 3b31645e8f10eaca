//! `log`, `log2` and `log10`, the logarithm of `pow`, and a logarithm in doubles for the inverse
//! hyperbolic functions.
//!
//! x = 2^k (1 + f) with f from -1/3 to 1/3; log x = k log 2 + log(1 + f). The exponent is split off in
//! integers: subtracting the bits of 2/3 makes the exponent field count from there.

use super::Tier;
use super::body::{Body, Lane};
use super::coefficients as c;
use super::exponential::{polynomial, polynomial_double, power_of_two};
use super::value::Val;

/// Bits of 2/3.
const TWO_THIRDS: i32 = 0x3F2A_AAAB;
/// Upper half of the bits of the double √½.
const SQRT_HALF_UPPER: i32 = 0x3FE6_A09E;

/// The base, as the numbers that the formula needs.
struct Base {
    /// log 2 in this base: a high part with few bits, and the rest.
    log_2: [f32; 2],
    /// 1 / ln(base): high and low part; `None` for e.
    leading: Option<[f32; 2]>,
    precise: &'static [f32],
    fast: &'static [f32],
}

const NATURAL: Base =
    Base { log_2: [c::LN2_HIGH, c::LN2_LOW], leading: None, precise: &c::LOG, fast: &c::LOG_FAST };
const BINARY: Base =
    Base { log_2: [1.0, 0.0], leading: Some(c::LOG2_LEADING), precise: &c::LOG2, fast: &c::LOG2_FAST };
const DECIMAL: Base = Base {
    log_2: [c::LOG10_2_HIGH, c::LOG10_2_LOW],
    leading: Some(c::LOG10_LEADING),
    precise: &c::LOG10,
    fast: &c::LOG10_FAST,
};

pub(super) fn log(tier: Tier, x: Val<'_>) -> Val<'_> {
    logarithm(tier, x, &NATURAL)
}

pub(super) fn log2(tier: Tier, x: Val<'_>) -> Val<'_> {
    logarithm(tier, x, &BINARY)
}

pub(super) fn log10(tier: Tier, x: Val<'_>) -> Val<'_> {
    logarithm(tier, x, &DECIMAL)
}

fn logarithm<'b>(tier: Tier, x: Val<'b>, base: &Base) -> Val<'b> {
    match tier {
        Tier::Precise => {
            let (k, f) = split(normal(x));
            precise(x, k.to_float(Lane::F32) - denormal_bias(x), f, base)
        }
        Tier::Fast => {
            let (k, f) = split(x);
            // Zero and denormals, which count as zero; and the negative numbers.
            let vanishing = x.lt(f32::MIN_POSITIVE);
            vanishing.select(x.like(f32::NEG_INFINITY), fast(k.to_float(Lane::F32), f, base))
        }
    }
}

/// `x`, times 2^24 where it is denormal (or negative: those lanes are replaced later).
fn normal(x: Val<'_>) -> Val<'_> {
    x.lt(f32::MIN_POSITIVE).select(x * 16_777_216.0_f32, x)
}

/// The exponent that [`normal`] added.
fn denormal_bias(x: Val<'_>) -> Val<'_> {
    x.lt(f32::MIN_POSITIVE).select(x.like(24.0_f32), 0.0_f32)
}

/// Exponent as integer, and f.
fn split(x: Val<'_>) -> (Val<'_>, Val<'_>) {
    let bits = x.bits();
    let k = (bits - TWO_THIRDS).ashr(23);
    let f = (bits - (k << 23)).as_float(Lane::F32) - 1.0_f32;
    (k, f)
}

/// The sum of k log 2 and the leading term is kept in two floats until the end.
fn precise<'b>(x: Val<'b>, k: Val<'b>, f: Val<'b>, base: &Base) -> Val<'b> {
    let high = k * base.log_2[0];
    let tail = (f * f) * polynomial(f, base.precise);
    let tail = k.fma(base.log_2[1], tail);
    let (leading, tail) = match base.leading {
        None => (f, tail),
        Some([factor, rest]) => {
            let product = f * factor;
            let lost = f.fma(factor, -product);
            (product, f.fma(rest, lost) + tail)
        }
    };
    let sum = high + leading;
    let lost = leading - (sum - high);
    // If k is zero, the sum is the leading term and nothing is lost.
    let result = sum + (lost + tail);
    let regular = x.gt(0.0_f32) & x.lt(f32::INFINITY);
    let special = x.lt(0.0_f32).select(x.like(f32::NAN), x);
    let special = x.eq(0.0_f32).select(x.like(f32::NEG_INFINITY), special);
    regular.select(result, special)
}

fn fast<'b>(k: Val<'b>, f: Val<'b>, base: &Base) -> Val<'b> {
    let q = polynomial(f, base.fast);
    let near_one = match base.leading {
        None => (f * f).fma(q, f),
        Some([factor, rest]) => f.fma(factor, f * f.fma(q, rest)),
    };
    k.fma(base.log_2[0], if base.log_2[1] == 0.0 { near_one } else { k.fma(base.log_2[1], near_one) })
}

/// log2 |x| as a double with 36 bits, for finite `x` other than zero.
pub(super) fn log2_double(x: Val<'_>) -> Val<'_> {
    let x = x.abs();
    let (k, f) = split(normal(x));
    let k = (k.to_float(Lane::F32) - denormal_bias(x)).extend(Lane::F64);
    let high_orders = polynomial(f, &c::POW_LOG2_SINGLE).extend(Lane::F64);
    let f = f.extend(Lane::F64);
    polynomial_double(f, &c::POW_LOG2_DOUBLE, high_orders).fma(f, k)
}

/// log2 |x| as a sum of two floats, for normal finite `x`; below, a large negative number.
pub(super) fn log2_pair(x: Val<'_>) -> (Val<'_>, Val<'_>) {
    let magnitude = x.abs();
    let (k, f) = split(magnitude);
    let k = k.to_float(Lane::F32);
    let [factor, rest] = c::LOG2_LEADING;
    let near_one = f.fma(factor, f * f.fma(polynomial(f, &c::LOG2_FAST), rest));
    let sum = k + near_one;
    let lost = near_one - (sum - k);
    (magnitude.lt(f32::MIN_POSITIVE).select(x.like(-3.0e38_f32), sum), lost)
}

/// ln(1 + u) + n ln 2 for u from zero to 2^126. What the sum 1 + u loses is put back into f, so
/// small results are as exact as large ones.
pub(super) fn log1p_plus<'b>(u: Val<'b>, n: Val<'b>) -> Val<'b> {
    let sum = u + 1.0_f32;
    // The smaller addend is the one that is cut.
    let (larger, smaller) = (u.at_least(1.0_f32), u.at_most(1.0_f32));
    let lost = smaller - (sum - larger);
    let (k, f) = split(sum);
    let f = lost.fma(power_of_two(-k), f);
    fast(k.to_float(Lane::F32) + n, f, &NATURAL)
}

/// ln v for doubles v that are positive, normal and finite.
pub(super) fn ln_double<'b>(body: &'b Body, v: Val<'b>) -> Val<'b> {
    let bits = v.bits();
    let upper = bits.lshr(32).truncate(Lane::I32);
    let k = (upper - SQRT_HALF_UPPER).ashr(20);
    let f = (bits - (k.sign_extend(Lane::I64) << 52)).as_float(Lane::F64) - 1.0;
    let s = f / (f + 2.0);
    let z = s * s;
    let (last, others) = c::LOG_DOUBLE.split_last().expect("coefficients");
    let p = polynomial_double(z, others, body.f64(*last));
    let near_one = (s * z).fma(p, s + s);
    k.to_float(Lane::F64).fma(std::f64::consts::LN_2, near_one)
}

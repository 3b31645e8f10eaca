//! `sinh`, `cosh`, `tanh` and their inverses.

use super::Tier;
use super::body::{Body, Lane};
use super::coefficients as c;
use super::exponential::{exp_power, polynomial};
use super::logarithm::{ln_double, log1p_plus};
use super::value::Val;

/// Half of e^|x|, infinite where `cosh` and `sinh` are.
fn half_exp(tier: Tier, magnitude: Val<'_>) -> Val<'_> {
    let half = exp_power(tier, magnitude.at_most(89.5_f32)).times_power_of_two(-1);
    match tier {
        Tier::Precise => half.value(),
        Tier::Fast => half.value_by_one_factor(),
    }
}

pub(super) fn cosh(tier: Tier, x: Val<'_>) -> Val<'_> {
    let half = half_exp(tier, x.abs());
    half + x.like(0.25_f32) / half
}

pub(super) fn sinh(tier: Tier, x: Val<'_>) -> Val<'_> {
    let magnitude = x.abs();
    let half = half_exp(tier, magnitude);
    let far = half - x.like(0.25_f32) / half;
    let z = x * x;
    let near = (magnitude * z).fma(polynomial(z, &c::SINH), magnitude);
    magnitude.lt(1.0_f32).select(near, far).with_sign_of(x)
}

/// Precise: 1 - 2 / (e^2|x| + 1), a polynomial near zero. Fast: a ratio of polynomials.
pub(super) fn tanh(tier: Tier, x: Val<'_>) -> Val<'_> {
    if tier == Tier::Fast {
        return fast_tanh(x);
    }
    let magnitude = x.abs();
    let limited = magnitude.at_most(10.0_f32);
    let square = exp_power(tier, limited + limited).value_by_one_factor();
    let far = x.like(1.0_f32) - x.like(2.0_f32) / (square + 1.0_f32);
    let z = x * x;
    let near = (magnitude * z).fma(polynomial(z, &c::TANH), magnitude);
    magnitude.lt(0.625_f32).select(near, far).with_sign_of(x)
}

/// Never beyond ±1: the last rounding could step over it.
fn fast_tanh(x: Val<'_>) -> Val<'_> {
    let x = x.at_least(-9.02_f32).at_most(9.02_f32);
    let z = x * x;
    let ratio = (x * polynomial(z, &c::TANH_FAST_NUMERATOR)) / polynomial(z, &c::TANH_FAST_DENOMINATOR);
    ratio.at_least(-1.0_f32).at_most(1.0_f32)
}

/// Below this the series with two terms is exact enough; above, the logarithm in doubles.
const SERIES: f32 = 1.0 / 128.0;

/// From here on √(x² ± 1) is x, and the square must not overflow.
const FAR: f32 = 1.0e9;

/// ln(|x| + √(x² + 1)). Fast: the sum as 1 + u.
pub(super) fn asinh<'b>(tier: Tier, body: &'b Body, x: Val<'b>) -> Val<'b> {
    let magnitude = x.abs();
    if tier == Tier::Fast {
        let root = magnitude.fma(magnitude, 1.0_f32).sqrt();
        let u = magnitude + magnitude * (magnitude / (root + 1.0_f32));
        return log1p_or_twice(magnitude, u).with_sign_of(x);
    }
    let wide = magnitude.extend(Lane::F64);
    let log = ln_double(body, wide + wide.fma(wide, 1.0).sqrt()).round_to(Lane::F32);
    let near = (magnitude * (x * x)).fma(-1.0_f32 / 6.0, magnitude);
    let result = magnitude.lt(SERIES).select(near, log).with_sign_of(x);
    magnitude.lt(f32::INFINITY).select(result, x)
}

/// ln(1 + u), or ln 2x where x is far out (as ln x/4 + 3 ln 2: twice the largest float is none).
fn log1p_or_twice<'b>(x: Val<'b>, u: Val<'b>) -> Val<'b> {
    let far = x.gt(FAR);
    log1p_plus(far.select(x * 0.25_f32, u), far.select(x.like(3.0_f32), 0.0))
}

/// ln(x + √(x² - 1)).
pub(super) fn acosh<'b>(tier: Tier, body: &'b Body, x: Val<'b>) -> Val<'b> {
    if tier == Tier::Fast {
        let d = x - 1.0_f32;
        return log1p_or_twice(x, d + d.fma(d, d + d).sqrt());
    }
    let wide = x.extend(Lane::F64);
    let log = ln_double(body, wide + wide.fma(wide, -1.0).sqrt()).round_to(Lane::F32);
    let regular = x.ge(1.0_f32) & x.lt(f32::INFINITY);
    regular.select(log, x.lt(1.0_f32).select(x.like(f32::NAN), x))
}

/// ½ ln((1 + |x|) / (1 - |x|)). Fast: the ratio as 1 + u.
pub(super) fn atanh<'b>(tier: Tier, body: &'b Body, x: Val<'b>) -> Val<'b> {
    let magnitude = x.abs();
    if tier == Tier::Fast {
        let u = (magnitude + magnitude) / (x.like(1.0_f32) - magnitude);
        let result = log1p_plus(u, x.like(0.0)) * 0.5_f32;
        return magnitude.lt(1.0_f32).select(result, f32::INFINITY).with_sign_of(x);
    }
    let wide = magnitude.extend(Lane::F64);
    let one = body.f64(1.0);
    let log = (ln_double(body, (one + wide) / (one - wide)) * 0.5).round_to(Lane::F32);
    let near = (magnitude * (x * x)).fma(1.0_f32 / 3.0, magnitude);
    let result = magnitude.lt(SERIES).select(near, log);
    let edge = magnitude.eq(1.0_f32).select(x.like(f32::INFINITY), f32::NAN);
    magnitude.lt(1.0_f32).select(result, edge).with_sign_of(x)
}

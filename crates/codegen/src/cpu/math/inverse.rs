//! `asin`, `acos`, `atan`, `atan2`.

use super::Tier;
use super::body::Val;
use super::coefficients as c;
use super::exponential::polynomial;

/// π/2 - t, from the high and low part of π/2.
fn complement(t: Val<'_>) -> Val<'_> {
    let [high, low, _] = c::HALF_PI;
    t.like(high) - (t - low)
}

/// asin of |x|, or half of acos of |x| where that is above one half: the angle from the nearer axis.
struct FromAxis<'b> {
    /// |x| > 1/2.
    beyond: Val<'b>,
    angle: Val<'b>,
}

/// asin s for s ≤ 1/2 by polynomial; above, acos |x| = 2 asin √((1 - |x|) / 2).
fn from_axis<'b>(tier: Tier, x: Val<'b>) -> FromAxis<'b> {
    let magnitude = x.abs();
    let beyond = magnitude.gt(0.5_f32);
    let z = beyond.select(magnitude.fma(-0.5_f32, 0.5_f32), x * x);
    let s = beyond.select(z.sqrt(), magnitude);
    let p = if tier == Tier::Fast { polynomial(z, &c::ASIN_FAST) } else { polynomial(z, &c::ASIN) };
    FromAxis { beyond, angle: (s * z).fma(p, s) }
}

pub(super) fn asin(tier: Tier, x: Val<'_>) -> Val<'_> {
    let FromAxis { beyond, angle } = from_axis(tier, x);
    let upper = complement(angle + angle);
    beyond.select(upper, angle).with_sign_of(x)
}

pub(super) fn acos(tier: Tier, x: Val<'_>) -> Val<'_> {
    let FromAxis { beyond, angle } = from_axis(tier, x);
    let rest = complement(beyond.select(angle, angle.with_sign_of(x)));
    let outer = x.lt(0.0_f32).select(rest, angle);
    beyond.select(outer + outer, rest)
}

/// atan t for t from 0 to 1.
fn arctangent_kernel(tier: Tier, t: Val<'_>) -> Val<'_> {
    let z = t * t;
    let p = if tier == Tier::Fast { polynomial(z, &c::ATAN_FAST) } else { polynomial(z, &c::ATAN) };
    (t * z).fma(p, t)
}

pub(super) fn atan(tier: Tier, x: Val<'_>) -> Val<'_> {
    let magnitude = x.abs();
    let inverted = magnitude.gt(1.0_f32);
    // NaN stays in the numerator.
    let t = inverted.select(x.like(1.0_f32), magnitude) / inverted.select(magnitude, 1.0_f32);
    let angle = arctangent_kernel(tier, t);
    inverted.select(complement(angle), angle).with_sign_of(x)
}

pub(super) fn atan2<'b>(tier: Tier, y: Val<'b>, x: Val<'b>) -> Val<'b> {
    let (ordinate, abscissa) = (y.abs(), x.abs());
    let steep = ordinate.gt(abscissa);
    let small = steep.select(abscissa, ordinate);
    let large = steep.select(ordinate, abscissa);
    let t = large.eq(0.0_f32).select(large, small / large);
    let t = if tier == Tier::Fast { t } else { small.eq(f32::INFINITY).select(x.like(1.0_f32), t) };
    let angle = arctangent_kernel(tier, t);
    let angle = steep.select(complement(angle), angle);
    let [pi, pi_low] = c::PI;
    let angle = x.bits().lt(0).select(angle.like(pi) - (angle - pi_low), angle);
    let result = angle.with_sign_of(y);
    if tier == Tier::Fast { result } else { y.unordered(x).select(x + y, result) }
}

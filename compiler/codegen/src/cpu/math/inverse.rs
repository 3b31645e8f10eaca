//! `asin`, `acos`, `atan`, `atan2`.

use super::Tier;
use super::coefficients as c;
use super::exponential::polynomial;
use super::value::Val;

/// π/2 - t, from the high and low part of π/2.
fn complement(t: Val<'_>) -> Val<'_> {
    let [high, low, _] = c::HALF_PI;
    t.like(high) - (t - low)
}

/// The angle asin s = s + rest from the nearer axis, in two parts.
struct FromAxis<'b> {
    /// |x| > 1/2.
    beyond: Val<'b>,
    s: Val<'b>,
    /// s times the square of s.
    cube: Val<'b>,
    /// Times `cube`: the rest.
    factor: Val<'b>,
}

impl<'b> FromAxis<'b> {
    /// s = |x| up to one half; above, acos |x| = 2 asin √((1 - |x|) / 2).
    fn new(tier: Tier, x: Val<'b>) -> Self {
        let magnitude = x.abs();
        let beyond = magnitude.gt(0.5_f32);
        let z = beyond.select(magnitude.fma(-0.5_f32, 0.5_f32), x * x);
        let s = beyond.select(z.sqrt(), magnitude);
        let factor = if tier == Tier::Fast { polynomial(z, &c::ASIN_FAST) } else { polynomial(z, &c::ASIN) };
        Self { beyond, s, cube: s * z, factor }
    }

    fn angle(&self) -> Val<'b> {
        self.cube.fma(self.factor, self.s)
    }
}

/// Above one half: π/2 - 2 s, what its rounding lost (nothing near one half), and the small rest.
pub(super) fn asin(tier: Tier, x: Val<'_>) -> Val<'_> {
    let near = FromAxis::new(tier, x);
    let [high, low, _] = c::HALF_PI;
    let rest = (near.cube + near.cube).fma(near.factor, -low);
    let difference = near.s.fma(-2.0_f32, high);
    let rest = match tier {
        Tier::Precise => near.s.fma(2.0_f32, difference - high) + rest,
        Tier::Fast => rest,
    };
    let upper = difference - rest;
    near.beyond.select(upper, near.angle()).with_sign_of(x)
}

pub(super) fn acos(tier: Tier, x: Val<'_>) -> Val<'_> {
    let near = FromAxis::new(tier, x);
    let angle = near.angle();
    let rest = complement(near.beyond.select(angle, angle.with_sign_of(x)));
    let outer = x.lt(0.0_f32).select(rest, angle);
    near.beyond.select(outer + outer, rest)
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

//! `sin`, `cos`, `tan`, and the same of multiples of π.
//!
//! `sin`, `cos` and `tan` are the same in both tiers: what the fast limits would save is not worth
//! the difference.
//!
//! x = n π + r with |r| ≤ π/2: sin x = ±sin r, one polynomial, no choice of two. For the cosine n is
//! half an odd integer. π/2 in three floats, subtracted by fused multiply-add, serves up to a
//! hundred thousand; where any lane is beyond, [`super::huge`] computes all again.

use super::Tier;
use super::body::{Body, Lane};
use super::coefficients as c;
use super::exponential::{ROUND, polynomial};
use super::huge::{self, Circular};
use super::value::Val;

const SIGN: i32 = i32::MIN;
/// Up to here the error of π/2 in three floats does not matter.
const LIMIT: f32 = 1.0e5;

pub(super) fn sin<'b>(body: &'b Body, x: Val<'b>) -> Val<'b> {
    // On magnitudes, because the polynomial would turn -0 into 0.
    let magnitude = x.abs();
    let rounded = magnitude.fma(c::ONE_OVER_PI, ROUND);
    let r = reduced(magnitude, (rounded - ROUND) * 2.0_f32);
    let sign = (rounded.bits() << 31) ^ (x.bits() & SIGN);
    let usual = (sine_kernel(r).bits() ^ sign).as_float(Lane::F32);
    body.if_any(magnitude.gt(LIMIT), usual, || huge::recomputed(Circular::Sin, body, x, usual, LIMIT))
}

pub(super) fn cos<'b>(body: &'b Body, x: Val<'b>) -> Val<'b> {
    let magnitude = x.abs();
    let rounded = magnitude.fma(c::ONE_OVER_PI, -0.5_f32) + ROUND;
    let r = reduced(magnitude, (rounded - ROUND).fma(2.0_f32, 1.0_f32));
    // cos((n + ½) π + r) = -sin r for even n.
    let sign = (rounded.bits() << 31) ^ SIGN;
    let usual = (sine_kernel(r).bits() ^ sign).as_float(Lane::F32);
    body.if_any(magnitude.gt(LIMIT), usual, || huge::recomputed(Circular::Cos, body, x, usual, LIMIT))
}

pub(super) fn tan<'b>(body: &'b Body, x: Val<'b>) -> Val<'b> {
    let magnitude = x.abs();
    let rounded = magnitude.fma(c::TWO_OVER_PI, ROUND);
    let r = reduced(magnitude, rounded - ROUND);
    let tangent = tangent_kernel(r, (rounded.bits() & 1).ne(0));
    let usual = (tangent.bits() ^ (x.bits() & SIGN)).as_float(Lane::F32);
    body.if_any(magnitude.gt(LIMIT), usual, || huge::recomputed(Circular::Tan, body, x, usual, LIMIT))
}

/// x - n π/2. The first product and difference are exact: both sides are multiples of 2^-23, and
/// what is left of them fits a float.
fn reduced<'b>(x: Val<'b>, n: Val<'b>) -> Val<'b> {
    c::HALF_PI.iter().fold(x, |rest, &part| n.fma(-part, rest))
}

/// sin r for |r| ≤ π/2.
pub(super) fn sine_kernel(r: Val<'_>) -> Val<'_> {
    let z = r * r;
    (r * z).fma(polynomial(z, &c::SIN), r)
}

/// tan r, or -1 / tan r where `odd`, for |r| ≤ π/4.
pub(super) fn tangent_kernel<'b>(r: Val<'b>, odd: Val<'b>) -> Val<'b> {
    let z = r * r;
    let tangent = (r * z).fma(polynomial(z, &c::TAN), r);
    odd.select(r.like(-1.0_f32), tangent) / odd.select(tangent, 1.0_f32)
}

/// x less the nearest even integer: from -1 to 1, exactly. Infinities give NaN.
fn within_period(x: Val<'_>) -> Val<'_> {
    (x * 0.5_f32).unary("nearbyint").fma(-2.0_f32, x)
}

pub(super) fn sin_pi(tier: Tier, x: Val<'_>) -> Val<'_> {
    let y = within_period(x);
    let magnitude = y.abs();
    let w = magnitude.at_most(y.like(1.0_f32) - magnitude);
    // Zeros of odd numbers, of which the period makes ±1, have the argument's sign as well.
    let sign = w.eq(0.0_f32).select(x, y);
    sine_pi_kernel(tier, w).with_sign_of(sign)
}

pub(super) fn cos_pi(tier: Tier, x: Val<'_>) -> Val<'_> {
    let y = within_period(x).abs();
    sine_pi_kernel(tier, y.like(0.5_f32) - y)
}

/// sin πw for |w| ≤ 1/2.
fn sine_pi_kernel(tier: Tier, w: Val<'_>) -> Val<'_> {
    pi_kernel(tier, w, &c::SIN_PI)
}

/// π w + w³ p(w²). Precise: with π in two parts.
fn pi_kernel<'b>(tier: Tier, w: Val<'b>, coefficients: &[f32]) -> Val<'b> {
    let z = w * w;
    let [pi, pi_low] = c::PI;
    match tier {
        Tier::Precise => w.fma(pi, w * z.fma(polynomial(z, coefficients), pi_low)),
        Tier::Fast => w * z.fma(polynomial(z, coefficients), pi),
    }
}

/// The zero of an odd multiple of π has the opposite sign of the argument's.
pub(super) fn tan_pi(tier: Tier, x: Val<'_>) -> Val<'_> {
    let nearest = x.unary("nearbyint");
    let y = x - nearest;
    let magnitude = y.abs();
    let far = magnitude.gt(0.25_f32);
    let w = far.select(y.like(0.5_f32) - magnitude, magnitude);
    let tangent = pi_kernel(tier, w, &c::TAN_PI);
    let quotient = far.select(x.like(1.0_f32), tangent) / far.select(tangent, 1.0_f32);
    let half = nearest * 0.5_f32;
    let zero = half.unary("nearbyint").eq(half).select(x, -x);
    quotient.with_sign_of(y.eq(0.0_f32).select(zero, y))
}

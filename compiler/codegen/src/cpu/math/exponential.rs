//! `exp`, `exp2` and `exp10`, and the pieces that `pow` and the hyperbolic functions share.
//!
//! base^x = 2^k × base^r with k the nearest integer to x log2(base). Adding 1.5 × 2^23 rounds a float
//! to an integer and leaves that integer in the low bits: no conversion, no poison for NaN.

use super::Tier;
use super::body::Lane;
use super::coefficients as c;
use super::value::Val;

/// 1.5 × 2^23: floats from 2^23 on have no fraction.
pub(super) const ROUND: f32 = 12_582_912.0;
/// Its bits.
const ROUND_BITS: i32 = 0x4B40_0000;
/// 1.5 × 2^52, the same for doubles.
pub(super) const ROUND_DOUBLE: f64 = 6_755_399_441_055_744.0;

/// Evaluates a polynomial, lowest order first in `coefficients`, by Horner's rule.
pub(super) fn polynomial<'b>(x: Val<'b>, coefficients: &[f32]) -> Val<'b> {
    let (&highest, rest) = coefficients.split_last().expect("a polynomial has coefficients");
    rest.iter().rev().fold(x.like(highest), |sum, &coefficient| sum.fma(x, coefficient))
}

/// The same in doubles, continuing from `sum`, the value of the higher orders.
pub(super) fn polynomial_double<'b>(x: Val<'b>, coefficients: &[f64], sum: Val<'b>) -> Val<'b> {
    coefficients.iter().rev().fold(sum, |sum, &coefficient| sum.fma(x, coefficient))
}

/// A power 2^k × (1 + fraction), not yet put together.
pub(super) struct Power<'b> {
    /// The integer k.
    exponent: Val<'b>,
    /// Between -0.3 and 0.42.
    fraction: Val<'b>,
}

impl<'b> Power<'b> {
    /// Multiplies by 2^n.
    pub(super) fn times_power_of_two(self, n: i32) -> Self {
        Self { exponent: self.exponent + n, ..self }
    }

    /// The value, rounded once: two factors, each of half the exponent, so that denormal and
    /// overflowing results come out right. For exponents from -252 to 254.
    pub(super) fn value(self) -> Val<'b> {
        let half = self.exponent.ashr(1);
        let rest = self.exponent - half;
        (self.fraction + 1.0_f32) * power_of_two(half) * power_of_two(rest)
    }

    /// The value for exponents from -125 to 129, with one factor; 129 gives infinity.
    pub(super) fn value_by_one_factor(self) -> Val<'b> {
        self.fraction.fma(2.0_f32, 2.0_f32) * power_of_two(self.exponent - 1)
    }

    /// The value of a power whose argument is `x`: zero where it is below the normal numbers, infinity
    /// where it is above the finite ones, NaN of a NaN. `range`: the least and the greatest argument between.
    ///
    /// Normal results have 255 exponents here, because the fraction may be negative, and a float as factor
    /// has 254: the exponent is added to the bits.
    pub(super) fn value_within(self, x: Val<'b>, range: [f32; 2]) -> Val<'b> {
        let [least, greatest] = range;
        let bits = (self.fraction + 1.0_f32).bits() + (self.exponent << 23);
        // In this order both are masks of instructions with AVX-512.
        let bits = x.lt(least).select(x.body.i32(0), bits);
        x.unless_le(greatest).select(x * f32::MAX, bits.as_float(Lane::F32))
    }
}

/// 2^k for k from -126 to 127; -127 gives zero and 128 infinity.
pub(super) fn power_of_two(k: Val<'_>) -> Val<'_> {
    ((k + 127) << 23).as_float(Lane::F32)
}

/// Arguments of an exponential function.
struct Domain {
    /// Precise: those beyond have the results of the limits, zero and infinity.
    limits: [f32; 2],
    /// Fast: those with normal results.
    normal: [f32; 2],
}

impl Domain {
    /// The function of which `power` computes the power of an argument near the domain.
    fn value<'b>(self, tier: Tier, x: Val<'b>, power: impl FnOnce(Val<'b>) -> Power<'b>) -> Val<'b> {
        match tier {
            Tier::Precise => power(x.at_least(self.limits[0]).at_most(self.limits[1])).value(),
            Tier::Fast => power(x).value_within(x, self.normal),
        }
    }
}

pub(super) fn exp(tier: Tier, x: Val<'_>) -> Val<'_> {
    let domain = Domain { limits: [-104.0, 89.0], normal: [-87.336_54, 88.722_83] };
    domain.value(tier, x, |x| exp_power(tier, x))
}

/// e^x for |x| up to 180.
pub(super) fn exp_power(tier: Tier, x: Val<'_>) -> Power<'_> {
    let rounded = x.fma(c::LOG2_E, ROUND);
    let k = rounded - ROUND;
    let r = k.fma(-c::LN2_LOW, k.fma(-c::LN2_HIGH, x));
    let q = if tier == Tier::Fast { polynomial(r, &c::EXP_FAST) } else { polynomial(r, &c::EXP) };
    Power { exponent: rounded.bits() - ROUND_BITS, fraction: (r * r).fma(q, r) }
}

/// Where 2^x is a normal number.
pub(super) const EXP2_NORMAL: [f32; 2] = [-126.0, 127.999_99];

pub(super) fn exp2(tier: Tier, x: Val<'_>) -> Val<'_> {
    Domain { limits: [-151.0, 129.0], normal: EXP2_NORMAL }.value(tier, x, |x| {
        let rounded = x + ROUND;
        exp2_power(tier, x - (rounded - ROUND), rounded.bits() - ROUND_BITS)
    })
}

/// 2^(k + r) for |r| up to one half.
pub(super) fn exp2_power<'b>(tier: Tier, r: Val<'b>, k: Val<'b>) -> Power<'b> {
    let q = if tier == Tier::Fast { polynomial(r, &c::EXP2_FAST) } else { polynomial(r, &c::EXP2) };
    Power { exponent: k, fraction: r * q }
}

pub(super) fn exp10(tier: Tier, x: Val<'_>) -> Val<'_> {
    let domain = Domain { limits: [-45.2, 38.6], normal: [-37.929_78, 38.531_837] };
    domain.value(tier, x, |x| {
        let rounded = x.fma(c::LOG2_10, ROUND);
        let k = rounded - ROUND;
        let r = k.fma(-c::LOG10_2_LOW, k.fma(-c::LOG10_2_HIGH, x));
        let q = if tier == Tier::Fast { polynomial(r, &c::EXP10_FAST) } else { polynomial(r, &c::EXP10) };
        Power { exponent: rounded.bits() - ROUND_BITS, fraction: r * q }
    })
}

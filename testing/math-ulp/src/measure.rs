//! Errors in units in the last place, and the worst of many.

use anymetal_ir::{FpMode, MathFn, Scalar};

use crate::catalog::Bound;
use crate::kernel::{Kernels, Variant};
use crate::reference::{Expected, expected};

/// Arguments and results.
#[derive(Clone, Copy, Debug)]
pub struct Worst {
    /// The error, in the unit of the bound; infinite for a wrong special value.
    pub error: f64,
    /// The arguments' bits.
    pub arguments: [u32; 3],
    /// What came out.
    pub got: u32,
}

impl Default for Worst {
    fn default() -> Self {
        Self { error: 0.0, arguments: [0; 3], got: 0 }
    }
}

/// The float format of a result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Format {
    /// Exponent of the smallest normal number.
    pub min_exponent: i32,
    /// Exponent of the largest numbers.
    pub max_exponent: i32,
    /// Bits after the point.
    pub fraction_bits: i32,
}

/// IEEE 754 binary32.
pub const SINGLE: Format = Format { min_exponent: -126, max_exponent: 127, fraction_bits: 23 };
/// IEEE 754 binary16.
pub const HALF: Format = Format { min_exponent: -14, max_exponent: 15, fraction_bits: 10 };
/// bfloat16.
pub const BRAIN: Format = Format { min_exponent: -126, max_exponent: 127, fraction_bits: 7 };

fn exponent(x: f64) -> i32 {
    ((x.to_bits() >> 52) & 0x7FF) as i32 - 1023
}

impl Format {
    /// Distance between neighbouring numbers at `x`.
    pub fn ulp(self, x: f64) -> f64 {
        2_f64.powi(exponent(x).clamp(self.min_exponent, self.max_exponent) - self.fraction_bits)
    }

    /// Error of `got` in ulp of the true value. Infinity counts as the next power of two, so that a
    /// result may round to it.
    pub fn error(self, truth: f64, got: f64) -> f64 {
        if truth.is_nan() || got.is_nan() {
            return if truth.is_nan() && got.is_nan() { 0.0 } else { f64::INFINITY };
        }
        let beyond = 2_f64.powi(self.max_exponent + 1);
        let (finite_truth, finite_got) = (truth.clamp(-beyond, beyond), got.clamp(-beyond, beyond));
        if truth == 0.0 && got == 0.0 {
            return if truth.is_sign_negative() == got.is_sign_negative() { 0.0 } else { f64::INFINITY };
        }
        (finite_truth - finite_got).abs() / self.ulp(finite_truth)
    }
}

/// The number that a word holds.
pub fn decode(scalar: Scalar, word: u32) -> f32 {
    match scalar {
        Scalar::F16 => half::f16::from_bits(word as u16).to_f32(),
        Scalar::Bf16 => half::bf16::from_bits(word as u16).to_f32(),
        _ => f32::from_bits(word),
    }
}

fn format(scalar: Scalar) -> Format {
    match scalar {
        Scalar::F16 => HALF,
        Scalar::Bf16 => BRAIN,
        _ => SINGLE,
    }
}

/// Error of `got` in the unit of the subject's bound. In fast mode it is the least of those for the
/// results that section 8.5 of the specification allows: also with denormal operands taken for zero.
fn error(subject: Subject, words: [u32; 3], got: u32) -> f64 {
    let Variant { function, scalar, mode, .. } = subject.variant;
    let floats_taken = if function == MathFn::Ldexp { 1 } else { function.arity() };
    let mut floats = words.map(|word| decode(scalar, word));
    floats[floats_taken..].fill(0.0);
    let integer = words[1].cast_signed();
    let strict = error_of(subject, expected(function, floats, integer), got);
    let Expected::Number(truth) = expected(function, floats, integer) else { return strict };
    if mode != FpMode::Fast || strict == 0.0 {
        return strict;
    }
    let value = f64::from(decode(scalar, got));
    if is_undefined(function, truth, value, floats) {
        return 0.0;
    }
    // Subsets of the operands that are denormal.
    let flushed =
        (1..8_usize).filter(|&set| (0..3).all(|at| set >> at & 1 == 0 || floats[at].is_subnormal()));
    let of_flushed = flushed.map(|set| {
        let kept = |at: usize| if set >> at & 1 == 1 { 0.0_f32.copysign(floats[at]) } else { floats[at] };
        let truth = expected(function, std::array::from_fn(kept), integer);
        // The sign of a zero is undefined then.
        let is_zero = matches!(truth, Expected::Number(truth) if truth == 0.0 || is_denormal(truth));
        if is_zero && value == 0.0 { 0.0 } else { error_of(subject, truth, got) }
    });
    let is_flushed = is_denormal(truth) && value == 0.0;
    of_flushed.fold(if is_flushed { 0.0 } else { strict }, f64::min)
}

fn is_denormal(truth: f64) -> bool {
    truth != 0.0 && truth.abs() < f64::from(f32::MIN_POSITIVE)
}

/// Error of `got` for one true value.
fn error_of(subject: Subject, truth: Expected, got: u32) -> f64 {
    let Subject { variant, bound, .. } = subject;
    let truth = match truth {
        Expected::Word(word) => return if word == got { 0.0 } else { f64::INFINITY },
        Expected::Number(number) => number,
    };
    let value = f64::from(decode(variant.scalar, got));
    // Which of two zeros is the larger is left open.
    if matches!(variant.function, MathFn::FMin | MathFn::FMax) && truth == 0.0 && value == 0.0 {
        return 0.0;
    }
    let ulps = || format(variant.scalar).error(truth, value);
    match bound {
        Bound::Ulp(_) => ulps(),
        Bound::UlpByExponent(base, factor) => {
            let room = base + factor * truth.abs().log2().abs();
            if room.is_finite() { ulps() / room } else { ulps() }
        }
    }
}

/// What fast mode does not define: NaN and infinities as arguments, NaN as the result, and remainders of
/// large quotients, which are still remainders.
fn is_undefined(function: MathFn, truth: f64, got: f64, arguments: [f32; 3]) -> bool {
    let [x, y, _] = arguments;
    let is_large = function == MathFn::Fmod && (x / y).abs() > 4e6;
    let is_remainder = got.abs() < f64::from(y).abs() || y.is_subnormal();
    arguments.iter().any(|x| !x.is_finite()) || truth.is_nan() || (is_large && is_remainder)
}

impl Bound {
    /// The number to compare an error with.
    pub fn limit(self) -> f64 {
        match self {
            Self::Ulp(ulp) => ulp,
            // Errors come divided by the room.
            Self::UlpByExponent(..) => 1.0,
        }
    }
}

/// What a measurement is about.
#[derive(Clone, Copy, Debug)]
pub struct Subject {
    /// Which of the kernels.
    pub index: usize,
    /// What it computes.
    pub variant: Variant,
    /// The unit of its errors.
    pub bound: Bound,
}

/// Runs a kernel over the arguments and finds the worst error.
pub fn worst(kernels: &Kernels, subject: Subject, arguments: [&[u32]; 3], output: &mut Vec<u32>) -> Worst {
    output.clear();
    output.resize(arguments[0].len(), 0);
    kernels.run(subject.index, arguments, output);
    let mut worst = Worst::default();
    for (i, &got) in output.iter().enumerate() {
        let words = arguments.map(|a| a[i]);
        let error = error(subject, words, got);
        if error > worst.error {
            worst = Worst { error, arguments: words, got };
        }
    }
    worst
}

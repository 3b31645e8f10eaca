//! Errors in units in the last place, and the worst of many.

use anymetal_ir::{FpMode, MathFn};

use crate::catalog::Bound;
use crate::kernel::Kernels;
use crate::reference::{Expected, expected};

/// Arguments and what was made of them.
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

/// Error in the unit of `bound`, divided by nothing: compare with [`allowed`].
fn error(bound: Bound, mode: FpMode, truth: Expected, got: u32, arguments: [f32; 3]) -> f64 {
    let truth = match truth {
        Expected::Word(word) => return if word == got { 0.0 } else { f64::INFINITY },
        Expected::Number(number) => number,
    };
    let value = f64::from(f32::from_bits(got));
    if mode == FpMode::Fast && forgiven(truth, value, arguments) {
        return 0.0;
    }
    match bound {
        Bound::Ulp(_) => SINGLE.error(truth, value),
        Bound::Absolute(_) => (truth - value).abs(),
        // The error in ulp that remains per exponent, at least one.
        Bound::UlpByExponent(..) => {
            let ulps = SINGLE.error(truth, value);
            let room = Bound::room(bound, truth);
            if room.is_finite() { ulps / room } else { ulps }
        }
    }
}

/// What fast mode does not promise: NaN and infinities in, NaN out, denormals, signs of zero.
fn forgiven(truth: f64, got: f64, arguments: [f32; 3]) -> bool {
    let outside = arguments.iter().any(|x| !x.is_finite() || x.is_subnormal());
    let flushed = truth.abs() < 2_f64.powi(-125) && got.abs() < 2_f64.powi(-125);
    outside || truth.is_nan() || flushed
}

impl Bound {
    /// The number to compare an error with.
    pub fn limit(self) -> f64 {
        match self {
            Self::Ulp(ulp) => ulp,
            Self::Absolute(absolute) => absolute,
            // Errors come divided by the room.
            Self::UlpByExponent(..) => 1.0,
        }
    }

    fn room(self, truth: f64) -> f64 {
        match self {
            Self::UlpByExponent(base, factor) => base + factor * truth.abs().log2().abs(),
            _ => f64::INFINITY,
        }
    }
}

/// The function that a measurement is about.
#[derive(Clone, Copy, Debug)]
pub struct Subject {
    /// Which of the kernels.
    pub index: usize,
    /// Its function.
    pub function: MathFn,
    /// Its mode.
    pub mode: FpMode,
    /// The unit of its errors.
    pub bound: Bound,
}

/// Runs a kernel of `float` at any width over the arguments and finds the worst error.
pub fn worst(kernels: &Kernels, subject: Subject, arguments: [&[u32]; 3], output: &mut Vec<u32>) -> Worst {
    output.clear();
    output.resize(arguments[0].len(), 0);
    kernels.run(subject.index, arguments, output);
    let mut worst = Worst::default();
    for (i, &got) in output.iter().enumerate() {
        let words = arguments.map(|a| a[i]);
        let mut floats = words.map(f32::from_bits);
        let truth = expected(subject.function, floats, words[1].cast_signed());
        let arity = subject.function.arity();
        for float in &mut floats[if subject.function == MathFn::Ldexp { 1 } else { arity }..] {
            *float = 0.0;
        }
        let error = error(subject.bound, subject.mode, truth, got, floats);
        if error > worst.error {
            worst = Worst { error, arguments: words, got };
        }
    }
    worst
}

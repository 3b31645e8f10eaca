//! The float functions with their limits.
//!
//! The MSL specification's limits are those of tables 8.1 and 8.2 (version 4, 2025-06-05); table 8.2
//! gives some as an absolute error or as a formula. Ours are what the tests enforce: a little above
//! the measured error, and below the specification's.

use anymetal_ir::{FpMode, MathFn};

/// How an error is counted.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Bound {
    /// Units in the last place of the true result.
    Ulp(f64),
    /// Units in the last place: the first number, and the second times the magnitude of the binary
    /// logarithm of the result.
    UlpByExponent(f64, f64),
}

/// One function with its limits.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The function.
    pub function: MathFn,
    /// Its name in MSL.
    pub name: &'static str,
    /// The specification's limit in safe and relaxed mode, in ulp (0.5: correctly rounded).
    pub metal_precise: f64,
    /// The specification's words for fast mode, shortened.
    pub metal_fast: &'static str,
    /// Ours in safe and relaxed mode.
    pub precise: Bound,
    /// Ours in fast mode.
    pub fast: Bound,
}

impl Entry {
    /// Our bound in a mode.
    pub fn bound(&self, mode: FpMode) -> Bound {
        if mode == FpMode::Fast { self.fast } else { self.precise }
    }
}

use Bound::{Ulp, UlpByExponent};

const fn entry(
    function: MathFn,
    name: &'static str,
    metal_precise: f64,
    precise: f64,
    metal_fast: &'static str,
    fast: Bound,
) -> Entry {
    Entry { function, name, metal_precise, metal_fast, precise: Ulp(precise), fast }
}

/// 0.5 ulp, with room for the reference's own rounding.
const ROUNDED: f64 = 0.500_001;

/// All of them, in the order of the specification's table.
pub const CATALOG: &[Entry] = &[
    entry(MathFn::Acos, "acos", 4.0, 1.5, "≤ 5 ulp", Ulp(3.0)),
    entry(MathFn::Acosh, "acosh", 4.0, 1.0, "log(x + sqrt(x² - 1))", Ulp(4.0)),
    entry(MathFn::Asin, "asin", 4.0, 1.5, "≤ 5 ulp", Ulp(3.0)),
    entry(MathFn::Asinh, "asinh", 4.0, 1.0, "log(x + sqrt(x² + 1))", Ulp(4.0)),
    entry(MathFn::Atan, "atan", 5.0, 1.5, "≤ 5 ulp", Ulp(4.0)),
    entry(MathFn::Atan2, "atan2", 6.0, 2.0, "by atan(y / x)", Ulp(4.0)),
    entry(MathFn::Atanh, "atanh", 5.0, 1.0, "½ log((1 + x) / (1 - x))", Ulp(4.0)),
    entry(MathFn::Ceil, "ceil", 0.5, 0.0, "correctly rounded", Ulp(0.0)),
    entry(MathFn::CopySign, "copysign", 0.0, 0.0, "0 ulp", Ulp(0.0)),
    entry(MathFn::Cos, "cos", 4.0, 2.5, "≤ 2^-13 on [-π, π]", Ulp(3.5)),
    entry(MathFn::Cosh, "cosh", 4.0, 2.0, "½ (exp(x) + exp(-x))", Ulp(4.0)),
    entry(MathFn::CosPi, "cospi", 4.0, 2.5, "≤ 2^-13 on [-1, 1]", Ulp(3.5)),
    entry(MathFn::Divide, "divide", 0.5, ROUNDED, "≤ 2.5 ulp", Ulp(ROUNDED)),
    entry(MathFn::Exp, "exp", 4.0, 1.5, "≤ 3 + ⌊2|x|⌋ ulp", Ulp(3.0)),
    entry(MathFn::Exp2, "exp2", 4.0, 1.5, "≤ 3 + ⌊2|x|⌋ ulp", Ulp(3.0)),
    entry(MathFn::Exp10, "exp10", 4.0, 1.5, "exp2(x log2(10))", Ulp(3.0)),
    entry(MathFn::FAbs, "fabs", 0.0, 0.0, "0 ulp", Ulp(0.0)),
    entry(MathFn::Floor, "floor", 0.5, 0.0, "correctly rounded", Ulp(0.0)),
    entry(MathFn::Fma, "fma", 0.5, ROUNDED, "correctly rounded", Ulp(ROUNDED)),
    entry(MathFn::FMax, "fmax", 0.0, 0.0, "0 ulp", Ulp(0.0)),
    entry(MathFn::FMin, "fmin", 0.0, 0.0, "0 ulp", Ulp(0.0)),
    entry(MathFn::Fmod, "fmod", 0.0, 0.0, "undefined", Ulp(0.0)),
    entry(MathFn::FrexpMantissa, "frexp", 0.0, 0.0, "0 ulp", Ulp(0.0)),
    entry(MathFn::FrexpExponent, "frexp exponent", 0.0, 0.0, "0 ulp", Ulp(0.0)),
    entry(MathFn::Ilogb, "ilogb", 0.0, 0.0, "0 ulp", Ulp(0.0)),
    entry(MathFn::Ldexp, "ldexp", 0.5, ROUNDED, "correctly rounded", Ulp(ROUNDED)),
    entry(MathFn::Log, "log", 4.0, 1.5, "≤ 2^-21 on [½, 2], else 3 ulp", Ulp(3.0)),
    entry(MathFn::Log2, "log2", 4.0, 1.5, "≤ 2^-22 on [½, 2], else 2 ulp", Ulp(2.0)),
    entry(MathFn::Log10, "log10", 4.0, 1.5, "log2(x) log10(2)", Ulp(3.0)),
    entry(MathFn::NextAfter, "nextafter", 0.0, 0.0, "0 ulp", Ulp(0.0)),
    entry(MathFn::Pow, "pow", 16.0, 1.5, "exp2(y log2(x))", UlpByExponent(4.0, 1.5)),
    entry(MathFn::Powr, "powr", 16.0, 1.5, "exp2(y log2(x))", UlpByExponent(4.0, 1.5)),
    entry(MathFn::Rint, "rint", 0.5, 0.0, "correctly rounded", Ulp(0.0)),
    entry(MathFn::Round, "round", 0.5, 0.0, "correctly rounded", Ulp(0.0)),
    entry(MathFn::Rsqrt, "rsqrt", 0.5, ROUNDED, "≤ 2 ulp", Ulp(2.0)),
    entry(MathFn::Sin, "sin", 4.0, 2.5, "≤ 2^-13 on [-π, π]", Ulp(3.5)),
    entry(MathFn::Sinh, "sinh", 4.0, 2.0, "½ (exp(x) - exp(-x))", Ulp(4.0)),
    entry(MathFn::SinPi, "sinpi", 4.0, 2.5, "≤ 2^-13 on [-1, 1]", Ulp(3.5)),
    entry(MathFn::Sqrt, "sqrt", 0.5, ROUNDED, "x rsqrt(x)", Ulp(ROUNDED)),
    entry(MathFn::Tan, "tan", 6.0, 3.5, "sin(x) (1 / cos(x))", Ulp(3.5)),
    entry(MathFn::TanPi, "tanpi", 6.0, 3.0, "tan(x π)", Ulp(4.0)),
    entry(MathFn::Tanh, "tanh", 5.0, 2.0, "(t - 1) / (t + 1), t = exp(2x)", Ulp(7.0)),
    entry(MathFn::Trunc, "trunc", 0.5, 0.0, "correctly rounded", Ulp(0.0)),
    entry(MathFn::IsNan, "isnan", 0.0, 0.0, "0 ulp", Ulp(0.0)),
    entry(MathFn::IsInf, "isinf", 0.0, 0.0, "0 ulp", Ulp(0.0)),
    entry(MathFn::IsFinite, "isfinite", 0.0, 0.0, "0 ulp", Ulp(0.0)),
    entry(MathFn::IsNormal, "isnormal", 0.0, 0.0, "0 ulp", Ulp(0.0)),
    entry(MathFn::SignBit, "signbit", 0.0, 0.0, "0 ulp", Ulp(0.0)),
];

//! The library functions whose accuracy is the executor's business: computed in `f64` and rounded once.
//!
//! With a C library whose `f64` functions are accurate to one unit, the rounded `f32` result is within
//! 0.500001 units in the last place, and almost always the correctly rounded one. The exact functions are
//! [`anymetal_ir::eval::eval_math`].

use std::f64::consts::{LN_2, LN_10, PI};

use anymetal_ir::eval::{eval_math, narrow, widen};
use anymetal_ir::{MathFn, Scalar};

/// The result of any library function, on bits.
pub(crate) fn library(function: MathFn, ty: Scalar, args: &[u64]) -> u64 {
    if let Some(exact) = eval_math(function, ty, args) {
        return exact;
    }
    let x = widen(ty, args[0]);
    let y = args.get(1).map_or(0.0, |&bits| widen(ty, bits));
    narrow(ty, float_function(function, x, y))
}

fn float_function(function: MathFn, x: f64, y: f64) -> f64 {
    match function {
        MathFn::Sin => x.sin(),
        MathFn::Cos => x.cos(),
        MathFn::Tan => x.tan(),
        MathFn::SinPi => sin_pi(x),
        MathFn::CosPi => cos_pi(x),
        MathFn::TanPi => sin_pi(x) / cos_pi(x),
        MathFn::Asin => x.asin(),
        MathFn::Acos => x.acos(),
        MathFn::Atan => x.atan(),
        MathFn::Atan2 => x.atan2(y),
        MathFn::Sinh => x.sinh(),
        MathFn::Cosh => x.cosh(),
        MathFn::Tanh => x.tanh(),
        MathFn::Asinh => asinh(x),
        MathFn::Acosh => acosh(x),
        MathFn::Atanh => x.atanh(),
        MathFn::Exp => x.exp(),
        MathFn::Exp2 => x.exp2(),
        MathFn::Exp10 => exp10(x),
        MathFn::Log => x.ln(),
        MathFn::Log2 => x.log2(),
        MathFn::Log10 => x.log10(),
        MathFn::Pow => x.powf(y),
        MathFn::Powr => powr(x, y),
        MathFn::Rsqrt => 1.0 / x.sqrt(),
        // Everything else is exact and was answered before.
        _ => unreachable!("{function:?} is an exact function"),
    }
}

/// `sin(π x)`: the argument is reduced exactly, so that multiples of one half give exact results.
fn sin_pi(x: f64) -> f64 {
    if !x.is_finite() {
        return f64::NAN;
    }
    if x == x.trunc() {
        return 0f64.copysign(x);
    }
    // `x = turns × 2 + rest`, both exact; `rest` in [-1, 1].
    let rest = x - 2.0 * (x / 2.0).round_ties_even();
    match rest.abs() {
        part if part <= 0.25 => (PI * rest).sin(),
        part if part <= 0.75 => (PI * (0.5 - part)).cos().copysign(rest),
        part => (PI * (1.0 - part)).sin().copysign(rest),
    }
}

/// `cos(π x)`, likewise.
fn cos_pi(x: f64) -> f64 {
    let part = (x - 2.0 * (x / 2.0).round_ties_even()).abs();
    if part <= 0.25 {
        (PI * part).cos()
    } else if part <= 0.75 {
        (PI * (0.5 - part)).sin()
    } else {
        -(PI * (1.0 - part)).cos()
    }
}

/// Powers of ten are exact for integers as far as `f64` goes.
fn exp10(x: f64) -> f64 {
    if x == x.trunc() && x.abs() <= 22.0 {
        let power = 10f64.powi(x.abs() as i32);
        if x < 0.0 { 1.0 / power } else { power }
    } else {
        // Split, so that the rounding error of `x × ln 10` does not grow with `x`.
        let whole = x.trunc().clamp(-400.0, 400.0);
        10f64.powf(whole) * ((x - whole) * LN_10).exp()
    }
}

fn asinh(x: f64) -> f64 {
    let a = x.abs();
    // Large: the square would lose or overflow nothing in `f64` for arguments that were `f32`.
    let result = (a + a * a / (1.0 + (a * a + 1.0).sqrt())).ln_1p();
    if a.is_infinite() { x } else { result.copysign(x) }
}

fn acosh(x: f64) -> f64 {
    if x < 1.0 {
        f64::NAN
    } else if x > 1e30 {
        x.ln() + LN_2
    } else {
        let excess = x - 1.0;
        (excess + (excess * (x + 1.0)).sqrt()).ln_1p()
    }
}

/// `pow` for a base that is not negative; indeterminate forms are NaN.
fn powr(x: f64, y: f64) -> f64 {
    let indeterminate = match (x, y) {
        (0.0, 0.0) | (f64::INFINITY, 0.0) => true,
        (1.0, y) if y.is_infinite() => true,
        _ => x < 0.0 || x.is_nan() || y.is_nan(),
    };
    if indeterminate { f64::NAN } else { x.abs().powf(y) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn f32_of(function: MathFn, x: f32, y: f32) -> f32 {
        let args = [u64::from(x.to_bits()), u64::from(y.to_bits())];
        f32::from_bits(library(function, Scalar::F32, &args[..function.arity()]) as u32)
    }

    #[test]
    fn trigonometry_by_pi_is_exact_at_halves_and_accurate_between() {
        assert_eq!(f32_of(MathFn::SinPi, 1e9, 0.0), 0.0);
        assert_eq!(f32_of(MathFn::SinPi, 0.5, 0.0), 1.0);
        assert_eq!(f32_of(MathFn::SinPi, -2.5, 0.0), -1.0);
        assert_eq!(f32_of(MathFn::CosPi, 0.5, 0.0), 0.0);
        assert_eq!(f32_of(MathFn::CosPi, 3.0, 0.0), -1.0);
        assert!(f32_of(MathFn::CosPi, f32::INFINITY, 0.0).is_nan());
        for n in -40..40 {
            let x = n as f32 * 0.07 + 0.01;
            let expected = (f64::from(x) * PI).sin() as f32;
            assert!((f32_of(MathFn::SinPi, x, 0.0) - expected).abs() < 1e-6, "{x}");
            let expected = (f64::from(x) * PI).cos() as f32;
            assert!((f32_of(MathFn::CosPi, x, 0.0) - expected).abs() < 1e-6, "{x}");
        }
    }

    #[test]
    fn powers_of_ten_and_hyperbolic_inverses() {
        assert_eq!(f32_of(MathFn::Exp10, 10.0, 0.0), 1e10);
        assert_eq!(f32_of(MathFn::Exp10, -3.0, 0.0), 1e-3);
        assert_eq!(f32_of(MathFn::Exp10, 300.0, 0.0), f32::INFINITY);
        assert_eq!(f32_of(MathFn::Exp10, -300.0, 0.0), 0.0);
        assert!((f32_of(MathFn::Exp10, 0.5, 0.0) - 10f32.sqrt()).abs() < 1e-6);
        assert_eq!(f32_of(MathFn::Asinh, -f32::INFINITY, 0.0), -f32::INFINITY);
        assert_eq!(f32_of(MathFn::Asinh, 1e-20, 0.0), 1e-20);
        assert_eq!(f32_of(MathFn::Asinh, 3.0, 0.0), 1.818_446_5);
        assert_eq!(f32_of(MathFn::Acosh, 1.0, 0.0), 0.0);
        assert_eq!(f32_of(MathFn::Acosh, f32::MAX, 0.0), (129.0 * LN_2) as f32);
        assert!(f32_of(MathFn::Acosh, 0.5, 0.0).is_nan());
    }

    #[test]
    fn powr_is_undefined_where_pow_is_one() {
        assert_eq!(f32_of(MathFn::Pow, 0.0, 0.0), 1.0);
        assert!(f32_of(MathFn::Powr, 0.0, 0.0).is_nan());
        assert!(f32_of(MathFn::Powr, -1.0, 2.0).is_nan());
        assert_eq!(f32_of(MathFn::Powr, 2.0, 0.5), std::f32::consts::SQRT_2);
        assert_eq!(f32_of(MathFn::Rsqrt, 4.0, 0.0), 0.5);
        assert_eq!(f32_of(MathFn::Rsqrt, 0.0, 0.0), f32::INFINITY);
    }
}

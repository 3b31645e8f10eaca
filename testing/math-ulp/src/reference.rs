//! The functions in doubles: right to about 2^-50, which is 2^-26 ulp of a float.
//!
//! Arguments are floats and so exact in doubles; where a formula would lose bits (multiples of π,
//! arguments near one) it is rearranged.

use std::f64::consts::PI;

use anymetal_ir::MathFn;

/// What a function must give.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Expected {
    /// A float near this number; zero has a sign that counts.
    Number(f64),
    /// These bits (integer and mask results).
    Word(u32),
}

/// The value for float arguments; `integer` is the second argument of `ldexp`.
pub fn expected(function: MathFn, arguments: [f32; 3], integer: i32) -> Expected {
    let [x, y, z] = arguments;
    match function {
        MathFn::FrexpExponent => Expected::Word(frexp(x).1 as u32),
        MathFn::Ilogb => Expected::Word(ilogb(x) as u32),
        MathFn::IsNan => Expected::Word(u32::from(x.is_nan())),
        MathFn::IsInf => Expected::Word(u32::from(x.is_infinite())),
        MathFn::IsFinite => Expected::Word(u32::from(x.is_finite())),
        MathFn::IsNormal => Expected::Word(u32::from(x.is_normal())),
        MathFn::SignBit => Expected::Word(u32::from(x.is_sign_negative())),
        MathFn::NextAfter => Expected::Number(next_after(x, y)),
        MathFn::FrexpMantissa => Expected::Number(frexp(x).0),
        MathFn::FMin => Expected::Number(f64::from(x.min(y))),
        MathFn::FMax => Expected::Number(f64::from(x.max(y))),
        MathFn::Fma => Expected::Number(f64::from(x.mul_add(y, z))),
        MathFn::Ldexp => Expected::Number(f64::from(x) * 2_f64.powi(integer.clamp(-400, 400))),
        _ => Expected::Number(number(function, f64::from(x), f64::from(y))),
    }
}

fn number(function: MathFn, x: f64, y: f64) -> f64 {
    match function {
        MathFn::Sin => x.sin(),
        MathFn::Cos => x.cos(),
        MathFn::Tan => x.tan(),
        MathFn::SinPi => sin_pi(x),
        MathFn::CosPi => cos_pi(x),
        MathFn::TanPi => tan_pi(x),
        MathFn::Asin => x.asin(),
        MathFn::Acos => x.acos(),
        MathFn::Atan => x.atan(),
        MathFn::Atan2 => x.atan2(y),
        MathFn::Sinh => x.sinh(),
        MathFn::Cosh => x.cosh(),
        MathFn::Tanh => x.tanh(),
        MathFn::Asinh => asinh(x),
        MathFn::Acosh => acosh(x),
        MathFn::Atanh => atanh(x),
        MathFn::Exp => x.exp(),
        MathFn::Exp2 => x.exp2(),
        MathFn::Exp10 => 10_f64.powf(x),
        MathFn::Log => x.ln(),
        MathFn::Log2 => x.log2(),
        MathFn::Log10 => x.log10(),
        MathFn::Pow => x.powf(y),
        MathFn::Powr => powr(x, y),
        MathFn::Sqrt => x.sqrt(),
        MathFn::Rsqrt => 1.0 / x.sqrt(),
        MathFn::FAbs => x.abs(),
        MathFn::Floor => x.floor(),
        MathFn::Ceil => x.ceil(),
        MathFn::Trunc => x.trunc(),
        MathFn::Rint => x.round_ties_even(),
        MathFn::Round => x.round(),
        MathFn::Fmod => x % y,
        MathFn::CopySign => x.copysign(y),
        MathFn::Divide => x / y,
        other => panic!("no reference for {other:?}"),
    }
}

/// x less the nearest even integer, exactly.
fn within_period(x: f64) -> f64 {
    x - 2.0 * (x * 0.5).round_ties_even()
}

fn sin_pi(x: f64) -> f64 {
    if x.is_finite() && x == x.trunc() {
        // Of integers of both kinds the zero has the argument's sign (IEEE 754-2019, 9.2.1).
        return 0.0_f64.copysign(x);
    }
    let y = within_period(x);
    let magnitude = y.abs();
    let value = if magnitude <= 0.25 {
        (PI * magnitude).sin()
    } else if magnitude <= 0.75 {
        (PI * (0.5 - magnitude)).cos()
    } else {
        (PI * (1.0 - magnitude)).sin()
    };
    value.copysign(y)
}

fn cos_pi(x: f64) -> f64 {
    let magnitude = within_period(x).abs();
    if magnitude <= 0.25 {
        (PI * magnitude).cos()
    } else if magnitude <= 0.75 {
        (PI * (0.5 - magnitude)).sin()
    } else {
        -(PI * (1.0 - magnitude)).cos()
    }
}

fn tan_pi(x: f64) -> f64 {
    let y = x - x.round_ties_even();
    if y == 0.0 {
        // Negative at odd multiples, as the sine over the cosine.
        let is_even = x % 2.0 == 0.0;
        return 0.0_f64.copysign(if is_even { x } else { -x });
    }
    let magnitude = y.abs();
    let value = if magnitude <= 0.25 { (PI * magnitude).tan() } else { 1.0 / (PI * (0.5 - magnitude)).tan() };
    value.copysign(y)
}

fn asinh(x: f64) -> f64 {
    let a = x.abs();
    if x.is_infinite() {
        return x;
    }
    (a + a * a / (1.0 + (a * a + 1.0).sqrt())).ln_1p().copysign(x)
}

fn acosh(x: f64) -> f64 {
    let d = x - 1.0;
    if x.is_infinite() && x > 0.0 {
        x
    } else if x < 1.0 {
        f64::NAN
    } else {
        (d + (d * (x + 1.0)).sqrt()).ln_1p()
    }
}

fn atanh(x: f64) -> f64 {
    let a = x.abs();
    (0.5 * (2.0 * a / (1.0 - a)).ln_1p()).copysign(x)
}

/// IEEE 754-2008's powr: the power as e^(y log x).
fn powr(x: f64, y: f64) -> f64 {
    let zero_times_infinity = (y == 0.0 && (x == 0.0 || x.is_infinite())) || (x == 1.0 && y.is_infinite());
    let undefined = zero_times_infinity || x < 0.0 || x.is_nan() || y.is_nan();
    if undefined { f64::NAN } else { x.abs().powf(y) }
}

fn next_after(x: f32, y: f32) -> f64 {
    let next = if x.is_nan() || y.is_nan() {
        f32::NAN
    } else if x == y {
        y
    } else if x < y {
        x.next_up()
    } else {
        x.next_down()
    };
    f64::from(next)
}

fn frexp(x: f32) -> (f64, i32) {
    if x == 0.0 || !x.is_finite() {
        return (f64::from(x), 0);
    }
    // Every float is a normal double.
    let bits = f64::from(x).to_bits();
    let exponent = ((bits >> 52) & 0x7FF) as i32 - 1022;
    (f64::from_bits((bits & !(0x7FF << 52)) | (1022 << 52)), exponent)
}

fn ilogb(x: f32) -> i32 {
    match x {
        _ if x.is_infinite() => i32::MAX,
        _ if x == 0.0 || x.is_nan() => i32::MIN,
        _ => frexp(x).1 - 1,
    }
}

//! Elementwise operations against their definitions on the host, over random shapes, strides and
//! types.

mod support;

use anymetal_tensor_ops::{Activation, BinaryOp, Comparison, DType, OpError, UnaryOp};
use proptest::prelude::*;
use support::{Random, assert_close, download, ops, positions, unit_error, upload};

const FLOATS: [DType; 3] = [DType::F32, DType::F16, DType::BF16];

fn unary_reference(op: UnaryOp, x: f64) -> f64 {
    match op {
        UnaryOp::Neg => -x,
        UnaryOp::Abs => x.abs(),
        UnaryOp::Sign => f64::from(i8::from(x > 0.0) - i8::from(x < 0.0)),
        UnaryOp::Square => x * x,
        UnaryOp::BitNot => -x - 1.0,
        UnaryOp::Sqrt => x.sqrt(),
        UnaryOp::Rsqrt => 1.0 / x.sqrt(),
        UnaryOp::Recip => 1.0 / x,
        UnaryOp::Exp => x.exp(),
        UnaryOp::Exp2 => x.exp2(),
        UnaryOp::Expm1 => x.exp_m1(),
        UnaryOp::Log => x.ln(),
        UnaryOp::Log2 => x.log2(),
        UnaryOp::Log10 => x.log10(),
        UnaryOp::Log1p => x.ln_1p(),
        UnaryOp::Sin => x.sin(),
        UnaryOp::Cos => x.cos(),
        UnaryOp::Tan => x.tan(),
        UnaryOp::Asin => x.asin(),
        UnaryOp::Acos => x.acos(),
        UnaryOp::Atan => x.atan(),
        UnaryOp::Sinh => x.sinh(),
        UnaryOp::Cosh => x.cosh(),
        UnaryOp::Asinh => x.asinh(),
        UnaryOp::Acosh => x.acosh(),
        UnaryOp::Atanh => x.atanh(),
        UnaryOp::Erf => erf(x),
        UnaryOp::Floor => x.floor(),
        UnaryOp::Ceil => x.ceil(),
        UnaryOp::Round => x.round_ties_even(),
        UnaryOp::Trunc => x.trunc(),
    }
}

/// The error function by its Taylor series, further out by the continued fraction of its
/// complement.
fn erf(x: f64) -> f64 {
    if x.abs() > 2.0 {
        let tail = (1..100).rev().fold(0.0, |tail, k| f64::from(k) / 2.0 / (x.abs() + tail));
        return x.signum() * (1.0 - (-x * x).exp() / std::f64::consts::PI.sqrt() / (x.abs() + tail));
    }
    let mut term = x;
    let mut sum = x;
    for n in 1..200 {
        term *= -x * x / f64::from(n);
        sum += term / f64::from(2 * n + 1);
    }
    sum * 2.0 / std::f64::consts::PI.sqrt()
}

/// Where a function is defined and its results are of moderate size.
fn domain(op: UnaryOp) -> (f64, f64) {
    match op {
        UnaryOp::Sqrt | UnaryOp::Rsqrt | UnaryOp::Recip => (0.1, 50.0),
        UnaryOp::Log | UnaryOp::Log2 | UnaryOp::Log10 => (0.01, 40.0),
        UnaryOp::Log1p => (-0.9, 5.0),
        UnaryOp::Asin | UnaryOp::Acos | UnaryOp::Atanh => (-0.95, 0.95),
        UnaryOp::Acosh => (1.1, 20.0),
        UnaryOp::Tan => (-1.4, 1.4),
        UnaryOp::Exp | UnaryOp::Exp2 | UnaryOp::Expm1 | UnaryOp::Sinh | UnaryOp::Cosh => (-6.0, 6.0),
        _ => (-9.0, 9.0),
    }
}

#[test]
fn each_function_of_one_is_its_definition() {
    let mut random = Random::new(1);
    for &op in UnaryOp::ALL.iter().filter(|op| **op != UnaryOp::BitNot) {
        for dtype in FLOATS {
            let (low, high) = domain(op);
            let sample = random.sample(&[3, 5, 41], dtype, low, high);
            let expected: Vec<f64> = sample.values.iter().map(|&x| unary_reference(op, x)).collect();
            let result = ops().unary(op, &sample.tensor).unwrap();
            assert_eq!(result.dtype(), dtype);
            assert_close(op.name(), &result, &expected, 2.0 * unit_error(dtype) + 4e-7, 0.5);
        }
    }
}

#[test]
fn functions_of_integers_convert_or_wrap() {
    let x = ops().tensor(&[i8::MIN, -1, 0, 5], &[4]).unwrap();
    assert_eq!(ops().neg(&x).unwrap().to_vec::<i8>().unwrap(), [i8::MIN, 1, 0, -5]);
    assert_eq!(ops().abs(&x).unwrap().to_vec::<i8>().unwrap(), [i8::MIN, 1, 0, 5]);
    assert_eq!(ops().square(&x).unwrap().to_vec::<i8>().unwrap(), [0, 1, 0, 25]);
    assert_eq!(ops().bit_not(&x).unwrap().to_vec::<i8>().unwrap(), [127, 0, -1, -6]);
    assert_eq!(ops().exp(&x).unwrap().dtype(), DType::F32);
    let max = ops().tensor(&[i64::MAX, i32::MAX.into()], &[2]).unwrap();
    assert_eq!(ops().add(&max, &max).unwrap().to_vec::<i64>().unwrap(), [-2, 0xFFFF_FFFE]);
    let truth = ops().tensor(&[true, false], &[2]).unwrap();
    assert_eq!(ops().bit_not(&truth).unwrap().to_vec::<bool>().unwrap(), [false, true]);
    let refused = ops().add(&truth, &truth).unwrap_err();
    assert_eq!(refused.to_string(), "add of types Bool and Bool: numbers are needed, not only bool");
}

fn binary_reference(op: BinaryOp, a: f64, b: f64) -> f64 {
    match op {
        BinaryOp::Add => a + b,
        BinaryOp::Sub => a - b,
        BinaryOp::Mul => a * b,
        BinaryOp::Div => a / b,
        BinaryOp::Rem => a % b,
        BinaryOp::Minimum => a.min(b),
        BinaryOp::Maximum => a.max(b),
        BinaryOp::Pow => a.powf(b),
        BinaryOp::Atan2 => a.atan2(b),
        BinaryOp::Hypot => a.hypot(b),
        BinaryOp::Logaddexp => (a.exp() + b.exp()).ln(),
        BinaryOp::Copysign => a.copysign(b),
        _ => f64::NAN,
    }
}

fn integer_reference(op: BinaryOp, a: i64, b: i64) -> i64 {
    match op {
        BinaryOp::Add => a + b,
        BinaryOp::Sub => a - b,
        BinaryOp::Mul => a * b,
        BinaryOp::Div => a / if b == 0 { 1 } else { b },
        BinaryOp::Rem => a % if b == 0 { 1 } else { b },
        BinaryOp::Minimum => a.min(b),
        BinaryOp::Maximum => a.max(b),
        BinaryOp::BitAnd => a & b,
        BinaryOp::BitOr => a | b,
        BinaryOp::BitXor => a ^ b,
        _ => 0,
    }
}

/// An integer as a type has it.
fn wrapped(dtype: DType, x: i64) -> f64 {
    match dtype {
        DType::U8 => (x as u8).into(),
        DType::I8 => (x as i8).into(),
        DType::U32 => (x as u32).into(),
        DType::I32 => (x as i32).into(),
        _ => x as f64,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn functions_of_two_broadcast_and_promote(seed: u64, rank in 0usize..4, op in 0usize..12) {
        let (mut random, op) = (Random::new(seed), BinaryOp::ALL[op]);
        let shape = random.shape(rank, 40);
        let (left, right) = (random.broadcastable(&shape), random.broadcastable(&shape));
        let (a_type, b_type) = (DType::ALL[3 + random.below(6)], FLOATS[random.below(3)]);
        let a = random.sample(&left, a_type, 0.25, 4.0);
        let b = random.sample(&right, b_type, 0.25, 4.0);
        let result = ops().binary(op, &a.tensor, &b.tensor).unwrap();
        prop_assert_eq!(result.dtype(), a_type.promote(b_type));
        let at = |position: &Vec<usize>| {
            binary_reference(op, a.broadcast_at(position), b.broadcast_at(position))
        };
        let expected: Vec<f64> = positions(result.shape()).iter().map(at).collect();
        // The remainder jumps where the quotient is nearly whole.
        if op != BinaryOp::Rem {
            assert_close(op.name(), &result, &expected, 2.0 * unit_error(result.dtype()) + 4e-7, 0.1);
        }
    }

    #[test]
    fn integers_wrap_in_their_common_type(seed: u64, rank in 1usize..4, op in 0usize..10) {
        const OPS: [BinaryOp; 10] = [
            BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Div, BinaryOp::Rem, BinaryOp::Minimum,
            BinaryOp::Maximum, BinaryOp::BitAnd, BinaryOp::BitOr, BinaryOp::BitXor,
        ];
        let (mut random, op) = (Random::new(seed), OPS[op]);
        let shape = random.shape(rank, 12);
        let (a_type, b_type) = (DType::ALL[1 + random.below(5)], DType::ALL[1 + random.below(5)]);
        let left = random.broadcastable(&shape);
        let a = random.sample(&left, a_type, -120.0, 120.0);
        let b = random.sample(&shape, b_type, -120.0, 120.0);
        let result = ops().binary(op, &a.tensor, &b.tensor).unwrap();
        let at = |position: &Vec<usize>| {
            let (a, b) = (a.broadcast_at(position) as i64, b.broadcast_at(position) as i64);
            wrapped(result.dtype(), integer_reference(op, a, b))
        };
        let expected: Vec<f64> = positions(result.shape()).iter().map(at).collect();
        assert_close(op.name(), &result, &expected, 0.0, 0.0);
    }

    #[test]
    fn casts_round_saturate_and_cut(seed: u64, from in 0usize..9, to in 0usize..9) {
        let (from, to) = (DType::ALL[from], DType::ALL[to]);
        let sample = Random::new(seed).sample(&[7, 33], from, -120.0, 120.0);
        let cast = |&x: &f64| match to {
            DType::Bool => f64::from(u8::from(x != 0.0)),
            to if to.is_float() => x,
            to if from.is_float() && matches!(to, DType::U8 | DType::U32) => x.trunc().max(0.0),
            to => wrapped(to, x.trunc() as i64),
        };
        let expected: Vec<f64> = sample.values.iter().map(cast).collect();
        let result = ops().cast(&sample.tensor, to).unwrap();
        assert_close("cast", &result, &expected, unit_error(to), 0.0);
    }
}

#[test]
fn powers_of_integers_wrap_and_round_towards_zero() {
    let base = ops().tensor(&[3i32, -2, 0, 2, -1, 1, 7], &[7]).unwrap();
    let power = ops().tensor(&[4i32, 31, 0, -1, -3, -4, 20], &[7]).unwrap();
    let expected = [81, i32::MIN, 1, 0, -1, 1, 7i32.wrapping_pow(20)];
    assert_eq!(ops().pow(&base, &power).unwrap().to_vec::<i32>().unwrap(), expected);
}

#[test]
fn clamped_integers_are_exact() {
    let x = ops().tensor(&[i32::MAX, 5, -7, i32::MIN], &[4]).unwrap();
    let of = |low, high| ops().clamp(&x, low, high).unwrap().to_vec::<i32>().unwrap();
    assert_eq!(of(-6.5, f64::from(i32::MAX - 1)), [i32::MAX - 1, 5, -6, -6]);
    assert_eq!(of(f64::NEG_INFINITY, 1e30), [i32::MAX, 5, -7, i32::MIN]);
    assert!(ops().clamp(&x, 1.2, 1.8).is_err());
    let bytes = ops().tensor(&[0u8, 200], &[2]).unwrap();
    assert_eq!(ops().clamp(&bytes, -3.0, 150.0).unwrap().to_vec::<u8>().unwrap(), [0, 150]);
}

#[test]
fn shifts_by_the_width_or_more_leave_nothing_or_the_sign() {
    let x = ops().tensor(&[1i32, -8, 5, -5], &[4]).unwrap();
    let by = ops().tensor(&[31i32, 1, 32, 40], &[4]).unwrap();
    assert_eq!(ops().shl(&x, &by).unwrap().to_vec::<i32>().unwrap(), [i32::MIN, -16, 0, 0]);
    assert_eq!(ops().shr(&x, &by).unwrap().to_vec::<i32>().unwrap(), [0, -4, 0, -1]);
}

#[test]
fn comparisons_are_of_the_common_type() {
    let a = ops().tensor(&[1i32, -1, 300, 7], &[4]).unwrap();
    let b = ops().tensor(&[1u8, 255, 44, 0], &[4]).unwrap();
    let (x, y) = ([1, -1, 300, 7], [1, 255, 44, 0]);
    for &comparison in Comparison::ALL {
        let holds = |(&a, &b): (&i32, &i32)| match comparison {
            Comparison::Eq => a == b,
            Comparison::Ne => a != b,
            Comparison::Lt => a < b,
            Comparison::Le => a <= b,
            Comparison::Gt => a > b,
            Comparison::Ge => a >= b,
            Comparison::And => a != 0 && b != 0,
            Comparison::Or => a != 0 || b != 0,
            Comparison::Xor => (a != 0) != (b != 0),
        };
        let expected: Vec<bool> = x.iter().zip(&y).map(holds).collect();
        let result = ops().compare(comparison, &a, &b).unwrap().to_vec::<bool>().unwrap();
        assert_eq!(result, expected, "{comparison:?}");
    }
}

#[test]
fn nan_and_infinity_follow_the_rules() {
    let (nan, inf) = (f32::NAN, f32::INFINITY);
    let a = ops().tensor(&[nan, 1.0, inf, -inf, inf], &[5]).unwrap();
    let b = ops().tensor(&[1.0, nan, 1.0, inf, inf], &[5]).unwrap();
    let bits = |x: &[f32]| {
        x.iter().map(|x| if x.is_nan() { "nan".into() } else { x.to_string() }).collect::<Vec<_>>()
    };
    let of = |tensor: anymetal_tensor_ops::Tensor| bits(&tensor.to_vec::<f32>().unwrap());
    assert_eq!(of(ops().minimum(&a, &b).unwrap()), bits(&[nan, nan, 1.0, -inf, inf]));
    assert_eq!(of(ops().maximum(&a, &b).unwrap()), bits(&[nan, nan, inf, inf, inf]));
    assert_eq!(of(ops().sub(&a, &b).unwrap()), bits(&[nan, nan, inf, -inf, nan]));
    assert_eq!(of(ops().clamp(&a, -2.0, 2.0).unwrap()), bits(&[nan, 1.0, 2.0, -2.0, 2.0]));
    assert_eq!(of(ops().relu(&a).unwrap()), bits(&[nan, 1.0, inf, 0.0, inf]));
    assert_eq!(of(ops().hypot(&a, &b).unwrap()), bits(&[nan, nan, inf, inf, inf]));
    assert_eq!(of(ops().logaddexp(&a, &b).unwrap()), bits(&[nan, nan, inf, inf, inf]));
    let low = ops().tensor(&[-inf], &[1]).unwrap();
    assert_eq!(of(ops().logaddexp(&low, &low).unwrap()), bits(&[-inf]));
    assert_eq!(ops().isnan(&a).unwrap().to_vec::<bool>().unwrap(), [true, false, false, false, false]);
    assert_eq!(ops().isinf(&a).unwrap().to_vec::<bool>().unwrap(), [false, false, true, true, true]);
    assert_eq!(ops().isfinite(&a).unwrap().to_vec::<bool>().unwrap(), [false, true, false, false, false]);
}

fn activation_reference(activation: Activation, x: f64) -> f64 {
    let (sigmoid, softplus) = (1.0 / (1.0 + (-x).exp()), x.max(0.0) + (-x.abs()).exp().ln_1p());
    match activation {
        Activation::Relu => x.max(0.0),
        Activation::LeakyRelu(slope) => {
            if x < 0.0 {
                x * f64::from(slope)
            } else {
                x
            }
        }
        Activation::Elu(alpha) => {
            if x < 0.0 {
                f64::from(alpha) * x.exp_m1()
            } else {
                x
            }
        }
        Activation::Selu => 1.0507009873554805 * if x < 0.0 { 1.6732632423543773 * x.exp_m1() } else { x },
        Activation::Gelu => 0.5 * x * (1.0 + erf(x / 2f64.sqrt())),
        Activation::GeluTanh => {
            0.5 * x * (1.0 + ((2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x.powi(3))).tanh())
        }
        Activation::Silu => x * sigmoid,
        Activation::Mish => x * softplus.tanh(),
        Activation::Sigmoid => sigmoid,
        Activation::Tanh => x.tanh(),
        Activation::Softplus => softplus,
        Activation::HardSigmoid => (x / 6.0 + 0.5).clamp(0.0, 1.0),
        Activation::HardSwish => x * (x / 6.0 + 0.5).clamp(0.0, 1.0),
        Activation::HardTanh => x.clamp(-1.0, 1.0),
        Activation::Celu(alpha) => x.max(0.0) + f64::from(alpha) * (x.min(0.0) / f64::from(alpha)).exp_m1(),
        Activation::Softsign => x / (1.0 + x.abs()),
        Activation::LogSigmoid => sigmoid.ln(),
        Activation::Relu6 => x.clamp(0.0, 6.0),
        Activation::QuickGelu => x / (1.0 + (-1.702 * x).exp()),
    }
}

#[test]
fn activations_and_their_gradients_are_their_definitions() {
    let mut random = Random::new(7);
    for activation in Activation::ALL {
        for dtype in FLOATS {
            let x = random.sample(&[4, 70], dtype, -6.0, 6.0);
            let expected: Vec<f64> = x.values.iter().map(|&x| activation_reference(activation, x)).collect();
            let result = ops().activation(activation, &x.tensor).unwrap();
            assert_close(activation.name(), &result, &expected, 2.0 * unit_error(dtype) + 1e-6, 0.5);
        }
        // The slope by central differences, away from kinks.
        let x = random.sample(&[4, 70], DType::F32, -6.0, 6.0);
        let g = random.sample(&[4, 70], DType::F32, -2.0, 2.0);
        let slope = |(&x, &g): (&f64, &f64)| {
            let f = |x| activation_reference(activation, x);
            g * (f(x + 1e-5) - f(x - 1e-5)) / 2e-5
        };
        let expected: Vec<f64> = x.values.iter().zip(&g.values).map(slope).collect();
        let result = ops().activation_backward(activation, &x.tensor, &g.tensor).unwrap();
        assert_close(activation.name(), &result, &expected, 2e-5, 1.0);
    }
}

#[test]
fn functions_of_three_broadcast() {
    let mut random = Random::new(11);
    let [a, b, c] =
        [&[2, 1, 40][..], &[3, 1], &[40]].map(|shape| random.sample(shape, DType::F32, -2.0, 2.0));
    let at = |f: fn(f64, f64, f64) -> f64| {
        let of = |position: &Vec<usize>| {
            f(a.broadcast_at(position), b.broadcast_at(position), c.broadcast_at(position))
        };
        positions(&[2, 3, 40]).iter().map(of).collect::<Vec<f64>>()
    };
    let fma = ops().fma(&a.tensor, &b.tensor, &c.tensor).unwrap();
    assert_close("fma", &fma, &at(|a, b, c| a * b + c), 2e-7, 0.5);
    let lerp = ops().lerp(&a.tensor, &b.tensor, &c.tensor).unwrap();
    assert_close("lerp", &lerp, &at(|a, b, t| a + t * (b - a)), 4e-7, 1.0);
    let low = upload(&[-1.0], &[1], DType::F32);
    let clamped = ops().clamp_between(&a.tensor, &low, &c.tensor).unwrap();
    let expected: Vec<f64> = positions(&[2, 1, 40])
        .iter()
        .map(|position| {
            let (x, high) = (a.broadcast_at(position), c.broadcast_at(position));
            if x < -1.0 {
                -1.0
            } else if x > high {
                high
            } else {
                x
            }
        })
        .collect();
    assert_close("clamp_between", &clamped, &expected, 0.0, 0.0);
    let condition = ops().compare(Comparison::Lt, &a.tensor, &b.tensor).unwrap();
    let chosen = ops().where_(&condition, &a.tensor, &c.tensor).unwrap();
    assert_close("where", &chosen, &at(|a, b, c| if a < b { a } else { c }), 0.0, 0.0);
}

#[test]
fn empty_tensors_and_scalars_are_tensors() {
    let none = ops().tensor::<f32>(&[], &[3, 0, 2]).unwrap();
    let sum = ops().add(&none, &ops().scalar(1.0f32).unwrap()).unwrap();
    assert_eq!((sum.shape(), sum.to_vec::<f32>().unwrap().len()), (&[3, 0, 2][..], 0));
    let two = ops().scalar(2.0f32).unwrap();
    assert_eq!(ops().mul(&two, &two).unwrap().item::<f32>().unwrap(), 4.0);
}

#[test]
fn shapes_that_do_not_broadcast_are_told() {
    let (a, b) = (ops().zeros(&[2, 3], DType::F32).unwrap(), ops().zeros(&[2, 4], DType::F32).unwrap());
    let error = ops().add(&a, &b).unwrap_err();
    assert!(matches!(&error, OpError::Shape { operation: "add", shapes, .. } if shapes.len() == 2));
    let rule = "each pair of extents, aligned at the last, must be equal or have a 1";
    assert_eq!(error.to_string(), format!("add of shapes [2, 3] and [2, 4]: {rule}"));
}

#[test]
fn calls_are_counted() {
    let own = anymetal_tensor_ops::Ops::new(ops().device()).unwrap();
    let x = own.tensor(&[1.0f32; 64], &[64]).unwrap();
    let y = own.add(&x, &x).unwrap();
    let calls = own.take_calls();
    assert_eq!((calls.len(), calls[0].operation), (1, "add"));
    assert_eq!((calls[0].work.flop, calls[0].work.bytes), (64, 3 * 256));
    assert_eq!(download(&y), [2.0; 64]);
}

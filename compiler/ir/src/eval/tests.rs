//! The evaluation functions against independent statements of the same facts.

use super::{eval_binary, eval_bitcast, eval_cast, eval_compare, eval_math, narrow, widen};
use crate::{BinOp, CastOp, CmpOp, MathFn, Scalar};

fn f32_bits(x: f32) -> u64 {
    u64::from(x.to_bits())
}

#[test]
fn division_never_traps() {
    assert_eq!(eval_binary(BinOp::UDiv, Scalar::I32, 7, 0), 7);
    assert_eq!(eval_binary(BinOp::SRem, Scalar::I8, 7, 0), 0);
    assert_eq!(eval_binary(BinOp::SDiv, Scalar::I8, 0x80, 0xff), 0x80);
    assert_eq!(eval_binary(BinOp::SRem, Scalar::I64, 1 << 63, u64::MAX), 0);
    assert_eq!(eval_binary(BinOp::SDiv, Scalar::I16, 0xfff9, 2), 0xfffd);
}

#[test]
fn shifts_take_their_amount_modulo_the_width() {
    assert_eq!(eval_binary(BinOp::Shl, Scalar::I8, 0x81, 9), 2);
    assert_eq!(eval_binary(BinOp::AShr, Scalar::I32, 0x8000_0000, 33), 0xc000_0000);
    assert_eq!(eval_binary(BinOp::LShr, Scalar::I64, 1 << 63, 127), 1);
}

#[test]
fn saturation_and_high_products() {
    assert_eq!(eval_binary(BinOp::UAddSat, Scalar::I64, u64::MAX, 1), u64::MAX);
    assert_eq!(eval_binary(BinOp::SSubSat, Scalar::I8, 0x80, 1), 0x80);
    assert_eq!(eval_binary(BinOp::SAddSat, Scalar::I16, 0x7fff, 1), 0x7fff);
    assert_eq!(eval_binary(BinOp::UMulHi, Scalar::I32, 0xffff_ffff, 0xffff_ffff), 0xffff_fffe);
    assert_eq!(eval_binary(BinOp::SMulHi, Scalar::I64, u64::MAX, 1), u64::MAX);
}

#[test]
fn every_half_survives_widening_and_narrowing() {
    for ty in [Scalar::F16, Scalar::Bf16] {
        for bits in 0..=0xffffu64 {
            let x = widen(ty, bits);
            if !x.is_nan() {
                assert_eq!(narrow(ty, x), bits, "{} {bits:#x}", ty.name());
            }
        }
    }
}

#[test]
fn narrowing_rounds_to_the_nearer_neighbour() {
    // For each pair of neighbours: the midpoint rounds to the even one, a value just beside it to the nearer
    // one.
    for ty in [Scalar::F16, Scalar::Bf16] {
        let largest = if ty == Scalar::F16 { 0x7bfe } else { 0x7f7e };
        for low in 0..=largest {
            let middle = (widen(ty, low) + widen(ty, low + 1)) / 2.0;
            let even = low + (low & 1);
            assert_eq!(narrow(ty, middle), even);
            assert_eq!(narrow(ty, f64::from_bits(middle.to_bits() + 1)), low + 1);
            assert_eq!(narrow(ty, f64::from_bits(middle.to_bits() - 1)), low);
        }
    }
    assert_eq!(narrow(Scalar::F16, 65519.9), 0x7bff);
    assert_eq!(narrow(Scalar::F16, 65520.0), 0x7c00);
    assert_eq!(narrow(Scalar::F16, -1e300), 0xfc00);
}

#[test]
fn fused_multiply_add_rounds_once() {
    // The product is halfway between two values of bfloat16; the tiny addend alone decides.
    let bits = |x: f64| narrow(Scalar::Bf16, x);
    let (a, b) = (bits(1.5), bits(1.1171875));
    let exact = 1.5 * 1.1171875;
    let below = eval_math(MathFn::Fma, Scalar::Bf16, &[a, b, bits(-1e-30)]).unwrap();
    let above = eval_math(MathFn::Fma, Scalar::Bf16, &[a, b, bits(1e-30)]).unwrap();
    assert!(widen(Scalar::Bf16, below) < exact && exact < widen(Scalar::Bf16, above));
    assert_eq!(above, below + 1);
}

#[test]
fn conversions_saturate() {
    assert_eq!(eval_cast(CastOp::FToU, Scalar::F32, Scalar::I8, f32_bits(300.0)), 255);
    assert_eq!(eval_cast(CastOp::FToS, Scalar::F32, Scalar::I8, f32_bits(-300.0)), 0x80);
    assert_eq!(eval_cast(CastOp::FToS, Scalar::F32, Scalar::I32, f32_bits(f32::NAN)), 0);
    assert_eq!(eval_cast(CastOp::FToU, Scalar::F32, Scalar::I64, f32_bits(-1.0)), 0);
    assert_eq!(eval_cast(CastOp::SToF, Scalar::I8, Scalar::F32, 0xff), f32_bits(-1.0));
    // 2^63 + 2^55 is a midpoint of bfloat16; one more must round up.
    let tie = (1u64 << 63) | (1 << 55);
    assert_eq!(eval_cast(CastOp::UToF, Scalar::I64, Scalar::Bf16, tie), 0x5f00);
    assert_eq!(eval_cast(CastOp::UToF, Scalar::I64, Scalar::Bf16, tie + 1), 0x5f01);
}

#[test]
fn comparisons_of_nan() {
    let nan = f32_bits(f32::NAN);
    assert!(!eval_compare(CmpOp::FEq, Scalar::F32, nan, nan));
    assert!(eval_compare(CmpOp::FNe, Scalar::F32, nan, nan));
    assert!(eval_compare(CmpOp::SLt, Scalar::I8, 0xff, 0));
    assert!(!eval_compare(CmpOp::ULt, Scalar::I8, 0xff, 0));
}

#[test]
fn exact_library_functions() {
    let f = |function, args: &[f32]| {
        let args: Vec<u64> = args.iter().map(|&x| f32_bits(x)).collect();
        f32::from_bits(eval_math(function, Scalar::F32, &args).unwrap() as u32)
    };
    assert_eq!(f(MathFn::Rint, &[2.5]), 2.0);
    assert_eq!(f(MathFn::Round, &[2.5]), 3.0);
    assert_eq!(f(MathFn::FMin, &[f32::NAN, 1.0]), 1.0);
    assert_eq!(f(MathFn::NextAfter, &[0.0, -1.0]), -f32::from_bits(1));
    assert_eq!(f(MathFn::NextAfter, &[-1.0, 0.0]), -f32::from_bits(1.0f32.to_bits() - 1));
    assert_eq!(f(MathFn::FrexpMantissa, &[f32::from_bits(1)]), 0.5);
    let ldexp = |x: f32, n: i32| eval_math(MathFn::Ldexp, Scalar::F32, &[f32_bits(x), n as u32 as u64]);
    assert_eq!(ldexp(3.0, -150), Some(f32_bits(f32::from_bits(2))));
    assert_eq!(ldexp(1.0, i32::MAX), Some(f32_bits(f32::INFINITY)));
    assert_eq!(eval_math(MathFn::Clz, Scalar::I16, &[1]), Some(15));
    assert_eq!(eval_math(MathFn::Ctz, Scalar::I8, &[0]), Some(8));
    assert_eq!(eval_math(MathFn::ReverseBits, Scalar::I8, &[0b1000_0010]), Some(0b0100_0001));
    assert_eq!(eval_math(MathFn::Sin, Scalar::F32, &[0]), None);
}

#[test]
fn bitcasts_regroup_bytes() {
    assert_eq!(eval_bitcast(Scalar::I32, &[0x0403_0201], Scalar::I8), vec![1, 2, 3, 4]);
    assert_eq!(eval_bitcast(Scalar::I16, &[1, 2, 3, 4], Scalar::I64), vec![0x0004_0003_0002_0001]);
}

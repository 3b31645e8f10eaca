//! Arithmetic on all 32 lanes at once: the fast forms of common operations, as functions that the compiler
//! turns into vector code.
//!
//! Each is compiled for several sets of vector instructions and picks one at its first call.
//! Invariant: each agrees bit for bit with [`anymetal_ir::eval`] (tested); what has no fast form is
//! evaluated lane by lane by the machine. All lanes are computed, active or not: nothing traps, and no one
//! reads an inactive lane of a value.

use anymetal_ir::{BinOp, CastOp, CmpOp, MathFn, Scalar, UnOp};
use multiversion::multiversion;

/// One component of a value, for the 32 lanes of a SIMD-group; bits are zero-extended.
pub(crate) type Lanes = [u64; 32];
/// The result, then one operand.
pub(crate) type Apply1 = fn(&mut Lanes, &Lanes);
/// The result, then two operands.
pub(crate) type Apply2 = fn(&mut Lanes, &Lanes, &Lanes);
/// The result, then three operands.
pub(crate) type Apply3 = fn(&mut Lanes, &Lanes, &Lanes, &Lanes);

macro_rules! lanes {
    (|$a:ident| $e:expr) => {{
        #[multiversion(targets("x86_64+avx2", "x86_64+avx512f+avx512bw+avx512dq+avx512vl"))]
        fn apply(out: &mut Lanes, x: &Lanes) {
            for i in 0..32 {
                let $a = x[i];
                out[i] = $e;
            }
        }
        apply as Apply1
    }};
    (|$a:ident, $b:ident| $e:expr) => {{
        #[multiversion(targets("x86_64+avx2", "x86_64+avx512f+avx512bw+avx512dq+avx512vl"))]
        fn apply(out: &mut Lanes, x: &Lanes, y: &Lanes) {
            for i in 0..32 {
                let ($a, $b) = (x[i], y[i]);
                out[i] = $e;
            }
        }
        apply as Apply2
    }};
    (|$a:ident, $b:ident, $c:ident| $e:expr) => {{
        #[multiversion(targets("x86_64+avx2", "x86_64+avx512f+avx512bw+avx512dq+avx512vl"))]
        fn apply(out: &mut Lanes, x: &Lanes, y: &Lanes, z: &Lanes) {
            for i in 0..32 {
                let ($a, $b, $c) = (x[i], y[i], z[i]);
                out[i] = $e;
            }
        }
        apply as Apply3
    }};
}

#[inline(always)]
fn f(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

/// The bits, NaN made canonical as everywhere in the IR's arithmetic.
#[inline(always)]
fn b(x: f32) -> u64 {
    u64::from(if x.is_nan() { 0x7fc0_0000 } else { x.to_bits() })
}

#[inline(always)]
fn s(bits: u64) -> i32 {
    bits as u32 as i32
}

/// `condition ? a : b`.
pub(crate) const SELECT: Apply3 = lanes!(|c, x, y| if c != 0 { x } else { y });

/// The fast form of a one-operand operation.
pub(crate) fn unary(op: UnOp, ty: Scalar) -> Option<Apply1> {
    Some(match (op, ty) {
        (UnOp::FNeg, Scalar::F32) => lanes!(|x| x ^ 0x8000_0000),
        (UnOp::INeg, Scalar::I32) => lanes!(|x| u64::from((x as u32).wrapping_neg())),
        (UnOp::Not, Scalar::Bool) => lanes!(|x| x ^ 1),
        (UnOp::Not, Scalar::I32) => lanes!(|x| x ^ 0xffff_ffff),
        _ => return None,
    })
}

/// The fast form of a two-operand operation.
pub(crate) fn binary(op: BinOp, ty: Scalar) -> Option<Apply2> {
    // Bitwise operations keep zero-extended bits zero-extended, whatever the width.
    match op {
        BinOp::And => return Some(lanes!(|x, y| x & y)),
        BinOp::Or => return Some(lanes!(|x, y| x | y)),
        BinOp::Xor => return Some(lanes!(|x, y| x ^ y)),
        _ => {}
    }
    match ty {
        Scalar::F32 => binary_f32(op),
        Scalar::I32 => binary_i32(op),
        Scalar::I64 => binary_i64(op),
        _ => None,
    }
}

fn binary_f32(op: BinOp) -> Option<Apply2> {
    Some(match op {
        BinOp::FAdd => lanes!(|x, y| b(f(x) + f(y))),
        BinOp::FSub => lanes!(|x, y| b(f(x) - f(y))),
        BinOp::FMul => lanes!(|x, y| b(f(x) * f(y))),
        BinOp::FDiv => lanes!(|x, y| b(f(x) / f(y))),
        _ => return None,
    })
}

fn binary_i32(op: BinOp) -> Option<Apply2> {
    Some(match op {
        BinOp::Add => lanes!(|x, y| u64::from((x as u32).wrapping_add(y as u32))),
        BinOp::Sub => lanes!(|x, y| u64::from((x as u32).wrapping_sub(y as u32))),
        BinOp::Mul => lanes!(|x, y| u64::from((x as u32).wrapping_mul(y as u32))),
        BinOp::Shl => lanes!(|x, y| u64::from((x as u32).wrapping_shl(y as u32))),
        BinOp::LShr => lanes!(|x, y| u64::from((x as u32).wrapping_shr(y as u32))),
        BinOp::AShr => lanes!(|x, y| u64::from(s(x).wrapping_shr(y as u32) as u32)),
        BinOp::UMin => lanes!(|x, y| x.min(y)),
        BinOp::UMax => lanes!(|x, y| x.max(y)),
        BinOp::SMin => lanes!(|x, y| u64::from(s(x).min(s(y)) as u32)),
        BinOp::SMax => lanes!(|x, y| u64::from(s(x).max(s(y)) as u32)),
        BinOp::UDiv => lanes!(|x, y| u64::from(x as u32 / (y as u32).max(1))),
        BinOp::URem => lanes!(|x, y| u64::from(x as u32 % (y as u32).max(1))),
        _ => return None,
    })
}

fn binary_i64(op: BinOp) -> Option<Apply2> {
    Some(match op {
        BinOp::Add => lanes!(|x, y| x.wrapping_add(y)),
        BinOp::Sub => lanes!(|x, y| x.wrapping_sub(y)),
        BinOp::Mul => lanes!(|x, y| x.wrapping_mul(y)),
        BinOp::Shl => lanes!(|x, y| x.wrapping_shl(y as u32)),
        BinOp::LShr => lanes!(|x, y| x.wrapping_shr(y as u32)),
        _ => return None,
    })
}

/// The fast form of a comparison.
pub(crate) fn compare(op: CmpOp, ty: Scalar) -> Option<Apply2> {
    // Unsigned orders of zero-extended bits are those of any width.
    Some(match op {
        CmpOp::Eq => lanes!(|x, y| u64::from(x == y)),
        CmpOp::Ne => lanes!(|x, y| u64::from(x != y)),
        CmpOp::ULt => lanes!(|x, y| u64::from(x < y)),
        CmpOp::ULe => lanes!(|x, y| u64::from(x <= y)),
        CmpOp::UGt => lanes!(|x, y| u64::from(x > y)),
        CmpOp::UGe => lanes!(|x, y| u64::from(x >= y)),
        CmpOp::SLt if ty == Scalar::I32 => lanes!(|x, y| u64::from(s(x) < s(y))),
        CmpOp::SLe if ty == Scalar::I32 => lanes!(|x, y| u64::from(s(x) <= s(y))),
        CmpOp::SGt if ty == Scalar::I32 => lanes!(|x, y| u64::from(s(x) > s(y))),
        CmpOp::SGe if ty == Scalar::I32 => lanes!(|x, y| u64::from(s(x) >= s(y))),
        CmpOp::FEq if ty == Scalar::F32 => lanes!(|x, y| u64::from(f(x) == f(y))),
        CmpOp::FLt if ty == Scalar::F32 => lanes!(|x, y| u64::from(f(x) < f(y))),
        CmpOp::FLe if ty == Scalar::F32 => lanes!(|x, y| u64::from(f(x) <= f(y))),
        CmpOp::FGt if ty == Scalar::F32 => lanes!(|x, y| u64::from(f(x) > f(y))),
        CmpOp::FGe if ty == Scalar::F32 => lanes!(|x, y| u64::from(f(x) >= f(y))),
        CmpOp::FNe if ty == Scalar::F32 => lanes!(|x, y| u64::from(f(x) != f(y))),
        _ => return None,
    })
}

/// The fast form of a conversion. Those that keep the zero-extended bits need no instruction at all and
/// never come here.
pub(crate) fn cast(op: CastOp, from: Scalar, to: Scalar) -> Option<Apply1> {
    Some(match (op, from, to) {
        (CastOp::Trunc, _, Scalar::I32) => lanes!(|x| x & 0xffff_ffff),
        (CastOp::Trunc, _, Scalar::I16) => lanes!(|x| x & 0xffff),
        (CastOp::Trunc, _, Scalar::I8) => lanes!(|x| x & 0xff),
        (CastOp::SExt, Scalar::I32, Scalar::I64) => lanes!(|x| s(x) as i64 as u64),
        (CastOp::SToF, Scalar::I32, Scalar::F32) => lanes!(|x| b(s(x) as f32)),
        (CastOp::UToF, Scalar::I32, Scalar::F32) => lanes!(|x| b(x as u32 as f32)),
        (CastOp::FToS, Scalar::F32, Scalar::I32) => lanes!(|x| u64::from(f(x) as i32 as u32)),
        (CastOp::FToU, Scalar::F32, Scalar::I32) => lanes!(|x| u64::from(f(x) as u32)),
        _ => return None,
    })
}

/// The fast form of a one-operand library function.
pub(crate) fn math1(function: MathFn, ty: Scalar) -> Option<Apply1> {
    Some(match (function, ty) {
        (MathFn::FAbs, Scalar::F32) => lanes!(|x| x & 0x7fff_ffff),
        (MathFn::Sqrt, Scalar::F32) => lanes!(|x| b(f(x).sqrt())),
        (MathFn::Floor, Scalar::F32) => lanes!(|x| b(f(x).floor())),
        (MathFn::Ceil, Scalar::F32) => lanes!(|x| b(f(x).ceil())),
        (MathFn::Trunc, Scalar::F32) => lanes!(|x| b(f(x).trunc())),
        _ => return None,
    })
}

/// The fast form of a three-operand library function.
pub(crate) fn math3(function: MathFn, ty: Scalar) -> Option<Apply3> {
    Some(match (function, ty) {
        (MathFn::Fma, Scalar::F32) => lanes!(|x, y, z| b(fused(f(x), f(y), f(z)))),
        _ => return None,
    })
}

/// `x × y + z`, rounded once, without a call to the C library: the product is exact in `f64`; the sum is
/// rounded to odd there, which leaves the final rounding correct.
#[inline(always)]
pub(crate) fn fused(x: f32, y: f32, z: f32) -> f32 {
    let (product, addend) = (f64::from(x) * f64::from(y), f64::from(z));
    let sum = product + addend;
    let back = sum - product;
    let error = (product - (sum - back)) + (addend - back);
    let bits = sum.to_bits();
    // Inexact and even: step towards the error, which makes it odd. (Infinities and NaN give a NaN error.)
    let step = if (error > 0.0) == (sum > 0.0) { 1 } else { u64::MAX };
    let inexact = (error > 0.0) | (error < 0.0);
    let odd = if inexact & (bits & 1 == 0) { bits.wrapping_add(step) } else { bits };
    f64::from_bits(odd) as f32
}

/// One register to write and all others to read. Allocation gives a result a place that is none of its
/// operands'.
#[inline(always)]
pub(crate) fn split(registers: &mut [Lanes], dst: usize) -> (&mut Lanes, Others<'_>) {
    let (below, rest) = registers.split_at_mut(dst);
    let (dst, above) = rest.split_first_mut().expect("the register exists");
    (dst, Others { below, above })
}

/// The registers beside the one that [`split`] took out.
pub(crate) struct Others<'r> {
    below: &'r [Lanes],
    above: &'r [Lanes],
}

impl<'r> Others<'r> {
    #[inline(always)]
    pub(crate) fn get(&self, index: usize) -> &'r Lanes {
        let below = self.below.len();
        if index < below { &self.below[index] } else { &self.above[index - below - 1] }
    }
}

/// Bit per lane whose value is not zero.
pub(crate) fn mask_of(lanes: &Lanes) -> u32 {
    let mut mask = 0;
    for (lane, &value) in lanes.iter().enumerate() {
        mask |= u32::from(value != 0) << lane;
    }
    mask
}

/// The set lanes of a mask, ascending.
pub(crate) fn lanes_in(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = mask.trailing_zeros() as usize;
        mask &= mask.wrapping_sub(1);
        (lane < 32).then_some(lane)
    })
}

#[cfg(test)]
mod tests {
    use anymetal_ir::eval::{eval_binary, eval_cast, eval_compare, eval_math, eval_unary, mask};

    use super::*;

    const SCALARS: [Scalar; 8] = [
        Scalar::Bool,
        Scalar::I8,
        Scalar::I16,
        Scalar::I32,
        Scalar::I64,
        Scalar::F16,
        Scalar::Bf16,
        Scalar::F32,
    ];

    /// Bits that are edges of one type or another, and some that are nothing special.
    fn values(ty: Scalar) -> Vec<u64> {
        let mut all: Vec<u64> =
            [0u64, 1, 2, 31, 32, 63, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0x7fff_ffff, 0x8000_0000].to_vec();
        all.extend([u64::MAX, u64::MAX - 1, 1 << 63, (1 << 63) - 1, 0xdead_beef_1234_5678]);
        let floats = [
            0.0f32,
            1.0,
            0.5,
            1.5,
            2.5,
            3.999_999,
            1e-45,
            1e-38,
            f32::MAX,
            f32::MIN_POSITIVE,
            2_147_483_648.0,
            4_294_967_300.0,
            1e10,
            0.1,
            f32::INFINITY,
            f32::NAN,
        ];
        all.extend(floats.iter().flat_map(|x| [u64::from(x.to_bits()), u64::from((-x).to_bits())]));
        all.iter_mut().for_each(|bits| *bits &= mask(ty));
        all.sort_unstable();
        all.dedup();
        all
    }

    fn apply1(apply: Apply1, a: u64) -> u64 {
        let mut out = [0; 32];
        apply(&mut out, &[a; 32]);
        out[31]
    }

    fn apply2(apply: Apply2, a: u64, b: u64) -> u64 {
        let mut out = [0; 32];
        apply(&mut out, &[a; 32], &[b; 32]);
        out[31]
    }

    #[test]
    fn fast_arithmetic_is_the_exact_arithmetic() {
        use BinOp::*;
        let ops = [
            FAdd, FSub, FMul, FDiv, FRem, Add, Sub, Mul, UDiv, SDiv, URem, SRem, Shl, LShr, AShr, And, Or,
            Xor, UMulHi, SMulHi, UMin, UMax, SMin, SMax, UAddSat, SAddSat, USubSat, SSubSat,
        ];
        let mut forms = 0;
        for (op, ty) in ops.iter().flat_map(|&op| SCALARS.map(|ty| (op, ty))) {
            let Some(apply) = binary(op, ty) else { continue };
            if ty.is_float() && matches!(op, And | Or | Xor) {
                continue;
            }
            forms += 1;
            for (a, b) in values(ty).into_iter().flat_map(|a| values(ty).into_iter().map(move |b| (a, b))) {
                assert_eq!(apply2(apply, a, b), eval_binary(op, ty, a, b), "{op:?} {ty:?} {a:#x} {b:#x}");
            }
        }
        for (op, ty) in
            [UnOp::FNeg, UnOp::INeg, UnOp::Not].into_iter().flat_map(|op| SCALARS.map(|ty| (op, ty)))
        {
            let Some(apply) = unary(op, ty) else { continue };
            forms += 1;
            for a in values(ty) {
                assert_eq!(apply1(apply, a), eval_unary(op, ty, a), "{op:?} {ty:?} {a:#x}");
            }
        }
        assert!(forms > 30, "{forms}");
    }

    #[test]
    fn fast_comparisons_are_the_exact_comparisons() {
        use CmpOp::*;
        for op in [Eq, Ne, ULt, ULe, UGt, UGe, SLt, SLe, SGt, SGe, FEq, FLt, FLe, FGt, FGe, FNe] {
            for ty in SCALARS {
                let is_float_op = matches!(op, FEq | FLt | FLe | FGt | FGe | FNe);
                let Some(apply) = compare(op, ty) else { continue };
                if is_float_op != ty.is_float() {
                    continue;
                }
                for (a, b) in values(ty).into_iter().flat_map(|a| values(ty).into_iter().map(move |b| (a, b)))
                {
                    let expected = u64::from(eval_compare(op, ty, a, b));
                    assert_eq!(apply2(apply, a, b), expected, "{op:?} {ty:?} {a:#x} {b:#x}");
                }
            }
        }
    }

    #[test]
    fn fast_conversions_and_functions_are_the_exact_ones() {
        use CastOp::*;
        for op in [Trunc, SExt, FToS, FToU, SToF, UToF, FCast] {
            for (from, to) in SCALARS.into_iter().flat_map(|from| SCALARS.map(|to| (from, to))) {
                let Some(apply) = cast(op, from, to) else { continue };
                for a in values(from) {
                    let expected = eval_cast(op, from, to, a);
                    assert_eq!(apply1(apply, a), expected, "{op:?} {from:?} {to:?} {a:#x}");
                }
            }
        }
        let all = values(Scalar::F32);
        for function in [MathFn::FAbs, MathFn::Sqrt, MathFn::Floor, MathFn::Ceil, MathFn::Trunc] {
            let apply = math1(function, Scalar::F32).expect("it has a fast form");
            for &a in &all {
                let expected = eval_math(function, Scalar::F32, &[a]);
                assert_eq!(Some(apply1(apply, a)), expected, "{function:?} {a:#x}");
            }
        }
        for &a in &all {
            for (&b, &c) in all.iter().flat_map(|b| all.iter().map(move |c| (b, c))) {
                let mut out = [0; 32];
                let apply = math3(MathFn::Fma, Scalar::F32).expect("it has a fast form");
                apply(&mut out, &[a; 32], &[b; 32], &[c; 32]);
                let expected = eval_math(MathFn::Fma, Scalar::F32, &[a, b, c]);
                assert_eq!(Some(out[0]), expected, "fma {a:#x} {b:#x} {c:#x}");
            }
        }
    }

    /// Against the hardware's or the C library's, on operands close enough to cancel.
    #[test]
    fn the_fused_product_rounds_once() {
        let mut state = 1u64;
        for _ in 0..200_000 {
            let [x, y, z] = std::array::from_fn(|n| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let exponent = 100 + ((state >> 60) as u32 + n as u32 * 7) % 56;
                f32::from_bits(((state >> 32) as u32 & 0x807f_ffff) | exponent << 23)
            });
            assert_eq!(fused(x, y, z).to_bits(), x.mul_add(y, z).to_bits(), "{x} {y} {z}");
            let near = -(x * y);
            assert_eq!(fused(x, y, near).to_bits(), x.mul_add(y, near).to_bits(), "{x} {y} {near}");
        }
    }
}

//! The exact meaning of the pure scalar operations, as functions on bits.
//!
//! One implementation serves constant folding and the interpreter, so that the two cannot differ.
//! A scalar travels as a `u64` holding its bits, zero-extended; `bool` is 0 or 1. Every function
//! returns bits in the same form. Vectors are the caller's business: operations are elementwise.
//!
//! Float results are rounded once, to nearest even, and a NaN result of arithmetic is the
//! canonical quiet NaN. [`crate::FpMode`] plays no role: the exact result is always allowed.
//!
//! The functions trust the verifier: an operation on a scalar type that it does not accept is a
//! bug in the caller and panics.

mod atomic;
mod cast;
mod float;
mod integer;
mod math;
#[cfg(test)]
mod tests;

pub use atomic::eval_atomic;
pub use cast::{eval_bitcast, eval_cast};
pub use float::{narrow, widen};
pub use math::eval_math;

use crate::{BinOp, CmpOp, Scalar, UnOp};

/// The bits that a scalar type may use.
pub fn mask(ty: Scalar) -> u64 {
    u64::MAX >> (64 - ty.bits())
}

/// The integer's value when its top bit is a sign.
pub fn sign_extend(ty: Scalar, bits: u64) -> i64 {
    let shift = 64 - ty.bits();
    ((bits << shift) as i64) >> shift
}

/// One-operand arithmetic.
pub fn eval_unary(op: UnOp, ty: Scalar, a: u64) -> u64 {
    debug_assert_eq!(a & !mask(ty), 0, "the bits of a {}, zero-extended", ty.name());
    debug_assert_eq!(op == UnOp::FNeg, ty.is_float(), "{op:?} of a {}", ty.name());
    match op {
        UnOp::FNeg => a ^ (1 << (ty.bits() - 1)),
        UnOp::INeg => a.wrapping_neg() & mask(ty),
        UnOp::Not => !a & mask(ty),
    }
}

/// Two-operand arithmetic.
pub fn eval_binary(op: BinOp, ty: Scalar, a: u64, b: u64) -> u64 {
    match op {
        BinOp::FAdd | BinOp::FSub | BinOp::FMul | BinOp::FDiv | BinOp::FRem => float::binary(op, ty, a, b),
        _ => integer::binary(op, ty, a, b),
    }
}

/// A comparison of two scalars of type `ty`.
pub fn eval_compare(op: CmpOp, ty: Scalar, a: u64, b: u64) -> bool {
    debug_assert_eq!((a | b) & !mask(ty), 0, "the bits of two {}, zero-extended", ty.name());
    match op {
        CmpOp::Eq => a == b,
        CmpOp::Ne => a != b,
        CmpOp::ULt => a < b,
        CmpOp::ULe => a <= b,
        CmpOp::UGt => a > b,
        CmpOp::UGe => a >= b,
        CmpOp::SLt => sign_extend(ty, a) < sign_extend(ty, b),
        CmpOp::SLe => sign_extend(ty, a) <= sign_extend(ty, b),
        CmpOp::SGt => sign_extend(ty, a) > sign_extend(ty, b),
        CmpOp::SGe => sign_extend(ty, a) >= sign_extend(ty, b),
        CmpOp::FEq => widen(ty, a) == widen(ty, b),
        CmpOp::FLt => widen(ty, a) < widen(ty, b),
        CmpOp::FLe => widen(ty, a) <= widen(ty, b),
        CmpOp::FGt => widen(ty, a) > widen(ty, b),
        CmpOp::FGe => widen(ty, a) >= widen(ty, b),
        CmpOp::FNe => widen(ty, a) != widen(ty, b),
        CmpOp::Disjoint => unreachable!("scalars have no allocations"),
    }
}

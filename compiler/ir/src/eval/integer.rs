//! Integer and `bool` arithmetic on bits. Nothing traps; see the crate documentation.

use super::{mask, sign_extend};
use crate::{BinOp, Scalar};

pub(super) fn binary(op: BinOp, ty: Scalar, a: u64, b: u64) -> u64 {
    debug_assert_eq!((a | b) & !mask(ty), 0, "the bits of two {}, zero-extended", ty.name());
    let (signed_a, signed_b) = (sign_extend(ty, a), sign_extend(ty, b));
    let amount = (b % u64::from(ty.bits())) as u32;
    let result = match op {
        BinOp::Add => a.wrapping_add(b),
        BinOp::Sub => a.wrapping_sub(b),
        BinOp::Mul => a.wrapping_mul(b),
        BinOp::UDiv => a.checked_div(b).unwrap_or(a),
        BinOp::URem => a.checked_rem(b).unwrap_or(0),
        BinOp::SDiv if b == 0 => a,
        BinOp::SDiv => signed_a.wrapping_div(signed_b) as u64,
        BinOp::SRem if b == 0 => 0,
        BinOp::SRem => signed_a.wrapping_rem(signed_b) as u64,
        BinOp::Shl => a << amount,
        BinOp::LShr => a >> amount,
        BinOp::AShr => (signed_a >> amount) as u64,
        BinOp::And => a & b,
        BinOp::Or => a | b,
        BinOp::Xor => a ^ b,
        BinOp::UMulHi => ((u128::from(a) * u128::from(b)) >> ty.bits()) as u64,
        BinOp::SMulHi => ((i128::from(signed_a) * i128::from(signed_b)) >> ty.bits()) as u64,
        BinOp::UMin => a.min(b),
        BinOp::UMax => a.max(b),
        BinOp::SMin => signed_a.min(signed_b) as u64,
        BinOp::SMax => signed_a.max(signed_b) as u64,
        BinOp::UAddSat | BinOp::SAddSat | BinOp::USubSat | BinOp::SSubSat => saturating(op, ty, a, b),
        BinOp::FAdd | BinOp::FSub | BinOp::FMul | BinOp::FDiv | BinOp::FRem => {
            panic!("{op:?} is not an integer operation")
        }
    };
    result & mask(ty)
}

fn saturating(op: BinOp, ty: Scalar, a: u64, b: u64) -> u64 {
    let (signed_a, signed_b) = (i128::from(sign_extend(ty, a)), i128::from(sign_extend(ty, b)));
    let limit = 1i128 << (ty.bits() - 1);
    match op {
        BinOp::UAddSat => (u128::from(a) + u128::from(b)).min(u128::from(mask(ty))) as u64,
        BinOp::USubSat => a.saturating_sub(b),
        BinOp::SAddSat => (signed_a + signed_b).clamp(-limit, limit - 1) as u64,
        BinOp::SSubSat => (signed_a - signed_b).clamp(-limit, limit - 1) as u64,
        _ => unreachable!("{op:?} does not saturate"),
    }
}

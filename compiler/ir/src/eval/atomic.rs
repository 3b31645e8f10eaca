//! What a read-modify-write leaves in memory.

use super::eval_binary;
use crate::{AtomicOp, BinOp, Scalar};

/// The new contents for the old contents and the operand.
pub fn eval_atomic(op: AtomicOp, ty: Scalar, old: u64, operand: u64) -> u64 {
    let op = match op {
        AtomicOp::Exchange => return operand,
        AtomicOp::Add => BinOp::Add,
        AtomicOp::Sub => BinOp::Sub,
        AtomicOp::And => BinOp::And,
        AtomicOp::Or => BinOp::Or,
        AtomicOp::Xor => BinOp::Xor,
        AtomicOp::UMin => BinOp::UMin,
        AtomicOp::UMax => BinOp::UMax,
        AtomicOp::SMin => BinOp::SMin,
        AtomicOp::SMax => BinOp::SMax,
        AtomicOp::FAdd => BinOp::FAdd,
    };
    eval_binary(op, ty, old, operand)
}

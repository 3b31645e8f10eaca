//! Atomic operations by LLVM's names.

use anymetal_ir::AtomicOp;

/// The operation of an `atomicrmw`.
pub(crate) fn rmw_name(op: AtomicOp) -> &'static str {
    match op {
        AtomicOp::Exchange => "xchg",
        AtomicOp::Add => "add",
        AtomicOp::Sub => "sub",
        AtomicOp::And => "and",
        AtomicOp::Or => "or",
        AtomicOp::Xor => "xor",
        AtomicOp::UMin => "umin",
        AtomicOp::UMax => "umax",
        AtomicOp::SMin => "min",
        AtomicOp::SMax => "max",
        AtomicOp::FAdd => "fadd",
    }
}

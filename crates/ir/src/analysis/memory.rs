//! Which operations may change shared memory: memory that several threads can access.

use crate::{Function, MatrixOp, Op, Space, Type, Value};

/// Kinds of shared memory. Threadgroup memory does not alias device and constant memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Memory {
    /// Threadgroup memory.
    Threadgroup,
    /// Device and constant memory.
    Elsewhere,
    /// Both.
    Any,
}

impl Memory {
    /// Whether the pointer is to such memory; never true for thread memory.
    pub fn has(self, function: &Function, pointer: Value) -> bool {
        match function.ty(pointer) {
            Type::Ptr(Space::Threadgroup) => self != Self::Elsewhere,
            Type::Ptr(Space::Device | Space::Constant) => self != Self::Threadgroup,
            _ => false,
        }
    }
}

/// Whether this thread's loads after the operation may read other contents than those before it: it stores
/// there, or orders accesses of other threads. Nested operations are not looked at.
pub fn may_change(function: &Function, op: &Op, memory: Memory) -> bool {
    match op {
        // Thread memory is not shared.
        Op::Store { ptr, .. }
        | Op::MemCopy { dst: ptr, .. }
        | Op::MemConvert { dst: ptr, .. }
        | Op::MemZero { dst: ptr, .. } => memory.has(function, *ptr),
        Op::AtomicLoad(_)
        | Op::AtomicStore(..)
        | Op::AtomicRmw(..)
        | Op::AtomicCas(..)
        | Op::Fence
        | Op::Barrier(_)
        | Op::Call(..)
        | Op::Matrix(MatrixOp::Store { .. }, _) => true,
        _ => false,
    }
}

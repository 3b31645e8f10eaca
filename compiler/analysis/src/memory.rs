//! Which operations may change shared memory: memory that several threads can access.

use anymetal_ir::{Effect, Function, Op, Space, Type, Value};

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

/// Whether loads of this thread after the operation may find the memory other than those before it: it stores
/// there, or orders what other threads do. Of constructs the nested operations are not looked at.
pub fn may_change(function: &Function, op: &Op, memory: Memory) -> bool {
    match op.effect() {
        // No other thread sees a thread's own memory.
        Effect::Writes { to, .. } => memory.has(function, to),
        Effect::Barrier => true,
        _ => op.may_write_memory(),
    }
}

/// Whether the operation neither touches memory that threads share nor stops the thread: it computes, or
/// accesses the thread's own memory.
pub fn leaves_shared_memory(function: &Function, op: &Op) -> bool {
    match op.effect() {
        Effect::Pure | Effect::StartsLocal => true,
        Effect::Reads { volatile: false } | Effect::Writes { volatile: false, .. } => {
            matches!(op, Op::Load { ptr, .. } | Op::Store { ptr, .. }
                if function.ty(*ptr) == Type::Ptr(Space::Thread))
        }
        _ => false,
    }
}

//! What an operation does besides computing its result: the one table that passes and code generators derive
//! their questions from.
//!
//! Invariant: [`Op::effect`] has an arm for every operation and no wildcard, so that a new operation does not
//! compile without an answer. What passes ask (may it be removed, may it be repeated, may later loads differ)
//! are the methods below it.

use super::{BinOp, MathFn, MatrixOp, Op};
use crate::Value;

/// What an operation does besides computing its result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// Nothing: a constant, arithmetic, an address, a position. Equal operands give equal results in one
    /// thread.
    Pure,
    /// Nothing, but each result is arbitrary.
    Undefined,
    /// A local's contents become undefined.
    StartsLocal,
    /// Reads memory.
    Reads {
        /// Each execution must access memory.
        volatile: bool,
    },
    /// Writes memory, and may read some.
    Writes {
        /// The start of what is written.
        to: Value,
        /// Each execution must access memory.
        volatile: bool,
    },
    /// Changes caches only.
    Prefetches,
    /// Accesses memory atomically; what other threads wrote may be seen by later accesses.
    Atomic,
    /// Orders this thread's accesses.
    Fences,
    /// Waits for other threads and orders accesses.
    Barrier,
    /// Exchanges values between the active threads of a SIMD-group or quad-group.
    ExchangesLanes,
    /// Multiplies matrices that a SIMD-group's threads hold together.
    MultipliesMatrices,
    /// A SIMD-group's threads read a matrix together.
    ReadsMatrix,
    /// A SIMD-group's threads write a matrix together.
    WritesMatrix,
    /// Whatever the function called does.
    Calls,
    /// What the nested operations do, under its control.
    Nests,
    /// Control goes elsewhere.
    Jumps,
}

impl Op {
    /// What it does besides computing its result.
    pub fn effect(&self) -> Effect {
        match self {
            Self::Const(_)
            | Self::FunctionConstant(_)
            | Self::FunctionConstantDefined(_)
            | Self::Unary(..)
            | Self::Binary(..)
            | Self::Compare(..)
            | Self::Select(..)
            | Self::Cast(..)
            | Self::Math(..)
            | Self::Splat(_)
            | Self::Compose(_)
            | Self::Extract(..)
            | Self::ExtractDynamic(..)
            | Self::Insert(..)
            | Self::InsertDynamic(..)
            | Self::Shuffle(..)
            | Self::LocalAddr(_)
            | Self::ThreadgroupAddr(_)
            | Self::GlobalAddr(_)
            | Self::PtrAdd { .. }
            | Self::Query(_) => Effect::Pure,
            Self::Undef => Effect::Undefined,
            Self::LocalStart(_) => Effect::StartsLocal,
            Self::Load { volatile, .. } => Effect::Reads { volatile: *volatile },
            Self::Store { ptr, volatile, .. } => Effect::Writes { to: *ptr, volatile: *volatile },
            Self::MemCopy { dst, .. } | Self::MemZero { dst, .. } => {
                Effect::Writes { to: *dst, volatile: false }
            }
            Self::Prefetch { .. } => Effect::Prefetches,
            Self::AtomicLoad(_) | Self::AtomicStore(..) | Self::AtomicRmw(..) | Self::AtomicCas(..) => {
                Effect::Atomic
            }
            Self::Fence(_) => Effect::Fences,
            Self::Barrier(..) => Effect::Barrier,
            Self::Simd(..) => Effect::ExchangesLanes,
            Self::Matrix(MatrixOp::MultiplyAccumulate, _) => Effect::MultipliesMatrices,
            Self::Matrix(MatrixOp::Load { .. }, _) => Effect::ReadsMatrix,
            Self::Matrix(MatrixOp::Store { .. }, _) => Effect::WritesMatrix,
            Self::Call(..) => Effect::Calls,
            Self::If { .. } | Self::Loop { .. } | Self::Switch { .. } | Self::Scope { .. } => Effect::Nests,
            Self::Break(..) | Self::Continue(..) | Self::Yield(_) | Self::Return(_) => Effect::Jumps,
        }
    }

    /// Whether it is a constant, arithmetic or an address: its result depends on its operands and the thread
    /// alone.
    pub fn is_pure(&self) -> bool {
        self.effect() == Effect::Pure
    }

    /// The float additions, multiplications and divisions of one component of its result; a fused
    /// multiply-add is two. An element of a matrix product has eight of these.
    pub fn float_operations(&self) -> u8 {
        match self {
            Self::Binary(BinOp::FAdd | BinOp::FSub | BinOp::FMul | BinOp::FDiv | BinOp::FRem, ..)
            | Self::Math(MathFn::Divide, _) => 1,
            Self::Math(MathFn::Fma, _) => 2,
            Self::Matrix(MatrixOp::MultiplyAccumulate, _) => 16,
            _ => 0,
        }
    }

    /// Whether it only computes a result, be it an arbitrary one.
    pub fn only_computes(&self) -> bool {
        matches!(self.effect(), Effect::Pure | Effect::Undefined)
    }

    /// Whether it must stay although its result is unused. Operations between threads need not: threads that
    /// leave one out together lose nothing.
    pub fn has_side_effects(&self) -> bool {
        match self.effect() {
            Effect::Reads { volatile } => volatile,
            Effect::Pure
            | Effect::Undefined
            | Effect::ExchangesLanes
            | Effect::MultipliesMatrices
            | Effect::ReadsMatrix => false,
            Effect::StartsLocal
            | Effect::Writes { .. }
            | Effect::Prefetches
            | Effect::Atomic
            | Effect::Fences
            | Effect::Barrier
            | Effect::WritesMatrix
            | Effect::Calls
            | Effect::Nests
            | Effect::Jumps => true,
        }
    }

    /// Whether running it once more, right after, changes nothing. Of constructs the nested operations are
    /// not looked at.
    pub fn is_repeatable(&self) -> bool {
        matches!(
            self.effect(),
            Effect::Pure
                | Effect::Undefined
                | Effect::Reads { .. }
                | Effect::StartsLocal
                | Effect::ExchangesLanes
        )
    }

    /// Whether this thread's later loads may give something else because it writes, or lets other threads'
    /// writes be seen. Barriers are not among them, and of constructs the nested operations are not looked
    /// at.
    pub fn may_write_memory(&self) -> bool {
        matches!(
            self.effect(),
            Effect::Writes { .. } | Effect::Atomic | Effect::Fences | Effect::Calls | Effect::WritesMatrix
        )
    }
}

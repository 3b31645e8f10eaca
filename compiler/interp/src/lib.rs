//! Interpreter of the IR: the reference of differential tests, and the host of the sanitizer.
//!
//! The semantics of a module is the documentation of [`anymetal_ir`]; this crate implements it. Make a
//! [`Program`] of a verified module's kernel, then [`run()`] it with a [`Dispatch`], a [`Memory`] and an
//! [`Observer`]. It never accesses memory outside of bindings, and stops when cancelled.
//!
//! # How it executes
//! A SIMD-group is 32 lanes in lock-step: each step works on all of them, structured control flow changes
//! the execution mask, so SIMD-group operations see exactly the active lanes. The `then` region runs before
//! `otherwise`, cases run in order. SIMD-groups of a threadgroup run in turns, threadgroups one after the
//! other, x fastest, unless [`Schedule::Shuffled`] demands another order. So every run with the same input
//! and schedule gives the same result, races included. A threadgroup that waits for a later one waits until
//! the budget ends it.
//!
//! # What the IR leaves open
//! | | here |
//! |---|---|
//! | undefined memory, undefined values | bytes `a5`, `true`, the null pointer |
//! | lanes that write one address at once | the highest lane wins; with [`Schedule::Shuffled`] another |
//! | float arithmetic | IEEE 754 exactly, whatever the [`anymetal_ir::FpMode`]; canonical NaN |
//! | library functions | exact or correctly rounded as in [`anymetal_ir::eval`]; the others computed in `f64` and rounded once |
//! | reductions, prefix operations | the order documented in `machine/simd.rs`: butterfly from distance 16 to 1, inactive lanes skipped; prefixes ascending |
//! | shuffles from inactive lanes | zero |
//! | matrix products | `f32` fused multiply-add, `k` ascending, rounded to C's type at the end |
//! | pointers in buffers | the address, if the buffer has one ([`Resident`]) |
//! | other pointers in memory | 16 bits of allocation number, 48 of signed offset |
//! | a copy whose source is out of bounds | writes zeros |
//! | an unbound argument | equals null; accesses fault and name it |
//!
//! The results of the `f64` functions come from the platform's C library; on one machine they are always the
//! same.
#![forbid(unsafe_code)]

mod dispatch;
mod error;
mod lanes;
mod machine;
mod observer;
mod program;
mod report;
mod run;
mod schedule;
mod transcendental;

pub use dispatch::{Argument, Dispatch, Limits, Memory, Resident};
pub use error::InterpError;
pub use observer::{
    Access, AccessOp, Accesses, ArithmeticKind, ArithmeticLint, AtomicKind, BarrierArrival, Bytes,
    DivergentSimd, EarlyReturn, FenceExecuted, Group, Interests, LanesExit, LocalStart, MemorySizes,
    NoObserver, Observer, Trace, Unfinished, VectorIndex,
};
pub use program::{Program, ProgramArgument, StepOrigin};
pub use report::{
    AccessKind, DivergentBarrier, Fault, MemoryPlace, PartialBarrier, Report, ThreadId, Variable,
};
pub use run::run;
pub use schedule::Schedule;

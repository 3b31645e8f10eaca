//! Arithmetic that is defined here and hardly wanted: what [`super::Interests::arithmetic`] asks to be told.

use anymetal_ir::Loc;

use crate::report::ThreadId;

/// What is odd about it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ArithmeticKind {
    /// An integer is divided by zero, or its remainder by zero is taken.
    DivisionByZero,
    /// A shift by at least as many bits as the type has, or by a negative number.
    ShiftOverflow,
    /// A NaN of operands that are none.
    NanProduced,
    /// An index that wrapped around, computed in 32 bits.
    IndexWrap,
}

/// Arithmetic of one instruction, in some lanes of a SIMD-group. It is told before the instruction; an index
/// that wrapped around, where it becomes an index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ArithmeticLint {
    /// What is odd.
    pub kind: ArithmeticKind,
    /// The first thread.
    pub thread: ThreadId,
    /// Bit per lane.
    pub lanes: u32,
    /// The first thread's operands, as bits; those that the instruction does not have are 0. The first is the
    /// index, if it is one that wrapped around.
    pub operands: [u64; 3],
    /// The instruction.
    pub loc: Loc,
    /// The number of the instruction's step in its program.
    pub site: u32,
}

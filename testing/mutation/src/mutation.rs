//! What a mutation is: its kind, where it is made and what it changes. Plain data.

use anymetal_ir::{BarrierScope, Block, CmpOp, Inst, Loc};

/// The kinds of mistakes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum MutationKind {
    /// A barrier of a threadgroup or a SIMD-group is missing.
    BarrierRemoved,
    /// The bound of a loop or of a guard is off by one, to the side that does more.
    BoundWidened,
    /// A variable, or threadgroup memory, is not given its first value.
    InitialisationDropped,
    /// A barrier or fence has a narrower scope, or lacks a memory flag.
    ScopeNarrowed,
}

impl MutationKind {
    /// All, in the order of reports.
    pub const ALL: [Self; 4] =
        [Self::BarrierRemoved, Self::BoundWidened, Self::InitialisationDropped, Self::ScopeNarrowed];

    /// Its name in reports.
    pub fn title(self) -> &'static str {
        match self {
            Self::BarrierRemoved => "barrier removed",
            Self::BoundWidened => "bound widened",
            Self::InitialisationDropped => "initialisation dropped",
            Self::ScopeNarrowed => "scope or flag narrowed",
        }
    }
}

/// A place in a kernel, and the mistake to make there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mutation {
    /// What kind of mistake.
    pub kind: MutationKind,
    /// The block that holds the instruction.
    pub block: Block,
    /// The instruction.
    pub inst: Inst,
    /// What is done to it.
    pub change: Change,
    /// Its position in the source.
    pub loc: Loc,
    /// The change in words, such as "`<` made `<=`".
    pub text: String,
}

/// What is done to an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// It is taken out of its block.
    Remove,
    /// A comparison gets this operator, and this is added to its second operand.
    Compare(CmpOp, i8),
    /// A barrier gets this scope and these memory flags.
    Barrier(BarrierScope, Option<u32>),
    /// One operand of a fence (0 memory flags, 1 order, 2 scope) gets this value.
    Fence(usize, u32),
}

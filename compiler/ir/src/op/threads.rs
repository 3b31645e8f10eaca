//! Operations that involve several threads, and queries: atomics, barriers, SIMD-groups, matrices, cache
//! prefetches.

use super::{BinOp, MathFn};
use crate::Scalar;

/// Read-modify-write operations; the result is the old value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the names are LLVM's")]
pub enum AtomicOp {
    Exchange,
    Add,
    Sub,
    And,
    Or,
    Xor,
    UMin,
    UMax,
    SMin,
    SMax,
    FAdd,
}

/// The access that a prefetch prepares.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PrefetchHint {
    /// A load in the near future.
    Read,
    /// A load that continues a stream: in the next threadgroup's row, or further along contiguous data. Into
    /// which cache level depends on the processor.
    StreamRead,
    /// One of many loads, into the second-level cache: the first-level cache has few line fill buffers, and a
    /// core stalls when all are in use.
    ReadL2,
    /// A store.
    Write,
    /// A store in a later threadgroup's row, into the second-level cache: a line that no other core has
    /// arrives in exclusive state.
    WriteL2,
    /// A store to a part of an object of these bytes, which observers of the interpreter see as a write of
    /// the whole. Only modules for sanitizers have it.
    WriteWhole,
}

/// Queries of a thread about itself and the launch; the result is one `I32`. Components are 0, 1, 2 for x, y,
/// z.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[allow(missing_docs, reason = "the names are MSL's attributes, §5.2.3.6")]
pub enum Query {
    ThreadPositionInGrid(u8),
    ThreadPositionInThreadgroup(u8),
    ThreadgroupPositionInGrid(u8),
    ThreadsPerGrid(u8),
    /// Threads of *this* threadgroup (smaller at the grid's edge).
    ThreadsPerThreadgroup(u8),
    /// Threads of a full threadgroup, as dispatched.
    DispatchThreadsPerThreadgroup(u8),
    ThreadgroupsPerGrid(u8),
    ThreadIndexInThreadgroup,
    ThreadIndexInSimdgroup,
    SimdgroupIndexInThreadgroup,
    SimdgroupsPerThreadgroup,
    DispatchSimdgroupsPerThreadgroup,
    ThreadsPerSimdgroup,
    ThreadIndexInQuadgroup,
    QuadgroupIndexInThreadgroup,
    QuadgroupsPerThreadgroup,
}

/// The threads that a barrier synchronises.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BarrierScope {
    /// All threads of the grid. Only a cooperative launch runs it.
    Grid,
    /// All threads of the threadgroup.
    Threadgroup,
    /// All active threads of the SIMD-group.
    Simdgroup,
    /// Only the thread itself: separates launches that were fused. Values stored before it are reloaded from
    /// memory after it, so that arithmetic of different launches is not contracted or reassociated.
    Thread,
}

/// SIMD-group (and quad-group) operations over the active lanes (MSL specification §6.9). The
/// first argument is the value; it may be a scalar or a vector of any scalar type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SimdOp {
    /// Float or integer sum, by the value's type.
    Sum,
    /// Product.
    Product,
    /// Float minimum and maximum.
    FMin,
    /// Float maximum.
    FMax,
    /// Unsigned minimum.
    UMin,
    /// Unsigned maximum.
    UMax,
    /// Signed minimum.
    SMin,
    /// Signed maximum.
    SMax,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// Sum of the lower active lanes and this one.
    PrefixInclusiveSum,
    /// Sum of the lower active lanes; 0 for the first.
    PrefixExclusiveSum,
    /// Product of the lower active lanes and this one.
    PrefixInclusiveProduct,
    /// Product of the lower active lanes; 1 for the first.
    PrefixExclusiveProduct,
    /// Value of the lane given by the second argument (`I32`, taken modulo 32). The value of a lane that
    /// is inactive or does not exist is zero, here, in all other shuffles and in broadcasts.
    Shuffle,
    /// Value of lane `lane ^ mask`.
    ShuffleXor,
    /// Value of lane `lane - delta`; own value for the first `delta` lanes.
    ShuffleUp,
    /// Value of lane `lane + delta`; own value for the last `delta` lanes.
    ShuffleDown,
    /// As up, modulo 32.
    RotateUp,
    /// As down, modulo 32.
    RotateDown,
    /// Arguments: value, fill, delta (`I32`), modulo (`I32`). Within segments of `modulo` lanes:
    /// lane `l - delta`'s value, or for the first `delta` lanes of the segment, fill of lane
    /// `l - delta + modulo`.
    ShuffleAndFillUp,
    /// Arguments as above; lane `l + delta`'s value, or fill of lane `l + delta - modulo`.
    ShuffleAndFillDown,
    /// Value of the lane given by a uniform second argument.
    Broadcast,
    /// Value of the first active lane.
    BroadcastFirst,
    /// `bool` in; `bool` out: true for any active lane.
    Any,
    /// `bool` in; `bool` out: true for all active lanes.
    All,
    /// `bool` in; `I64` out: bit per active lane where true.
    Ballot,
    /// No argument; `I64`: bit per active lane.
    ActiveMask,
    /// No argument; `bool`: the lowest active lane.
    IsFirst,
    /// The quad-group forms, over groups of four lanes.
    QuadSum,
    /// Quad product.
    QuadProduct,
    /// Quad minimum, float.
    QuadFMin,
    /// Quad maximum, float.
    QuadFMax,
    /// Quad minimum, unsigned.
    QuadUMin,
    /// Quad maximum, unsigned.
    QuadUMax,
    /// Quad minimum, signed.
    QuadSMin,
    /// Quad maximum, signed.
    QuadSMax,
    /// Quad bitwise and.
    QuadAnd,
    /// Quad bitwise or.
    QuadOr,
    /// Quad bitwise exclusive or.
    QuadXor,
    /// Quad sum of the lower active lanes and this one.
    QuadPrefixInclusiveSum,
    /// Quad sum of the lower active lanes; 0 for the first.
    QuadPrefixExclusiveSum,
    /// Quad product of the lower active lanes and this one.
    QuadPrefixInclusiveProduct,
    /// Quad product of the lower active lanes; 1 for the first.
    QuadPrefixExclusiveProduct,
    /// Quad broadcast: the second argument names the lane 0..4.
    QuadBroadcast,
    /// Quad shuffle.
    QuadShuffle,
    /// Quad shuffle xor.
    QuadShuffleXor,
    /// Quad shuffle up.
    QuadShuffleUp,
    /// Quad shuffle down.
    QuadShuffleDown,
}

/// The operation that a reduction or a prefix operation applies to two values.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Combine {
    /// An operation on integers, `bool`s or floats.
    Binary(BinOp),
    /// The float minimum or maximum.
    Math(MathFn),
}

/// The lanes whose values a lane's result combines.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CombinedLanes {
    /// All active lanes of the group.
    All,
    /// The lower active lanes and this one.
    UpToThis,
    /// The lower active lanes.
    BelowThis,
}

/// How an operation combines the values of active lanes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Combination {
    /// The operation on two values.
    pub combine: Combine,
    /// The lanes of a group: 32, or the 4 of a quad-group.
    pub width: usize,
    /// Which of them.
    pub lanes: CombinedLanes,
}

impl Combination {
    /// The result of a prefix operation in the first active lane, if `BelowThis`: 0, or 1 of a product.
    pub fn starts_at_one(self) -> bool {
        matches!(self.combine, Combine::Binary(BinOp::Mul | BinOp::FMul))
    }
}

impl SimdOp {
    /// How it combines the values of lanes, if it is a reduction or a prefix operation on such elements.
    pub fn combination(self, element: Scalar) -> Option<Combination> {
        use CombinedLanes::{All, BelowThis, UpToThis};
        let is_float = element.is_float();
        let sum = Combine::Binary(if is_float { BinOp::FAdd } else { BinOp::Add });
        let product = Combine::Binary(if is_float { BinOp::FMul } else { BinOp::Mul });
        let (combine, width, lanes) = match self {
            Self::Sum => (sum, 32, All),
            Self::Product => (product, 32, All),
            Self::FMin => (Combine::Math(MathFn::FMin), 32, All),
            Self::FMax => (Combine::Math(MathFn::FMax), 32, All),
            Self::UMin => (Combine::Binary(BinOp::UMin), 32, All),
            Self::UMax => (Combine::Binary(BinOp::UMax), 32, All),
            Self::SMin => (Combine::Binary(BinOp::SMin), 32, All),
            Self::SMax => (Combine::Binary(BinOp::SMax), 32, All),
            Self::And => (Combine::Binary(BinOp::And), 32, All),
            Self::Or => (Combine::Binary(BinOp::Or), 32, All),
            Self::Xor => (Combine::Binary(BinOp::Xor), 32, All),
            Self::PrefixInclusiveSum => (sum, 32, UpToThis),
            Self::PrefixExclusiveSum => (sum, 32, BelowThis),
            Self::PrefixInclusiveProduct => (product, 32, UpToThis),
            Self::PrefixExclusiveProduct => (product, 32, BelowThis),
            Self::QuadSum => (sum, 4, All),
            Self::QuadProduct => (product, 4, All),
            Self::QuadFMin => (Combine::Math(MathFn::FMin), 4, All),
            Self::QuadFMax => (Combine::Math(MathFn::FMax), 4, All),
            Self::QuadUMin => (Combine::Binary(BinOp::UMin), 4, All),
            Self::QuadUMax => (Combine::Binary(BinOp::UMax), 4, All),
            Self::QuadSMin => (Combine::Binary(BinOp::SMin), 4, All),
            Self::QuadSMax => (Combine::Binary(BinOp::SMax), 4, All),
            Self::QuadAnd => (Combine::Binary(BinOp::And), 4, All),
            Self::QuadOr => (Combine::Binary(BinOp::Or), 4, All),
            Self::QuadXor => (Combine::Binary(BinOp::Xor), 4, All),
            Self::QuadPrefixInclusiveSum => (sum, 4, UpToThis),
            Self::QuadPrefixExclusiveSum => (sum, 4, BelowThis),
            Self::QuadPrefixInclusiveProduct => (product, 4, UpToThis),
            Self::QuadPrefixExclusiveProduct => (product, 4, BelowThis),
            _ => return None,
        };
        Some(Combination { combine, width, lanes })
    }

    /// Whether it combines the values of all active lanes of the SIMD-group, so that each gets the same.
    pub fn is_simdgroup_reduction(self) -> bool {
        // Whether it combines lanes, and which, does not depend on the elements.
        self.combination(Scalar::I32)
            .is_some_and(|combination| combination.width == 32 && combination.lanes == CombinedLanes::All)
    }
}

/// Operations on 8×8 matrices spread over a SIMD-group, in Metal's lane layout: lane `l` holds the
/// two elements `(row, col)` and `(row, col + 1)` as a vector of two, with `q = l / 4`,
/// `row = (q & 4) + (l / 2) % 4`, `col = (q & 2) * 2 + (l % 2) * 2`. All 32 lanes must be active.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MatrixOp {
    /// Arguments: pointer to element (0, 0) (uniform), elements per row (`I64`, uniform).
    Load {
        /// Reads the transpose.
        transpose: bool,
    },
    /// Arguments: pointer, elements per row, fragment. No result.
    Store {
        /// Writes the transpose.
        transpose: bool,
    },
    /// Arguments: A, B, C. Result `A × B + C` in C's element type; A and B are converted to the
    /// result's precision or `F32` before multiplying.
    MultiplyAccumulate,
}

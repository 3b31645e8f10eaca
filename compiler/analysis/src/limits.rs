//! Limits of analyses: how far they follow definitions, and how large their results become.
//!
//! Invariant: an analysis that reaches a limit returns what it returns for a value of which it knows
//! nothing. A larger limit therefore costs compile time and never changes whether a result is right.

/// Maximum depth, in definitions, to which operands are followed. Bounds the recursion on long chains of
/// sums.
pub const MAX_DEPTH: u32 = 16;

/// Maximum depth, in definitions, of searches that visit all operands without recording visited values. The
/// number of visits doubles with each level.
pub const MAX_BRANCHING_DEPTH: u32 = 8;

/// Maximum number of definitions visited for one address. Sums of sums can have exponentially many paths
/// within [`MAX_DEPTH`].
pub const MAX_DEFINITIONS: u32 = 1 << 10;

/// Maximum number of terms of a linear combination. An address has a term for each index that it adds.
pub(crate) const MAX_TERMS: usize = 8;

/// Maximum trip count of a loop that is completely unrolled. Each iteration is evaluated to find the count.
pub const MAX_UNROLLED_TRIPS: usize = 32;

/// Maximum trip count of a loop that `analyze` finds by evaluating its exit test.
pub const MAX_EVALUATED_TRIPS: usize = 1 << 16;

/// Maximum number of parts of an exit test that are joined by `&&` or `||`.
pub(crate) const MAX_TEST_PARTS: usize = 8;

/// Maximum step of a counted loop's counter. Bounds the products of steps and trip counts.
pub(crate) const MAX_STEP: u64 = 1 << 16;

/// Maximum number of definitions visited for the upper bound of one integer. Definitions that several
/// operands share are visited once for each.
pub(crate) const MAX_BOUND_DEFINITIONS: u32 = 256;

/// Maximum number of segments of lanes with a base for each. More bases cost more than a vector.
pub const MAX_SEGMENTS: usize = 8;

/// Maximum number of iterations between two polls of the stop flag. Verified on the emitted text.
pub const MAX_UNPOLLED_ITERATIONS: u64 = 1 << 16;

/// Minimum cost of an iteration in the plan of polls, in instructions. Shorter iterations count as
/// this much.
pub const ITERATION_COST: u64 = 64;

/// Maximum work between two polls, in instructions. A quarter of the verified limit, because the emitter may
/// write a loop twice (for full masks, then for partial masks) and adds loops over SIMD-groups.
pub const MAX_UNPOLLED_WORK: u64 = MAX_UNPOLLED_ITERATIONS / 4 * ITERATION_COST;

/// Maximum work of a called function between two polls, in instructions. A call covers a SIMD-group in
/// several batches.
pub const MAX_UNPOLLED_CALL_WORK: u64 = MAX_UNPOLLED_WORK / 16;

/// Maximum number of iterations of a loop that one instruction expands to, without a poll.
pub const MAX_UNPOLLED_PIECES: u64 = 1 << 10;

/// Maximum alignment, in bytes, that is tracked for the offset of a pointer: the size of the largest scalar.
pub const MAX_ALIGN: u32 = 8;

//! Limits of code generation for all targets; those of one target are in [`cpu`] and [`ptx`].

pub(crate) mod cpu;
pub(crate) mod ptx;

/// Maximum number of iterations between two polls of the stop flag. Verified on the emitted text.
pub(crate) const MAX_UNPOLLED_ITERATIONS: u64 = 1 << 16;

/// Minimum cost of an iteration in the plan of polls, in instructions. Shorter iterations count as
/// this much.
pub(crate) const ITERATION_COST: u64 = 64;

/// Maximum work between two polls, in instructions. A quarter of the verified limit, because the emitter may
/// write a loop twice (for full masks, then for partial masks) and adds loops over SIMD-groups.
pub(crate) const MAX_UNPOLLED_WORK: u64 = MAX_UNPOLLED_ITERATIONS / 4 * ITERATION_COST;

/// Maximum work of a called function between two polls, in instructions. A call covers a SIMD-group in
/// several batches.
pub(crate) const MAX_UNPOLLED_CALL_WORK: u64 = MAX_UNPOLLED_WORK / 16;

/// Maximum number of iterations of a loop that one instruction expands to, without a poll.
pub(crate) const MAX_UNPOLLED_PIECES: u64 = 1 << 10;

/// Maximum alignment, in bytes, that is tracked for the offset of a pointer: the size of the largest scalar.
pub(crate) const MAX_ALIGN: u32 = 8;

//! Limits of the SIMD plan.

/// Maximum size, in instructions, of code that is copied for the case that all lanes are active.
pub const MAX_COPY: usize = 600;

/// Maximum size, in instructions, of a construct that is moved out of its region to run once per threadgroup.
pub const MAX_UNIFORM_CONSTRUCT: usize = 40;

/// Maximum depth, in definitions, of a computation that is repeated rather than stored across a barrier.
pub const MAX_REMAT_DEPTH: u32 = 10;

/// Maximum number of nested loops that weigh an access in the choice of the lanes' order. Each multiplies
/// the weight by 8.
pub const MAX_WEIGHTED_LOOPS: u32 = 3;

/// Maximum distance, in bytes, between the first and the last lane of an access that is loaded or prefetched
/// as one range.
pub const MAX_SPAN: i64 = 1024;

/// Maximum size, in bytes of one thread, of a chunk of a bundle: one vector register or cache line.
pub const MAX_CHUNK_BYTES: i64 = 64;

/// Maximum number of elements of a chunk that is loaded as runs: those of a vector of the language. Larger
/// chunks are transposed.
pub const MAX_RUN_ELEMENTS: usize = 4;

/// Maximum number of components of a lane whose scatter is split.
pub const MAX_SCATTER_COMPONENTS: usize = 8;

/// Maximum number of clamps that are ignored in one index of a stencil.
pub const MAX_CLAMPS: u32 = 4;

/// Maximum number of monomials of a polynomial.
pub const MAX_MONOMIALS: usize = 12;

/// Maximum coefficient of a monomial. Keeps values within 128 bits.
pub const MAX_COEFFICIENT: i64 = 1 << 20;

/// Maximum cost of an arm, in instructions, that runs under its mask without a branch.
pub const MAX_UNBRANCHED_COST: u32 = 14;

/// Maximum size, in instructions, of a loop that is copied for iterations in which all lanes are active.
/// Lower than [`MAX_COPY`], because a loop also contains copies of nested code.
pub const MAX_LOOP_COPY: usize = 300;

/// Maximum size, in instructions, of a loop whose accesses are tested before it, because the loop is copied.
pub const MAX_PREDICATED_LOOP: usize = 160;

/// Minimum trip count, where it is constant, of such a loop. The test takes the time of a few checks.
pub const MIN_PREDICATED_TRIPS: i64 = 4;

/// Maximum scale, in bytes, of a 32-bit index that changes in such a loop. Sums of its multiples stay below
/// 2^64.
pub const MAX_WIDENED_SCALE: u32 = 256;

//! Limits of passes: how much code they copy, clone or speculate, and how often they iterate.
//!
//! Sizes are numbers of instructions unless the sentence names another unit.

// Inlining.

/// Maximum size of a function after inlining. Larger functions are refused.
pub const MAX_INSTRUCTIONS: usize = 500_000;

/// Maximum size of all functions together after inlining. A chain of calls, each inlined into the next, has
/// a total size that is quadratic in its length.
pub(crate) const MAX_TOTAL_INSTRUCTIONS: usize = 4 * MAX_INSTRUCTIONS;

/// Maximum size of a function that is inlined before dead code is removed, because a kernel selects code
/// with its result.
pub(crate) const MAX_SELECTOR_SIZE: usize = 32;

/// Maximum stack size, in bytes per thread, of a function that is not inlined, its callees included.
/// Bounds the stack of nested calls.
pub(crate) const MAX_KEPT_STACK_BYTES: u64 = 3072;

// Unrolling.

/// Maximum size of a completely unrolled loop. Loops that index private arrays reach it, because the arrays
/// become registers.
pub const MAX_UNROLLED_SIZE: usize = 2048;

/// Maximum size of an unrolled loop with matrix products. The products of one block are combined.
pub(crate) const MAX_UNROLLED_PRODUCTS_SIZE: usize = 768;

/// Maximum size of an unrolled loop in which operations of different iterations are combined or fold.
pub(crate) const MAX_FOLDED_UNROLLED_SIZE: usize = 384;

/// Maximum size of an unrolled loop that has no other reason to be unrolled.
pub(crate) const MAX_TINY_UNROLLED_SIZE: usize = 48;

/// Maximum trip count of a short loop: the steps of a tree reduction over 1024 threads.
pub(crate) const MAX_SHORT_TRIPS: usize = 10;

/// Maximum number of instructions that one run of the unroller adds to a function. Nested loops multiply.
pub(crate) const MAX_UNROLL_GROWTH: usize = 16_384;

// Rows in blocks.

/// Maximum number of iterations that load at once. A block of bytes is a vector of the smallest registers.
pub(crate) const MAX_BLOCK_ITERATIONS: u32 = 16;

/// Maximum number of loads of a loop whose rows are loaded in blocks. Each has a private array.
pub(crate) const MAX_BLOCKED_ROWS: usize = 4;

/// Maximum size, in bytes, of an element of a row that is loaded in blocks. Larger elements are a large part
/// of a cache line by themselves.
pub(crate) const MAX_BLOCKED_ELEMENT_BYTES: u32 = 16;

/// Maximum size of a loop that is copied to run in blocks. In larger loops, loads are a small part.
pub(crate) const MAX_BLOCKED_SIZE: usize = 96;

// Versions and branches.

/// Maximum size of the code that `uniform_div_versioning` clones for one test.
pub(crate) const MAX_VERSION_SIZE: usize = 160;

/// Maximum number of instructions that `uniform_div_versioning` adds to a function.
pub(crate) const MAX_VERSION_GROWTH: usize = 512;

/// Maximum number of tests that `uniform_div_versioning` adds to a kernel. A flat index has one quotient per
/// dimension.
pub(crate) const MAX_VERSIONS: usize = 6;

/// Maximum size of a loop that `alias_versioning` clones. The loops that gain are a few instructions around a
/// sum in memory.
pub(crate) const MAX_ALIAS_VERSION_SIZE: usize = 256;

/// Maximum number of instructions that `alias_versioning` adds to a function.
pub(crate) const MAX_ALIAS_VERSION_GROWTH: usize = 1024;

/// Maximum number of pairs of arguments that one version requires to be disjoint.
pub(crate) const MAX_ALIAS_TESTS: usize = 12;

/// Maximum number of operations that both arms of a converted `if` execute speculatively. Bounds the
/// work that is wasted on the arm that is not taken.
pub(crate) const MAX_SPECULATED: usize = 10;

/// Maximum number of results of a converted `if`. Each becomes a select.
pub(crate) const MAX_SPECULATED_RESULTS: usize = 4;

/// Maximum nesting depth of selects that are split into one operation per arm. `n` levels make up to 2^n
/// copies.
pub(crate) const MAX_SPLIT_DEPTH: u32 = 4;

/// Maximum nesting depth at which the rest of a block is moved into a branch. Keeps long chains of guards
/// below [`MAX_NESTING`](anymetal_ir::MAX_NESTING).
pub(crate) const MAX_MOVED_DEPTH: usize = 48;

// Private memory.

/// Maximum size, in bytes, of a copy or zero fill of a local that is split. One load and store per slice.
pub(crate) const MAX_SPLIT_BYTES: u64 = 256;

/// Maximum number of slices of a local that is split. Each slice becomes a variable.
pub(crate) const MAX_SLICES: usize = 64;

/// Maximum number of constructs that write a promoted variable, over all variables. Each may get a parameter
/// and a result; deeply nested constructs that write many variables exceed the limit.
pub(crate) const MAX_WRITES: usize = 1 << 18;

/// Maximum number of rounds of a fixed-point iteration within a pass. Each round after the first follows a
/// value around one more loop or through one more copy.
pub(crate) const MAX_ROUNDS: usize = 12;

// Prefetches.

/// Maximum number of instructions cloned to compute an address ahead of its use.
pub(crate) const MAX_PREFETCH_CLONES: usize = 64;

/// Maximum size, in bytes, of one prefetch: four cache lines from the first thread's address.
pub(crate) const MAX_PREFETCH_BYTES: u32 = 256;

/// Maximum number of loads of an argument that is prefetched outside of loops. More of them read a
/// neighbourhood, which is in the caches.
pub(crate) const MAX_PREFETCHED_LOADS: usize = 2;

/// Maximum number of rows that a loop prefetches. More would occupy all line fill buffers of a core.
pub(crate) const MAX_PREFETCHED_ROWS: usize = 8;

/// Maximum prefetch distance, in iterations.
pub(crate) const MAX_ITERATIONS_AHEAD: i64 = 8;

/// Maximum number of rows of a tile that a threadgroup loads.
pub(crate) const MAX_TILE_ROWS: u64 = 64;

/// Maximum distance between the values of neighbouring lanes that are versioned to share a quotient.
pub(crate) const MAX_LANE_STEP: u32 = 1 << 16;

/// Maximum number of distinct pointers of a loop of which locations are promoted: each location is compared
/// with each pointer.
pub(crate) const MAX_PROMOTED_POINTERS: usize = 64;

/// Maximum number of instructions that compute the address of a promoted location, which are copied.
pub(crate) const MAX_PROMOTED_ADDRESS: usize = 32;

/// Maximum number of walks over a loop that follow loaded values to stores.
pub(crate) const MAX_STORED_VALUE_WALKS: usize = 8;

/// Maximum depth, in definitions, of a number or pointer whose lanes are computed to interleave a sum.
pub(crate) const MAX_FORM_DEPTH: u32 = 32;

/// Maximum number of terms of one sum that is interleaved.
pub(crate) const MAX_INTERLEAVED_TERMS: usize = 128;

/// Maximum depth, in operations, of a term, and of the additions above it.
pub(crate) const MAX_TERM_DEPTH: u32 = 160;

/// Maximum counter, exclusive, of a loop whose sums are interleaved: room to multiply it by the elements of a
/// block in 32 bits. The loop that remains does what is beyond.
pub(crate) const MAX_COUNTER: i64 = 1 << 24;

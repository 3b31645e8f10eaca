//! Limits of code generation for CPUs.

use anymetal_abi::MAX_THREADS_PER_THREADGROUP;

use crate::llvm::LANES;

/// Maximum number of SIMD-groups of a threadgroup.
pub(crate) const MAX_SIMDGROUPS: u64 = MAX_THREADS_PER_THREADGROUP as u64 / LANES as u64;

// Code size.

/// Maximum size, in instructions, of a region that is copied for the case that no lane has returned. Lower
/// than [`MAX_COPY`], because a region also contains copies of nested code.
pub(crate) const MAX_REGION_COPY: usize = 400;

/// Maximum size, in instructions, of a function that gets a version per kind of threadgroup. Above it, the
/// compile time of LLVM dominates.
pub(crate) const MAX_VERSIONED_SIZE: usize = 100_000;

/// Maximum size, in bytes of text, that inlining adds to a module: 300 gathers or 1000 exponential functions,
/// more than kernels contain whose run time depends on a call.
pub(crate) const MAX_INLINED_BYTES: usize = 2 << 20;

/// Maximum number of pieces of a copy or clear that is written without a loop.
pub(crate) const MAX_PIECES: i64 = 64;

/// Maximum number of pieces of a copy without a loop where lanes have different addresses in shared memory.
/// Each piece is a gather or scatter with checks, tens of kilobytes of text.
pub(crate) const MAX_VARYING_PIECES: i64 = 8;

/// Maximum number of pieces of a copy without a loop on the path that is taken when a lane is out of bounds.
pub(crate) const MAX_FALLBACK_PIECES: i64 = 1;

// Costs.

/// Maximum number of operations between a varying value and the cause that a remark names. Longer chains are
/// reported as a long computation.
pub(crate) const MAX_CAUSE_DISTANCE: usize = 64;

// Accesses of memory.
/// Maximum number of vectors that are loaded lane by lane before a group of loads ends.
pub(crate) const MAX_GATHERED_TOGETHER: u32 = 4;

// Polynomials over launch-time values.

// Matrices.

/// Maximum size, in bytes, of the range of operands that a panel product uses in place. Operands further
/// apart are copied.
pub(crate) const MAX_PANEL_EXTENT: i64 = 1 << 14;

/// Maximum number of products that are deferred together. Memory for their operands is on the stack.
pub(crate) const MAX_DEFERRED_PRODUCTS: usize = 128;

// Memory.

/// Maximum size, in bytes, of a private array on the stack. Larger arrays are in the worker's scratch memory.
pub(crate) const MAX_STACK_ARRAY_BYTES: u64 = 32 * 1024;

/// Maximum size, in bytes, of static threadgroup variables.
pub(crate) const MAX_THREADGROUP_BYTES: u64 = 1 << 20;

/// Maximum size, in bytes, of one thread's variables.
pub(crate) const MAX_PRIVATE_BYTES: u64 = 1 << 18;

/// Maximum iterations of a loop whose accesses are tested before it, and bytes from one iteration to the
/// next; exclusive. Their product stays below 2^62.
pub(crate) const MAX_DISTANCE: i64 = 1 << 31;

/// Maximum first value of such a loop's 64-bit counter, exclusive. It does not wrap in [`MAX_DISTANCE`]
/// iterations.
pub(crate) const MAX_WIDE_COUNTER: i64 = 1 << 62;

//! Limits of code generation for NVIDIA GPUs.

/// Maximum size, in bytes, of one thread's variables: CUDA's limit of local memory.
pub(crate) const MAX_PRIVATE_BYTES: u64 = 512 << 10;

/// Maximum size, in bytes, of static threadgroup memory that the assembler accepts.
pub(crate) const MAX_STATIC_THREADGROUP_BYTES: u64 = 48 << 10;

/// Maximum size, in bytes, of dynamic threadgroup memory: more than any GPU has for a threadgroup.
pub(crate) const MAX_THREADGROUP_BYTES: u64 = 1 << 18;

/// Maximum size, in bytes, of an argument that is passed by value.
pub(crate) const MAX_BY_VALUE_BYTES: u64 = 256;

/// Maximum size, in bytes, of all arguments that are passed by value. CUDA has 4 KiB for all parameters.
pub(crate) const MAX_BY_VALUE_TOTAL_BYTES: u64 = 1024;

/// Maximum alignment that is tracked, as a power of two: 2^8 bytes, the alignment of allocations.
pub(crate) const MAX_ALIGN_BITS: u32 = 8;

/// Maximum size, in instructions, of a body that is written in two versions.
pub(crate) const MAX_VERSIONED_SIZE: usize = 1000;

/// Maximum number of definitions that the bounds of an access outside of loops depend on, on average, for the
/// bounds to cost less than the check of the access.
pub(crate) const MAX_BOUND_DEFINITIONS: u32 = 2;

/// Maximum constant stride of a matrix, in elements, for which bounds are computed. Larger strides
/// count as unknown.
pub(crate) const MAX_MATRIX_STRIDE: u64 = 1 << 20;

/// Maximum number of iterations of a counted loop between two polls.
pub(crate) const MAX_COUNTED_ITERATIONS: u64 = 256;

/// Maximum number of iterations of any other loop between two polls, a power of two.
pub(crate) const MAX_UNCOUNTED_ITERATIONS: u64 = 1024;

/// Maximum size, in instructions, of a loop of which several iterations are written in sequence.
pub(crate) const MAX_REPEATED_SIZE: usize = 64;

/// Maximum scale of an index whose bounds are computed at run time, so that the offsets fit into 64 bits.
pub(crate) const MAX_BOUNDED_SCALE: u32 = 1 << 16;

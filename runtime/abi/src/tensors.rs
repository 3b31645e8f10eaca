//! Tensors that the host binds, as kernels see them.
//!
//! A tensor argument is two buffers: its elements, at Metal's index, and its shape
//! ([`TensorShape`](crate::textures::BindingRole::TensorShape)): the extent of each dimension, then the
//! stride of each in elements, 64 bits for each. The first dimension is the fastest, as in Metal.

/// Maximum number of dimensions, Metal's.
pub const MAX_RANK: usize = 16;

/// The last index that a tensor's elements can be bound at.
pub const MAX_TENSOR_INDEX: u32 = 30;

/// Bytes of the shape of a tensor of so many dimensions.
pub const fn shape_bytes(rank: usize) -> usize {
    16 * rank
}

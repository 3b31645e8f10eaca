//! What stands for a texture or a sampler in memory that kernels read.

use bytemuck::{Pod, Zeroable};

use super::SamplerDescriptor;

/// Metal's `MTLResourceID`: the eight bytes that are a texture or a sampler in structures that kernels read
/// (argument buffers). The default is no texture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Pod, Zeroable)]
#[repr(transparent)]
pub struct GpuResourceId(u64);

impl GpuResourceId {
    /// Of a texture without texels: `is_null_texture` holds, what is read are zeros, writes are dropped.
    pub const NULL_TEXTURE: Self = GpuResourceId(0);

    /// Of the texture whose description is at that address.
    pub const fn of_description(address: u64) -> Self {
        GpuResourceId(address)
    }

    /// The eight bytes as a number.
    pub const fn bits(self) -> u64 {
        self.0
    }
}

impl SamplerDescriptor {
    /// What the sampler is where kernels declare a `sampler` as a member of a structure. It is the sampler's
    /// whole state, so that nothing has to be kept alive for it.
    pub fn gpu_resource_id(&self) -> GpuResourceId {
        GpuResourceId(self.state().bits())
    }
}

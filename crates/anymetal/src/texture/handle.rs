//! Handles of textures and samplers: what a `texture2d` or a `sampler` is in structures that kernels read.
//!
//! Invariant: the bytes of a handle are those of the Metal library's classes, and a texture's description
//! stays where its handle says while a clone of the texture lives.

use anymetal_hal::texture::SamplerDescriptor;

use super::Texture;
use crate::buffer::{Buffer, Region};
use crate::device::Device;
use crate::error::Error;

/// A texture in memory that kernels read: the addresses of its texels and of its description, and its format.
pub type TextureHandle = [u64; 3];

/// A sampler in memory that kernels read: its state.
pub type SamplerHandle = [u32; 3];

impl Texture {
    /// What the texture is in a structure that kernels read, where they declare a `texture2d` or one of its
    /// kin as a member; 24 bytes. A kernel that uses it needs [`Texture::resources`] to be named with
    /// [`crate::ComputeEncoder::use_resources`].
    ///
    /// ```
    /// # fn main() -> Result<(), anymetal::Error> {
    /// use anymetal::{Device, PixelFormat, ResourceUsage, TextureDescriptor};
    ///
    /// let device = Device::system_default()?;
    /// let library = device.library_from_source(
    ///     "#include <metal_stdlib>
    ///      using namespace metal;
    ///      struct Layer { texture2d<float> picture; };
    ///      kernel void sum(constant Layer* layers, device float* out, uint i [[thread_position_in_grid]]) {
    ///          out[i] = layers[0].picture.read(uint2(i, 0)).r + layers[1].picture.read(uint2(i, 0)).r;
    ///      }",
    /// )?;
    /// let shape = TextureDescriptor::plane(PixelFormat::R32Float, 2, 1);
    /// let layers = [device.texture(&shape)?, device.texture(&shape)?];
    /// layers[0].write(&[1.0f32, 2.0])?;
    /// layers[1].write(&[10.0f32, 20.0])?;
    /// let handles = device.buffer(&[layers[0].handle(&device)?, layers[1].handle(&device)?])?;
    /// let (queue, out) = (device.queue()?, device.buffer_zeroed::<f32>(2)?);
    /// let sum = library.pipeline("sum")?;
    /// let mut launch = queue.launch(&sum).arg(&handles).arg(&out).threads(2);
    /// for layer in &layers {
    ///     launch = launch.use_resources(layer.resources(), ResourceUsage::Read);
    /// }
    /// launch.submit()?.wait()?;
    /// assert_eq!(out.read()?, [11.0, 22.0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Those of [`Buffer::gpu_address`], of a device whose kernels cannot follow addresses.
    pub fn handle(&self, device: &Device) -> Result<TextureHandle, Error> {
        let texels = self.storage.view(self.start..self.start)?.gpu_address()?;
        let description = self.description();
        let described = match self.described.get() {
            Some(described) => described,
            None => {
                let made = device.buffer_with(&description.to_bytes(), "description of a texture")?;
                self.described.get_or_init(|| made)
            }
        };
        Ok([texels, described.gpu_address()?, description.format.bits()])
    }

    /// The memory that a kernel reaches through the texture's handle: its texels, and its description once it
    /// has a handle.
    pub fn resources(&self) -> Vec<Region> {
        let described = self.described.get().map(Buffer::region);
        [Some(self.region.clone()), described].into_iter().flatten().collect()
    }
}

/// What a sampler is in a structure that kernels read, where they declare a `sampler` as a member; 12 bytes.
pub fn sampler_handle(sampler: &SamplerDescriptor) -> SamplerHandle {
    let state = sampler.state();
    [state.word, state.lod[0].to_bits(), state.lod[1].to_bits()]
}

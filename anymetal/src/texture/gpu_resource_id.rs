//! Textures in structures that kernels read: by the address of their description.
//!
//! Owns [`Descriptions`]. Invariant: a texture's description stays where its resource id says while a clone
//! of the texture lives, and is reachable for kernels wherever the texture, or one that it shares texels
//! with, is.

use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use anymetal_types::texture::GpuResourceId;

use super::Texture;
use crate::buffer::{Buffer, BufferSlice};
use crate::buffer_descriptor::BufferDescriptor;
use crate::device::Device;
use crate::error::Error;

/// The description of a texture in memory, once it has a resource id.
pub(super) type Described = OnceLock<Buffer<u8>>;

/// The descriptions of a texture and of all views of it.
#[derive(Debug, Default)]
pub(crate) struct Descriptions(Mutex<Vec<Weak<Described>>>);

impl Descriptions {
    fn add(&self, described: &Arc<Described>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|known| known.strong_count() > 0);
        all.push(Arc::downgrade(described));
    }

    /// The memory of those that there are.
    pub(crate) fn regions(&self) -> Vec<BufferSlice> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let region = |described: Arc<Described>| described.get().map(Buffer::region);
        all.iter().filter_map(Weak::upgrade).filter_map(region).collect()
    }
}

impl Texture {
    /// What the texture is where kernels declare a `texture2d` or one of its kin as a member of a structure:
    /// the address of its description, which is made in that device's memory. A kernel that uses it needs
    /// [`Texture::resources`] to be named with [`crate::ComputeEncoder::use_resources`].
    ///
    /// ```
    /// # fn main() -> Result<(), anymetal::Error> {
    /// use anymetal::command::ResourceUsage;
    /// use anymetal::{Device, PixelFormat, TextureDescriptor};
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
    /// let ids = device.buffer(&[layers[0].gpu_resource_id(&device)?, layers[1].gpu_resource_id(&device)?])?;
    /// let (queue, out) = (device.queue()?, device.buffer_zeroed::<f32>(2)?);
    /// let sum = library.pipeline("sum")?;
    /// let mut launch = queue.launch(&sum).arg(&ids).arg(&out).threads(2);
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
    pub fn gpu_resource_id(&self, device: &Device) -> Result<GpuResourceId, Error> {
        if let Some(described) = self.described.get() {
            return Ok(GpuResourceId::of_description(described.gpu_address()?));
        }
        let mut description = self.description();
        let (_, first) = self.place(0, 0)?;
        description.texels = self.storage.view(first..first)?.gpu_address()?;
        let bytes = description.to_bytes();
        let made = device.create_buffer(&BufferDescriptor::new(&bytes).label("description of a texture"))?;
        let described = self.described.get_or_init(|| {
            self.descriptions.add(&self.described);
            made
        });
        Ok(GpuResourceId::of_description(described.gpu_address()?))
    }

    /// The memory that a kernel reaches through the texture's resource id: its texels, and its description
    /// and those of its views once they have an id.
    pub fn resources(&self) -> Vec<BufferSlice> {
        let mut regions = self.descriptions.regions();
        regions.push(self.region.clone());
        regions
    }
}

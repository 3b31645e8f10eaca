//! Mip levels made from the largest one: by kernels, each level from the one before.

use anymetal_types::texture::{ChannelKind, Filter, SamplerDescriptor, TextureError, TextureKind};

use super::Texture;
use crate::command_buffer::CommandBuffer;
use crate::device::Device;
use crate::error::Error;
use crate::pipeline::Pipeline;
use crate::queue::Queue;
use crate::submission::Submission;

/// A texel of a level is the mean of those that it stands for, which linear filters give.
const SOURCE: &str = r"
#include <metal_stdlib>
using namespace metal;

kernel void shrink_plane(texture2d<float> from [[texture(0)]], texture2d<float, access::write> to [[texture(1)]],
                         sampler s [[sampler(0)]], uint2 at [[thread_position_in_grid]]) {
    to.write(from.sample(s, (float2(at) + 0.5f) / float2(to.get_width(), to.get_height())), at);
}
kernel void shrink_volume(texture3d<float> from [[texture(0)]], texture3d<float, access::write> to [[texture(1)]],
                          sampler s [[sampler(0)]], uint3 at [[thread_position_in_grid]]) {
    float3 size = float3(to.get_width(), to.get_height(), to.get_depth());
    to.write(from.sample(s, (float3(at) + 0.5f) / size), at);
}
";

/// The kernel that makes a level from the one before, and each level with its source.
struct Shrinking {
    shrink: Pipeline,
    levels: Vec<(Texture, Texture)>,
}

impl Texture {
    /// Makes all levels but the first one, in order with the queue's work. `None` if there are no others.
    ///
    /// # Errors
    /// [`Error::Texture`] for formats of integers, which have no mean.
    pub fn generate_mipmaps(&self, queue: &Queue) -> Result<Option<Submission>, Error> {
        let Shrinking { shrink, levels } = self.shrinking(queue.device())?;
        let linear = linear();
        let mut last = None;
        for (from, to) in &levels {
            let launch = queue.launch(&shrink).texture(0, from).texture(1, to).sampler(0, &linear);
            last = Some(launch.threads(to.descriptor.extent(0)).submit()?);
        }
        Ok(last)
    }

    fn shrinking(&self, device: &Device) -> Result<Shrinking, Error> {
        if matches!(self.descriptor.format.kind(), ChannelKind::Uint | ChannelKind::Sint) {
            return Err(TextureError::NotFilterable { format: self.descriptor.format }.into());
        }
        let library = device.library_from_source(SOURCE)?;
        let is_volume = self.descriptor.kind == TextureKind::D3;
        let shrink = library.pipeline(if is_volume { "shrink_volume" } else { "shrink_plane" })?;
        let mut levels = Vec::new();
        for level in 1..self.descriptor.levels {
            for slice in 0..self.descriptor.slices() {
                levels.push((self.slice_of_level(level - 1, slice)?, self.slice_of_level(level, slice)?));
            }
        }
        Ok(Shrinking { shrink, levels })
    }
}

impl CommandBuffer {
    /// As [`Texture::generate_mipmaps`], in order with the commands of the buffer. The device is the
    /// texture's.
    pub fn generate_mipmaps(&mut self, device: &Device, texture: &Texture) -> Result<(), Error> {
        let Shrinking { shrink, levels } = texture.shrinking(device)?;
        let linear = linear();
        for (from, to) in &levels {
            let mut encoder = self.compute_encoder();
            encoder.set_pipeline(&shrink);
            encoder.set_texture(0, from);
            encoder.set_texture(1, to);
            encoder.set_sampler(0, &linear);
            let threads = to.descriptor.extent(0);
            encoder.dispatch_threads(threads, shrink.signature().group_size_for(threads, 3))?;
        }
        Ok(())
    }
}

fn linear() -> SamplerDescriptor {
    SamplerDescriptor::default().with_filter(Filter::Linear)
}

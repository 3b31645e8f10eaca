//! Clearing a slice of a level to one colour: by kernels, which convert the colour to the format.

use anymetal_types::texture::{ChannelKind, TextureError, TextureKind};

use super::Texture;
use crate::command_buffer::CommandBuffer;
use crate::device::Device;
use crate::error::Error;

const SOURCE: &str = r"
#include <metal_stdlib>
using namespace metal;

#define CLEAR(name, type) \
kernel void clear_plane_##name(texture2d<type, access::write> to [[texture(0)]], constant vec<type, 4>& color [[buffer(0)]], \
                               uint2 at [[thread_position_in_grid]]) { to.write(color, at); } \
kernel void clear_volume_##name(texture3d<type, access::write> to [[texture(0)]], constant vec<type, 4>& color [[buffer(0)]], \
                                constant uint& plane [[buffer(1)]], uint2 at [[thread_position_in_grid]]) { \
    to.write(color, uint3(at, plane)); }

CLEAR(float, float)
CLEAR(int, int)
CLEAR(uint, uint)
";

impl CommandBuffer {
    /// Sets all texels of a slice of a level to a colour, in order with the commands of the buffer; of a
    /// volume, those of the plane `plane`. Values are converted as Metal's clear colours are: to the
    /// nearest value of normalized formats, and towards zero for formats of integers. The device is the
    /// texture's.
    pub fn clear_texture(
        &mut self,
        device: &Device,
        texture: &Texture,
        [level, slice, plane]: [u32; 3],
        color: [f64; 4],
    ) -> Result<(), Error> {
        if level >= texture.descriptor.levels || slice >= texture.descriptor.slices() {
            return Err(TextureError::NoSuchPlace { level, slice }.into());
        }
        let is_volume = texture.descriptor.kind == TextureKind::D3;
        let to = texture.slice_of_level(level, slice)?;
        let extent = to.descriptor.extent(0);
        let size = [extent[0], extent[1], 1];
        if plane >= extent[2] {
            return Err(TextureError::PartOutside { origin: [0, 0, plane], size, level, extent }.into());
        }
        let shape = if is_volume { "volume" } else { "plane" };
        let component = match to.descriptor.format.kind() {
            ChannelKind::Uint => "uint",
            ChannelKind::Sint => "int",
            _ => "float",
        };
        let library = device.library_from_source(SOURCE)?;
        let clear = library.pipeline(format!("clear_{shape}_{component}"))?;
        let mut encoder = self.compute_encoder();
        encoder.set_pipeline(&clear);
        encoder.set_texture(0, &to);
        match component {
            "uint" => encoder.set_bytes(0, &color.map(|value| value as u32)),
            "int" => encoder.set_bytes(0, &color.map(|value| value as i32)),
            _ => encoder.set_bytes(0, &color.map(|value| value as f32)),
        }
        if is_volume {
            encoder.set_bytes(1, &plane);
        }
        encoder.dispatch_threads(size, clear.signature().group_size_for(size, 2))
    }
}

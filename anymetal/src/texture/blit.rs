//! Copies between buffers and textures, as commands in order with a queue's work.

use bytemuck::Pod;

use super::Texture;
use super::part::{Pitch, TexturePart};
use crate::buffer::{BufferSlice, BufferView};
use crate::command_buffer::BlitEncoder;
use crate::error::Error;

impl BlitEncoder<'_> {
    /// Copies a view's bytes, rows of `row_bytes` each, to a slice of a level of a texture.
    pub fn copy_to_texture<T: Pod>(
        &mut self,
        source: &BufferView<T>,
        row_bytes: u64,
        texture: &Texture,
        level: u32,
        slice: u32,
    ) -> Result<(), Error> {
        let (part, pitch) = texture.whole_slice(row_bytes, level, slice);
        self.copy_to_texture_part(&source.region(), pitch, texture, &part)
    }

    /// Copies a slice of a level of a texture to a view's bytes, rows of `row_bytes` each.
    pub fn copy_from_texture<T: Pod>(
        &mut self,
        texture: &Texture,
        level: u32,
        slice: u32,
        destination: &BufferView<T>,
        row_bytes: u64,
    ) -> Result<(), Error> {
        let (part, pitch) = texture.whole_slice(row_bytes, level, slice);
        self.copy_from_texture_part(texture, &part, &destination.region(), pitch)
    }

    /// Copies rows of a region to a box of texels.
    pub fn copy_to_texture_part(
        &mut self,
        source: &BufferSlice,
        pitch: Pitch,
        texture: &Texture,
        part: &TexturePart,
    ) -> Result<(), Error> {
        let texels = texture.storage.region();
        for run in texture.runs(part, pitch, source.length())? {
            let from = source.slice(run.other..run.other + run.bytes)?;
            self.copy_region(&from, &texels.slice(run.texels..run.texels + run.bytes)?)?;
        }
        Ok(())
    }

    /// Copies a box of texels to rows of a region.
    pub fn copy_from_texture_part(
        &mut self,
        texture: &Texture,
        part: &TexturePart,
        destination: &BufferSlice,
        pitch: Pitch,
    ) -> Result<(), Error> {
        let texels = texture.storage.region();
        for run in texture.runs(part, pitch, destination.length())? {
            let to = destination.slice(run.other..run.other + run.bytes)?;
            self.copy_region(&texels.slice(run.texels..run.texels + run.bytes)?, &to)?;
        }
        Ok(())
    }

    /// Copies a box of texels to another texture, whose texels have as many bytes.
    pub fn copy_texture_part(
        &mut self,
        source: &Texture,
        part: &TexturePart,
        destination: &Texture,
        slice: u32,
        level: u32,
        origin: [u32; 3],
    ) -> Result<(), Error> {
        let to_part = TexturePart { level, slice, origin, size: part.size };
        let (from, to) = (source.storage.region(), destination.storage.region());
        for run in source.runs_beside(part, destination, &to_part)? {
            let from = from.slice(run.texels..run.texels + run.bytes)?;
            self.copy_region(&from, &to.slice(run.other..run.other + run.bytes)?)?;
        }
        Ok(())
    }
}

impl Texture {
    /// A slice, or a plane of depth, in rows of that many bytes.
    fn whole_slice(&self, row_bytes: u64, level: u32, slice: u32) -> (TexturePart, Pitch) {
        let [width, height, depth] = self.descriptor.extent(level);
        let (slice, z) = if depth > 1 { (0, slice) } else { (slice, 0) };
        let part = TexturePart { level, slice, origin: [0, 0, z], size: [width, height, 1] };
        (part, Pitch { row_bytes, plane_bytes: 0 })
    }
}

//! Copies between buffers and textures, as commands in order with a queue's work.

use bytemuck::Pod;

use super::Texture;
use crate::buffer::{BufferView, Region};
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
        for (of_buffer, of_texture) in texture.rows(&source.region(), row_bytes, level, slice)? {
            self.copy_region(&of_buffer, &of_texture)?;
        }
        Ok(())
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
        for (of_buffer, of_texture) in texture.rows(&destination.region(), row_bytes, level, slice)? {
            self.copy_region(&of_texture, &of_buffer)?;
        }
        Ok(())
    }
}

impl Texture {
    /// The ranges to copy between a buffer and a slice: one if their rows are alike, otherwise one for each
    /// row.
    fn rows(
        &self,
        buffer: &Region,
        row_bytes: u64,
        level: u32,
        slice: u32,
    ) -> Result<Vec<(Region, Region)>, Error> {
        let (place, offset) = self.place(level, slice)?;
        let height = u64::from(place.extent[1]);
        let whole = self.storage.region();
        let pair = |from: u64, at: u64, bytes: u64| -> Result<_, Error> {
            Ok((buffer.slice(from..from + bytes)?, whole.slice(at..at + bytes)?))
        };
        let at = offset as u64;
        if row_bytes == place.row_bytes {
            let bytes = row_bytes * (height - 1) + place.packed_row_bytes;
            return Ok(vec![pair(0, at, bytes)?]);
        }
        (0..height).map(|y| pair(y * row_bytes, at + y * place.row_bytes, place.packed_row_bytes)).collect()
    }
}

//! Boxes of texels: which bytes they are, and the host's reads and writes of them.
//!
//! Owns [`TexturePart`] and [`Pitch`]. Invariant: of memory that is written, only the texels of the box
//! change, never what lies between rows.

use anymetal_types::texture::TextureError;

use super::Texture;
use crate::error::Error;

/// A box of texels of one level: within a slice, or over planes of depth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TexturePart {
    /// The level.
    pub level: u32,
    /// The element of an array or face of a cube; 0 for textures with depth.
    pub slice: u32,
    /// The first texel along x, y and z.
    pub origin: [u32; 3],
    /// Texels along x, y and z.
    pub size: [u32; 3],
}

/// How rows of texels lie in memory that is no texture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pitch {
    /// Bytes from a row to the next.
    pub row_bytes: u64,
    /// Bytes from a plane of depth to the next.
    pub plane_bytes: u64,
}

/// Bytes to copy from one place to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    /// The first byte in the texture's buffer.
    pub(super) texels: u64,
    /// The first byte in the other memory.
    pub(super) other: u64,
    /// How many.
    pub(super) bytes: u64,
}

impl Pitch {
    /// Where each row of a box begins, plane after plane.
    fn starts(self, size: [u32; 3]) -> impl Iterator<Item = u64> {
        let [_, height, depth] = size.map(u64::from);
        let at = move |y: u64, z: u64| {
            let plane = z.saturating_mul(self.plane_bytes);
            plane.saturating_add(y.saturating_mul(self.row_bytes))
        };
        (0..depth).flat_map(move |z| (0..height).map(move |y| at(y, z)))
    }
}

impl Texture {
    /// All texels of a slice of a level, all planes of depth.
    pub fn part(&self, level: u32, slice: u32) -> TexturePart {
        TexturePart { level, slice, origin: [0; 3], size: self.descriptor.extent(level) }
    }

    /// Overwrites a box of texels with rows of `bytes`, once submitted work is done with the texture.
    pub fn write_part(&self, part: &TexturePart, bytes: &[u8], pitch: Pitch) -> Result<(), Error> {
        for run in self.runs(part, pitch, bytes.len() as u64)? {
            let from = run.other as usize..(run.other + run.bytes) as usize;
            self.storage.write_at(run.texels as usize, &bytes[from])?;
        }
        Ok(())
    }

    /// Copies a box of texels to rows of `bytes`, once submitted work is done with the texture.
    pub fn read_part(&self, part: &TexturePart, bytes: &mut [u8], pitch: Pitch) -> Result<(), Error> {
        for run in self.runs(part, pitch, bytes.len() as u64)? {
            let to = run.other as usize..(run.other + run.bytes) as usize;
            self.storage.read_into(run.texels as usize, &mut bytes[to])?;
        }
        Ok(())
    }

    /// The bytes of a box in rows of that pitch, of memory of `length` bytes.
    pub(super) fn runs(&self, part: &TexturePart, pitch: Pitch, length: u64) -> Result<Vec<Run>, Error> {
        let (rows, bytes) = self.rows(part)?;
        let needs = pitch.starts(part.size).max().map_or(0, |last| last.saturating_add(bytes));
        if needs > length {
            return Err(TextureError::TooShort { needs, got: length }.into());
        }
        Ok(joined(rows.into_iter().zip(pitch.starts(part.size)), bytes))
    }

    /// The bytes of a box beside those of a box of another texture, as large and with texels of that size.
    pub(super) fn runs_beside(
        &self,
        part: &TexturePart,
        other: &Texture,
        other_part: &TexturePart,
    ) -> Result<Vec<Run>, Error> {
        let (from, to) = (self.descriptor.format, other.descriptor.format);
        if from.texel_bytes() != to.texel_bytes() {
            return Err(TextureError::ViewFormat { from, to }.into());
        }
        let ((rows, bytes), (other_rows, _)) = (self.rows(part)?, other.rows(other_part)?);
        Ok(joined(rows.into_iter().zip(other_rows), bytes))
    }

    /// Where each row of a box begins in the buffer, and a row's bytes.
    fn rows(&self, part: &TexturePart) -> Result<(Vec<u64>, u64), Error> {
        let TexturePart { level, slice, origin, size } = *part;
        let extent = self.descriptor.extent(level);
        let is_within = |n: usize| origin[n].checked_add(size[n]).is_some_and(|end| end <= extent[n]);
        if level >= self.descriptor.levels || slice >= self.descriptor.slices() {
            return Err(TextureError::NoSuchPlace { level, slice }.into());
        }
        if !(0..3).all(is_within) {
            return Err(TextureError::PartOutside { origin, size, level, extent }.into());
        }
        let texel_bytes = u64::from(self.descriptor.format.texel_bytes());
        let mut rows = Vec::new();
        for z in 0..size[2] {
            let (place, offset) = self.place(level, slice + origin[2] + z)?;
            let first = offset as u64 + u64::from(origin[0]) * texel_bytes;
            let ys = origin[1]..origin[1] + size[1];
            rows.extend(ys.map(|y| first + u64::from(y) * place.row_bytes));
        }
        Ok((rows, u64::from(size[0]) * texel_bytes))
    }
}

/// Pairs of rows of so many bytes; those that follow one another on both sides become one run.
fn joined(rows: impl Iterator<Item = (u64, u64)>, bytes: u64) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for (texels, other) in rows {
        match runs.last_mut() {
            Some(run) if run.texels + run.bytes == texels && run.other + run.bytes == other => {
                run.bytes += bytes;
            }
            _ => runs.push(Run { texels, other, bytes }),
        }
    }
    runs.retain(|run| run.bytes > 0);
    runs
}

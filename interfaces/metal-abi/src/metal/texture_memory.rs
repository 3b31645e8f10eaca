//! Texels in memory of the program: where rows are, and the host's copies from and to textures.

use anymetal::PixelFormat;
use anymetal::texture::{Pitch, TexturePart};

use super::resource_options::PRIVATE;
use super::size::{Origin, Size, TextureRegion};
use super::texture::Texture;
use super::violation;
use crate::arguments::Bytes;

/// A box of texels of a texture, for a method that takes it.
pub(crate) fn part(method: &str, level: usize, slice: usize, origin: Origin, size: Size) -> TexturePart {
    let number = |value: usize| {
        u32::try_from(value)
            .unwrap_or_else(|_| violation(method, format_args!("{value} is beyond every texture")))
    };
    TexturePart {
        level: number(level),
        slice: number(slice),
        origin: [origin.x, origin.y, origin.z].map(number),
        size: size.extents().map(number),
    }
}

/// Rows of texels in memory: from row to row, from plane to plane, and bytes in all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rows {
    pub(crate) pitch: Pitch,
    pub(crate) bytes: usize,
}

impl Rows {
    /// Those of a box, for a method that takes the distances; a distance of 0 is that of rows without gaps.
    pub(crate) fn of(
        method: &str,
        format: PixelFormat,
        size: [u32; 3],
        row_bytes: usize,
        plane_bytes: usize,
    ) -> Rows {
        let [width, height, depth] = size.map(u64::from);
        let texels = width * u64::from(format.texel_bytes());
        let row_bytes = if row_bytes == 0 { texels } else { row_bytes as u64 };
        if height > 1 && row_bytes < texels {
            violation(method, format_args!("rows of {texels} bytes do not fit {row_bytes} bytes per row"));
        }
        let plane = row_bytes.saturating_mul(height);
        let plane_bytes = if plane_bytes == 0 { plane } else { plane_bytes as u64 };
        if depth > 1 && plane_bytes < plane {
            let rule = format_args!("images of {plane} bytes do not fit {plane_bytes} bytes per image");
            violation(method, rule);
        }
        let pitch = Pitch { row_bytes, plane_bytes };
        if size.contains(&0) {
            return Rows { pitch, bytes: 0 };
        }
        let last =
            (depth - 1).saturating_mul(plane_bytes).saturating_add((height - 1).saturating_mul(row_bytes));
        let bytes = usize::try_from(last.saturating_add(texels)).unwrap_or(usize::MAX);
        if isize::try_from(bytes).is_err() {
            violation(method, "the rows are longer than memory");
        }
        Rows { pitch, bytes }
    }
}

/// Where the program's texels are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(crate) region: TextureRegion,
    pub(crate) level: usize,
    pub(crate) slice: usize,
    pub(crate) row_bytes: usize,
    pub(crate) plane_bytes: usize,
}

impl Texture {
    /// Copies rows of the program to texels.
    pub(crate) fn replace(&self, method: &str, place: Place, bytes: &Bytes) {
        let (part, rows) = self.host_rows(method, place, bytes);
        let done = self.ivars().memory.write_part(&part, bytes.read(rows.bytes), rows.pitch);
        done.unwrap_or_else(|error| violation(method, error));
    }

    /// Copies texels to rows of the program.
    pub(crate) fn get(&self, method: &str, place: Place, bytes: &Bytes) {
        let (part, rows) = self.host_rows(method, place, bytes);
        // SAFETY: the sender lends the method the bytes of the rows. Bytes between rows are not written; a
        // program may leave them unset, which does no harm to bytes.
        let bytes = unsafe { std::slice::from_raw_parts_mut(bytes.at_least(rows.bytes), rows.bytes) };
        let done = self.ivars().memory.read_part(&part, bytes, rows.pitch);
        done.unwrap_or_else(|error| violation(method, error));
    }

    fn host_rows(&self, method: &str, place: Place, bytes: &Bytes) -> (TexturePart, Rows) {
        bytes.require();
        if self.ivars().options.storage_mode() >= PRIVATE {
            violation(method, "the host has no access to a texture with private storage");
        }
        let Place { region, level, slice, row_bytes, plane_bytes } = place;
        let part = part(method, level, slice, region.origin, region.size);
        let format = self.ivars().memory.descriptor().format;
        (part, Rows::of(method, format, part.size, row_bytes, plane_bytes))
    }
}

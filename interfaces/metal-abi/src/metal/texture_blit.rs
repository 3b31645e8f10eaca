//! The blit encoder's copies from and to textures.

use anymetal::texture::TexturePart;

use super::buffer::Buffer;
use super::commands::Commands;
use super::size::{Origin, Size};
use super::texture::Texture;
use super::texture_memory::{Rows, part};
use super::violation;

/// Rows in a buffer.
#[derive(Debug)]
pub(crate) struct InBuffer<'a> {
    pub(crate) buffer: &'a Buffer,
    pub(crate) offset: usize,
    pub(crate) row_bytes: usize,
    pub(crate) plane_bytes: usize,
}

/// A place in a texture.
#[derive(Debug)]
pub(crate) struct InTexture<'a> {
    pub(crate) texture: &'a Texture,
    pub(crate) slice: usize,
    pub(crate) level: usize,
    pub(crate) origin: Origin,
}

/// Levels and slices of a texture.
#[derive(Debug)]
pub(crate) struct Levels<'a> {
    pub(crate) texture: &'a Texture,
    pub(crate) slice: usize,
    pub(crate) level: usize,
}

impl InTexture<'_> {
    fn part(&self, method: &str, size: Size) -> TexturePart {
        part(method, self.level, self.slice, self.origin, size)
    }
}

impl InBuffer<'_> {
    fn rows(&self, method: &str, texture: &Texture, size: [u32; 3]) -> Rows {
        Rows::of(method, texture.shape().format, size, self.row_bytes, self.plane_bytes)
    }
}

/// Copies rows to texels, for a method that encodes it.
pub(crate) fn to_texture(
    commands: &Commands,
    method: &str,
    from: &InBuffer<'_>,
    size: Size,
    to: &InTexture<'_>,
) {
    let part = to.part(method, size);
    let rows = from.rows(method, to.texture, part.size);
    let source = from.buffer.part(method, from.offset, rows.bytes);
    let texture = &to.texture.ivars().memory;
    commands.encode(method, |commands| {
        commands.blit_encoder().copy_to_texture_part(&source, rows.pitch, texture, &part)
    });
}

/// Copies texels to rows, for a method that encodes it.
pub(crate) fn from_texture(
    commands: &Commands,
    method: &str,
    from: &InTexture<'_>,
    size: Size,
    to: &InBuffer<'_>,
) {
    let part = from.part(method, size);
    let rows = to.rows(method, from.texture, part.size);
    let destination = to.buffer.part(method, to.offset, rows.bytes);
    let texture = &from.texture.ivars().memory;
    commands.encode(method, |commands| {
        commands.blit_encoder().copy_from_texture_part(texture, &part, &destination, rows.pitch)
    });
}

/// Copies texels to another texture, for a method that encodes it.
pub(crate) fn between(
    commands: &Commands,
    method: &str,
    from: &InTexture<'_>,
    size: Size,
    to: &InTexture<'_>,
) {
    let (source, destination) = (from.part(method, size), to.part(method, size));
    let (from, to) = (&from.texture.ivars().memory, &to.texture.ivars().memory);
    let TexturePart { level, slice, origin, .. } = destination;
    commands.encode(method, |commands| {
        commands.blit_encoder().copy_texture_part(from, &source, to, slice, level, origin)
    });
}

/// Copies whole levels of slices, for a method that encodes it.
pub(crate) fn levels(
    commands: &Commands,
    method: &str,
    from: &Levels<'_>,
    to: &Levels<'_>,
    [slices, levels]: [usize; 2],
) {
    for (side, start) in [(from, "source"), (to, "destination")] {
        let shape = side.texture.shape();
        let has = |first: usize, count: usize, all: u32| {
            first.checked_add(count).is_some_and(|end| end <= all as usize)
        };
        if !has(side.level, levels, shape.levels) || !has(side.slice, slices, shape.slices()) {
            violation(
                method,
                format_args!("the {start} has {} levels of {} slices", shape.levels, shape.slices()),
            );
        }
    }
    for level in 0..levels {
        let extent = |side: &Levels<'_>| Size::of(side.texture.shape().extent((side.level + level) as u32));
        let size = extent(from);
        if size != extent(to) {
            violation(method, format_args!("levels of {size:?} and {:?} differ", extent(to)));
        }
        for slice in 0..slices {
            let at = |side: &Levels<'_>| (side.slice + slice, side.level + level);
            let ((slice, level), (to_slice, to_level)) = (at(from), at(to));
            let origin = Origin::default();
            let source = InTexture { texture: from.texture, slice, level, origin };
            let target = InTexture { texture: to.texture, slice: to_slice, level: to_level, origin };
            between(commands, method, &source, size, &target);
        }
    }
}

/// Copies a texture to another of the same shape, for a method that encodes it.
pub(crate) fn whole(commands: &Commands, method: &str, from: &Texture, to: &Texture) {
    let (shape, other) = (from.shape(), to.shape());
    if shape != other {
        violation(method, format_args!("the textures differ: {shape:?} and {other:?}"));
    }
    let side = |texture| Levels { texture, slice: 0, level: 0 };
    levels(commands, method, &side(from), &side(to), [shape.slices() as usize, shape.levels as usize]);
}

/// Makes all levels of a texture but the first, for a method that encodes it.
pub(crate) fn mipmaps(commands: &Commands, method: &str, texture: &Texture) {
    if texture.shape().levels < 2 {
        violation(method, "the texture has one mip level");
    }
    let device = texture.ivars().device.inner();
    commands.encode(method, |commands| commands.generate_mipmaps(device, &texture.ivars().memory));
}

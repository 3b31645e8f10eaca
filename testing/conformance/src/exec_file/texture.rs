//! The directive that binds a texture: its format, its extents and its texels.
//!
//! It becomes two bindings, the texels and their description, which executors treat as any others.

use crate::case::{Arg, Binding};
use anymetal_types::texture::{BindingRole, PixelFormat, TextureDescriptor, TextureKind, TextureLayout};

/// `FORMAT WIDTH[,HEIGHT[,DEPTH]] TYPE VALUE…`: the texels row after row, of one level.
pub(super) fn bindings(index: u32, value: &str) -> Result<[Arg; 2], String> {
    let words: Vec<&str> = value.splitn(3, ' ').collect();
    let [format, extents, texels] = words[..] else {
        return Err(format!("a texture is `FORMAT EXTENTS TYPE VALUE…`, not `{value}`"));
    };
    let format: PixelFormat = format.parse().map_err(|error| format!("{error}"))?;
    let kind = match extents.matches(',').count() {
        0 => TextureKind::D1,
        1 => TextureKind::D2,
        _ => TextureKind::D3,
    };
    let [width, height, depth] = super::extent(extents)?;
    let descriptor = TextureDescriptor::plane(format, width, height).of_kind(kind).with_depth(depth);
    let layout = TextureLayout::new(&descriptor).map_err(|error| error.to_string())?;
    let level = layout.levels()[0];
    let packed = super::values(texels)?.bytes;
    let (row, rows) = (level.packed_row_bytes as usize, (height * depth) as usize);
    if packed.len() != row * rows {
        return Err(format!("{extents} texels of {format} are {} bytes, not {}", row * rows, packed.len()));
    }
    let mut bytes = vec![0; layout.bytes() as usize];
    for (from, to) in packed.chunks_exact(row).zip(bytes.chunks_exact_mut(level.row_bytes as usize)) {
        to[..row].copy_from_slice(from);
    }
    let description = layout.describe(&descriptor, 0, 0, [0, 1, 2, 3]).to_bytes();
    let binding = |role: BindingRole, bytes| {
        let index = role.index().ok_or("a texture has an index")?;
        Ok::<_, String>(Arg { index, binding: Binding::Buffer { bytes, offset: 0 } })
    };
    Ok([binding(BindingRole::Texels(index), bytes)?, binding(BindingRole::Description(index), description)?])
}

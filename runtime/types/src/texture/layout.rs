//! Shapes of textures, and where their texels are.

use std::fmt;

use anymetal_abi::textures::LevelPlace;

use super::{Description, MAX_LEVELS, PixelFormat, TextureError};

/// The alignment of rows, so that kernels load several texels at once from where a row begins.
const ROW_ALIGNMENT: u64 = 16;

/// The alignment of levels.
const LEVEL_ALIGNMENT: u64 = 64;

/// The largest extent of textures with one or two dimensions.
const MAX_EXTENT: u32 = 16384;
/// The largest extent of textures with three dimensions, and the largest number of slices.
const MAX_DEPTH: u32 = 2048;
/// The largest number of texels of a texture buffer.
const MAX_BUFFER_TEXELS: u32 = 1 << 28;

/// What a texture is an array of; Metal's `MTLTextureType` without the multisampled ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TextureKind {
    /// A row.
    D1,
    /// An array of rows.
    D1Array,
    /// A plane.
    D2,
    /// An array of planes.
    D2Array,
    /// Planes with neighbours.
    D3,
    /// The six faces of a cube.
    Cube,
    /// An array of cubes.
    CubeArray,
    /// A row that may be long and cannot be sampled: `texture_buffer`.
    Buffer,
}

impl fmt::Display for TextureKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            TextureKind::D1 => "1d",
            TextureKind::D1Array => "1d_array",
            TextureKind::D2 => "2d",
            TextureKind::D2Array => "2d_array",
            TextureKind::D3 => "3d",
            TextureKind::Cube => "cube",
            TextureKind::CubeArray => "cube_array",
            TextureKind::Buffer => "buffer",
        })
    }
}

/// The shape of a texture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct TextureDescriptor {
    /// What it is an array of.
    pub kind: TextureKind,
    /// How its texels are stored.
    pub format: PixelFormat,
    /// Texels along x.
    pub width: u32,
    /// Texels along y; 1 for textures without y.
    pub height: u32,
    /// Texels along z; 1 for textures without z.
    pub depth: u32,
    /// Elements of an array (cubes of an array of cubes); 1 for textures that are no array.
    pub array_length: u32,
    /// Mip levels, at least 1.
    pub levels: u32,
}

impl TextureDescriptor {
    /// A plane with one level.
    pub const fn plane(format: PixelFormat, width: u32, height: u32) -> Self {
        let kind = TextureKind::D2;
        TextureDescriptor { kind, format, width, height, depth: 1, array_length: 1, levels: 1 }
    }

    /// Of another kind.
    pub const fn of_kind(self, kind: TextureKind) -> Self {
        TextureDescriptor { kind, ..self }
    }

    /// With that depth.
    pub const fn with_depth(self, depth: u32) -> Self {
        TextureDescriptor { depth, ..self }
    }

    /// With so many elements of the array.
    pub const fn with_array_length(self, array_length: u32) -> Self {
        TextureDescriptor { array_length, ..self }
    }

    /// With so many mip levels.
    pub const fn with_levels(self, levels: u32) -> Self {
        TextureDescriptor { levels, ..self }
    }

    /// Mip levels down to one texel.
    pub const fn all_levels(&self) -> u32 {
        let largest = if self.width > self.height { self.width } else { self.height };
        let largest = if self.depth > largest { self.depth } else { largest };
        if largest == 0 { 1 } else { largest.ilog2() + 1 }
    }

    /// Slices in memory, planes of depth left out: elements of an array, six for each cube.
    pub const fn slices(&self) -> u32 {
        match self.kind {
            TextureKind::Cube | TextureKind::CubeArray => self.array_length.saturating_mul(6),
            _ => self.array_length,
        }
    }

    /// Width, height and depth of a level.
    pub const fn extent(&self, level: u32) -> [u32; 3] {
        let level = if level > 31 { 31 } else { level };
        let [width, height, depth] = [self.width >> level, self.height >> level, self.depth >> level];
        [
            if width == 0 { 1 } else { width },
            if height == 0 { 1 } else { height },
            if depth == 0 { 1 } else { depth },
        ]
    }

    /// The largest width, height, depth and array length.
    const fn limits(&self) -> [u32; 4] {
        match self.kind {
            TextureKind::D1 => [MAX_EXTENT, 1, 1, 1],
            TextureKind::D1Array => [MAX_EXTENT, 1, 1, MAX_DEPTH],
            TextureKind::D2 | TextureKind::Cube => [MAX_EXTENT, MAX_EXTENT, 1, 1],
            TextureKind::D2Array | TextureKind::CubeArray => [MAX_EXTENT, MAX_EXTENT, 1, MAX_DEPTH],
            TextureKind::D3 => [MAX_DEPTH, MAX_DEPTH, MAX_DEPTH, 1],
            TextureKind::Buffer => [MAX_BUFFER_TEXELS, 1, 1, 1],
        }
    }

    fn check(&self) -> Result<(), TextureError> {
        let names = ["width", "height", "depth", "number of slices"];
        let extents = [self.width, self.height, self.depth, self.array_length];
        for ((dimension, got), limit) in names.into_iter().zip(extents).zip(self.limits()) {
            if !(1..=limit).contains(&got) {
                return Err(TextureError::Extent { kind: self.kind, dimension, got, limit });
            }
        }
        let is_cube = matches!(self.kind, TextureKind::Cube | TextureKind::CubeArray);
        if is_cube && self.width != self.height {
            return Err(TextureError::CubeNotSquare { width: self.width, height: self.height });
        }
        let limit = if self.kind == TextureKind::Buffer { 1 } else { self.all_levels() };
        let limit = limit.min(MAX_LEVELS as u32);
        if !(1..=limit).contains(&self.levels) {
            return Err(TextureError::Levels { got: self.levels, limit });
        }
        Ok(())
    }
}

/// One mip level: its extent and where its texels are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct LevelLayout {
    /// Width, height and depth in texels.
    pub extent: [u32; 3],
    /// Bytes from the texture's first texel to the level's.
    pub offset: u64,
    /// Bytes of a row's texels.
    pub packed_row_bytes: u64,
    /// Bytes from a row to the next.
    pub row_bytes: u64,
    /// Bytes from a slice, or a plane of depth, to the next.
    pub slice_bytes: u64,
    /// Slices, planes of depth included.
    pub slices: u32,
}

/// Where the texels of a texture are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextureLayout {
    levels: Vec<LevelLayout>,
    bytes: u64,
}

impl TextureLayout {
    /// The layout of a texture with memory of its own: rows begin at multiples of 16 bytes.
    pub fn new(descriptor: &TextureDescriptor) -> Result<Self, TextureError> {
        descriptor.check()?;
        let mut levels = Vec::new();
        let mut offset = 0u64;
        for level in 0..descriptor.levels {
            let place = level_at(descriptor, level, offset, None);
            levels.push(place);
            let end = offset + place.slice_bytes * u64::from(place.slices);
            offset = end.next_multiple_of(LEVEL_ALIGNMENT);
        }
        Ok(TextureLayout { levels, bytes: offset })
    }

    /// The layout of a texture over memory that has rows already, with one level and one slice.
    pub fn over_rows(descriptor: &TextureDescriptor, row_bytes: u64) -> Result<Self, TextureError> {
        descriptor.check()?;
        let texel_bytes = descriptor.format.texel_bytes();
        let place = level_at(descriptor, 0, 0, Some(row_bytes));
        let needs = place.packed_row_bytes;
        if descriptor.levels != 1 || place.slices != 1 {
            return Err(TextureError::Levels { got: descriptor.levels.max(place.slices), limit: 1 });
        }
        if row_bytes < needs
            || !row_bytes.is_multiple_of(texel_bytes.into())
            || u32::try_from(row_bytes).is_err()
            // Kernels number the texels of a slice with 32 bits.
            || u32::try_from(row_bytes / u64::from(texel_bytes) * u64::from(descriptor.height)).is_err()
        {
            return Err(TextureError::RowBytes { got: row_bytes, needs, texel_bytes });
        }
        let bytes = row_bytes * u64::from(descriptor.height - 1) + needs;
        Ok(TextureLayout { levels: vec![place], bytes })
    }

    /// Bytes of all texels.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The levels, the largest first.
    pub fn levels(&self) -> &[LevelLayout] {
        &self.levels
    }

    /// Where a slice of a level is: the level, and the bytes from the first texel.
    pub fn slice(&self, level: u32, slice: u32) -> Result<(LevelLayout, u64), TextureError> {
        let place = self.levels.get(level as usize).filter(|place| slice < place.slices);
        let place = place.ok_or(TextureError::NoSuchPlace { level, slice })?;
        Ok((*place, place.offset + place.slice_bytes * u64::from(slice)))
    }

    /// What kernels read of levels and slices of the texture, seen with a format and a swizzle. What they get
    /// as its texels begins with the first slice of the first level.
    pub fn describe(
        &self,
        descriptor: &TextureDescriptor,
        first_level: u32,
        first_slice: u32,
        swizzle: [u8; 4],
    ) -> Description {
        let word = descriptor.format.word();
        let format = if swizzle == [0, 1, 2, 3] { word } else { word.swizzled() };
        let levels = self.levels.iter().skip(first_level as usize).take(descriptor.levels as usize);
        let offset = |level: &LevelLayout| level.offset + level.slice_bytes * u64::from(first_slice);
        let start = levels.clone().next().map_or(0, offset);
        let place = |level: &LevelLayout| LevelPlace {
            offset: offset(level) - start,
            slice_bytes: level.slice_bytes,
            row_bytes: level.row_bytes as u32,
        };
        Description {
            format,
            extent: [descriptor.width, descriptor.height, descriptor.depth],
            slices: descriptor.slices(),
            swizzle,
            levels: levels.map(place).collect(),
            texels: 0,
        }
    }
}

fn level_at(descriptor: &TextureDescriptor, level: u32, offset: u64, row_bytes: Option<u64>) -> LevelLayout {
    let extent = descriptor.extent(level);
    let packed_row_bytes = u64::from(extent[0]) * u64::from(descriptor.format.texel_bytes());
    let row_bytes = row_bytes.unwrap_or_else(|| packed_row_bytes.next_multiple_of(ROW_ALIGNMENT));
    let slice_bytes = row_bytes * u64::from(extent[1]);
    let slices = descriptor.slices() * extent[2];
    LevelLayout { extent, offset, packed_row_bytes, row_bytes, slice_bytes, slices }
}

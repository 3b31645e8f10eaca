//! Samplers: how a texture is sampled, when that is not written in the kernel.

use super::SamplerState;
use crate::setters;

/// What coordinates beyond the texture mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum AddressMode {
    /// The nearest texel of the edge.
    #[default]
    ClampToEdge = 0,
    /// Zero.
    ClampToZero = 1,
    /// The texture again.
    Repeat = 2,
    /// The texture again, every other one mirrored.
    MirrorRepeat = 3,
    /// The border's colour.
    ClampToBorder = 4,
}

/// How texels become a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Filter {
    /// The nearest one.
    #[default]
    Nearest = 0,
    /// Those around, weighted by distance.
    Linear = 1,
}

/// How mip levels become a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum MipFilter {
    /// The largest one only.
    #[default]
    None = 0,
    /// The nearest one.
    Nearest = 1,
    /// The two around, weighted by distance.
    Linear = 2,
}

/// The colour of [`AddressMode::ClampToBorder`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum BorderColor {
    /// (0, 0, 0, 0)
    #[default]
    TransparentBlack = 0,
    /// (0, 0, 0, 1)
    OpaqueBlack = 1,
    /// (1, 1, 1, 1)
    OpaqueWhite = 2,
}

/// How a reference is compared with a depth: the value is 1 where it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[allow(missing_docs, reason = "the names say it")]
pub enum CompareFunction {
    #[default]
    Never = 0,
    Less = 1,
    LessEqual = 2,
    Greater = 3,
    GreaterEqual = 4,
    Equal = 5,
    NotEqual = 6,
    Always = 7,
}

/// A sampler; the default is that of `constexpr sampler s;`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub struct SamplerDescriptor {
    /// For x, y and z.
    pub address: [AddressMode; 3],
    /// Where texels are larger than steps of the grid, and without levels.
    pub mag_filter: Filter,
    /// Where texels are smaller.
    pub min_filter: Filter,
    /// Between levels.
    pub mip_filter: MipFilter,
    /// Coordinates are texels, not parts of the whole.
    pub pixel_coordinates: bool,
    /// The border's colour.
    pub border: BorderColor,
    /// The comparison of depth textures.
    pub compare: CompareFunction,
    /// The least and the largest level; kept in parts of 4,096.
    pub lod_clamp: Option<[f32; 2]>,
}

setters!(SamplerDescriptor {
    address: [AddressMode; 3],
    mag_filter: Filter,
    min_filter: Filter,
    mip_filter: MipFilter,
    pixel_coordinates: bool,
    border: BorderColor,
    compare: CompareFunction,
    lod_clamp: Option<[f32; 2]>,
});

impl SamplerDescriptor {
    /// The same address mode for all coordinates.
    pub fn with_address(self, mode: AddressMode) -> Self {
        SamplerDescriptor { address: [mode; 3], ..self }
    }

    /// The same filter for larger and smaller texels.
    pub fn with_filter(self, filter: Filter) -> Self {
        SamplerDescriptor { mag_filter: filter, min_filter: filter, ..self }
    }

    /// What kernels read of it.
    pub fn state(&self) -> SamplerState {
        let [x, y, z] = self.address.map(|mode| mode as u32);
        let mut word = SamplerState::IS_SAMPLER | x | y << 3 | z << 6;
        word |= (self.mag_filter as u32) << 9 | (self.min_filter as u32) << 10;
        word |= (self.mip_filter as u32) << 11 | u32::from(self.pixel_coordinates) << 13;
        word |= (self.border as u32) << 14 | (self.compare as u32) << 16;
        if self.lod_clamp.is_some() {
            word |= SamplerState::CLAMPS_LEVELS;
        }
        let [least, most] = self.lod_clamp.unwrap_or_default().map(SamplerState::level);
        SamplerState { word, levels: least | most << 16 }
    }
}

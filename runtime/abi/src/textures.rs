//! Textures and samplers as kernels see them: which bindings they are, and what is in these.
//!
//! A texture argument is two buffers: its texels, and a description of [`DESCRIPTION_BYTES`] bytes
//! ([`Description`]). A sampler argument is one buffer of [`SAMPLER_BYTES`] bytes ([`SamplerState`]). They
//! have indices of their own above those of Metal's buffers, so that whatever binds, checks or records
//! buffers treats them as such. The Metal library's texture header reads the same bytes.
//!
//! In memory that kernels read (argument buffers) both are eight bytes, as Metal's `MTLResourceID` is: a
//! texture the address of a description that says where its texels are, 0 for none, a sampler its state.
//!
//! Where the format of a texture or the state of a sampler is known when a kernel is compiled, it is the
//! value of a function constant that programs do not see ([`format_constant`], [`state_constant`]).

use crate::commands::MAX_ENCODED_BUFFERS;
use crate::tensors::MAX_TENSOR_INDEX;

/// Maximum number of textures of a kernel.
pub const MAX_TEXTURES: u32 = 128;

/// Maximum number of samplers of a kernel.
pub const MAX_SAMPLERS: u32 = 16;

/// Maximum number of mip levels: of an extent of 16384.
pub const MAX_LEVELS: usize = 15;

/// Where a description has the address of the texels.
pub const TEXELS_AT: usize = 40 + MAX_LEVELS * 24;

/// Bytes of a texture's description.
pub const DESCRIPTION_BYTES: usize = TEXELS_AT + 8;

/// Bytes of a texture where kernels have it in memory: a number from [`FIRST_ARGUMENT`] on of an argument of
/// the kernel, or else the address of a description.
pub const TEXTURE_BYTES: usize = 8;

/// What stands for the kernel's first texture argument; no address is as large.
pub const FIRST_ARGUMENT: u64 = 1 << 63;

/// Bytes of a sampler.
pub const SAMPLER_BYTES: usize = 8;

/// The first index of function constants that programs do not see.
pub const FIRST_HIDDEN_CONSTANT: u32 = 0x1_0000;

const FIRST_TEXTURE: u32 = 0x1000;
const FIRST_SAMPLER: u32 = FIRST_TEXTURE + 2 * MAX_TEXTURES;
const FIRST_LOG: u32 = FIRST_SAMPLER + MAX_SAMPLERS;
const FIRST_COMMANDS: u32 = FIRST_LOG + 2;
const RESOURCE_TABLE: u32 = FIRST_COMMANDS + MAX_ENCODED_BUFFERS;
const STAGE_IN_REGION: u32 = RESOURCE_TABLE + 1;
const FIRST_TENSOR: u32 = STAGE_IN_REGION + 1;
const FIRST_UNUSED: u32 = FIRST_TENSOR + MAX_TENSOR_INDEX + 1;

/// What a buffer's index says of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BindingRole {
    /// A buffer of the program at `[[buffer(n)]]`.
    Buffer,
    /// The texels of the texture at `[[texture(n)]]`.
    Texels(u32),
    /// The description of the texture at `[[texture(n)]]`.
    Description(u32),
    /// The sampler at `[[sampler(n)]]`.
    Sampler(u32),
    /// Where the kernel's messages go ([`crate::logging`]).
    Log,
    /// The number of the command that the messages are of.
    LogCommand,
    /// One of the indirect command buffers that the kernel may encode ([`crate::commands`]).
    EncodedCommands(u32),
    /// Where they and the kernel's own buffers are ([`crate::commands::ResourceTable`]).
    ResourceTable,
    /// The extents and strides of the tensor whose elements are at `[[buffer(n)]]` ([`crate::tensors`]).
    TensorShape(u32),
    /// The region of the grid that stage-in data is for ([`crate::stage_input`]).
    StageInRegion,
}

impl BindingRole {
    /// The role of the buffer with that index.
    pub const fn of(index: u32) -> BindingRole {
        match index {
            0..FIRST_TEXTURE => BindingRole::Buffer,
            FIRST_TEXTURE..FIRST_SAMPLER => {
                let texture = (index - FIRST_TEXTURE) / 2;
                if index.is_multiple_of(2) {
                    BindingRole::Texels(texture)
                } else {
                    BindingRole::Description(texture)
                }
            }
            FIRST_SAMPLER..FIRST_LOG => BindingRole::Sampler(index - FIRST_SAMPLER),
            FIRST_LOG => BindingRole::Log,
            FIRST_COMMANDS..RESOURCE_TABLE => BindingRole::EncodedCommands(index - FIRST_COMMANDS),
            RESOURCE_TABLE => BindingRole::ResourceTable,
            FIRST_TENSOR..FIRST_UNUSED => BindingRole::TensorShape(index - FIRST_TENSOR),
            STAGE_IN_REGION => BindingRole::StageInRegion,
            _ => BindingRole::LogCommand,
        }
    }

    /// Whether it is the compiler's own: a log, what encoding needs, the region of stage-in data, or what
    /// only the code of textures sees.
    pub const fn is_hidden(self) -> bool {
        matches!(self, BindingRole::Description(_) | BindingRole::TensorShape(_)) || self.is_bound_late()
    }

    /// Whether it is bound when the work is given to a device, and not when it is encoded; the region may
    /// have been bound before.
    pub const fn is_bound_late(self) -> bool {
        matches!(
            self,
            BindingRole::Log
                | BindingRole::LogCommand
                | BindingRole::EncodedCommands(_)
                | BindingRole::ResourceTable
                | BindingRole::StageInRegion
        )
    }

    /// The index of the buffer with that role; `None` for a buffer of the program, which has its own.
    pub const fn index(self) -> Option<u32> {
        match self {
            BindingRole::Buffer => None,
            BindingRole::Texels(texture) => Some(FIRST_TEXTURE + 2 * texture),
            BindingRole::Description(texture) => Some(FIRST_TEXTURE + 2 * texture + 1),
            BindingRole::Sampler(sampler) => Some(FIRST_SAMPLER + sampler),
            BindingRole::Log => Some(FIRST_LOG),
            BindingRole::LogCommand => Some(FIRST_LOG + 1),
            BindingRole::EncodedCommands(number) => Some(FIRST_COMMANDS + number),
            BindingRole::ResourceTable => Some(RESOURCE_TABLE),
            BindingRole::TensorShape(buffer) => Some(FIRST_TENSOR + buffer),
            BindingRole::StageInRegion => Some(STAGE_IN_REGION),
        }
    }
}

/// The index of the function constant that is a texture's format; 0 means that it is not known.
pub const fn format_constant(texture: u32) -> u32 {
    FIRST_HIDDEN_CONSTANT + texture
}

/// The index of the function constant that is a sampler's state; 0 means that it is not known.
pub const fn state_constant(sampler: u32) -> u32 {
    FIRST_HIDDEN_CONSTANT + MAX_TEXTURES + sampler
}

/// What the channels of a format hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ChannelKind {
    /// Integers that stand for 0 to 1.
    Unorm = 0,
    /// Signed integers that stand for -1 to 1.
    Snorm = 1,
    /// Unsigned integers.
    Uint = 2,
    /// Signed integers.
    Sint = 3,
    /// Floats of 32, 16, 11 or 10 bits, the last two without sign.
    Float = 4,
    /// Three mantissas of 9 bits and an exponent of 5.
    SharedExponent = 5,
}

/// The word that describes a pixel format.
///
/// Bits 0 to 2 are log2 of a texel's bytes, 3 to 5 the [`ChannelKind`], bit 6 says sRGB, bit 7 that the view
/// swizzles. For channel `c` (red, green, blue, alpha), 6 bits from `8 + 13c` on are its width, 0 if it is
/// absent, and the next 7 its position in the texel. Bit 63 is set, so that no format is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FormatWord(u64);

impl FormatWord {
    /// A format from its parts; `channels` are the width and position of red, green, blue and alpha.
    ///
    /// # Panics
    /// If a part does not fit, which is a mistake in a table.
    pub const fn new(log2_bytes: u32, kind: ChannelKind, is_srgb: bool, channels: [(u32, u32); 4]) -> Self {
        assert!(log2_bytes <= 4, "a texel has at most 16 bytes");
        let mut word = 1 << 63 | (is_srgb as u64) << 6 | (kind as u64) << 3 | log2_bytes as u64;
        let mut channel = 0;
        while channel < 4 {
            let (width, position) = channels[channel];
            assert!(width <= 32 && position + width <= 8 << log2_bytes, "a channel lies in its texel");
            word |= (width as u64) << (8 + 13 * channel) | (position as u64) << (14 + 13 * channel);
            channel += 1;
        }
        FormatWord(word)
    }

    /// The same format, seen with its channels in another order.
    pub const fn swizzled(self) -> Self {
        FormatWord(self.0 | 1 << 7)
    }

    /// The word.
    pub const fn bits(self) -> u64 {
        self.0
    }
}

/// One mip level of a texture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LevelPlace {
    /// Bytes from the first texel of the texture; 0 for its first level.
    pub offset: u64,
    /// Bytes from a slice of an array, a face of a cube or a plane of depth to the next.
    pub slice_bytes: u64,
    /// Bytes from a row to the next.
    pub row_bytes: u32,
}

/// A texture's description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    /// The format.
    pub format: FormatWord,
    /// Width, height and depth in texels.
    pub extent: [u32; 3],
    /// Slices of an array, faces of cubes; 1 for textures that are no array.
    pub slices: u32,
    /// Where each of red, green, blue and alpha comes from: a channel 0 to 3, 4 for zero, 5 for one.
    pub swizzle: [u8; 4],
    /// The mip levels, the largest first; at most [`MAX_LEVELS`].
    pub levels: Vec<LevelPlace>,
    /// The address of the texels, of a description that kernels reach by its own address; 0 beside an
    /// argument.
    pub texels: u64,
}

impl Description {
    /// The bytes that kernels read.
    pub fn to_bytes(&self) -> Vec<u8> {
        let levels = &self.levels[..self.levels.len().min(MAX_LEVELS)];
        let [width, height, depth] = self.extent;
        let mut bytes = Vec::with_capacity(DESCRIPTION_BYTES);
        bytes.extend(self.format.bits().to_le_bytes());
        let swizzle = u32::from_le_bytes(self.swizzle);
        for word in [width, height, depth, self.slices, levels.len() as u32, swizzle, 1, 0] {
            bytes.extend(word.to_le_bytes());
        }
        for level in levels {
            bytes.extend(level.offset.to_le_bytes());
            bytes.extend(level.slice_bytes.to_le_bytes());
            bytes.extend(u64::from(level.row_bytes).to_le_bytes());
        }
        bytes.resize(TEXELS_AT, 0);
        bytes.extend(self.texels.to_le_bytes());
        bytes
    }
}

/// A sampler's state: two words.
///
/// Of the first, 3 bits each from 0, 3 and 6 on are the address modes of the coordinates, bits 9 and 10 the
/// filters that magnify and minify, 11 and 12 that between levels, bit 13 says pixel coordinates, 14 and 15
/// are the border's colour, 16 to 18 the comparison, 19 says that levels are clamped. Bit 20 is set, so that
/// no sampler is 0. The second has the least level and from bit 16 on the largest ([`SamplerState::level`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SamplerState {
    /// The first word.
    pub word: u32,
    /// The second word.
    pub levels: u32,
}

impl SamplerState {
    /// Bit of the first word: levels are clamped.
    pub const CLAMPS_LEVELS: u32 = 1 << 19;
    /// Bit of the first word that every sampler has.
    pub const IS_SAMPLER: u32 = 1 << 20;

    /// A level of detail in 16 bits: parts of 4,096, the nearest one. No texture has a level above 15.
    pub fn level(lod: f32) -> u32 {
        // The Metal library computes the same from `lod_clamp`. A NaN is 0, as what is negative is.
        if lod > 0.0 { (lod.min(15.0) * 4096.0 + 0.5) as u32 } else { 0 }
    }

    /// The eight bytes as a number.
    pub const fn bits(self) -> u64 {
        self.word as u64 | (self.levels as u64) << 32
    }

    /// The bytes that kernels read.
    pub const fn to_bytes(self) -> [u8; SAMPLER_BYTES] {
        self.bits().to_le_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_index_has_one_role() {
        for texture in [0, 1, MAX_TEXTURES - 1] {
            for role in [BindingRole::Texels(texture), BindingRole::Description(texture)] {
                assert_eq!(BindingRole::of(role.index().expect("not a program's")), role);
            }
        }
        for sampler in [0, MAX_SAMPLERS - 1] {
            let role = BindingRole::Sampler(sampler);
            assert_eq!(BindingRole::of(role.index().expect("not a program's")), role);
        }
        let last = BindingRole::EncodedCommands(MAX_ENCODED_BUFFERS - 1);
        let encoding =
            [BindingRole::EncodedCommands(0), last, BindingRole::ResourceTable, BindingRole::StageInRegion];
        for role in [BindingRole::Log, BindingRole::LogCommand].into_iter().chain(encoding) {
            assert_eq!(BindingRole::of(role.index().expect("not a program's")), role);
        }
        assert_eq!(BindingRole::of(30), BindingRole::Buffer);
        assert_eq!(BindingRole::Buffer.index(), None);
    }

    #[test]
    fn descriptions_have_the_layout_of_the_header() {
        let format = FormatWord::new(2, ChannelKind::Unorm, true, [(8, 16), (8, 8), (8, 0), (8, 24)]);
        let levels = vec![LevelPlace { offset: 5, slice_bytes: 6, row_bytes: 7 }; 2];
        let description =
            Description { format, extent: [1, 2, 3], slices: 4, swizzle: [0, 1, 2, 3], levels, texels: 9 };
        let bytes = description.to_bytes();
        assert_eq!(bytes.len(), DESCRIPTION_BYTES);
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        assert_eq!([8, 12, 16, 20, 24, 28].map(word), [1, 2, 3, 4, 2, 0x0302_0100]);
        assert_eq!([40, 48, 56, 64].map(word), [5, 6, 7, 5]);
        assert_eq!(word(TEXELS_AT), 9);
        assert_eq!(format.bits() & 0xff, 0b0100_0010);
        assert_eq!(format.bits() >> 8 & 0x1fff, 8 | 16 << 6);
    }

    #[test]
    fn levels_of_detail_are_kept_in_parts_of_4096() {
        let given = [-1.0, f32::NAN, 0.0, 0.25, 1.5, 2.0 + 1.0 / 4096.0, 0.1, 14.0, 15.0, 1000.0, f32::MAX];
        let kept = [0, 0, 0, 1024, 6144, 8193, 410, 57344, 61440, 61440, 61440];
        assert_eq!(given.map(SamplerState::level), kept);
        let state = SamplerState { word: SamplerState::IS_SAMPLER, levels: 1 << 16 | 2 };
        assert_eq!(state.to_bytes(), [0, 0, 16, 0, 2, 0, 1, 0]);
    }
}

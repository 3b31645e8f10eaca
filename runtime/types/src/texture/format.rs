//! Pixel formats: the table of those that Metal has for ordinary textures, with the words for kernels.
//!
//! To add one, add a row. Formats of compressed blocks, of video and with stencils are not there.

use std::fmt;
use std::str::FromStr;

use super::{ChannelKind, FormatWord};

/// Channels red, green, blue and alpha: width and position in the texel, in bits; a width of 0 is absence.
type Channels = [(u32, u32); 4];

const fn red(bits: u32) -> Channels {
    [(bits, 0), (0, 0), (0, 0), (0, 0)]
}

const fn red_green(bits: u32) -> Channels {
    [(bits, 0), (bits, bits), (0, 0), (0, 0)]
}

const fn all(bits: u32) -> Channels {
    [(bits, 0), (bits, bits), (bits, 2 * bits), (bits, 3 * bits)]
}

const BGRA8: Channels = [(8, 16), (8, 8), (8, 0), (8, 24)];

macro_rules! formats {
    ($($variant:ident $name:literal: $log2:literal $kind:ident $srgb:literal $channels:expr;)*) => {
        /// How a texel's bits stand for its channels; the names are Metal's.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        #[allow(missing_docs, reason = "the names are Metal's")]
        pub enum PixelFormat {
            $($variant,)*
        }

        impl PixelFormat {
            /// All formats.
            pub const ALL: &[PixelFormat] = &[$(PixelFormat::$variant,)*];

            /// Its name in lower case, such as `rgba8unorm_srgb`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(PixelFormat::$variant => $name,)*
                }
            }

            /// The word that describes it to kernels.
            pub const fn word(self) -> FormatWord {
                match self {
                    $(PixelFormat::$variant => {
                        const WORD: FormatWord = FormatWord::new($log2, ChannelKind::$kind, $srgb, $channels);
                        WORD
                    })*
                }
            }

            /// What its channels hold.
            pub const fn kind(self) -> ChannelKind {
                match self {
                    $(PixelFormat::$variant => ChannelKind::$kind,)*
                }
            }

            /// Bytes of a texel: 1, 2, 4, 8 or 16.
            pub const fn texel_bytes(self) -> u32 {
                match self {
                    $(PixelFormat::$variant => 1 << $log2,)*
                }
            }

            /// Whether its colours are stored by the sRGB curve.
            pub const fn is_srgb(self) -> bool {
                match self {
                    $(PixelFormat::$variant => $srgb,)*
                }
            }

            /// Width and position in bits of red, green, blue and alpha; a width of 0 is absence. For
            /// [`ChannelKind::SharedExponent`] they are those of the mantissas.
            pub const fn channels(self) -> [(u32, u32); 4] {
                match self {
                    $(PixelFormat::$variant => $channels,)*
                }
            }
        }
    };
}

formats! {
    A8Unorm "a8unorm": 0 Unorm false [(0, 0), (0, 0), (0, 0), (8, 0)];
    R8Unorm "r8unorm": 0 Unorm false red(8);
    R8UnormSrgb "r8unorm_srgb": 0 Unorm true red(8);
    R8Snorm "r8snorm": 0 Snorm false red(8);
    R8Uint "r8uint": 0 Uint false red(8);
    R8Sint "r8sint": 0 Sint false red(8);
    R16Unorm "r16unorm": 1 Unorm false red(16);
    R16Snorm "r16snorm": 1 Snorm false red(16);
    R16Uint "r16uint": 1 Uint false red(16);
    R16Sint "r16sint": 1 Sint false red(16);
    R16Float "r16float": 1 Float false red(16);
    Rg8Unorm "rg8unorm": 1 Unorm false red_green(8);
    Rg8UnormSrgb "rg8unorm_srgb": 1 Unorm true red_green(8);
    Rg8Snorm "rg8snorm": 1 Snorm false red_green(8);
    Rg8Uint "rg8uint": 1 Uint false red_green(8);
    Rg8Sint "rg8sint": 1 Sint false red_green(8);
    B5g6r5Unorm "b5g6r5unorm": 1 Unorm false [(5, 11), (6, 5), (5, 0), (0, 0)];
    A1bgr5Unorm "a1bgr5unorm": 1 Unorm false [(5, 11), (5, 6), (5, 1), (1, 0)];
    Abgr4Unorm "abgr4unorm": 1 Unorm false [(4, 12), (4, 8), (4, 4), (4, 0)];
    Bgr5a1Unorm "bgr5a1unorm": 1 Unorm false [(5, 10), (5, 5), (5, 0), (1, 15)];
    R32Uint "r32uint": 2 Uint false red(32);
    R32Sint "r32sint": 2 Sint false red(32);
    R32Float "r32float": 2 Float false red(32);
    Rg16Unorm "rg16unorm": 2 Unorm false red_green(16);
    Rg16Snorm "rg16snorm": 2 Snorm false red_green(16);
    Rg16Uint "rg16uint": 2 Uint false red_green(16);
    Rg16Sint "rg16sint": 2 Sint false red_green(16);
    Rg16Float "rg16float": 2 Float false red_green(16);
    Rgba8Unorm "rgba8unorm": 2 Unorm false all(8);
    Rgba8UnormSrgb "rgba8unorm_srgb": 2 Unorm true all(8);
    Rgba8Snorm "rgba8snorm": 2 Snorm false all(8);
    Rgba8Uint "rgba8uint": 2 Uint false all(8);
    Rgba8Sint "rgba8sint": 2 Sint false all(8);
    Bgra8Unorm "bgra8unorm": 2 Unorm false BGRA8;
    Bgra8UnormSrgb "bgra8unorm_srgb": 2 Unorm true BGRA8;
    Rgb10a2Unorm "rgb10a2unorm": 2 Unorm false [(10, 0), (10, 10), (10, 20), (2, 30)];
    Rgb10a2Uint "rgb10a2uint": 2 Uint false [(10, 0), (10, 10), (10, 20), (2, 30)];
    Bgr10a2Unorm "bgr10a2unorm": 2 Unorm false [(10, 20), (10, 10), (10, 0), (2, 30)];
    Rg11b10Float "rg11b10float": 2 Float false [(11, 0), (11, 11), (10, 22), (0, 0)];
    Rgb9e5Float "rgb9e5float": 2 SharedExponent false [(9, 0), (9, 9), (9, 18), (0, 0)];
    Rg32Uint "rg32uint": 3 Uint false red_green(32);
    Rg32Sint "rg32sint": 3 Sint false red_green(32);
    Rg32Float "rg32float": 3 Float false red_green(32);
    Rgba16Unorm "rgba16unorm": 3 Unorm false all(16);
    Rgba16Snorm "rgba16snorm": 3 Snorm false all(16);
    Rgba16Uint "rgba16uint": 3 Uint false all(16);
    Rgba16Sint "rgba16sint": 3 Sint false all(16);
    Rgba16Float "rgba16float": 3 Float false all(16);
    Rgba32Uint "rgba32uint": 4 Uint false all(32);
    Rgba32Sint "rgba32sint": 4 Sint false all(32);
    Rgba32Float "rgba32float": 4 Float false all(32);
    Depth16Unorm "depth16unorm": 1 Unorm false red(16);
    Depth32Float "depth32float": 2 Float false red(32);
}

impl PixelFormat {
    /// Whether it is one for depth.
    pub const fn is_depth(self) -> bool {
        matches!(self, PixelFormat::Depth16Unorm | PixelFormat::Depth32Float)
    }
}

impl fmt::Display for PixelFormat {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// The name of no format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no pixel format `{0}`")]
pub struct UnknownFormat(pub String);

impl FromStr for PixelFormat {
    type Err = UnknownFormat;

    /// From [`PixelFormat::name`], in lower or upper case.
    fn from_str(name: &str) -> Result<Self, UnknownFormat> {
        let found = PixelFormat::ALL.iter().find(|format| format.name().eq_ignore_ascii_case(name));
        found.copied().ok_or_else(|| UnknownFormat(name.to_owned()))
    }
}

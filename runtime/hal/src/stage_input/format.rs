//! Formats of attributes: the table of Metal's, with the words for kernels.
//!
//! To add one, add a row: its name, Metal's number, what its components hold, their widths and positions.

use anymetal_abi::textures::{ChannelKind, FormatWord};

/// Width and position in bits of the components x, y, z and w; a width of 0 is absence.
type Components = [(u32, u32); 4];

const fn components(count: u32, bits: u32) -> Components {
    let mut found = [(0, 0); 4];
    let mut n = 0;
    while n < count {
        found[n as usize] = (bits, n * bits);
        n += 1;
    }
    found
}

/// log2 of the bytes that hold all components, as words of formats tell it.
const fn log2_bytes(components: Components) -> u32 {
    bytes(components).next_power_of_two().trailing_zeros()
}

const fn bytes(components: Components) -> u32 {
    let (mut n, mut end) = (0, 0);
    while n < 4 {
        let (width, position) = components[n];
        if width > 0 && position + width > end {
            end = position + width;
        }
        n += 1;
    }
    end.div_ceil(8)
}

macro_rules! formats {
    ($($variant:ident $metal:literal: $kind:ident $components:expr;)*) => {
        /// How an attribute is stored (Metal's `MTLAttributeFormat`, and `MTLVertexFormat`, which has the
        /// same numbers).
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        #[allow(missing_docs, reason = "the names are Metal's")]
        pub enum AttributeFormat {
            $($variant,)*
        }

        impl AttributeFormat {
            /// All formats.
            pub const ALL: &[AttributeFormat] = &[$(AttributeFormat::$variant,)*];

            /// Metal's number of it.
            pub const fn metal_value(self) -> u32 {
                match self {
                    $(AttributeFormat::$variant => $metal,)*
                }
            }

            /// Metal's name of it, such as `UShort2Normalized`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(AttributeFormat::$variant => stringify!($variant),)*
                }
            }

            /// What its components hold.
            pub const fn kind(self) -> ChannelKind {
                match self {
                    $(AttributeFormat::$variant => ChannelKind::$kind,)*
                }
            }

            /// Width and position in bits of its components x, y, z and w; a width of 0 is absence. For
            /// [`ChannelKind::SharedExponent`] they are those of the mantissas.
            pub const fn components(self) -> [(u32, u32); 4] {
                match self {
                    $(AttributeFormat::$variant => $components,)*
                }
            }
        }
    };
}

formats! {
    UChar2 1: Uint components(2, 8);
    UChar3 2: Uint components(3, 8);
    UChar4 3: Uint components(4, 8);
    Char2 4: Sint components(2, 8);
    Char3 5: Sint components(3, 8);
    Char4 6: Sint components(4, 8);
    UChar2Normalized 7: Unorm components(2, 8);
    UChar3Normalized 8: Unorm components(3, 8);
    UChar4Normalized 9: Unorm components(4, 8);
    Char2Normalized 10: Snorm components(2, 8);
    Char3Normalized 11: Snorm components(3, 8);
    Char4Normalized 12: Snorm components(4, 8);
    UShort2 13: Uint components(2, 16);
    UShort3 14: Uint components(3, 16);
    UShort4 15: Uint components(4, 16);
    Short2 16: Sint components(2, 16);
    Short3 17: Sint components(3, 16);
    Short4 18: Sint components(4, 16);
    UShort2Normalized 19: Unorm components(2, 16);
    UShort3Normalized 20: Unorm components(3, 16);
    UShort4Normalized 21: Unorm components(4, 16);
    Short2Normalized 22: Snorm components(2, 16);
    Short3Normalized 23: Snorm components(3, 16);
    Short4Normalized 24: Snorm components(4, 16);
    Half2 25: Float components(2, 16);
    Half3 26: Float components(3, 16);
    Half4 27: Float components(4, 16);
    Float 28: Float components(1, 32);
    Float2 29: Float components(2, 32);
    Float3 30: Float components(3, 32);
    Float4 31: Float components(4, 32);
    Int 32: Sint components(1, 32);
    Int2 33: Sint components(2, 32);
    Int3 34: Sint components(3, 32);
    Int4 35: Sint components(4, 32);
    UInt 36: Uint components(1, 32);
    UInt2 37: Uint components(2, 32);
    UInt3 38: Uint components(3, 32);
    UInt4 39: Uint components(4, 32);
    Int1010102Normalized 40: Snorm [(10, 0), (10, 10), (10, 20), (2, 30)];
    UInt1010102Normalized 41: Unorm [(10, 0), (10, 10), (10, 20), (2, 30)];
    UChar4NormalizedBgra 42: Unorm [(8, 16), (8, 8), (8, 0), (8, 24)];
    UChar 45: Uint components(1, 8);
    Char 46: Sint components(1, 8);
    UCharNormalized 47: Unorm components(1, 8);
    CharNormalized 48: Snorm components(1, 8);
    UShort 49: Uint components(1, 16);
    Short 50: Sint components(1, 16);
    UShortNormalized 51: Unorm components(1, 16);
    ShortNormalized 52: Snorm components(1, 16);
    Half 53: Float components(1, 16);
    FloatRg11b10 54: Float [(11, 0), (11, 11), (10, 22), (0, 0)];
    FloatRgb9e5 55: SharedExponent [(9, 0), (9, 9), (9, 18), (0, 0)];
}

impl AttributeFormat {
    /// The format with Metal's number; `None` for 0, which is no format, and for numbers that Metal lacks.
    pub fn from_metal(value: u64) -> Option<Self> {
        Self::ALL.iter().copied().find(|format| u64::from(format.metal_value()) == value)
    }

    /// The word that describes it to kernels.
    pub const fn word(self) -> FormatWord {
        let components = self.components();
        FormatWord::new(log2_bytes(components), self.kind(), false, components)
    }

    /// Bytes of an attribute.
    pub const fn bytes(self) -> u32 {
        bytes(self.components())
    }

    /// The alignment of an attribute in bytes: that of a component, or of the word that has all of them.
    pub const fn alignment(self) -> u32 {
        match self.components()[0].0 {
            8 => 1,
            16 => 2,
            _ => 4,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_lead_back_to_their_formats() {
        assert_eq!(AttributeFormat::ALL.len(), 53);
        for &format in AttributeFormat::ALL {
            assert_eq!(AttributeFormat::from_metal(format.metal_value().into()), Some(format));
            // Making the word checks that the components fit.
            assert_ne!(format.word().bits(), 0);
        }
        assert_eq!([0, 43, 44, 56].map(AttributeFormat::from_metal), [None; 4]);
    }

    #[test]
    fn sizes_are_those_of_the_components() {
        use AttributeFormat as F;
        let sizes = [F::UChar3, F::UShort3, F::Float3, F::Int1010102Normalized, F::FloatRgb9e5, F::Half]
            .map(|format| (format.bytes(), format.alignment()));
        assert_eq!(sizes, [(3, 1), (6, 2), (12, 4), (4, 4), (4, 4), (2, 2)]);
    }
}

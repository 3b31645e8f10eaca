//! `MTLTextureSwizzleChannels`: where the channels of a texture come from.

use anymetal::texture::Swizzle;
use objc2::encode::{Encode, Encoding, RefEncode};

use super::violation;

/// `MTLTextureSwizzleChannels`, each channel as `MTLTextureSwizzle`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Channels([u8; 4]);

// SAFETY: it is `MTLTextureSwizzleChannels`: four bytes.
unsafe impl Encode for Channels {
    const ENCODING: Encoding = Encoding::Struct("?", &[u8::ENCODING; 4]);
}

// SAFETY: as above.
unsafe impl RefEncode for Channels {
    const ENCODING_REF: Encoding = Encoding::Pointer(&Self::ENCODING);
}

/// Red to alpha as they are.
impl Default for Channels {
    fn default() -> Self {
        Channels([2, 3, 4, 5])
    }
}

impl Channels {
    /// Where each channel comes from, for a method that takes it.
    pub(crate) fn swizzle(self, method: &str) -> [Swizzle; 4] {
        self.0.map(|channel| match channel {
            0 => Swizzle::Zero,
            1 => Swizzle::One,
            2 => Swizzle::Red,
            3 => Swizzle::Green,
            4 => Swizzle::Blue,
            5 => Swizzle::Alpha,
            other => violation(method, format_args!("there is no swizzle with the number {other}")),
        })
    }

    /// These channels of a view of a texture that has those.
    pub(crate) fn of_view_of(self, parent: Channels) -> Channels {
        Channels(self.0.map(|channel| match channel {
            2..=5 => parent.0[usize::from(channel - 2)],
            constant => constant,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_channels_of_a_view_are_those_of_its_texture() {
        let reversed = Channels([5, 4, 3, 2]);
        assert_eq!(Channels::default().of_view_of(reversed), reversed);
        assert_eq!(reversed.of_view_of(reversed), Channels::default());
        assert_eq!(Channels([1, 2, 0, 5]).of_view_of(reversed), Channels([1, 5, 0, 2]));
        assert_eq!(reversed.swizzle("")[0], Swizzle::Alpha);
    }
}

//! Stage-in data of kernels: what is known of an attribute when a pipeline is made, as function constants
//! that programs do not see, and the region of the grid that it is for.
//!
//! Each attribute has three words: its format ([`FormatWord`]), where it is in its buffer, and which element
//! a thread gets ([`AttributePlace`]). A word of the pipeline says where indices are ([`IndexPlace`]),
//! another one whether a launch is given a region. The region is a binding of [`REGION_BYTES`] bytes
//! ([`BindingRole::StageInRegion`](crate::textures::BindingRole::StageInRegion)) with the layout of Metal's
//! `MTLStageInRegionIndirectArguments`: six 32-bit words, the origin and the size. The Metal library's header
//! `<anymetal_stage_input>` reads the same bits.

use crate::textures::{FIRST_HIDDEN_CONSTANT, FormatWord, MAX_SAMPLERS, MAX_TEXTURES};

/// The number of attributes that a kernel can have.
pub const MAX_ATTRIBUTES: u32 = 31;

/// Bytes of a region.
pub const REGION_BYTES: usize = 24;

/// The size along an axis that stands for the grid's own.
pub const WHOLE_GRID: u32 = u32::MAX;

const FIRST: u32 = FIRST_HIDDEN_CONSTANT + MAX_TEXTURES + MAX_SAMPLERS;
const WORDS_PER_ATTRIBUTE: u32 = 3;

/// The index of the function constant that says where indices are; 0 means that there are none.
pub const INDICES_CONSTANT: u32 = FIRST + MAX_ATTRIBUTES * WORDS_PER_ATTRIBUTE;

/// The index of the function constant that is 1 if launches are given a region.
pub const REGION_CONSTANT: u32 = INDICES_CONSTANT + 1;

/// The indices of the function constants of an attribute: its format, 0 if it is not described, its stride
/// and offset, and its steps.
pub const fn attribute_constants(attribute: u32) -> [u32; 3] {
    let first = FIRST + attribute * WORDS_PER_ATTRIBUTE;
    [first, first + 1, first + 2]
}

/// Which element of a buffer a thread gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum StepFunction {
    /// All threads the first one.
    Constant = 0,
    /// That of its x coordinate.
    ThreadPositionInGridX = 1,
    /// That of its y coordinate.
    ThreadPositionInGridY = 2,
    /// That which the index at its x coordinate names.
    ThreadPositionInGridXIndexed = 3,
    /// That which the index at its y coordinate names.
    ThreadPositionInGridYIndexed = 4,
}

/// An attribute's format, place and steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttributePlace {
    /// How its components are stored.
    pub format: FormatWord,
    /// The index of its buffer, below [`MAX_BOUND_BUFFERS`](crate::MAX_BOUND_BUFFERS).
    pub buffer: u32,
    /// Its place in an element, in bytes.
    pub offset: u32,
    /// Bytes from an element to the next.
    pub stride: u32,
    /// Which element a thread gets.
    pub step: StepFunction,
    /// Threads in a row that get the same one; 1 or more.
    pub rate: u32,
}

impl AttributePlace {
    /// The values of the constants of [`attribute_constants`].
    pub const fn words(self) -> [u64; 3] {
        let place = self.stride as u64 | (self.offset as u64) << 32;
        let steps = self.step as u64 | (self.buffer as u64) << 8 | (self.rate as u64) << 32;
        [self.format.bits(), place, steps]
    }
}

/// Where the indices of a pipeline are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexPlace {
    /// The index of their buffer.
    pub buffer: u32,
    /// Whether they have 32 bits; if not, 16.
    pub is_wide: bool,
}

impl IndexPlace {
    /// The value of the constant of [`INDICES_CONSTANT`].
    pub const fn bits(self) -> u64 {
        1 << 63 | (self.is_wide as u64) << 8 | self.buffer as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::textures::{ChannelKind, state_constant};

    #[test]
    fn constants_have_indices_of_their_own() {
        assert!(attribute_constants(0)[0] > state_constant(MAX_SAMPLERS - 1));
        assert_eq!(attribute_constants(0)[2] + 1, attribute_constants(1)[0]);
        assert_eq!(attribute_constants(MAX_ATTRIBUTES - 1)[2] + 1, INDICES_CONSTANT);
        assert_ne!(INDICES_CONSTANT, REGION_CONSTANT);
    }

    #[test]
    fn words_have_the_layout_of_the_header() {
        let format = FormatWord::new(2, ChannelKind::Uint, false, [(8, 0), (8, 8), (8, 16), (8, 24)]);
        let step = StepFunction::ThreadPositionInGridYIndexed;
        let place = AttributePlace { format, buffer: 30, offset: 5, stride: 7, step, rate: 3 };
        assert_eq!(place.words(), [format.bits(), 5 << 32 | 7, 3 << 32 | 30 << 8 | 4]);
        assert_eq!(IndexPlace { buffer: 9, is_wide: true }.bits(), 1 << 63 | 256 | 9);
    }
}

//! Structures that methods take by value.

use objc2::encode::{Encode, Encoding, RefEncode};

/// `MTLSize`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Size {
    /// Along x.
    pub(crate) width: usize,
    /// Along y.
    pub(crate) height: usize,
    /// Along z.
    pub(crate) depth: usize,
}

// SAFETY: it is `MTLSize`, field by field.
unsafe impl Encode for Size {
    const ENCODING: Encoding = Encoding::Struct("?", &[usize::ENCODING, usize::ENCODING, usize::ENCODING]);
}

// SAFETY: as above.
unsafe impl RefEncode for Size {
    const ENCODING_REF: Encoding = Encoding::Pointer(&Self::ENCODING);
}

impl Size {
    pub(crate) fn of([x, y, z]: [u32; 3]) -> Size {
        Size { width: x as usize, height: y as usize, depth: z as usize }
    }

    pub(crate) fn extents(self) -> [usize; 3] {
        [self.width, self.height, self.depth]
    }
}

/// `MTLSizeAndAlign`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SizeAndAlign {
    /// Bytes.
    pub(crate) size: usize,
    /// The alignment in bytes.
    pub(crate) align: usize,
}

// SAFETY: it is `MTLSizeAndAlign`, field by field.
unsafe impl Encode for SizeAndAlign {
    const ENCODING: Encoding = Encoding::Struct("?", &[usize::ENCODING, usize::ENCODING]);
}

/// `MTLResourceID`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ResourceId {
    /// What argument buffers have.
    pub(crate) number: u64,
}

// SAFETY: it is `MTLResourceID`, field by field.
unsafe impl Encode for ResourceId {
    const ENCODING: Encoding = Encoding::Struct("MTLResourceID", &[u64::ENCODING]);
}

/// `MTLOrigin`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Origin {
    /// Along x.
    pub(crate) x: usize,
    /// Along y.
    pub(crate) y: usize,
    /// Along z.
    pub(crate) z: usize,
}

// SAFETY: it is `MTLOrigin`, field by field.
unsafe impl Encode for Origin {
    const ENCODING: Encoding = Size::ENCODING;
}

/// `MTLRegion`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct TextureRegion {
    /// The first texel.
    pub(crate) origin: Origin,
    /// Texels.
    pub(crate) size: Size,
}

// SAFETY: it is `MTLRegion`, field by field.
unsafe impl Encode for TextureRegion {
    const ENCODING: Encoding = Encoding::Struct("?", &[Origin::ENCODING, Size::ENCODING]);
}

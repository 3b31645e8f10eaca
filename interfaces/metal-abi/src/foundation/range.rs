//! `NSRange`.

use objc2::encode::{Encode, Encoding, RefEncode};

/// A range of elements or bytes.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Range {
    /// The first.
    pub(crate) location: usize,
    /// How many.
    pub(crate) length: usize,
}

// SAFETY: it is `NSRange`, field by field.
unsafe impl Encode for Range {
    const ENCODING: Encoding = Encoding::Struct("_NSRange", &[usize::ENCODING, usize::ENCODING]);
}

// SAFETY: as above.
unsafe impl RefEncode for Range {
    const ENCODING_REF: Encoding = Encoding::Pointer(&Self::ENCODING);
}

impl Range {
    /// The range, if it lies within so many.
    pub(crate) fn within(self, count: usize) -> Option<std::ops::Range<usize>> {
        let end = self.location.checked_add(self.length)?;
        (end <= count).then_some(self.location..end)
    }
}

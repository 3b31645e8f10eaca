//! `NSFastEnumeration`: the elements of a collection, some at a time.

use objc2::encode::{Encode, Encoding, RefEncode};
use objc2::rc::Retained;
use objc2::runtime::AnyObject;

use crate::arguments::Out;

/// `NSFastEnumerationState`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct EnumerationState {
    /// How many elements were given; 0 at first.
    state: u64,
    items: *mut *mut AnyObject,
    mutations: *mut u64,
    extra: [u64; 5],
}

// SAFETY: it is `NSFastEnumerationState`, field by field.
unsafe impl Encode for EnumerationState {
    const ENCODING: Encoding = Encoding::Struct(
        "?",
        &[
            Encoding::C_ULONG,
            Encoding::Pointer(&Encoding::Object),
            Encoding::Pointer(&Encoding::C_ULONG),
            Encoding::Array(5, &Encoding::C_ULONG),
        ],
    );
}

// SAFETY: as above.
unsafe impl RefEncode for EnumerationState {
    const ENCODING_REF: Encoding = Encoding::Pointer(&Self::ENCODING);
}

/// Gives the next elements: at most `room`, for which `out` has room. The sender keeps the collection
/// alive and unchanged until the enumeration ends.
pub(crate) fn next(
    elements: &[Retained<AnyObject>],
    state: &mut EnumerationState,
    out: &Out<*mut AnyObject>,
    room: usize,
) -> usize {
    let left = elements.get(state.state as usize..).unwrap_or_default();
    let count = left.len().min(room);
    out.set_all(left[..count].iter().map(|element| Retained::as_ptr(element).cast_mut()));
    state.items = out.address();
    // A word that does not change during the enumeration.
    state.mutations = &raw mut state.extra[0];
    state.state += count as u64;
    count
}

//! Strings that compilers write: constants in memory, and short ones in the pointer itself.
//!
//! Both are objects of the class `NSString` or below it without being instances: they have no head,
//! are never freed, and their text is that of a real string, which [`real`] gives. A constant notes it
//! where its characters were; for short strings there is a table.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use super::class::{Class, IS_CONSTANT};
use super::object::Object;
use super::registry;
use crate::classes;
use crate::foundation::NSString;

/// A constant string, in the layout of compilers.
#[repr(C)]
pub(crate) struct CompiledString {
    isa: *const Class,
    /// The encoding; [`LOADED`] is added by [`load`].
    flags: u32,
    /// In units of UTF-16.
    length: u32,
    /// In bytes.
    bytes: u32,
    hash: u32,
    /// Once loaded, the string that stands for it.
    data: *const u8,
}

const LOADED: u32 = 1 << 31;
/// The encodings: ASCII (0), UTF-8 (1), UTF-16 (2), UTF-32 (3).
const ENCODING: u32 = 3;

/// The tag of a short string: three bits. Above are four bits of length, then characters of seven bits
/// each, the first in the highest bits.
const SHORT_TAG: usize = 4;

/// The class of a tagged pointer.
pub(crate) fn class_of_tagged() -> &'static Class {
    registry::place_of(c"NSString").map_or_else(|| unreachable!("the class is in the table"), Class::ready)
}

/// Gives a constant its text.
///
/// # Safety
///
/// `string` is a compiler's, and nothing else uses it yet; its class is a class or null in a gap
/// between constants.
pub(crate) unsafe fn load(string: *mut CompiledString) {
    // SAFETY: as promised.
    let string = unsafe { &mut *string };
    if string.isa.is_null() || string.flags & LOADED != 0 {
        return;
    }
    // SAFETY: the class is one of this crate's, which live for ever.
    let class = unsafe { &*string.isa }.ready();
    class.add_flags(IS_CONSTANT);
    // SAFETY: a compiler wrote so many bytes.
    let bytes = unsafe { std::slice::from_raw_parts(string.data, string.bytes as usize) };
    let text = match string.flags & ENCODING {
        2 => {
            let units = bytes.as_chunks::<2>().0.iter().map(|unit| u16::from_ne_bytes(*unit));
            String::from_utf16_lossy(&units.collect::<Vec<_>>())
        }
        _ => String::from_utf8_lossy(bytes).into_owned(),
    };
    string.data = std::ptr::from_ref(forever(&text)).cast();
    string.flags |= LOADED;
}

fn forever(text: &str) -> &'static NSString {
    let string = objc2::rc::Retained::into_raw(NSString::of(text));
    // SAFETY: the reference that was given up is never released.
    unsafe { &*string }
}

/// The instance that stands for the string: itself, or that of a constant.
#[inline]
pub(crate) fn real(string: &NSString) -> &NSString {
    let object = std::ptr::from_ref(string).cast::<Object>();
    // SAFETY: a string is an object.
    let head = unsafe { &*object };
    if head.is_tagged() {
        return short(object.addr());
    }
    let is_constant =
        head.isa().is_some_and(|class| std::ptr::eq(class, &raw const *classes::constant_string()));
    if is_constant {
        // SAFETY: objects of that class are compilers' constants, which were loaded.
        return unsafe { &*(*object.cast::<CompiledString>()).data.cast::<NSString>() };
    }
    string
}

/// The string of a tagged pointer.
#[cold]
fn short(pointer: usize) -> &'static NSString {
    static KNOWN: Mutex<BTreeMap<usize, &'static NSString>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.entry(pointer).or_insert_with(|| forever(&characters(pointer)))
}

/// The characters in a tagged pointer.
fn characters(pointer: usize) -> String {
    let bits = pointer as u64;
    debug_assert_eq!(pointer & 7, SHORT_TAG, "only short strings are tagged");
    let length = (bits >> 3) & 15;
    (0..length.min(8)).map(|at| char::from(((bits >> (57 - at * 7)) & 0x7f) as u8)).collect()
}

// SAFETY: strings are used from several threads; these never change.
unsafe impl Sync for CompiledString {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tagged_pointer_holds_up_to_eight_characters() {
        // As Clang writes @"abc".
        let bits = (b'a' as usize) << 57 | (b'b' as usize) << 50 | (b'c' as usize) << 43 | 3 << 3 | 4;
        assert_eq!(characters(bits), "abc");
        assert_eq!(short(bits).to_string(), "abc");
        assert_eq!(characters(4), "");
    }
}

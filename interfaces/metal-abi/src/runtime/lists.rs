//! What C functions give away: lists and texts in memory of `malloc`, which the caller frees.

use std::ffi::{CStr, c_char, c_uint};

use super::raise_invalid_argument;
use crate::arguments::may_write;

/// A copy of the list with a zero after it, and its length; null if it is empty.
///
/// # Safety
///
/// `length` is null or may be written, and all zeros are a valid `T`.
pub(crate) unsafe fn copied_list<T: Copy>(list: &[T], length: *mut c_uint) -> *mut T {
    if !length.is_null() {
        // SAFETY: as promised.
        unsafe { length.write(list.len() as c_uint) };
    }
    if list.is_empty() {
        return std::ptr::null_mut();
    }
    // SAFETY: `calloc` may be called with any size.
    let memory = unsafe { libc::calloc(list.len() + 1, size_of::<T>()) }.cast::<T>();
    if !memory.is_null() {
        // SAFETY: the memory is new and has room for more than the list.
        unsafe { std::ptr::copy_nonoverlapping(list.as_ptr(), memory, list.len()) };
    }
    memory
}

/// A copy of the text as a C string; null without one.
pub(crate) fn copied_text(text: Option<&[u8]>) -> *mut c_char {
    let Some(text) = text else { return std::ptr::null_mut() };
    // SAFETY: `calloc` may be called with any size.
    let memory = unsafe { libc::calloc(text.len() + 1, 1) }.cast::<c_char>();
    if !memory.is_null() {
        // SAFETY: the memory is new, zero, and has room for the text and a zero.
        unsafe { std::ptr::copy_nonoverlapping(text.as_ptr().cast(), memory, text.len()) };
    }
    memory
}

/// Copies as much of the text as there is room for and fills the rest with zeros, as `strncpy`
/// does.
///
/// # Safety
///
/// `destination` has room for `length` bytes.
pub(crate) unsafe fn copy_text_into(text: Option<&[u8]>, destination: *mut c_char, length: usize) {
    if !may_write(destination.cast(), length) {
        raise_invalid_argument(&format!(
            "method_getReturnType: the destination is not {length} bytes of memory"
        ));
    }
    let text = text.unwrap_or_default();
    let copied = text.len().min(length);
    // SAFETY: as promised, there is room for `length` bytes, and no more than that are written.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr().cast(), destination, copied);
        std::ptr::write_bytes(destination.add(copied), 0, length - copied);
    }
}

/// The name as a C string; that of no class is `nil`.
pub(crate) fn terminated_name(name: Option<&'static CStr>) -> *const c_char {
    name.unwrap_or(c"nil").as_ptr()
}

/// The text of a C string that may be null.
///
/// # Safety
///
/// `text` is null or a C string that outlives `'a`.
pub(crate) unsafe fn text<'a>(text: *const c_char) -> &'a CStr {
    if text.is_null() {
        return c"";
    }
    // SAFETY: as promised, and it is not null.
    unsafe { CStr::from_ptr(text) }
}

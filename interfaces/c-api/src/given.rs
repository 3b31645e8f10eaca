//! Parameters other than handles, checked before anything is read, written or reserved.
//!
//! Owns the types of the parameters of the exported functions. Invariant: their fields are private, so
//! that a function gets at memory of C only by a conversion of this module, each of which checks for
//! NULL, alignment, the end of the address space and a limit. Whether the memory is there cannot be
//! checked; it is the caller's promise, which makes the conversions unsafe.

use std::ffi::{CStr, c_char, c_void};
use std::ptr::NonNull;

use anymetal::memory::LentMemory;

use crate::status::Failure;

/// The largest source. The command line has the same limit.
pub(crate) const MAX_SOURCE_BYTES: usize = 64 << 20;
/// The most functions that a kernel is linked with.
pub(crate) const MAX_FUNCTIONS: usize = 1 << 16;

/// No process has memory from here on: addresses have at most 57 bits, half of them for the system.
const ADDRESS_END: usize = 1 << 56;

/// A place for a result.
#[repr(transparent)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<T>(*mut T);

/// A place that may be written.
pub(crate) struct CheckedPlace<T>(NonNull<T>);

/// A string that ends with a zero byte.
#[repr(transparent)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Text(*const c_char);

/// Bytes to be read; how many is another parameter.
#[repr(transparent)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bytes(*const c_void);

/// Memory to be written, or to be lent; how many bytes is another parameter.
#[repr(transparent)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Memory(*mut c_void);

/// An array; how many items is another parameter.
#[repr(transparent)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct List<T>(*const T);

impl<T> Place<T> {
    /// The place, which the call needs.
    ///
    /// # Safety
    ///
    /// A value may be written there, unless it is NULL.
    pub(crate) unsafe fn required(self) -> Result<CheckedPlace<T>, Failure> {
        let place = NonNull::new(self.0)
            .ok_or_else(|| Failure::caller("there is no place for the result: it is NULL"))?;
        check_array(place.cast(), 1, size_of::<T>(), align_of::<T>(), "place for the result")?;
        Ok(CheckedPlace(place))
    }

    /// The place, if the caller wants the result.
    ///
    /// # Safety
    ///
    /// As of [`Place::required`].
    pub(crate) unsafe fn optional(self) -> Result<Option<CheckedPlace<T>>, Failure> {
        if self.0.is_null() {
            return Ok(None);
        }
        // SAFETY: the caller's promise.
        unsafe { self.required() }.map(Some)
    }
}

impl<T> CheckedPlace<T> {
    pub(crate) fn write(self, value: T) {
        // SAFETY: not NULL and aligned, as checked; writable by the promise of [`Place::required`].
        unsafe { self.0.as_ptr().write(value) };
    }
}

impl Text {
    /// The text, which the call needs.
    ///
    /// # Safety
    ///
    /// It is NULL or ends with a zero byte; it is not changed while the result is used.
    pub(crate) unsafe fn required<'a>(self, what: &str) -> Result<&'a str, Failure> {
        // SAFETY: the caller's promise.
        unsafe { self.optional(what) }?.ok_or_else(|| Failure::caller(format!("the {what} is NULL")))
    }

    /// The text, if there is one.
    ///
    /// # Safety
    ///
    /// As of [`Text::required`].
    pub(crate) unsafe fn optional<'a>(self, what: &str) -> Result<Option<&'a str>, Failure> {
        if self.0.is_null() {
            return Ok(None);
        }
        // SAFETY: not NULL, and the caller's promise.
        let text = unsafe { CStr::from_ptr(self.0) };
        text.to_str().map(Some).map_err(|_| Failure::caller(format!("the {what} is not UTF-8")))
    }
}

impl Bytes {
    /// The bytes; NULL is valid for none.
    ///
    /// # Safety
    ///
    /// There are `count` bytes, unless it is NULL, which are not changed while the result is used.
    pub(crate) unsafe fn slice<'a>(
        self,
        count: usize,
        limit: usize,
        what: &str,
    ) -> Result<&'a [u8], Failure> {
        // SAFETY: the caller's promise; bytes have no alignment.
        unsafe { List(self.0.cast::<u8>()).slice(count, limit, what) }
    }
}

impl Memory {
    /// Copies bytes there; NULL is valid for none. `bytes` makes them once the memory is checked.
    ///
    /// # Safety
    ///
    /// `count` bytes may be written there, unless it is NULL.
    pub(crate) unsafe fn fill(
        self,
        count: usize,
        what: &str,
        bytes: impl FnOnce() -> Result<Vec<u8>, Failure>,
    ) -> Result<(), Failure> {
        let start = checked_start(self.0.cast::<u8>(), count, usize::MAX, what)?;
        let bytes = bytes()?;
        assert_eq!(bytes.len(), count, "the memory was checked for as many bytes as are copied");
        // SAFETY: the caller's promise; the copy is memory of this library.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), start.as_ptr(), count) };
        Ok(())
    }

    /// The memory as a loan; NULL is valid for none.
    ///
    /// # Safety
    ///
    /// As of [`LentMemory::new`], for as long as the buffer and work with it are there.
    pub(crate) unsafe fn lent(self, count: usize, what: &str) -> Result<LentMemory, Failure> {
        let start = checked_start(self.0.cast::<u8>(), count, usize::MAX, what)?;
        // SAFETY: the caller's promise.
        Ok(unsafe { LentMemory::new(start, count, Box::new(())) })
    }
}

impl<T> List<T> {
    /// The items; NULL is valid for none.
    ///
    /// # Safety
    ///
    /// There are `count` items, unless it is NULL, which are not changed while the result is used.
    pub(crate) unsafe fn slice<'a>(self, count: usize, limit: usize, what: &str) -> Result<&'a [T], Failure> {
        let start = checked_start(self.0.cast_mut(), count, limit, what)?;
        // SAFETY: not NULL, aligned and within the address space, as checked; the caller's promise.
        Ok(unsafe { std::slice::from_raw_parts(start.as_ptr(), count) })
    }
}

/// The first of `count` items; for none, any address will do, and NULL too.
fn checked_start<T>(start: *mut T, count: usize, limit: usize, what: &str) -> Result<NonNull<T>, Failure> {
    if count == 0 {
        return Ok(NonNull::dangling());
    }
    let start = NonNull::new(start).ok_or_else(|| Failure::caller(format!("the {what} are NULL")))?;
    if count > limit {
        return Err(Failure::caller(format!("{count} is too many for the {what}: at most {limit}")));
    }
    check_array(start.cast(), count, size_of::<T>(), align_of::<T>(), what)?;
    Ok(start)
}

fn check_array(
    start: NonNull<u8>,
    count: usize,
    size: usize,
    align: usize,
    what: &str,
) -> Result<(), Failure> {
    let address = start.addr().get();
    if !address.is_multiple_of(align) {
        return Err(Failure::caller(format!("the {what} at {address:#x} is not aligned to {align} bytes")));
    }
    let end = count.checked_mul(size).and_then(|bytes| address.checked_add(bytes));
    if end.is_none_or(|end| end > ADDRESS_END) {
        return Err(Failure::caller(format!(
            "the {what}: {count} times {size} bytes from {address:#x} on exceed the address space"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused<T>(outcome: Result<T, Failure>) -> bool {
        outcome.is_err()
    }

    #[test]
    fn lengths_are_checked_before_memory_is_read() {
        let words = [7u64; 2];
        let list = List(words.as_ptr());
        // SAFETY: two items are there, and none is read for larger counts.
        unsafe {
            assert!(list.slice(2, 2, "words").is_ok_and(|words| words == [7, 7]));
            assert!(list.slice(0, 0, "words").is_ok_and(<[u64]>::is_empty));
            assert!(List::<u64>(std::ptr::null()).slice(0, 0, "words").is_ok());
            for count in [3, 1 << 40, 1 << 61, 1 << 62, isize::MAX as usize, usize::MAX] {
                assert!(refused(list.slice(count, 2, "words")), "{count}");
            }
            for count in [1 << 56, 1 << 61, 1 << 62, isize::MAX as usize, usize::MAX] {
                assert!(refused(list.slice(count, usize::MAX, "words")), "{count}");
                assert!(refused(Bytes(words.as_ptr().cast()).slice(count, usize::MAX, "words")), "{count}");
                assert!(refused(Memory(words.as_ptr().cast_mut().cast()).lent(count, "memory")), "{count}");
            }
            assert!(refused(List::<u64>(std::ptr::null()).slice(1, 1, "words")));
            assert!(refused(List(words.as_ptr().cast::<u8>().add(1).cast::<u64>()).slice(1, 1, "words")));
            assert!(refused(Place(words.as_ptr().cast_mut().cast::<u8>().add(1).cast::<u64>()).required()));
            assert!(refused(Place(std::ptr::null_mut::<u64>()).required()));
            assert!(Place(std::ptr::null_mut::<u64>()).optional().is_ok_and(|place| place.is_none()));
        }
    }
}

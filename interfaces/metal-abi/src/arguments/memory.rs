//! Addresses of a sender's memory: places to write results to, bytes with a length, and C arrays with a
//! count.
//!
//! Length or count is another argument of the method, so these are checked when they are used.
//! Invariant: nothing is reserved for a length before it was checked. An address range of more than
//! [`PROBED_BYTES`] is compared with the process's mappings, so that a length that a program computed
//! wrongly is a failure and not a signal; within the mappings the sender's word counts, as it does on
//! Apple's machines.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::ptr::NonNull;

use objc2::encode::Encode;
use objc2::rc::Retained;

use super::{Argument, Referent, Site};
use crate::foundation::NSError;

/// Longer ranges are compared with the process's mappings.
const PROBED_BYTES: usize = 1 << 16;

/// Raises a failure if `bytes` bytes at the address cannot be the sender's memory.
#[track_caller]
fn check(address: *const c_void, bytes: Option<usize>, count: usize, what: &str, site: &Site) {
    let Some(bytes) = bytes.filter(|&bytes| bytes <= isize::MAX as usize) else {
        site.refuse(format_args!("has an absurd {what}: {count}"));
    };
    if bytes == 0 {
        return;
    }
    if address.is_null() {
        site.refuse(format_args!("must not be NULL with a {what} of {count}"));
    }
    if !may_read(address, bytes) {
        site.refuse(format_args!("is not the address of memory for a {what} of {count}"));
    }
}

/// Whether `bytes` bytes at the address are mapped. Up to [`PROBED_BYTES`] only NULL is excluded.
pub(crate) fn may_read(address: *const c_void, bytes: usize) -> bool {
    let is_memory = !address.is_null() && bytes <= isize::MAX as usize;
    bytes == 0 || (is_memory && (bytes <= PROBED_BYTES || is_mapped(address.addr(), bytes)))
}

/// The same for memory to write to.
pub(crate) fn may_write(address: *mut c_void, bytes: usize) -> bool {
    may_read(address, bytes)
}

/// Whether all pages of a range are mapped.
fn is_mapped(start: usize, bytes: usize) -> bool {
    let Some(end) = start.checked_add(bytes) else { return false };
    // SAFETY: the call takes nothing.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
    let first = start / page * page;
    // SAFETY: the call only looks at the process's mappings with this flag.
    let result =
        unsafe { libc::msync(std::ptr::with_exposed_provenance_mut(first), end - first, libc::MS_ASYNC) };
    result == 0
}

/// A place for a result; results for NULL are dropped.
#[derive(Debug)]
pub(crate) struct Out<T> {
    address: *mut T,
    site: Site,
}

/// The place for an error.
pub(crate) type ErrorOut = Out<*mut NSError>;

impl<T> Argument for Out<T> {
    type Raw = *mut T;

    #[inline]
    unsafe fn take(raw: *mut T, site: &Site) -> Self {
        Out { address: raw, site: *site }
    }
}

impl<T> Out<T> {
    /// Writes the result, if the sender wants it.
    pub(crate) fn set(&self, value: T) {
        if !self.address.is_null() {
            // SAFETY: a place that is not NULL is the sender's, which lends it to the method.
            unsafe { self.address.write_unaligned(value) };
        }
    }

    /// Writes the results to a C array, which has room for them.
    pub(crate) fn set_all(&self, values: impl ExactSizeIterator<Item = T>) {
        let count = values.len();
        check(self.address.cast(), count.checked_mul(size_of::<T>()), count, "count", &self.site);
        for (at, value) in values.enumerate() {
            // SAFETY: the sender promises room for the results.
            unsafe { self.address.add(at).write_unaligned(value) };
        }
    }

    /// Writes to a C array, if the sender wants it.
    pub(crate) fn set_all_if_wanted(&self, values: impl ExactSizeIterator<Item = T>) {
        if !self.address.is_null() {
            self.set_all(values);
        }
    }

    /// Whether the sender wants the result.
    pub(crate) fn is_wanted(&self) -> bool {
        !self.address.is_null()
    }

    /// The address, for the next steps of an enumeration.
    pub(crate) fn address(&self) -> *mut T {
        self.address
    }
}

impl ErrorOut {
    /// Hands an error to a sender that wants it; returns nothing.
    pub(crate) fn fail<T>(&self, error: Retained<NSError>) -> Option<T> {
        if !self.address.is_null() {
            self.set(Retained::autorelease_ptr(error));
        }
        None
    }
}

/// The address of bytes, whose length is another argument.
#[derive(Debug)]
pub(crate) struct Bytes {
    address: *mut c_void,
    site: Site,
}

impl Argument for Bytes {
    type Raw = *mut c_void;

    #[inline]
    unsafe fn take(raw: *mut c_void, site: &Site) -> Self {
        Bytes { address: raw, site: *site }
    }
}

impl Bytes {
    /// The bytes; empty for a length of 0, whatever the address.
    #[track_caller]
    pub(crate) fn read(&self, length: usize) -> &[u8] {
        if length == 0 {
            return &[];
        }
        check(self.address, Some(length), length, "length", &self.site);
        // SAFETY: the sender promises `length` bytes, which live until the method returns.
        unsafe { std::slice::from_raw_parts(self.address.cast::<u8>(), length) }
    }

    /// The address of at least `length` bytes, to write to; not null.
    #[track_caller]
    pub(crate) fn at_least(&self, length: usize) -> *mut u8 {
        self.require();
        check(self.address, Some(length), length, "length", &self.site);
        self.address.cast()
    }

    /// The address, unless it is NULL.
    pub(crate) fn start(&self) -> Option<NonNull<c_void>> {
        NonNull::new(self.address)
    }

    /// Raises a failure for NULL.
    #[track_caller]
    pub(crate) fn require(&self) {
        if self.address.is_null() {
            self.site.refuse("must not be NULL");
        }
    }
}

/// A C array, whose count is another argument. Its elements are references, which may be nil, or values.
#[derive(Debug)]
pub(crate) struct List<T: Element> {
    address: *const T::Stored,
    site: Site,
    _of: PhantomData<T>,
}

impl<T: Element> Argument for List<T> {
    type Raw = *const T::Stored;

    #[inline]
    unsafe fn take(raw: Self::Raw, site: &Site) -> Self {
        List { address: raw, site: *site, _of: PhantomData }
    }
}

/// A type of elements of C arrays.
pub(crate) trait Element: Sized {
    /// As it is in memory.
    type Stored: Copy + Encode;

    /// # Safety
    ///
    /// As for [`Argument::take`].
    unsafe fn element(stored: Self::Stored, site: &Site) -> Self;
}

impl<T> Element for Option<&T>
where
    T: Referent<Pointee = T> + objc2::Message,
{
    type Stored = *const T;

    unsafe fn element(stored: *const T, site: &Site) -> Self {
        // SAFETY: as promised.
        unsafe { <Option<&T> as Argument>::take(stored, site) }
    }
}

impl<T> Element for &T
where
    T: Referent<Pointee = T> + objc2::Message,
{
    type Stored = *const T;

    unsafe fn element(stored: *const T, site: &Site) -> Self {
        if stored.is_null() {
            site.refuse("must not contain nil");
        }
        // SAFETY: as promised.
        unsafe { T::at(stored, site) }
    }
}

macro_rules! value_elements {
    ($($type:ty)*) => {
        $(
            impl Element for $type {
                type Stored = $type;

                unsafe fn element(stored: $type, _: &Site) -> Self {
                    stored
                }
            }
        )*
    };
}

value_elements!(usize f32);

impl<T: Element> List<T> {
    /// The elements, read one at a time.
    #[track_caller]
    pub(crate) fn read(&self, count: usize) -> impl ExactSizeIterator<Item = T> {
        let bytes = count.checked_mul(size_of::<T::Stored>());
        check(self.address.cast(), bytes, count, "count", &self.site);
        // SAFETY: the sender promises `count` elements.
        (0..count).map(|at| unsafe { T::element(self.address.add(at).read_unaligned(), &self.site) })
    }
}

impl<T: Referent<Pointee = T> + objc2::Message> List<&T> {
    /// References to the elements.
    #[track_caller]
    pub(crate) fn retained(&self, count: usize) -> Vec<Retained<T>> {
        self.read(count).map(objc2::Message::retain).collect()
    }
}

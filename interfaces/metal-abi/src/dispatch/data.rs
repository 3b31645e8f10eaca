//! `dispatch_data`: bytes as objects.
//!
//! As on Apple's machines they are objects of `NSData`, so that methods take them and they take messages.
//! Invariant: the bytes are copied when an object is made, so its destructor runs at once.

use std::ffi::c_void;

use objc2::rc::Retained;
use objc2::runtime::AnyObject;

use super::object::{Reference, refuse};
use super::queue::{Callable, submit_to};
use crate::arguments::may_read;
use crate::foundation::data::NSData;

/// The address that stands for a destructor of the system's.
#[repr(transparent)]
struct Destructor(*const u8);

// SAFETY: nothing is read through it.
unsafe impl Sync for Destructor {}

static FREE: u8 = 0;
static MUNMAP: u8 = 0;

/// `DISPATCH_DATA_DESTRUCTOR_FREE`.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, reason = "C's name")]
static _dispatch_data_destructor_free: Destructor = Destructor(&raw const FREE);

/// `DISPATCH_DATA_DESTRUCTOR_MUNMAP`.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, reason = "C's name")]
static _dispatch_data_destructor_munmap: Destructor = Destructor(&raw const MUNMAP);

/// The data at an address; a failure of the function for NULL and other objects.
///
/// # Safety
///
/// `data` is null or the address of any live object.
unsafe fn data_at<'a>(called: &str, data: *const AnyObject) -> &'a NSData {
    // SAFETY: as promised.
    let Some(object) = (unsafe { data.as_ref() }) else { refuse(called, "the data must not be NULL") };
    object.downcast_ref::<NSData>().unwrap_or_else(|| refuse(called, "the object is not data"))
}

/// # Safety
///
/// `buffer` is null or `size` bytes; `queue` is null or a program's reference; `destructor` is null, a
/// destructor of the system's that the buffer allows, or a block without arguments.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn dispatch_data_create(
    buffer: *mut c_void,
    size: usize,
    queue: Reference,
    destructor: *const c_void,
) -> *mut AnyObject {
    const CALLED: &str = "dispatch_data_create";
    if size > 0 && !may_read(buffer, size) {
        refuse(CALLED, "the buffer is not `size` bytes of memory");
    }
    let bytes: &[u8] = match size {
        0 => &[],
        // SAFETY: as promised.
        size => unsafe { std::slice::from_raw_parts(buffer.cast(), size) },
    };
    let data = NSData::of(bytes);
    // SAFETY: as promised.
    unsafe { destroy(CALLED, buffer, size, queue, destructor) };
    Retained::into_raw(data).cast()
}

/// Runs a destructor.
///
/// # Safety
///
/// As for [`dispatch_data_create`].
unsafe fn destroy(
    called: &str,
    buffer: *mut c_void,
    size: usize,
    queue: Reference,
    destructor: *const c_void,
) {
    // SAFETY: as promised.
    unsafe {
        if destructor.is_null() {
            // The buffer remains the program's.
        } else if std::ptr::eq(destructor.cast(), &raw const FREE) {
            libc::free(buffer);
        } else if std::ptr::eq(destructor.cast(), &raw const MUNMAP) {
            libc::munmap(buffer, size);
        } else {
            let block = Callable::of_block(called, destructor);
            submit_to(called, queue, Box::new(move || block.call()));
        }
    }
}

/// # Safety
///
/// `data` is the address of any live object.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn dispatch_data_get_size(data: *const AnyObject) -> usize {
    // SAFETY: as promised.
    unsafe { data_at("dispatch_data_get_size", data) }.with_bytes(<[u8]>::len)
}

/// Returns another reference to the data, whose bytes are one range.
///
/// # Safety
///
/// `data` is the address of any live object; the others are null or may be written.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn dispatch_data_create_map(
    data: *const AnyObject,
    buffer: *mut *const c_void,
    size: *mut usize,
) -> *mut AnyObject {
    // SAFETY: as promised; data does not change, so the address remains valid.
    unsafe {
        let data = data_at("dispatch_data_create_map", data);
        let (start, length) = data.with_bytes(|bytes| (bytes.as_ptr(), bytes.len()));
        if let Some(buffer) = buffer.as_mut() {
            *buffer = start.cast();
        }
        if let Some(size) = size.as_mut() {
            *size = length;
        }
        Retained::into_raw(objc2::Message::retain(data)).cast()
    }
}

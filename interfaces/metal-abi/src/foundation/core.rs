//! The functions of Core Foundation, Core Graphics and Mach that programs for Metal call beside its API.
//!
//! Objects of Core Foundation are objects of Objective-C, and a colour space is the string with its name.

use std::ffi::c_int;

use objc2::runtime::AnyObject;

use crate::runtime::arc::{objc_release, objc_retain};
use crate::runtime::raise_invalid_argument;

/// # Safety
///
/// `object` is null or a live object.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn CFRetain(object: *mut AnyObject) -> *mut AnyObject {
    require("CFRetain", object);
    // SAFETY: as promised.
    unsafe { objc_retain(object.cast()) }.cast()
}

/// # Safety
///
/// `object` is null or a live object with a reference of the caller's, which ends.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn CFRelease(object: *mut AnyObject) {
    require("CFRelease", object);
    // SAFETY: as promised.
    unsafe { objc_release(object.cast()) }
}

#[track_caller]
fn require(called: &str, object: *mut AnyObject) {
    if object.is_null() {
        raise_invalid_argument(&format!("{called}: the object must not be NULL"));
    }
}

/// # Safety
///
/// `name` is null or a string object.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn CGColorSpaceCreateWithName(name: *mut AnyObject) -> *mut AnyObject {
    // SAFETY: as promised.
    unsafe { objc_retain(name.cast()) }.cast()
}

/// # Safety
///
/// `space` is null or a colour space with a reference of the caller's, which ends.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn CGColorSpaceRelease(space: *mut AnyObject) {
    // SAFETY: as promised.
    unsafe { objc_release(space.cast()) }
}

/// `mach_timebase_info_data_t`: nanoseconds are ticks times the quotient.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timebase {
    numerator: u32,
    denominator: u32,
}

/// The ticks of the machine's clock, which does not count while the machine sleeps: nanoseconds here.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn mach_absolute_time() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the place may be written, and every Linux has the clock.
    let status = unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    assert_eq!(status, 0, "the monotonic clock can be read");
    now.tv_sec.cast_unsigned() * 1_000_000_000 + now.tv_nsec.cast_unsigned()
}

/// Returns `KERN_SUCCESS`, or `KERN_INVALID_ARGUMENT` for NULL.
///
/// # Safety
///
/// `timebase` is null or may be written.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn mach_timebase_info(timebase: *mut Timebase) -> c_int {
    const INVALID_ARGUMENT: c_int = 4;
    // SAFETY: as promised.
    let Some(timebase) = (unsafe { timebase.as_mut() }) else { return INVALID_ARGUMENT };
    *timebase = Timebase { numerator: 1, denominator: 1 };
    0
}

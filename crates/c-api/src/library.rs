//! Libraries: compiled source.

use std::ffi::{c_char, c_int};

use anymetal::{CompileOptions, Library, MathMode};

use crate::device::DeviceHandle;
use crate::status::{Failure, Status, give, object, release, run};

/// `anymetal_library`.
#[derive(Debug)]
pub struct LibraryHandle {
    pub(crate) library: Library,
}

/// `anymetal_library_compile`.
///
/// # Safety
///
/// `device` is NULL or a device that was not given back, `source` has `length` bytes, `library` is
/// a place for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anymetal_library_compile(
    device: *const DeviceHandle,
    source: *const c_char,
    length: usize,
    math_mode: c_int,
    library: *mut *mut LibraryHandle,
) -> Status {
    run(|| {
        // SAFETY: the caller's promise.
        let device = unsafe { object(device, "device") }?;
        if source.is_null() {
            return Err(Failure::caller("the source is NULL"));
        }
        // SAFETY: the caller's promise.
        let bytes = unsafe { std::slice::from_raw_parts(source.cast::<u8>(), length) };
        let source = std::str::from_utf8(bytes).map_err(|_| Failure::caller("the source is not UTF-8"))?;
        let math_mode = match math_mode {
            0 => MathMode::Safe,
            1 => MathMode::Relaxed,
            2 => MathMode::Fast,
            other => return Err(Failure::caller(format!("{other} is no math mode"))),
        };
        let options = CompileOptions { math_mode, ..CompileOptions::default() };
        let made = LibraryHandle { library: device.device.library_from_source_with(source, &options)? };
        // SAFETY: the caller's promise.
        unsafe { give(library, made) }
    })
}

/// `anymetal_library_release`.
///
/// # Safety
///
/// `library` is NULL or a library that was not given back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anymetal_library_release(library: *mut LibraryHandle) {
    // SAFETY: the caller's promise.
    unsafe { release(library) }
}

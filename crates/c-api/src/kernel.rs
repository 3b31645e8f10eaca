//! Kernels, ready to run.

use std::ffi::c_char;

use anymetal::Pipeline;

use crate::library::LibraryHandle;
use crate::status::{Status, give, object, release, run, text};

/// `anymetal_kernel`.
#[derive(Debug)]
pub struct KernelHandle {
    pub(crate) pipeline: Pipeline,
}

/// `anymetal_kernel_make`.
///
/// # Safety
///
/// `library` is NULL or a library that was not given back, `name` a string of C, `kernel` a place
/// for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anymetal_kernel_make(
    library: *const LibraryHandle,
    name: *const c_char,
    kernel: *mut *mut KernelHandle,
) -> Status {
    run(|| {
        // SAFETY: the caller's promise.
        let (library, name) = unsafe { (object(library, "library")?, text(name, "kernel's name")?) };
        let made = KernelHandle { pipeline: library.library.pipeline(name)? };
        // SAFETY: the caller's promise.
        unsafe { give(kernel, made) }
    })
}

/// `anymetal_kernel_max_threads_per_threadgroup`; 0 for NULL.
///
/// # Safety
///
/// `kernel` is NULL or a kernel that was not given back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anymetal_kernel_max_threads_per_threadgroup(kernel: *const KernelHandle) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { kernel.as_ref() }.map_or(0, |kernel| kernel.pipeline.max_total_threads_per_threadgroup())
}

/// `anymetal_kernel_is_machine_code`; false for NULL.
///
/// # Safety
///
/// `kernel` is NULL or a kernel that was not given back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anymetal_kernel_is_machine_code(kernel: *const KernelHandle) -> bool {
    // SAFETY: the caller's promise.
    unsafe { kernel.as_ref() }.is_some_and(|kernel| kernel.pipeline.executor().is_machine_code())
}

/// `anymetal_kernel_release`.
///
/// # Safety
///
/// `kernel` is NULL or a kernel that was not given back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anymetal_kernel_release(kernel: *mut KernelHandle) {
    // SAFETY: the caller's promise.
    unsafe { release(kernel) }
}

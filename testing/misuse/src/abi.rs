//! The C library as C sees it: the functions and structures of `anymetal.h`.
//!
//! Handles are plain addresses here, and pointers are not checked by anything, so that every mistake of a
//! C program can be made.

use std::ffi::{c_char, c_int, c_void};

// The library whose symbols these are.
use anymetal_c as _;

/// Any handle, and whatever else is passed in its place.
pub(crate) type Handle = *mut c_void;

#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct LinkedFunction {
    pub(crate) library: Handle,
    pub(crate) name: *const c_char,
    pub(crate) alias: *const c_char,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Argument {
    pub(crate) kind: c_int,
    pub(crate) buffer: Handle,
    pub(crate) offset: usize,
    pub(crate) integer: i64,
    pub(crate) number: f64,
    pub(crate) bytes: *const c_void,
    pub(crate) length: usize,
    pub(crate) functions: Handle,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grid {
    pub(crate) threads: [u32; 3],
    pub(crate) group_size: [u32; 3],
}

/// `anymetal_argument_info`, of which only the size matters.
pub(crate) type ArgumentInfo = [u64; 4];

unsafe extern "C" {
    pub(crate) fn anymetal_last_error() -> *const c_char;
    pub(crate) fn anymetal_device_open(name: *const c_char, device: *mut Handle) -> c_int;
    pub(crate) fn anymetal_device_name(device: Handle) -> *const c_char;
    pub(crate) fn anymetal_device_release(device: Handle);
    pub(crate) fn anymetal_library_compile(
        device: Handle,
        source: *const c_char,
        length: usize,
        math_mode: c_int,
        library: *mut Handle,
    ) -> c_int;
    pub(crate) fn anymetal_library_release(library: Handle);
    pub(crate) fn anymetal_kernel_make(library: Handle, name: *const c_char, kernel: *mut Handle) -> c_int;
    pub(crate) fn anymetal_kernel_make_linked(
        library: Handle,
        name: *const c_char,
        functions: *const LinkedFunction,
        count: usize,
        kernel: *mut Handle,
    ) -> c_int;
    pub(crate) fn anymetal_kernel_max_threads_per_threadgroup(kernel: Handle) -> u32;
    pub(crate) fn anymetal_kernel_is_machine_code(kernel: Handle) -> bool;
    pub(crate) fn anymetal_kernel_argument_count(kernel: Handle) -> usize;
    pub(crate) fn anymetal_kernel_argument(kernel: Handle, number: usize, info: *mut ArgumentInfo) -> c_int;
    pub(crate) fn anymetal_kernel_release(kernel: Handle);
    pub(crate) fn anymetal_buffer_make(device: Handle, bytes: usize, buffer: *mut Handle) -> c_int;
    pub(crate) fn anymetal_buffer_borrow(
        device: Handle,
        memory: *mut c_void,
        bytes: usize,
        buffer: *mut Handle,
    ) -> c_int;
    pub(crate) fn anymetal_buffer_length(buffer: Handle) -> usize;
    pub(crate) fn anymetal_buffer_read(
        buffer: Handle,
        offset: usize,
        bytes: *mut c_void,
        count: usize,
    ) -> c_int;
    pub(crate) fn anymetal_buffer_write(
        buffer: Handle,
        offset: usize,
        bytes: *const c_void,
        count: usize,
    ) -> c_int;
    pub(crate) fn anymetal_buffer_release(buffer: Handle);
    pub(crate) fn anymetal_function_table_make(
        kernel: Handle,
        names: *const *const c_char,
        count: usize,
        table: *mut Handle,
    ) -> c_int;
    pub(crate) fn anymetal_function_table_set(table: Handle, index: usize, name: *const c_char) -> c_int;
    pub(crate) fn anymetal_function_table_release(table: Handle);
    pub(crate) fn anymetal_queue_make(device: Handle, queue: *mut Handle) -> c_int;
    pub(crate) fn anymetal_queue_release(queue: Handle);
    pub(crate) fn anymetal_launch(
        queue: Handle,
        kernel: Handle,
        arguments: *const Argument,
        count: usize,
        grid: Grid,
        submission: *mut Handle,
    ) -> c_int;
    pub(crate) fn anymetal_launch_within(
        queue: Handle,
        kernel: Handle,
        arguments: *const Argument,
        count: usize,
        grid: Grid,
        deadline_seconds: f64,
        submission: *mut Handle,
    ) -> c_int;
    pub(crate) fn anymetal_submission_wait(submission: Handle, device_seconds: *mut f64) -> c_int;
    pub(crate) fn anymetal_submission_is_done(submission: Handle) -> bool;
    pub(crate) fn anymetal_submission_release(submission: Handle);
}

//! Kernels, ready to run.

use std::ffi::{CString, c_char};

use anymetal::{Access, ArgumentInfo, ArgumentKind, Pipeline, PipelineDescriptor};

use crate::functions::{LinkedFunction, linked};
use crate::library::LibraryHandle;
use crate::status::{Failure, Status, give, object, release, run, text};

/// `anymetal_kernel`.
#[derive(Debug)]
pub struct KernelHandle {
    pub(crate) pipeline: Pipeline,
    /// What it takes, with names that C reads.
    arguments: Vec<(CString, ArgumentInfo)>,
}

impl KernelHandle {
    fn new(pipeline: Pipeline) -> KernelHandle {
        let mut all: Vec<ArgumentInfo> =
            pipeline.kernel().arguments.iter().filter(|argument| argument.enabled).cloned().collect();
        all.sort_by_key(|argument| (argument.kind != ArgumentKind::Buffer, argument.index));
        let named =
            |argument: ArgumentInfo| (CString::new(argument.name.as_str()).unwrap_or_default(), argument);
        KernelHandle { arguments: all.into_iter().map(named).collect(), pipeline }
    }
}

/// `anymetal_argument_info`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct ArgumentDescription {
    name: *const c_char,
    index: u32,
    is_threadgroup: bool,
    is_reference: bool,
    is_written: bool,
    is_function_table: bool,
    element_size: usize,
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
        let made = KernelHandle::new(library.library.pipeline(name)?);
        // SAFETY: the caller's promise.
        unsafe { give(kernel, made) }
    })
}

/// `anymetal_kernel_make_linked`.
///
/// # Safety
///
/// As of [`anymetal_kernel_make`]; there are `function_count` functions at `functions`, as the header
/// describes them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anymetal_kernel_make_linked(
    library: *const LibraryHandle,
    name: *const c_char,
    functions: *const LinkedFunction,
    function_count: usize,
    kernel: *mut *mut KernelHandle,
) -> Status {
    run(|| {
        // SAFETY: the caller's promise.
        let (library, name) = unsafe { (object(library, "library")?, text(name, "kernel's name")?) };
        // SAFETY: the caller's promise.
        let functions = unsafe { linked(functions, function_count) }?;
        let descriptor = PipelineDescriptor::new(name).linked_functions(functions);
        let made = KernelHandle::new(library.library.pipeline(descriptor)?);
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

/// `anymetal_kernel_argument_count`; 0 for NULL.
///
/// # Safety
///
/// `kernel` is NULL or a kernel that was not given back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anymetal_kernel_argument_count(kernel: *const KernelHandle) -> usize {
    // SAFETY: the caller's promise.
    unsafe { kernel.as_ref() }.map_or(0, |kernel| kernel.arguments.len())
}

/// `anymetal_kernel_argument`.
///
/// # Safety
///
/// `kernel` is NULL or a kernel that was not given back, `info` is NULL or a place for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anymetal_kernel_argument(
    kernel: *const KernelHandle,
    number: usize,
    info: *mut ArgumentDescription,
) -> Status {
    run(|| {
        // SAFETY: the caller's promise.
        let kernel = unsafe { object(kernel, "kernel") }?;
        let count = kernel.arguments.len();
        let (name, argument) = kernel.arguments.get(number).ok_or_else(|| {
            Failure::caller(format!("there is no argument {number}: the kernel has {count}"))
        })?;
        if info.is_null() {
            return Err(Failure::caller("there is no place for the result: it is NULL"));
        }
        let described = ArgumentDescription {
            name: name.as_ptr(),
            index: argument.index,
            is_threadgroup: argument.kind == ArgumentKind::ThreadgroupMemory,
            is_reference: argument.is_reference,
            is_written: matches!(argument.access, Access::Write | Access::ReadWrite),
            is_function_table: argument.is_function_table(),
            element_size: usize::try_from(argument.element_size).unwrap_or(usize::MAX),
        };
        // SAFETY: not NULL, and the caller's promise.
        unsafe { info.write(described) };
        Ok(())
    })
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

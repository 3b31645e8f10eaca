//! Kernels, ready to run.

use std::ffi::{CString, c_char};

use anymetal::reflection::{Access, ArgumentInfo, ArgumentKind};
use anymetal::{Pipeline, PipelineDescriptor};

use crate::functions::{LinkedFunction, linked};
use crate::given::{List, Place, Text};
use crate::handles::{Handle, handled};
use crate::library::LibraryHandle;
use crate::status::{Failure, Status, run};

/// `anymetal_kernel`.
#[derive(Debug)]
pub(crate) struct KernelHandle {
    pub(crate) pipeline: Pipeline,
    /// What it takes, with names that C reads.
    arguments: Vec<(CString, ArgumentInfo)>,
}

handled!(KernelHandle, 4);

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
pub(crate) struct ArgumentDescription {
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
/// `name` is NULL or a string of C, `kernel` NULL or a place for the result.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn anymetal_kernel_make(
    library: Handle<LibraryHandle>,
    name: Text,
    kernel: Place<Handle<KernelHandle>>,
) -> Status {
    run(|| {
        let library = library.object("library")?;
        // SAFETY: the caller's promise.
        let (place, name) = unsafe { (kernel.required()?, name.required("kernel's name")?) };
        place.write(Handle::of(KernelHandle::new(library.library.pipeline(name)?))?);
        Ok(())
    })
}

/// `anymetal_kernel_make_linked`.
///
/// # Safety
///
/// As of [`anymetal_kernel_make`]; there are `function_count` functions at `functions`, as the header
/// describes them.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn anymetal_kernel_make_linked(
    library: Handle<LibraryHandle>,
    name: Text,
    functions: List<LinkedFunction>,
    function_count: usize,
    kernel: Place<Handle<KernelHandle>>,
) -> Status {
    run(|| {
        let library = library.object("library")?;
        // SAFETY: the caller's promise.
        let (place, name) = unsafe { (kernel.required()?, name.required("kernel's name")?) };
        // SAFETY: the caller's promise.
        let functions = unsafe { linked(functions, function_count) }?;
        let descriptor = PipelineDescriptor::new(name).linked_functions(functions);
        place.write(Handle::of(KernelHandle::new(library.library.pipeline(descriptor)?))?);
        Ok(())
    })
}

/// `anymetal_kernel_max_threads_per_threadgroup`; 0 for whatever is not a live kernel.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn anymetal_kernel_max_threads_per_threadgroup(kernel: Handle<KernelHandle>) -> u32 {
    kernel.if_live().map_or(0, |kernel| kernel.pipeline.max_total_threads_per_threadgroup())
}

/// `anymetal_kernel_argument_count`; 0 for whatever is not a live kernel.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn anymetal_kernel_argument_count(kernel: Handle<KernelHandle>) -> usize {
    kernel.if_live().map_or(0, |kernel| kernel.arguments.len())
}

/// `anymetal_kernel_argument`.
///
/// # Safety
///
/// `info` is NULL or a place for the result.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn anymetal_kernel_argument(
    kernel: Handle<KernelHandle>,
    number: usize,
    info: Place<ArgumentDescription>,
) -> Status {
    run(|| {
        let kernel = kernel.object("kernel")?;
        // SAFETY: the caller's promise.
        let place = unsafe { info.required() }?;
        let count = kernel.arguments.len();
        let (name, argument) = kernel.arguments.get(number).ok_or_else(|| {
            Failure::caller(format!("there is no argument {number}: the kernel has {count}"))
        })?;
        place.write(ArgumentDescription {
            name: name.as_ptr(),
            index: argument.index,
            is_threadgroup: argument.kind == ArgumentKind::ThreadgroupMemory,
            is_reference: argument.is_reference,
            is_written: matches!(argument.access, Access::Write | Access::ReadWrite),
            is_function_table: argument.is_function_table(),
            element_size: usize::try_from(argument.element_size).unwrap_or(usize::MAX),
        });
        Ok(())
    })
}

/// `anymetal_kernel_is_machine_code`; false for whatever is not a live kernel.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn anymetal_kernel_is_machine_code(kernel: Handle<KernelHandle>) -> bool {
    kernel.if_live().is_some_and(|kernel| kernel.pipeline.executor().is_machine_code())
}

/// `anymetal_kernel_release`.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn anymetal_kernel_release(kernel: Handle<KernelHandle>) {
    kernel.release();
}

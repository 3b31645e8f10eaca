//! Visible functions: those that kernels are linked with, and tables of them.

use std::ffi::c_char;

use anymetal::{FunctionConstants, LinkedFunctions, Pipeline, VisibleFunctionTable};

use crate::kernel::KernelHandle;
use crate::library::LibraryHandle;
use crate::status::{Failure, Status, give, list, object, release, run, text};

/// `anymetal_linked_function`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct LinkedFunction {
    library: *const LibraryHandle,
    name: *const c_char,
    alias: *const c_char,
}

/// `anymetal_function_table`.
#[derive(Debug)]
pub struct FunctionTableHandle {
    pub(crate) table: VisibleFunctionTable,
    pipeline: Pipeline,
}

impl FunctionTableHandle {
    /// # Safety
    ///
    /// `name` is NULL or a string of C.
    unsafe fn set(&self, index: usize, name: *const c_char) -> Result<(), Failure> {
        if name.is_null() {
            return Ok(self.table.clear(index)?);
        }
        // SAFETY: the caller's promise.
        let function = self.pipeline.function_handle(unsafe { text(name, "function's name") }?)?;
        Ok(self.table.set(index, &function)?)
    }
}

impl LinkedFunction {
    /// # Safety
    ///
    /// The library is NULL or was not given back, the name and the alias are NULL or strings of C.
    unsafe fn add_to(&self, functions: LinkedFunctions) -> Result<LinkedFunctions, Failure> {
        // SAFETY: the caller's promise.
        let library = &unsafe { object(self.library, "linked function's library") }?.library;
        // SAFETY: the caller's promise.
        let name = unsafe { text(self.name, "linked function's name") }?;
        if self.alias.is_null() {
            return Ok(functions.function(library, name));
        }
        // SAFETY: the caller's promise.
        let alias = unsafe { text(self.alias, "linked function's alias") }?;
        Ok(functions.function_as(library, name, alias, FunctionConstants::new()))
    }
}

/// The functions that C lists.
///
/// # Safety
///
/// There are `count` functions at `functions`, as the header describes them.
pub(crate) unsafe fn linked(
    functions: *const LinkedFunction,
    count: usize,
) -> Result<LinkedFunctions, Failure> {
    // SAFETY: the caller's promise.
    let functions = unsafe { list(functions, count, "linked functions") }?;
    functions.iter().try_fold(LinkedFunctions::new(), |all, function| {
        // SAFETY: the caller's promise.
        unsafe { function.add_to(all) }
    })
}

/// `anymetal_function_table_make`.
///
/// # Safety
///
/// `kernel` is NULL or a kernel that was not given back, `names` has `count` names, each NULL or a string of
/// C, `table` is a place for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anymetal_function_table_make(
    kernel: *const KernelHandle,
    names: *const *const c_char,
    count: usize,
    table: *mut *mut FunctionTableHandle,
) -> Status {
    run(|| {
        // SAFETY: the caller's promise.
        let (kernel, names) = unsafe { (object(kernel, "kernel")?, list(names, count, "names")?) };
        let pipeline = kernel.pipeline.clone();
        let made = FunctionTableHandle { table: VisibleFunctionTable::new(&pipeline, count)?, pipeline };
        for (index, &name) in names.iter().enumerate() {
            // SAFETY: the caller's promise.
            unsafe { made.set(index, name) }?;
        }
        // SAFETY: the caller's promise.
        unsafe { give(table, made) }
    })
}

/// `anymetal_function_table_set`.
///
/// # Safety
///
/// `table` is NULL or a table that was not given back, `name` NULL or a string of C.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anymetal_function_table_set(
    table: *const FunctionTableHandle,
    index: usize,
    name: *const c_char,
) -> Status {
    // SAFETY: the caller's promise.
    run(|| unsafe { object(table, "table of functions")?.set(index, name) })
}

/// `anymetal_function_table_release`.
///
/// # Safety
///
/// `table` is NULL or a table that was not given back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anymetal_function_table_release(table: *mut FunctionTableHandle) {
    // SAFETY: the caller's promise.
    unsafe { release(table) }
}

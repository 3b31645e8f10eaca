//! Visible functions: those that kernels are linked with, and tables of them.

use anymetal::functions::{LinkedFunctions, VisibleFunctionTable};
use anymetal::{FunctionConstants, Pipeline};

use crate::given::{List, MAX_FUNCTIONS, Place, Text};
use crate::handles::{Handle, handled};
use crate::kernel::KernelHandle;
use crate::library::LibraryHandle;
use crate::status::{Failure, Status, run};

/// `anymetal_linked_function`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct LinkedFunction {
    library: Handle<LibraryHandle>,
    name: Text,
    alias: Text,
}

/// `anymetal_function_table`.
#[derive(Debug)]
pub(crate) struct FunctionTableHandle {
    pub(crate) table: VisibleFunctionTable,
    pipeline: Pipeline,
}

handled!(FunctionTableHandle, 6);

impl FunctionTableHandle {
    /// # Safety
    ///
    /// `name` is NULL or a string of C.
    unsafe fn set(&self, index: usize, name: Text) -> Result<(), Failure> {
        // SAFETY: the caller's promise.
        let Some(name) = unsafe { name.optional("function's name") }? else {
            return Ok(self.table.clear(index)?);
        };
        Ok(self.table.set(index, &self.pipeline.function_handle(name)?)?)
    }
}

impl LinkedFunction {
    /// # Safety
    ///
    /// The name and the alias are NULL or strings of C.
    unsafe fn add_to(&self, functions: LinkedFunctions) -> Result<LinkedFunctions, Failure> {
        let library = self.library.object("linked function's library")?;
        // SAFETY: the caller's promise.
        let (name, alias) = unsafe {
            (self.name.required("linked function's name")?, self.alias.optional("linked function's alias")?)
        };
        Ok(match alias {
            None => functions.function(&library.library, name),
            Some(alias) => functions.function_as(&library.library, name, alias, FunctionConstants::new()),
        })
    }
}

/// The functions that C lists.
///
/// # Safety
///
/// There are `count` functions at `functions`, as the header describes them.
pub(crate) unsafe fn linked(
    functions: List<LinkedFunction>,
    count: usize,
) -> Result<LinkedFunctions, Failure> {
    // SAFETY: the caller's promise.
    let functions = unsafe { functions.slice(count, MAX_FUNCTIONS, "linked functions") }?;
    functions.iter().try_fold(LinkedFunctions::new(), |all, function| {
        // SAFETY: the caller's promise.
        unsafe { function.add_to(all) }
    })
}

/// `anymetal_function_table_make`.
///
/// # Safety
///
/// `names` has `count` names, each NULL or a string of C, `table` is NULL or a place for the result.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn anymetal_function_table_make(
    kernel: Handle<KernelHandle>,
    names: List<Text>,
    count: usize,
    table: Place<Handle<FunctionTableHandle>>,
) -> Status {
    run(|| {
        let pipeline = kernel.object("kernel")?.pipeline.clone();
        // SAFETY: the caller's promise.
        let (place, names) =
            unsafe { (table.required()?, names.slice(count, VisibleFunctionTable::MAX_ENTRIES, "names")?) };
        let made = FunctionTableHandle { table: VisibleFunctionTable::new(&pipeline, count)?, pipeline };
        for (index, &name) in names.iter().enumerate() {
            // SAFETY: the caller's promise.
            unsafe { made.set(index, name) }?;
        }
        place.write(Handle::of(made)?);
        Ok(())
    })
}

/// `anymetal_function_table_set`.
///
/// # Safety
///
/// `name` is NULL or a string of C.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn anymetal_function_table_set(
    table: Handle<FunctionTableHandle>,
    index: usize,
    name: Text,
) -> Status {
    // SAFETY: the caller's promise.
    run(|| unsafe { table.object("table of functions")?.set(index, name) })
}

/// `anymetal_function_table_release`.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn anymetal_function_table_release(table: Handle<FunctionTableHandle>) {
    table.release();
}

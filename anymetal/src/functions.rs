//! Visible functions: those that pipelines link, their handles, and tables of them.
//!
//! Owns [`LinkedFunctions`], [`FunctionHandle`] and [`VisibleFunctionTable`], in Metal's words. A table is a
//! buffer of functions' numbers, which kernels turn into calls. Invariant: a number means the same function
//! in all pipelines, and a call of one that the pipeline does not have is an error that names the place.

use anymetal_core::submission::argument::{Argument, ArgumentTarget};
use anymetal_hal::command::BoundResource;
use anymetal_hal::error::DeviceError;

use crate::buffer::{Buffer, BufferSlice};
use crate::compile::CompiledLibrary;
use crate::constants::FunctionConstants;
use crate::error::Error;
use crate::library::Library;
use crate::pipeline::Pipeline;

pub use anymetal_hal::launch::functions::{ENTRY_BYTES, entry};

/// Visible functions that a pipeline's kernel may call besides those of its own library, which they take the
/// place of where they have one name: Metal's `MTLLinkedFunctions`. Kernels call them by their names, where
/// they declare them, and through tables.
///
/// ```
/// # fn main() -> Result<(), anymetal::Error> {
/// use anymetal::functions::LinkedFunctions;
/// use anymetal::{Device, PipelineDescriptor};
///
/// let device = Device::system_default()?;
/// let kernels = device.library_from_source(
///     "[[visible]] float shape(float);
///      kernel void apply(device float* x, uint i [[thread_position_in_grid]]) { x[i] = shape(x[i]); }",
/// )?;
/// let shapes = device.library_from_source("[[visible]] float shape(float x) { return 2 * x; }")?;
/// let linked = LinkedFunctions::new().function(&shapes, "shape");
/// let apply = kernels.pipeline(PipelineDescriptor::new("apply").linked_functions(linked))?;
/// let x = device.buffer(&[1.0f32, 2.0])?;
/// device.queue()?.launch(&apply).arg(&x).threads(2).submit()?.wait()?;
/// assert_eq!(x.read()?, [2.0, 4.0]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct LinkedFunctions {
    functions: Vec<Linked>,
}

/// One of them.
#[derive(Debug, Clone)]
pub(crate) struct Linked {
    pub(crate) compiled: CompiledLibrary,
    pub(crate) name: String,
    pub(crate) alias: Option<String>,
    pub(crate) constants: FunctionConstants,
    pub(crate) is_private: bool,
}

impl LinkedFunctions {
    /// None.
    pub fn new() -> Self {
        LinkedFunctions::default()
    }

    /// With a function of a library, by the name the host uses.
    #[must_use]
    pub fn function(self, library: &Library, name: impl Into<String>) -> Self {
        self.function_with(library, name, FunctionConstants::new())
    }

    /// With a function that has values for its function constants.
    #[must_use]
    pub fn function_with(
        self,
        library: &Library,
        name: impl Into<String>,
        constants: FunctionConstants,
    ) -> Self {
        self.with(library, name.into(), None, constants, false)
    }

    /// As [`LinkedFunctions::function_with`], by another name in the pipeline: Metal's `specializedName`.
    #[must_use]
    pub fn function_as(
        self,
        library: &Library,
        name: impl Into<String>,
        alias: impl Into<String>,
        constants: FunctionConstants,
    ) -> Self {
        self.with(library, name.into(), Some(alias.into()), constants, false)
    }

    /// With a function that only calls by its name lead to: it has no handle, and no table has it.
    #[must_use]
    pub fn private_function(self, library: &Library, name: impl Into<String>) -> Self {
        self.with(library, name.into(), None, FunctionConstants::new(), true)
    }

    fn with(
        mut self,
        library: &Library,
        name: String,
        alias: Option<String>,
        constants: FunctionConstants,
        is_private: bool,
    ) -> Self {
        let compiled = library.compiled().clone();
        self.functions.push(Linked { compiled, name, alias, constants, is_private });
        self
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.functions.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Linked> {
        self.functions.iter()
    }
}

/// A visible function of a pipeline, to be put into tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionHandle {
    name: String,
    number: u32,
}

impl FunctionHandle {
    pub(crate) fn new(name: &str, number: u32) -> Self {
        FunctionHandle { name: name.to_owned(), number }
    }

    /// What stands for it in tables: the same in all pipelines. Never 0.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// The function's name.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// A table of visible functions, an argument of kernels (`visible_function_table<T>`). Its entries begin as
/// null. Clones are the same table.
///
/// ```
/// # fn main() -> Result<(), anymetal::Error> {
/// use anymetal::functions::VisibleFunctionTable;
/// use anymetal::Device;
///
/// let device = Device::system_default()?;
/// let library = device.library_from_source(
///     "using namespace metal;
///      using Op = float(float);
///      [[visible]] float twice(float x) { return 2 * x; }
///      [[visible]] float square(float x) { return x * x; }
///      kernel void apply(device float* x, visible_function_table<Op> ops,
///                        uint i [[thread_position_in_grid]]) {
///        x[i] = ops[i % ops.size()](x[i]);
///      }",
/// )?;
/// let apply = library.pipeline("apply")?;
/// let ops = VisibleFunctionTable::new(&apply, 2)?;
/// ops.set(0, &apply.function_handle("twice")?)?;
/// ops.set(1, &apply.function_handle("square")?)?;
/// let x = device.buffer(&[3.0f32, 3.0, 5.0, 5.0])?;
/// device.queue()?.launch(&apply).arg(&x).arg(&ops).threads(4).submit()?.wait()?;
/// assert_eq!(x.read()?, [6.0, 9.0, 10.0, 25.0]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct VisibleFunctionTable {
    entries: Buffer<u64>,
}

impl VisibleFunctionTable {
    /// The most entries of a table.
    pub const MAX_ENTRIES: usize = 1 << 16;

    /// Makes a table of `count` null entries, for a pipeline and all others of its device that have the
    /// same functions.
    ///
    /// # Errors
    /// [`Error::TooManyElements`] above [`VisibleFunctionTable::MAX_ENTRIES`]; memory that the device
    /// cannot allocate.
    pub fn new(pipeline: &Pipeline, count: usize) -> Result<Self, Error> {
        if count > Self::MAX_ENTRIES {
            return Err(Error::TooManyElements { count, element_size: ENTRY_BYTES as usize });
        }
        let none = entry(0, count as u32);
        let entries = pipeline.device().buffer_zeroed(count)?;
        entries.write(&vec![none; count])?;
        Ok(VisibleFunctionTable { entries })
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether it has no entries.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Sets an entry.
    ///
    /// # Errors
    /// [`Error::RangeOutsideBuffer`] beyond the table; that of a write while kernels use the table.
    pub fn set(&self, index: usize, function: &FunctionHandle) -> Result<(), Error> {
        self.set_number(index, function.number)
    }

    /// Makes an entry null.
    ///
    /// # Errors
    /// As [`VisibleFunctionTable::set`].
    pub fn clear(&self, index: usize) -> Result<(), Error> {
        self.set_number(index, 0)
    }

    fn set_number(&self, index: usize, number: u32) -> Result<(), Error> {
        self.entries.write_at(index, &[entry(number, u32::try_from(self.len()).unwrap_or(u32::MAX))])
    }

    /// What stands for it in argument buffers: Metal's `gpuResourceID`. A kernel that takes it from there
    /// needs the table to be named with [`crate::ComputeEncoder::use_resource`].
    ///
    /// # Errors
    /// As [`Buffer::gpu_address`].
    pub fn gpu_resource_id(&self) -> Result<u64, Error> {
        self.entries.gpu_address()
    }

    /// Its memory.
    pub fn region(&self) -> BufferSlice {
        self.entries.region()
    }
}

impl From<&VisibleFunctionTable> for BufferSlice {
    fn from(table: &VisibleFunctionTable) -> Self {
        table.region()
    }
}

impl Argument for VisibleFunctionTable {
    fn bind(&self, target: ArgumentTarget<'_>) -> Result<BoundResource, DeviceError> {
        if !target.argument.is_function_table() {
            return Err(target.wrong_type("a table of visible functions"));
        }
        Ok(self.region().resource())
    }
}

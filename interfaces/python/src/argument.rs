//! One argument of a call: from what Python gave to what the kernel is bound to.
//!
//! Owns [`Given`] and [`sort`], which decides what an object is, and the checks of an array against
//! the kernel's declaration. Invariant: an array that passes may be used by the kernel as it
//! declares it: type, alignment, writability and layout are checked here.

use anymetal::BufferSlice;
use anymetal::argument::ArgumentTarget;
use anymetal::argument::BoundResource;
use anymetal::error::DeviceError;
use anymetal::reflection::{Access, ArgumentInfo};
use anymetal::{Argument, Device, Pipeline};
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};

use crate::array::PyArray;
use crate::borrowed::{HostArray, facts};
use crate::casts::{Casts, is_value};
use crate::element::Element;
use crate::functions::{PyFunctionTable, names_in, table_of};
use crate::items::items_of;
use crate::library::Conventions;

/// What an argument is bound to.
#[derive(Debug, Clone)]
pub(crate) enum Given {
    Slice(BufferSlice),
    Bytes(Vec<u8>),
    Nothing,
}

impl Argument for Given {
    fn bind(&self, _target: ArgumentTarget<'_>) -> Result<BoundResource, DeviceError> {
        Ok(match self {
            Given::Slice(region) => region.resource(),
            Given::Bytes(bytes) => BoundResource::Bytes(bytes.clone()),
            Given::Nothing => BoundResource::Unbound,
        })
    }
}

/// What Python gave, sorted.
pub(crate) enum Sorted {
    /// Ready to bind, and the elements if it is an array of a device.
    Given(Given, Option<usize>),
    /// An array in the host's memory, to be lent.
    Host(HostArray),
    /// Arrays whose addresses the kernel is given.
    Table(Vec<Tabled>),
}

/// An array whose address the kernel is given.
pub(crate) enum Tabled {
    Device(BufferSlice),
    Host(HostArray),
}

/// What a call allows.
pub(crate) struct Rules<'a> {
    pub(crate) kernel: &'a str,
    pub(crate) pipeline: &'a Pipeline,
    pub(crate) device: &'a Device,
    pub(crate) casts: &'a Casts,
    pub(crate) conventions: Conventions,
}

impl Rules<'_> {
    /// The most bytes of an argument by value.
    fn max_bytes(&self) -> usize {
        usize::try_from(self.device.capabilities().max_inline_bytes).unwrap_or(usize::MAX)
    }
}

/// Sorts an object that is given for an argument at a position.
pub(crate) fn sort(
    object: &Bound<'_, PyAny>,
    position: usize,
    argument: &ArgumentInfo,
    rules: &Rules<'_>,
) -> PyResult<Sorted> {
    if argument.is_function_table() {
        return function_table(object, position, argument, rules);
    }
    let known = facts(&object.get_type())?;
    let told = |error: PyErr| at(object.py(), position, argument, &error);
    if let Some(array) = HostArray::by_exchange(object, known).map_err(told)? {
        return host(object, array, position, argument, rules);
    }
    if let Some(items) = arrays_in(object, rules.max_bytes() / size_of::<u64>())? {
        let arrays: PyResult<_> = items.iter().map(|item| tabled(item, position, argument)).collect();
        return arrays.map(Sorted::Table);
    }
    if is_value(object) {
        return numbers(object, position, argument, rules);
    }
    if let Ok(array) = object.cast::<PyArray>() {
        let array = array.get();
        let (element, tensor) = (Element::of_dtype(array.tensor().dtype()), array.tensor());
        check_type(element, position, argument, rules)?;
        if array.is_read_only() && argument.access != Access::Read {
            return Err(read_only(position, argument, rules));
        }
        if !tensor.is_contiguous() {
            return Err(not_contiguous(position, argument, rules, "anymetal.ops.contiguous(x)"));
        }
        return Ok(Sorted::Given(Given::Slice(array.region()?), Some(tensor.len())));
    }
    if object.is_none() {
        return Ok(Sorted::Given(Given::Nothing, None));
    }
    if let Ok(bytes) = object.cast::<PyBytes>() {
        let (length, limit) = (bytes.as_bytes().len(), rules.max_bytes());
        if length > limit {
            return Err(PyValueError::new_err(format!(
                "argument {position} (`{}`) has {length} bytes, and at most {limit} are given by value; give an array",
                argument.name
            )));
        }
        return value(bytes.as_bytes().to_vec(), position, argument, rules);
    }
    if known.is_numpy_scalar {
        return numbers(object, position, argument, rules);
    }
    let array = HostArray::required(object).map_err(told)?;
    host(object, array, position, argument, rules)
}

/// A table of visible functions: one that was made before, or one of the names in a list.
fn function_table(
    object: &Bound<'_, PyAny>,
    position: usize,
    argument: &ArgumentInfo,
    rules: &Rules<'_>,
) -> PyResult<Sorted> {
    let told = |error: PyErr| at(object.py(), position, argument, &error);
    if object.is_none() {
        return Ok(Sorted::Given(Given::Nothing, None));
    }
    if let Ok(table) = object.cast::<PyFunctionTable>() {
        let region = table.get().region_for(rules.device).map_err(told)?;
        return Ok(Sorted::Given(Given::Slice(region), None));
    }
    match names_in(object).map_err(told)? {
        Some(names) => {
            let table = table_of(rules.pipeline, &names)?;
            Ok(Sorted::Given(Given::Slice(table.region()), None))
        }
        None => Err(PyTypeError::new_err(format!(
            "argument {position} (`{}`) is a table of visible functions: give a list of their names, or what \
             `kernel.function_table([...])` makes of it",
            argument.name
        ))),
    }
}

/// An array in the host's memory, which the object is.
fn host(
    object: &Bound<'_, PyAny>,
    array: HostArray,
    position: usize,
    argument: &ArgumentInfo,
    rules: &Rules<'_>,
) -> PyResult<Sorted> {
    if array.dims().is_empty() && argument.is_reference && !array.element().fits(argument) {
        // A tensor without dimensions is a number: `torch.tensor(0.5, dtype=torch.float64)`.
        if let Some(item) = object.getattr_opt(intern!(object.py(), "item"))? {
            return numbers(&item.call0()?, position, argument, rules);
        }
    }
    check_host(&array, position, argument, rules)?;
    Ok(Sorted::Host(array))
}

/// The items of a list that begins with an array; `None` for everything else, lists of numbers included.
fn arrays_in<'py>(object: &Bound<'py, PyAny>, limit: usize) -> PyResult<Option<Vec<Bound<'py, PyAny>>>> {
    if !object.is_instance_of::<PyList>() && !object.is_instance_of::<PyTuple>() {
        return Ok(None);
    }
    let Ok(first) = object.get_item(0) else { return Ok(None) };
    if is_value(&first) || facts(&first.get_type())?.is_numpy_scalar {
        return Ok(None);
    }
    items_of(object, limit, "a list of arrays").map(Some)
}

/// An array of a list.
fn tabled(item: &Bound<'_, PyAny>, position: usize, argument: &ArgumentInfo) -> PyResult<Tabled> {
    let read_only = || {
        PyValueError::new_err(format!(
            "argument {position} (`{}`) has a read-only array, and what a kernel reaches by a pointer it may write; \
             give a copy: `x.copy()`",
            argument.name
        ))
    };
    if let Ok(array) = item.cast::<PyArray>() {
        let array = array.get();
        if array.is_read_only() {
            return Err(read_only());
        }
        if !array.tensor().is_contiguous() {
            return Err(PyValueError::new_err(format!(
                "argument {position} (`{}`) has an array that is not contiguous; give `anymetal.ops.contiguous(x)`",
                argument.name
            )));
        }
        return array.region().map(Tabled::Device);
    }
    let array = HostArray::required(item).map_err(|error| at(item.py(), position, argument, &error))?;
    if array.is_read_only {
        return Err(read_only());
    }
    if array.extent().is_none() {
        return Err(PyValueError::new_err(format!(
            "argument {position} (`{}`) has an array with a negative stride; give `numpy.ascontiguousarray(x)`",
            argument.name
        )));
    }
    Ok(Tabled::Host(array))
}

/// A number, or a list of numbers.
fn numbers(
    object: &Bound<'_, PyAny>,
    position: usize,
    argument: &ArgumentInfo,
    rules: &Rules<'_>,
) -> PyResult<Sorted> {
    let bytes = rules.casts.bytes(object, position, argument, rules.max_bytes())?;
    value(bytes, position, argument, rules)
}

fn value(bytes: Vec<u8>, position: usize, argument: &ArgumentInfo, rules: &Rules<'_>) -> PyResult<Sorted> {
    if argument.access != Access::Read {
        let (kernel, name) = (rules.kernel, &argument.name);
        let message = format!(
            "kernel `{kernel}` writes argument {position} (`{name}`): give it an array, in which the result can be \
             seen"
        );
        // PyTorch's own is a `RuntimeError`.
        return Err(match rules.conventions.torch {
            true => PyRuntimeError::new_err(message),
            false => PyTypeError::new_err(message),
        });
    }
    Ok(Sorted::Given(Given::Bytes(bytes), None))
}

fn check_host(
    array: &HostArray,
    position: usize,
    argument: &ArgumentInfo,
    rules: &Rules<'_>,
) -> PyResult<()> {
    let (kernel, name) = (rules.kernel, &argument.name);
    check_type(array.element(), position, argument, rules)?;
    if array.is_read_only && argument.access != Access::Read {
        return Err(read_only(position, argument, rules));
    }
    let fits = if rules.conventions.strided { array.extent().is_some() } else { array.is_contiguous() };
    if !fits {
        return Err(not_contiguous(
            position,
            argument,
            rules,
            "x.contiguous()` or `numpy.ascontiguousarray(x)",
        ));
    }
    let align = argument.element_align.max(1) as usize;
    if !array.address().is_multiple_of(align) && array.count() > 0 {
        let element = &argument.type_name;
        return Err(PyValueError::new_err(format!(
            "argument {position} (`{name}`) begins at an address that is no multiple of {align}, as `{element}` of \
             kernel `{kernel}` needs; give a copy: `x.copy()` or `x.clone()`"
        )));
    }
    Ok(())
}

fn check_type(element: Element, position: usize, argument: &ArgumentInfo, rules: &Rules<'_>) -> PyResult<()> {
    if rules.conventions.torch || element.fits(argument) {
        return Ok(());
    }
    let (name, declared) = (&argument.name, &argument.type_name);
    Err(PyTypeError::new_err(format!(
        "argument {position} (`{name}`) is an array of {}, and kernel `{}` declares `{declared}` there; convert it \
         (`x.to(...)`, `x.astype(...)`), or pass its bytes (`x.view(torch.uint8)`, `x.view(numpy.uint8)`)",
        element.name(),
        rules.kernel
    )))
}

fn read_only(position: usize, argument: &ArgumentInfo, rules: &Rules<'_>) -> PyErr {
    let (kernel, name) = (rules.kernel, &argument.name);
    PyValueError::new_err(format!(
        "argument {position} (`{name}`) is a read-only array, and kernel `{kernel}` writes it; give a copy: `x.copy()`"
    ))
}

fn not_contiguous(position: usize, argument: &ArgumentInfo, rules: &Rules<'_>, copy: &str) -> PyErr {
    let (kernel, name) = (rules.kernel, &argument.name);
    PyValueError::new_err(format!(
        "argument {position} (`{name}`) of kernel `{kernel}` is not contiguous, and a kernel sees memory without \
         strides; give `{copy}`, or compile with `strided=True` and pass the strides yourself"
    ))
}

/// The same error with the argument that it is about.
fn at(py: Python<'_>, position: usize, argument: &ArgumentInfo, error: &PyErr) -> PyErr {
    let message = format!("argument {position} (`{}`): {}", argument.name, error.value(py));
    if error.is_instance_of::<PyTypeError>(py) {
        PyTypeError::new_err(message)
    } else if error.is_instance_of::<PyValueError>(py) {
        PyValueError::new_err(message)
    } else {
        error.clone_ref(py)
    }
}

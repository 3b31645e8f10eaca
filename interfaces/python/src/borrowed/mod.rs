//! Memory of other libraries' arrays: NumPy, PyTorch, and whatever speaks DLPack.
//!
//! Owns [`HostArray`], what is known of an array, and [`HostArray::of`], which finds it out by the
//! cheapest way that the object has. Invariants: the address is valid while the owner is held, as
//! the protocols promise; what a protocol says of type, shape, strides and address is checked before
//! a [`HostArray`] is made, so that no sum or product of them overflows.

mod array_struct;
mod dims;
mod dlpack;
mod types;

use std::any::Any;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

pub(crate) use dlpack::{
    CPU as DLPACK_CPU, DLDataType, DLDevice, DLManagedTensor, DLManagedTensorVersioned, DLTensor,
    FLAG_IS_COPIED as DLPACK_IS_COPIED, FLAG_READ_ONLY as DLPACK_READ_ONLY,
    TENSOR_NAME as DLPACK_TENSOR_NAME, VERSION as DLPACK_VERSION, VERSIONED_NAME as DLPACK_VERSIONED_NAME,
};

use dims::{Dims, Reach};

pub(crate) use dims::Dim;
pub(crate) use types::{TypeFacts, facts};

use crate::element::Element;

/// The first page is never memory of a program.
const FIRST_ADDRESS: usize = 4096;

/// An array of another library, in memory of the host.
pub(crate) struct HostArray {
    /// The first element.
    start: *mut u8,
    element: Element,
    dims: Dims,
    reach: Reach,
    pub(crate) is_read_only: bool,
    /// The object that keeps the memory.
    owner: Py<PyAny>,
}

impl HostArray {
    fn new(
        start: *mut u8,
        element: Element,
        dims: Dims,
        is_read_only: bool,
        owner: Py<PyAny>,
    ) -> PyResult<HostArray> {
        let reach = Reach::of(dims.as_slice(), element.bytes, start.addr())?;
        if reach.count > 0 && start.addr() < FIRST_ADDRESS {
            return Err(PyValueError::new_err(
                "the array has elements and no memory: it was freed, or is a placeholder (a meta or fake tensor)",
            ));
        }
        Ok(HostArray { start, element, dims, reach, is_read_only, owner })
    }

    /// The array behind an object; `None` if it is no array.
    pub(crate) fn of(object: &Bound<'_, PyAny>) -> PyResult<Option<HostArray>> {
        HostArray::of_type(object, facts(&object.get_type())?)
    }

    /// As [`HostArray::of`], with what is known of the object's type.
    fn of_type(object: &Bound<'_, PyAny>, facts: TypeFacts) -> PyResult<Option<HostArray>> {
        if let Some(array) = HostArray::by_exchange(object, facts)? {
            return Ok(Some(array));
        }
        if let Some(array) = array_struct::read(object)? {
            return Ok(Some(array));
        }
        if let Some(array) = dlpack::by_capsule(object)? {
            return Ok(Some(array));
        }
        // Memory views, byte arrays, `array.array`, and what has only a dictionary: NumPy knows all
        // of them.
        let as_array = object.py().import("anymetal._foreign")?.getattr("as_array")?;
        let converted = as_array.call1((object,))?;
        if converted.is_none() { Ok(None) } else { array_struct::read(&converted) }
    }

    /// The tensor of an object whose type has DLPack's table of C functions, by far the quickest way.
    pub(crate) fn by_exchange(object: &Bound<'_, PyAny>, facts: TypeFacts) -> PyResult<Option<HostArray>> {
        facts.exchange.map_or(Ok(None), |table| dlpack::by_exchange(object, table))
    }

    /// As [`HostArray::of`], for what must be an array.
    pub(crate) fn required(object: &Bound<'_, PyAny>) -> PyResult<HostArray> {
        HostArray::of(object)?.ok_or_else(|| {
            let name = object.get_type().name().map_or_else(|_| "?".to_owned(), |name| name.to_string());
            PyTypeError::new_err(format!(
                "{name} is no array: give a NumPy array, a PyTorch tensor, an anymetal array, or an object with \
                 `__dlpack__` or `__array_interface__`"
            ))
        })
    }

    pub(crate) fn element(&self) -> Element {
        self.element
    }

    pub(crate) fn dims(&self) -> &[Dim] {
        self.dims.as_slice()
    }

    /// How many elements it has.
    pub(crate) fn count(&self) -> usize {
        self.reach.count
    }

    pub(crate) fn address(&self) -> usize {
        self.start.addr()
    }

    pub(crate) fn start(&self) -> *mut u8 {
        self.start
    }

    /// Bytes from the first element to the end of the last; `None` if a stride is negative, so that
    /// elements are before the first one.
    pub(crate) fn extent(&self) -> Option<usize> {
        self.reach.extent
    }

    /// Whether its elements lie one after the other in row-major order.
    pub(crate) fn is_contiguous(&self) -> bool {
        if self.count() == 0 {
            return true;
        }
        let mut expected = 1;
        for &Dim { extent, stride } in self.dims().iter().rev() {
            if extent != 1 && stride != expected {
                return false;
            }
            expected *= extent as isize;
        }
        true
    }

    /// What keeps the memory, for a loan that outlives the call.
    pub(crate) fn into_owner(self) -> Box<dyn Any + Send + Sync> {
        Box::new(self.owner)
    }
}

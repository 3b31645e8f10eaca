//! NumPy's array interface in C: the capsule `__array_struct__`.
//!
//! Owns [`read`]. The layout is that of NumPy's documentation, "The array interface protocol",
//! version 3.

use std::ffi::{c_char, c_int, c_void};

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use super::HostArray;
use super::dims::{Dim, Dims, MAX_RANK, check_extent, check_rank};
use super::dlpack::checked_numbers;
use crate::element::Element;

/// `PyArrayInterface`.
#[repr(C)]
struct ArrayInterface {
    /// 2, to tell the structure from others.
    two: c_int,
    nd: c_int,
    typekind: c_char,
    itemsize: c_int,
    flags: c_int,
    shape: *const isize,
    /// In bytes.
    strides: *const isize,
    data: *mut c_void,
    descr: *mut ffi::PyObject,
}

const NOT_SWAPPED: c_int = 0x200;
const WRITEABLE: c_int = 0x400;
const HAS_DESCRIPTION: c_int = 0x800;

/// The array behind an object with `__array_struct__`; `None` if it has none.
pub(super) fn read(object: &Bound<'_, PyAny>) -> PyResult<Option<HostArray>> {
    let Some(capsule) = object.getattr_opt(intern!(object.py(), "__array_struct__"))? else {
        return Ok(None);
    };
    let capsule = capsule
        .cast_into::<PyCapsule>()
        .map_err(|error| PyTypeError::new_err(format!("`__array_struct__` is not a capsule: {error}")))?;
    // SAFETY: the object is a capsule (cast above); NumPy's protocol has no name for it.
    let pointer = unsafe { ffi::PyCapsule_GetPointer(capsule.as_ptr(), std::ptr::null()) };
    if pointer.is_null() {
        return Err(PyErr::fetch(object.py()));
    }
    let pointer = pointer.cast::<ArrayInterface>();
    if !pointer.is_aligned() {
        return Err(PyValueError::new_err("`__array_struct__` holds a pointer that is not aligned"));
    }
    // SAFETY: aligned; by the protocol the capsule holds a `PyArrayInterface`, which lives as long as
    // the capsule.
    let interface = unsafe { &*pointer };
    // SAFETY: by the protocol.
    let (element, dims) = unsafe { described(object, interface) }?;
    let is_read_only = match interface.typekind as u8 {
        b'V' => !structure_is_writable(object, interface)?,
        _ => interface.flags & WRITEABLE == 0,
    };
    // Both: an object may make the capsule anew each time, which then alone keeps the memory.
    let owner = (object, capsule).into_pyobject(object.py())?.into_any().unbind();
    HostArray::new(interface.data.cast(), element, dims, is_read_only, owner).map(Some)
}

/// # Safety
///
/// The interface is one by NumPy's protocol.
unsafe fn described(object: &Bound<'_, PyAny>, interface: &ArrayInterface) -> PyResult<(Element, Dims)> {
    if interface.two != 2 {
        return Err(PyTypeError::new_err(
            "`__array_struct__` is not of version 3 of NumPy's array interface",
        ));
    }
    let rank = check_rank(interface.nd)?;
    let letter = interface.typekind as u8;
    let element = Element::of_letter(letter, usize::try_from(interface.itemsize).unwrap_or(0))?;
    if letter == b'V' {
        // SAFETY: by the protocol.
        unsafe { check_structure(object, interface) }?;
    }
    let bytes = element.bytes as isize;
    if interface.flags & NOT_SWAPPED == 0 && bytes > 1 && letter != b'V' {
        return Err(PyValueError::new_err(
            "the array's bytes are in the other order than this machine's; convert it with \
             `x.astype(x.dtype.newbyteorder(\"=\"))`",
        ));
    }
    // SAFETY: shape and strides have `nd` elements by the protocol, and live as long as the
    // capsule.
    let (shape, strides) = unsafe {
        (
            checked_numbers(interface.shape, rank, "shape")?,
            checked_numbers(interface.strides, rank, "strides")?,
        )
    };
    if rank > 0 && shape.is_empty() {
        return Err(PyValueError::new_err("the array has dimensions and no shape"));
    }
    let mut extents = [0; MAX_RANK];
    for (to, &extent) in extents.iter_mut().zip(shape) {
        *to = check_extent(extent as i64)?;
    }
    if strides.is_empty() {
        return Ok((element, Dims::row_major(rank, |at| extents[at])));
    }
    let is_small = |(&extent, &stride): (&isize, &isize)| extent <= 1 || stride % bytes == 0;
    if !shape.iter().zip(strides).all(is_small) {
        return Err(PyValueError::new_err(
            "the array's strides are no multiples of its element size; copy it with `numpy.ascontiguousarray`",
        ));
    }
    Ok((element, Dims::new(rank, |at| Dim { extent: extents[at], stride: strides[at] / bytes })))
}

/// Whether an array of structures may be written. NumPy's own have no flags in the interface.
fn structure_is_writable(object: &Bound<'_, PyAny>, interface: &ArrayInterface) -> PyResult<bool> {
    match object.getattr_opt(intern!(object.py(), "flags"))? {
        Some(flags) => flags.getattr(intern!(object.py(), "writeable"))?.is_truthy(),
        None => Ok(interface.flags & WRITEABLE != 0),
    }
}

/// A structure that has Python objects among its fields is refused as an array of objects is.
///
/// # Safety
///
/// The interface is one by NumPy's protocol.
unsafe fn check_structure(object: &Bound<'_, PyAny>, interface: &ArrayInterface) -> PyResult<()> {
    let py = object.py();
    let has_objects = match object.getattr_opt(intern!(py, "dtype"))? {
        Some(dtype) => dtype.getattr(intern!(py, "hasobject"))?.is_truthy()?,
        None if interface.flags & HAS_DESCRIPTION != 0 && !interface.descr.is_null() => {
            // SAFETY: with that flag the pointer is a list of Python, which the capsule holds.
            let fields = unsafe { Bound::from_borrowed_ptr(py, interface.descr) };
            py.import("anymetal._foreign")?.getattr("has_objects")?.call1((fields,))?.is_truthy()?
        }
        None => false,
    };
    if has_objects {
        return Element::of_letter(b'O', 1).map(drop);
    }
    Ok(())
}

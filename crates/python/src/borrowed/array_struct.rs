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
use super::dims::{Dim, Dims};
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

/// The array behind an object with `__array_struct__`; `None` if it has none.
pub(super) fn read(object: &Bound<'_, PyAny>) -> PyResult<Option<HostArray>> {
    let Some(capsule) = object.getattr_opt(intern!(object.py(), "__array_struct__"))? else {
        return Ok(None);
    };
    let capsule = capsule.cast_into::<PyCapsule>()?;
    // SAFETY: the object is a capsule (cast above); NumPy's protocol has no name for it.
    let pointer = unsafe { ffi::PyCapsule_GetPointer(capsule.as_ptr(), std::ptr::null()) };
    if pointer.is_null() {
        return Err(PyErr::fetch(object.py()));
    }
    // SAFETY: by the protocol the capsule holds a `PyArrayInterface`, which lives as long as the
    // capsule.
    let interface = unsafe { &*pointer.cast::<ArrayInterface>() };
    if interface.two != 2 {
        return Err(PyTypeError::new_err(
            "`__array_struct__` is not of version 3 of NumPy's array interface",
        ));
    }
    let (rank, bytes) = (interface.nd.max(0) as usize, interface.itemsize.max(1) as usize);
    if interface.flags & NOT_SWAPPED == 0 && bytes > 1 && interface.typekind as u8 != b'V' {
        return Err(PyValueError::new_err(
            "the array's bytes are in the other order than this machine's; convert it with \
             `x.astype(x.dtype.newbyteorder(\"=\"))`",
        ));
    }
    // SAFETY: shape and strides have `nd` elements by the protocol, and live as long as the
    // capsule.
    let (shape, strides) = unsafe { (numbers(interface.shape, rank), numbers(interface.strides, rank)) };
    let is_small = |(&extent, &stride): (&isize, &isize)| extent <= 1 || stride % bytes as isize == 0;
    if !shape.iter().zip(strides).all(is_small) {
        return Err(PyValueError::new_err(
            "the array's strides are no multiples of its element size; copy it with `numpy.ascontiguousarray`",
        ));
    }
    let dims = Dims::new(rank, |at| Dim {
        extent: shape.get(at).map_or(0, |&extent| extent.max(0) as usize),
        stride: strides.get(at).map_or(0, |stride| stride / bytes as isize),
    });
    let element = Element::of_letter(interface.typekind as u8, bytes);
    let is_read_only = interface.flags & WRITEABLE == 0;
    let owner = object.clone().unbind();
    HostArray::new(interface.data.cast(), element, dims, is_read_only, owner).map(Some)
}

/// # Safety
///
/// There are `count` numbers at the pointer, which live as long as the result is used.
unsafe fn numbers<'a>(pointer: *const isize, count: usize) -> &'a [isize] {
    if count == 0 || pointer.is_null() {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(pointer, count) }
}

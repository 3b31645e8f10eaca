//! Export of arrays by DLPack.
//!
//! Owns [`capsule`]. Invariant: the managed tensor holds the array's memory until its consumer
//! deletes it, or until its capsule goes without a consumer.

use std::ffi::{c_int, c_void};

use anymetal_ops::Tensor;
use pyo3::ffi;
use pyo3::prelude::*;

use crate::array::PyArray;
use crate::borrowed::{DLDataType, DLDevice, DLManagedTensor, DLPACK_CPU, DLPACK_TENSOR_NAME, DLTensor};
use crate::element::Element;
use crate::errors::Raise;

/// What a managed tensor holds.
struct Exported {
    /// The structure that consumers see; its context is this box.
    managed: DLManagedTensor,
    _tensor: Tensor,
    shape: Vec<i64>,
    strides: Vec<i64>,
}

/// A capsule with the array's memory, or with a copy.
pub(crate) fn capsule<'py>(array: &Bound<'py, PyArray>, copy: bool) -> PyResult<Bound<'py, PyAny>> {
    let py = array.py();
    let state = array.get().state();
    let copied = match copy {
        false => None,
        true => {
            let tensor = state.ops.copy(array.get().tensor()).or_raise()?;
            Some(PyArray::new(std::sync::Arc::clone(state), tensor))
        }
    };
    let source = copied.as_ref().unwrap_or_else(|| array.get());
    let start = source.settled_start(py)?;
    let tensor = source.tensor().clone();
    let (code, bits) = Element::dlpack_of(tensor.dtype());
    let mut exported = Box::new(Exported {
        managed: DLManagedTensor {
            dl_tensor: DLTensor {
                data: start.as_ptr().cast(),
                device: DLDevice { device_type: DLPACK_CPU, device_id: 0 },
                ndim: tensor.rank() as c_int,
                dtype: DLDataType { code, bits, lanes: 1 },
                shape: std::ptr::null_mut(),
                strides: std::ptr::null_mut(),
                byte_offset: 0,
            },
            manager_ctx: std::ptr::null_mut(),
            deleter: Some(delete),
        },
        shape: tensor.shape().iter().map(|&extent| extent as i64).collect(),
        strides: tensor.strides().iter().map(|&stride| stride as i64).collect(),
        _tensor: tensor,
    });
    exported.managed.dl_tensor.shape = exported.shape.as_mut_ptr();
    exported.managed.dl_tensor.strides = exported.strides.as_mut_ptr();
    let exported = Box::into_raw(exported);
    // SAFETY: the box was just made; its field stays where it is until `delete` frees the box.
    let managed = unsafe {
        (*exported).managed.manager_ctx = exported.cast();
        &raw mut (*exported).managed
    };
    // SAFETY: the name is a constant, and the destructor fits what the capsule holds.
    let capsule = unsafe { ffi::PyCapsule_New(managed.cast(), DLPACK_TENSOR_NAME.as_ptr(), Some(destroy)) };
    if capsule.is_null() {
        // SAFETY: nobody else has the tensor.
        unsafe { delete(managed) };
        return Err(PyErr::fetch(py));
    }
    // SAFETY: a new reference to an object.
    Ok(unsafe { Bound::from_owned_ptr(py, capsule) })
}

/// What a consumer calls when it is done.
///
/// # Safety
///
/// The tensor is one that [`capsule`] made, and is not used after.
unsafe extern "C" fn delete(managed: *mut DLManagedTensor) {
    // SAFETY: the context is the box that `capsule` made, and this is its one end.
    unsafe {
        let context: *mut c_void = (*managed).manager_ctx;
        drop(Box::from_raw(context.cast::<Exported>()));
    }
}

/// The destructor of a capsule: deletes a tensor that nobody has taken.
///
/// # Safety
///
/// Python calls it with a capsule of [`capsule`].
unsafe extern "C" fn destroy(capsule: *mut ffi::PyObject) {
    // SAFETY: the object is a capsule; a consumer that took the tensor has renamed it.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, DLPACK_TENSOR_NAME.as_ptr()) == 1 {
            let managed = ffi::PyCapsule_GetPointer(capsule, DLPACK_TENSOR_NAME.as_ptr());
            delete(managed.cast());
        }
    }
}

//! Export of arrays by DLPack.
//!
//! Owns [`capsule`]. Invariant: the managed tensor holds the array's memory until its consumer
//! deletes it, or until its capsule goes without a consumer.

use std::ffi::{c_int, c_void};

use anymetal_tensor_ops::Tensor;
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;

use crate::array::PyArray;
use crate::borrowed::{
    DLDataType, DLDevice, DLManagedTensor, DLManagedTensorVersioned, DLPACK_CPU, DLPACK_IS_COPIED,
    DLPACK_READ_ONLY, DLPACK_TENSOR_NAME, DLPACK_VERSION, DLPACK_VERSIONED_NAME, DLTensor,
};
use crate::element::Element;
use crate::errors::Raise;

/// What a managed tensor holds.
struct Exported {
    /// The structures that consumers see, of which a capsule has one; their context is this box.
    managed: DLManagedTensor,
    versioned: DLManagedTensorVersioned,
    _tensor: Tensor,
    shape: Box<[i64]>,
    strides: Box<[i64]>,
}

/// Makes a capsule with the array's memory, or with a copy. Only versioned capsules have a read-only
/// flag.
pub(crate) fn capsule<'py>(
    array: &Bound<'py, PyArray>,
    copy: bool,
    is_versioned: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let py = array.py();
    if array.get().is_read_only() && !copy && !is_versioned {
        return Err(PyBufferError::new_err(
            "the array is read-only, which DLPack cannot say before version 1.0; request a versioned capsule \
             (`max_version=(1, 0)`) or a copy (`copy=True`)",
        ));
    }
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
    let shape: Box<[i64]> = tensor.shape().iter().map(|&extent| extent as i64).collect();
    let strides: Box<[i64]> = tensor.strides().iter().map(|&stride| stride as i64).collect();
    let (copied, read_only) =
        (copy.then_some(DLPACK_IS_COPIED), source.is_read_only().then_some(DLPACK_READ_ONLY));
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
        versioned: DLManagedTensorVersioned {
            version: DLPACK_VERSION,
            manager_ctx: std::ptr::null_mut(),
            deleter: Some(delete_versioned),
            flags: copied.unwrap_or(0) | read_only.unwrap_or(0),
            dl_tensor: DLTensor::EMPTY,
        },
        shape,
        strides,
        _tensor: tensor,
    });
    exported.managed.dl_tensor.shape = exported.shape.as_mut_ptr();
    exported.managed.dl_tensor.strides = exported.strides.as_mut_ptr();
    exported.versioned.dl_tensor = exported.managed.dl_tensor;
    let context = Box::into_raw(exported);
    // SAFETY: the box was just made; its fields stay where they are until a deleter frees the box.
    let (managed, versioned) = unsafe {
        (*context).managed.manager_ctx = context.cast();
        (*context).versioned.manager_ctx = context.cast();
        (&raw mut (*context).managed, &raw mut (*context).versioned)
    };
    // SAFETY: the name is a constant, and the destructor fits what the capsule holds.
    let capsule = unsafe {
        match is_versioned {
            true => ffi::PyCapsule_New(versioned.cast(), DLPACK_VERSIONED_NAME.as_ptr(), Some(destroy)),
            false => ffi::PyCapsule_New(managed.cast(), DLPACK_TENSOR_NAME.as_ptr(), Some(destroy)),
        }
    };
    if capsule.is_null() {
        // SAFETY: nothing else has the box.
        unsafe { free(context.cast()) };
        return Err(PyErr::fetch(py));
    }
    // SAFETY: a new reference to an object.
    Ok(unsafe { Bound::from_owned_ptr(py, capsule) })
}

/// # Safety
///
/// The context is the box that [`capsule`] made, and this is its one end.
unsafe fn free(context: *mut c_void) {
    // SAFETY: the caller's promise.
    drop(unsafe { Box::from_raw(context.cast::<Exported>()) });
}

/// What a consumer calls when it is done.
///
/// # Safety
///
/// The tensor is one that [`capsule`] made, and is not used after.
unsafe extern "C" fn delete(managed: *mut DLManagedTensor) {
    // SAFETY: the caller's promise.
    unsafe { free((*managed).manager_ctx) };
}

/// As [`delete`], for a tensor with a version.
///
/// # Safety
///
/// As of [`delete`].
unsafe extern "C" fn delete_versioned(versioned: *mut DLManagedTensorVersioned) {
    // SAFETY: the caller's promise.
    unsafe { free((*versioned).manager_ctx) };
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
        } else if ffi::PyCapsule_IsValid(capsule, DLPACK_VERSIONED_NAME.as_ptr()) == 1 {
            let versioned = ffi::PyCapsule_GetPointer(capsule, DLPACK_VERSIONED_NAME.as_ptr());
            delete_versioned(versioned.cast());
        }
    }
}

//! DLPack: the exchange structure of tensor libraries.
//!
//! Owns its C layout (as of DLPack 1.3) and two ways to an object's tensor: the table of C
//! functions that a type may have (`__dlpack_c_exchange_api__`), which makes no Python object, and
//! the capsule of `__dlpack__`. Invariant: a tensor is used only while its object or its capsule is
//! held; capsules are never taken apart, so that each deletes its tensor itself.

use std::ffi::{CStr, c_int, c_void};
use std::ptr::NonNull;

use pyo3::exceptions::{PyBufferError, PyValueError};
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyType};

use super::HostArray;
use super::dims::{Dim, Dims};
use crate::element::Element;

/// `kDLCPU`.
pub(crate) const CPU: c_int = 1;
/// `kDLCUDAHost`: pinned memory of the host.
const PINNED: c_int = 3;
/// The name of a capsule that nobody has taken the tensor of.
pub(crate) const TENSOR_NAME: &CStr = c"dltensor";
const EXCHANGE_NAME: &CStr = c"dlpack_exchange_api";

/// `DLDevice`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct DLDevice {
    pub(crate) device_type: c_int,
    pub(crate) device_id: c_int,
}

/// `DLDataType`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct DLDataType {
    pub(crate) code: u8,
    pub(crate) bits: u8,
    pub(crate) lanes: u16,
}

/// `DLTensor`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct DLTensor {
    pub(crate) data: *mut c_void,
    pub(crate) device: DLDevice,
    pub(crate) ndim: c_int,
    pub(crate) dtype: DLDataType,
    pub(crate) shape: *mut i64,
    /// In elements; null for row-major order.
    pub(crate) strides: *mut i64,
    pub(crate) byte_offset: u64,
}

/// `DLManagedTensor`.
#[repr(C)]
pub(crate) struct DLManagedTensor {
    pub(crate) dl_tensor: DLTensor,
    pub(crate) manager_ctx: *mut c_void,
    pub(crate) deleter: Option<unsafe extern "C" fn(*mut DLManagedTensor)>,
}

/// The beginning of `DLPackExchangeAPI`; versions with another number before the dot are not read.
#[repr(C)]
struct ExchangeApi {
    major: u32,
    minor: u32,
    _previous: *mut c_void,
    _allocate: *const c_void,
    _from_object: *const c_void,
    _to_object: *const c_void,
    /// Fills a tensor that borrows from the object; may be null.
    view: Option<unsafe extern "C" fn(*mut c_void, *mut DLTensor) -> c_int>,
}

/// A type's table, which lives as long as the process.
#[derive(Clone, Copy)]
pub(crate) struct Table(NonNull<ExchangeApi>);

// SAFETY: the table is constant by DLPack's rules, and lives as long as the process.
unsafe impl Send for Table {}

/// The tensor of an object whose type has that table of C functions.
pub(super) fn by_exchange(object: &Bound<'_, PyAny>, Table(table): Table) -> PyResult<Option<HostArray>> {
    // SAFETY: the table lives as long as the process.
    let Some(view) = (unsafe { table.as_ref().view }) else { return Ok(None) };
    let mut tensor = std::mem::MaybeUninit::<DLTensor>::zeroed();
    // SAFETY: the object is of the table's type, and the function fills the tensor or sets an
    // exception.
    let status = unsafe { view(object.as_ptr().cast(), tensor.as_mut_ptr()) };
    if status != 0 {
        return Err(PyErr::take(object.py())
            .unwrap_or_else(|| PyBufferError::new_err("the tensor cannot be lent by DLPack")));
    }
    // SAFETY: filled above; all-zero bytes are a valid value in any case.
    let tensor = unsafe { tensor.assume_init() };
    // SAFETY: it borrows from the object, which the owner holds.
    unsafe { described(&tensor, object.clone().unbind()) }.map(Some)
}

/// The table of a type, if it has one.
pub(super) fn table_of(class: &Bound<'_, PyType>) -> PyResult<Option<Table>> {
    let capsule = class.getattr_opt(intern!(class.py(), "__dlpack_c_exchange_api__"))?;
    Ok(capsule.and_then(|capsule| read_table(&capsule)))
}

fn read_table(capsule: &Bound<'_, PyAny>) -> Option<Table> {
    let capsule = capsule.cast::<PyCapsule>().ok()?;
    // SAFETY: the object is a capsule; the name is a constant.
    let pointer = unsafe {
        if ffi::PyCapsule_IsValid(capsule.as_ptr(), EXCHANGE_NAME.as_ptr()) == 0 {
            return None;
        }
        ffi::PyCapsule_GetPointer(capsule.as_ptr(), EXCHANGE_NAME.as_ptr())
    };
    let table = NonNull::new(pointer.cast::<ExchangeApi>())?;
    // SAFETY: a capsule of that name holds a table, whose first field is its version.
    (unsafe { table.as_ref().major } == 1).then_some(Table(table))
}

/// The tensor of an object with `__dlpack__`.
pub(super) fn by_capsule(object: &Bound<'_, PyAny>) -> PyResult<Option<HostArray>> {
    let py = object.py();
    if object.getattr_opt(intern!(py, "__dlpack__"))?.is_none() {
        return Ok(None);
    }
    if let Some(device) = object.getattr_opt(intern!(py, "__dlpack_device__"))? {
        let (kind, number): (c_int, c_int) = device.call0()?.extract()?;
        check_device(DLDevice { device_type: kind, device_id: number })?;
    }
    let capsule = object.call_method0(intern!(py, "__dlpack__"))?.cast_into::<PyCapsule>()?;
    // SAFETY: the object is a capsule, the name is a constant.
    let pointer = unsafe { ffi::PyCapsule_GetPointer(capsule.as_ptr(), TENSOR_NAME.as_ptr()) };
    let Some(pointer) = NonNull::new(pointer.cast::<DLManagedTensor>()) else {
        return Err(PyErr::fetch(py));
    };
    // The capsule keeps its name, so that it deletes the tensor when it goes: it is the owner.
    // SAFETY: a capsule of that name holds a managed tensor, which lives as long as the capsule.
    unsafe {
        let tensor = pointer.as_ref().dl_tensor;
        described(&tensor, capsule.into_any().unbind())
    }
    .map(Some)
}

/// # Safety
///
/// The tensor is one by DLPack's rules, and valid while the owner is held.
unsafe fn described(tensor: &DLTensor, owner: Py<PyAny>) -> PyResult<HostArray> {
    check_device(tensor.device)?;
    let DLDataType { code, bits, lanes } = tensor.dtype;
    let element = Element::of_dlpack(code, bits, lanes).ok_or_else(|| {
        PyValueError::new_err(format!("elements of {bits} bits have no type in Metal; convert the tensor"))
    })?;
    let rank = tensor.ndim.max(0) as usize;
    // SAFETY: shape and strides, where they are not null, have `ndim` numbers by DLPack's rules.
    let (shape, strides) = unsafe { (numbers(tensor.shape, rank), numbers(tensor.strides, rank)) };
    let extent = |at: usize| shape.get(at).map_or(0, |&extent| extent.max(0) as usize);
    let dims = match strides.len() == rank {
        true => Dims::new(rank, |at| Dim { extent: extent(at), stride: strides[at] as isize }),
        false => Dims::row_major(rank, extent),
    };
    let start = tensor.data.cast::<u8>().wrapping_add(tensor.byte_offset as usize);
    HostArray::new(start, element, dims, false, owner)
}

fn check_device(device: DLDevice) -> PyResult<()> {
    if device.device_type == CPU || device.device_type == PINNED {
        return Ok(());
    }
    let name = match device.device_type {
        2 => "CUDA",
        8 => "Metal",
        10 => "ROCm",
        13 => "CUDA (managed memory)",
        14 => "oneAPI",
        _ => "another",
    };
    Err(PyValueError::new_err(format!(
        "the tensor is on {name} device {}; anymetal takes arrays in the host's memory: move it with `.cpu()`",
        device.device_id
    )))
}

/// # Safety
///
/// There are `count` numbers at the pointer, if it is not null, which live as long as the result is
/// used.
unsafe fn numbers<'a>(pointer: *const i64, count: usize) -> &'a [i64] {
    if count == 0 || pointer.is_null() {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(pointer, count) }
}

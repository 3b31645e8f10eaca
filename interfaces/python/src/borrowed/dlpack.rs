//! DLPack: the exchange structure of tensor libraries.
//!
//! Owns its C layout (as of DLPack 1.3) and two ways to an object's tensor: the table of C
//! functions that a type may have (`__dlpack_c_exchange_api__`), which makes no Python object, and
//! the capsule of `__dlpack__`. Invariant: a tensor is used only while its object or its capsule is
//! held; capsules are never taken apart, so that each deletes its tensor itself.

use std::ffi::{CStr, c_int, c_void};
use std::ptr::NonNull;

use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyType};

use super::HostArray;
use super::dims::{Dim, Dims, MAX_RANK, check_extent, check_rank};
use crate::element::Element;

/// `kDLCPU`.
pub(crate) const CPU: c_int = 1;
/// `kDLCUDAHost`: pinned memory of the host.
const PINNED: c_int = 3;
/// The name of a capsule that nobody has taken the tensor of.
pub(crate) const TENSOR_NAME: &CStr = c"dltensor";
/// The same for a tensor with a version and flags.
pub(crate) const VERSIONED_NAME: &CStr = c"dltensor_versioned";
/// The newest version whose structures are known here.
pub(crate) const VERSION: [u32; 2] = [1, 1];
/// `DLPACK_FLAG_BITMASK_READ_ONLY`.
pub(crate) const FLAG_READ_ONLY: u64 = 1;
/// `DLPACK_FLAG_BITMASK_IS_COPIED`.
pub(crate) const FLAG_IS_COPIED: u64 = 2;
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

impl DLTensor {
    /// A tensor without memory, to be replaced.
    pub(crate) const EMPTY: DLTensor = DLTensor {
        data: std::ptr::null_mut(),
        device: DLDevice { device_type: CPU, device_id: 0 },
        ndim: 0,
        dtype: DLDataType { code: 0, bits: 8, lanes: 1 },
        shape: std::ptr::null_mut(),
        strides: std::ptr::null_mut(),
        byte_offset: 0,
    };
}

/// `DLManagedTensor`.
#[repr(C)]
pub(crate) struct DLManagedTensor {
    pub(crate) dl_tensor: DLTensor,
    pub(crate) manager_ctx: *mut c_void,
    pub(crate) deleter: Option<unsafe extern "C" fn(*mut DLManagedTensor)>,
}

/// `DLManagedTensorVersioned`.
#[repr(C)]
pub(crate) struct DLManagedTensorVersioned {
    pub(crate) version: [u32; 2],
    pub(crate) manager_ctx: *mut c_void,
    pub(crate) deleter: Option<unsafe extern "C" fn(*mut DLManagedTensorVersioned)>,
    pub(crate) flags: u64,
    pub(crate) dl_tensor: DLTensor,
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
    unsafe { described(&tensor, false, object.clone().unbind()) }.map(Some)
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
    let table = NonNull::new(pointer.cast::<ExchangeApi>()).filter(|table| table.is_aligned())?;
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
    let capsule = exported(object)?;
    let (tensor, flags) = tensor_of(&capsule)?;
    // What is written to a copy is lost, so that a copy is not for writing either.
    let is_read_only = flags & (FLAG_READ_ONLY | FLAG_IS_COPIED) != 0;
    // The capsule keeps its name, so that it deletes the tensor when it goes: it is the owner.
    // SAFETY: a tensor by DLPack's rules, which lives as long as the capsule.
    unsafe { described(&tensor, is_read_only, capsule.into_any().unbind()) }.map(Some)
}

/// What `__dlpack__` returns: a versioned capsule if the object can, since only those have flags.
fn exported<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyCapsule>> {
    let py = object.py();
    let export = object.getattr(intern!(py, "__dlpack__"))?;
    let keywords = PyDict::new(py);
    keywords.set_item(intern!(py, "max_version"), (VERSION[0], VERSION[1]))?;
    let capsule = match export.call((), Some(&keywords)) {
        // Objects from before DLPack 1.0 do not know the keyword.
        Err(error) if error.is_instance_of::<PyTypeError>(py) => export.call0()?,
        outcome => outcome?,
    };
    capsule
        .cast_into()
        .map_err(|error| PyTypeError::new_err(format!("`__dlpack__` returned no capsule: {error}")))
}

/// The tensor in a capsule, and its flags.
fn tensor_of(capsule: &Bound<'_, PyCapsule>) -> PyResult<(DLTensor, u64)> {
    if let Some(versioned) = pointer_in::<DLManagedTensorVersioned>(capsule, VERSIONED_NAME)? {
        // SAFETY: a capsule of that name holds such a tensor, whose first fields are the same in all
        // versions.
        let [major, minor] = unsafe { versioned.as_ref().version };
        if major != VERSION[0] {
            return Err(PyBufferError::new_err(format!(
                "the tensor is of DLPack {major}.{minor}, and anymetal knows version {}",
                VERSION[0]
            )));
        }
        // SAFETY: a capsule of that name and version holds such a tensor.
        let managed = unsafe { versioned.as_ref() };
        return Ok((managed.dl_tensor, managed.flags));
    }
    if let Some(managed) = pointer_in::<DLManagedTensor>(capsule, TENSOR_NAME)? {
        // SAFETY: a capsule of that name holds such a tensor.
        return Ok((unsafe { managed.as_ref().dl_tensor }, 0));
    }
    // SAFETY: the object is a capsule; its name is NULL or a string, which it keeps.
    let name = unsafe {
        let name = ffi::PyCapsule_GetName(capsule.as_ptr());
        if name.is_null() { String::new() } else { CStr::from_ptr(name).to_string_lossy().into_owned() }
    };
    Err(PyBufferError::new_err(format!(
        "the capsule of `__dlpack__` is named `{name}`, not `dltensor` or `dltensor_versioned`: its tensor was taken \
         before, or it is of another protocol"
    )))
}

/// What a capsule of that name points to; `None` for a capsule of another name.
fn pointer_in<T>(capsule: &Bound<'_, PyCapsule>, name: &CStr) -> PyResult<Option<NonNull<T>>> {
    // SAFETY: the object is a capsule, the name is a string.
    let pointer = unsafe {
        if ffi::PyCapsule_IsValid(capsule.as_ptr(), name.as_ptr()) == 0 {
            return Ok(None);
        }
        ffi::PyCapsule_GetPointer(capsule.as_ptr(), name.as_ptr())
    };
    match NonNull::new(pointer.cast::<T>()).filter(|pointer| pointer.is_aligned()) {
        Some(pointer) => Ok(Some(pointer)),
        None => {
            Err(PyBufferError::new_err("the capsule of `__dlpack__` holds a pointer that is not aligned"))
        }
    }
}

/// # Safety
///
/// The tensor is one by DLPack's rules, and valid while the owner is held.
unsafe fn described(tensor: &DLTensor, is_read_only: bool, owner: Py<PyAny>) -> PyResult<HostArray> {
    check_device(tensor.device)?;
    let DLDataType { code, bits, lanes } = tensor.dtype;
    let element = Element::of_dlpack(code, bits, lanes)?;
    let rank = check_rank(tensor.ndim)?;
    // SAFETY: shape and strides, where they are not null, have `ndim` numbers by DLPack's rules.
    let (shape, strides) = unsafe {
        (checked_numbers(tensor.shape, rank, "shape")?, checked_numbers(tensor.strides, rank, "strides")?)
    };
    if rank > 0 && shape.is_empty() {
        return Err(PyValueError::new_err("the tensor has dimensions and no shape"));
    }
    let mut extents = [0; MAX_RANK];
    for (to, &extent) in extents.iter_mut().zip(shape) {
        *to = check_extent(extent)?;
    }
    let dims = match strides.len() == rank {
        true => Dims::new(rank, |at| Dim { extent: extents[at], stride: strides[at] as isize }),
        false => Dims::row_major(rank, |at| extents[at]),
    };
    let offset = usize::try_from(tensor.byte_offset).ok();
    let start = match tensor.data.is_null() {
        // Without memory there is nothing that an offset leads to.
        true => Some(0),
        false => offset.and_then(|offset| tensor.data.addr().checked_add(offset)),
    };
    let start = start.ok_or_else(|| {
        PyValueError::new_err(format!(
            "the tensor's byte_offset {} exceeds the address space",
            tensor.byte_offset
        ))
    })?;
    HostArray::new(tensor.data.cast::<u8>().with_addr(start), element, dims, is_read_only, owner)
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

/// The numbers at a pointer; none for null.
///
/// # Safety
///
/// There are `count` numbers at the pointer, if it is not null, which live as long as the result is
/// used.
pub(super) unsafe fn checked_numbers<'a, T>(
    pointer: *const T,
    count: usize,
    what: &str,
) -> PyResult<&'a [T]> {
    if count == 0 || pointer.is_null() {
        return Ok(&[]);
    }
    if !pointer.is_aligned() {
        return Err(PyValueError::new_err(format!(
            "the array's {what} are at an address that is not aligned"
        )));
    }
    // SAFETY: aligned, and the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts(pointer, count) })
}

//! Arrays: memory of a device with a shape and a type, what `anymetal.ops` computes with.
//!
//! Owns [`PyArray`]. Invariant: its memory is not given out to another library while work that uses
//! it runs.

use std::ptr::NonNull;
use std::sync::Arc;

use anymetal_tensor_ops::{DType, Tensor};
use pyo3::exceptions::{PyAttributeError, PyBufferError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use anymetal::BufferSlice;

use crate::borrowed::HostArray;
use crate::device::{DeviceState, PyDevice};
use crate::element::{Element, Kind, dtype_name, dtype_named};
use crate::errors::Raise;
use crate::export;
use crate::fork;
use crate::interpreter::wait;
use crate::items::Items;
use crate::lend::{Loans, Place};

/// The most elements of an array: positions have 31 bits in `anymetal_tensor_ops`.
const MAX_ELEMENTS: usize = i32::MAX as usize;

/// An array of a device.
#[pyclass(frozen, subclass, name = "Array", module = "anymetal._native")]
pub(crate) struct PyArray {
    state: Arc<DeviceState>,
    tensor: Tensor,
    /// It is memory of another library that must not be written.
    is_read_only: bool,
}

impl PyArray {
    pub(crate) fn new(state: Arc<DeviceState>, tensor: Tensor) -> PyArray {
        PyArray { state, tensor, is_read_only: false }
    }

    /// The result of an operation over arrays of one device: read-only if it is a view of one that is.
    pub(crate) fn made_from(inputs: &[&PyArray], state: &Arc<DeviceState>, tensor: Tensor) -> PyArray {
        let shares = |input: &&PyArray| input.tensor.buffer().is_same(tensor.buffer());
        let is_read_only = inputs.iter().any(|input| input.is_read_only && shares(input));
        PyArray { state: Arc::clone(state), tensor, is_read_only }
    }

    pub(crate) fn tensor(&self) -> &Tensor {
        &self.tensor
    }

    pub(crate) fn state(&self) -> &Arc<DeviceState> {
        &self.state
    }

    /// An array with whatever its memory held before.
    pub(crate) fn empty(state: &Arc<DeviceState>, dtype: DType, shape: &[usize]) -> PyResult<PyArray> {
        let bytes = bytes_of(dtype, shape)?;
        let buffer = state.device.acquire::<u8>(bytes.max(dtype.size())).or_raise()?;
        let tensor = state.ops.from_bytes(&buffer, dtype, shape).or_raise()?;
        Ok(PyArray::new(Arc::clone(state), tensor))
    }

    /// The bytes of its elements, if they lie one after the other.
    pub(crate) fn region(&self) -> PyResult<BufferSlice> {
        let tensor = &self.tensor;
        let first = tensor.offset() * tensor.dtype().size();
        let view = tensor.buffer().view(first..first + tensor.byte_len() as usize).or_raise()?;
        Ok(view.region())
    }

    /// Waits for all work that uses it, and gives the address of its first element in the host's
    /// memory.
    pub(crate) fn settled_start(&self, py: Python<'_>) -> PyResult<NonNull<u8>> {
        fork::check()?;
        let buffer = self.tensor.buffer();
        wait(py, || {
            self.state.ops.wait()?;
            buffer.wait_until_unused()?;
            Ok::<_, anymetal_tensor_ops::OpError>(())
        })?;
        if !self.state.device.capabilities().unified_memory {
            return Err(PyBufferError::new_err(format!(
                "the memory of device `{}` is not the host's; copy the array with `numpy()` or `tolist()`",
                self.state.device.name()
            )));
        }
        let start = buffer.contents().ok_or_else(|| {
            PyBufferError::new_err("the array is in private memory, which the host does not see")
        })?;
        let offset = buffer.region().offset() as usize + self.tensor.offset() * self.tensor.dtype().size();
        // SAFETY: the first element of the tensor lies within its buffer, or is one past the end of
        // an empty one.
        Ok(unsafe { start.add(offset) })
    }
}

#[pymethods]
impl PyArray {
    /// A copy of another library's array, or its memory itself where `copy` is false.
    #[staticmethod]
    #[pyo3(signature = (object, device=None, copy=true))]
    fn from_host(
        py: Python<'_>,
        object: &Bound<'_, PyAny>,
        device: Option<&Bound<'_, PyDevice>>,
        copy: bool,
    ) -> PyResult<PyArray> {
        let state = match device {
            Some(device) => Arc::clone(&device.get().state),
            None => DeviceState::named(py, None)?,
        };
        let array = HostArray::required(object)?;
        let dtype = array.element().dtype().ok_or_else(|| {
            PyTypeError::new_err(format!(
                "anymetal has no arrays of {}; there are bool, int8, uint8, int32, uint32, int64, float16, bfloat16 \
                 and float32 (Metal has no double): convert it first",
                array.element().name()
            ))
        })?;
        if !array.is_contiguous() {
            return Err(PyValueError::new_err(
                "the array is not contiguous; give `numpy.ascontiguousarray(x)` or `x.contiguous()`",
            ));
        }
        let shape: Vec<usize> = array.dims().iter().map(|dim| dim.extent).collect();
        let is_read_only = array.is_read_only;
        let length = array.extent().unwrap_or(0);
        if !copy {
            if !state.device.capabilities().unified_memory {
                return Err(PyValueError::new_err(format!(
                    "device `{}` has memory of its own, so that `copy=False` is not possible",
                    state.device.name()
                )));
            }
            if !array.address().is_multiple_of(dtype.size()) {
                return Err(PyValueError::new_err("the array is not aligned to its elements; copy it"));
            }
            let mut loans = Loans::default();
            loans.add(Place::Argument(0), array, false);
            let buffer = loans.lend_whole(&state.device)?;
            let tensor = state.ops.from_bytes(&buffer, dtype, &shape).or_raise()?;
            return Ok(PyArray { state, tensor, is_read_only });
        }
        let bytes: &[u8] = match length {
            0 => &[],
            // SAFETY: a contiguous array has `extent` bytes from its start on, which its owner
            // keeps; the interpreter's lock is held, so that Python does not write them meanwhile.
            _ => unsafe { std::slice::from_raw_parts(array.start(), length) },
        };
        let buffer = state.device.acquire::<u8>(length.max(dtype.size())).or_raise()?;
        buffer.write(bytes).or_raise()?;
        let tensor = state.ops.from_bytes(&buffer, dtype, &shape).or_raise()?;
        Ok(PyArray { state, tensor, is_read_only: false })
    }

    /// An array of those bytes.
    #[staticmethod]
    #[pyo3(signature = (bytes, shape, dtype, device=None))]
    fn from_bytes(
        py: Python<'_>,
        bytes: &[u8],
        shape: Items<usize>,
        dtype: &str,
        device: Option<&Bound<'_, PyDevice>>,
    ) -> PyResult<PyArray> {
        let (needed, given) = (bytes_of(dtype_of(dtype)?, &shape.0)?, bytes.len());
        if needed != given {
            return Err(PyValueError::new_err(format!("the shape needs {needed} bytes, {given} were given")));
        }
        let array = PyArray::uninitialised(py, shape, dtype, device)?;
        array.tensor.buffer().write(bytes).or_raise()?;
        Ok(array)
    }

    /// An array with whatever its memory held before.
    #[staticmethod]
    #[pyo3(signature = (shape, dtype, device=None))]
    fn uninitialised(
        py: Python<'_>,
        shape: Items<usize>,
        dtype: &str,
        device: Option<&Bound<'_, PyDevice>>,
    ) -> PyResult<PyArray> {
        let state = match device {
            Some(device) => Arc::clone(&device.get().state),
            None => DeviceState::named(py, None)?,
        };
        PyArray::empty(&state, dtype_of(dtype)?, &shape.0)
    }

    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.tensor.shape())
    }

    /// In elements.
    #[getter]
    fn strides<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.tensor.strides())
    }

    #[getter]
    fn ndim(&self) -> usize {
        self.tensor.rank()
    }

    #[getter]
    fn size(&self) -> usize {
        self.tensor.len()
    }

    #[getter]
    fn nbytes(&self) -> u64 {
        self.tensor.byte_len()
    }

    #[getter]
    fn dtype_name(&self) -> &'static str {
        dtype_name(self.tensor.dtype())
    }

    #[getter]
    fn device(&self) -> PyDevice {
        PyDevice { state: Arc::clone(&self.state) }
    }

    /// Whether its memory is another library's, which must not be written.
    #[getter]
    pub(crate) fn is_read_only(&self) -> bool {
        self.is_read_only
    }

    #[getter]
    fn is_contiguous(&self) -> bool {
        self.tensor.is_contiguous()
    }

    /// Its elements in row-major order, once all work before is done.
    fn tobytes(&self, py: Python<'_>) -> PyResult<Vec<u8>> {
        fork::check()?;
        wait(py, || {
            let ops = &self.state.ops;
            let contiguous = ops.contiguous(&self.tensor)?;
            ops.wait()?;
            let mut bytes = vec![0; contiguous.byte_len() as usize];
            let offset = contiguous.offset() * contiguous.dtype().size();
            contiguous.buffer().read_into(offset, &mut bytes)?;
            Ok::<_, anymetal_tensor_ops::OpError>(bytes)
        })
    }

    /// Waits for the work that makes it.
    fn wait(&self, py: Python<'_>) -> PyResult<()> {
        fork::check()?;
        wait(py, || self.state.ops.wait())
    }

    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let element = Element::of_dtype(self.tensor.dtype());
        let letter = match element.kind {
            Kind::Bool => 'b',
            Kind::Int => 'i',
            Kind::UInt => 'u',
            Kind::Float => 'f',
            Kind::BFloat | Kind::Complex | Kind::Raw => {
                return Err(PyAttributeError::new_err(
                    "NumPy has no bfloat16; convert with `astype(float32)`",
                ));
            }
        };
        if !self.state.device.capabilities().unified_memory {
            return Err(PyAttributeError::new_err("the device's memory is not the host's"));
        }
        let start = self.settled_start(py)?;
        let size = element.bytes as isize;
        let strides: Vec<isize> = self.tensor.strides().iter().map(|stride| stride * size).collect();
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("shape", self.shape(py)?)?;
        interface.set_item(
            "typestr",
            format!("{}{letter}{}", if element.bytes == 1 { '|' } else { '<' }, element.bytes),
        )?;
        interface.set_item("data", (start.addr().get(), self.is_read_only))?;
        interface.set_item("strides", PyTuple::new(py, strides)?)?;
        Ok(interface)
    }

    /// DLPack's capsule. `stream`, `max_version`, `dl_device` and `copy` are as in the array API; a
    /// copy is made only where `copy` is true.
    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        slf: &Bound<'py, Self>,
        stream: Option<&Bound<'py, PyAny>>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let _unused = stream;
        if dl_device.is_some_and(|(kind, _)| kind != crate::borrowed::DLPACK_CPU) {
            return Err(PyBufferError::new_err("the array can be exported to the host's memory only"));
        }
        export::capsule(slf, copy == Some(true), max_version.is_some_and(|(major, _)| major >= 1))
    }

    fn __dlpack_device__(&self) -> (i32, i32) {
        (crate::borrowed::DLPACK_CPU, 0)
    }
}

/// Shape, strides in elements and the name of the type of an array of any library.
#[pyfunction]
pub(crate) fn describe(object: &Bound<'_, PyAny>) -> PyResult<(Vec<usize>, Vec<isize>, String)> {
    if let Ok(array) = object.cast::<PyArray>() {
        let tensor = array.get().tensor();
        let name = dtype_name(tensor.dtype()).to_owned();
        return Ok((tensor.shape().to_vec(), tensor.strides().to_vec(), name));
    }
    let array = HostArray::required(object)?;
    let (shape, strides) = array.dims().iter().map(|dim| (dim.extent, dim.stride)).unzip();
    Ok((shape, strides, array.element().name()))
}

/// The bytes of an array, before any are reserved.
fn bytes_of(dtype: DType, shape: &[usize]) -> PyResult<usize> {
    let count = match shape.contains(&0) {
        true => Some(0),
        false => shape.iter().try_fold(1usize, |product, &extent| product.checked_mul(extent)),
    };
    count.filter(|&count| count <= MAX_ELEMENTS).map(|count| count * dtype.size()).ok_or_else(|| {
        PyValueError::new_err(format!("the shape {shape:?} has too many elements: at most {MAX_ELEMENTS}"))
    })
}

/// The tensor type of a name, or an exception that lists all.
pub(crate) fn dtype_of(name: &str) -> PyResult<anymetal_tensor_ops::DType> {
    dtype_named(name).ok_or_else(|| {
        PyTypeError::new_err(format!(
            "anymetal has no type `{name}`; there are bool, int8, uint8, int32, uint32, int64, float16, bfloat16 and \
             float32"
        ))
    })
}

//! Collectives of several GPUs over NCCL, between the processes of a program.
//!
//! Owns [`PyCollectives`]: one device of this process in a group. Invariant: an operation returns a new array
//! when it has ended, and never changes its input.

use std::sync::Arc;

use anymetal::collectives::{Collectives, GroupId, ReduceOp};
use anymetal::reflection::ScalarType;
use anymetal_tensor_ops::{DType, Tensor};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::array::PyArray;
use crate::device::{DeviceState, PyDevice};
use crate::errors::Raise;
use crate::fork;

/// What the processes of a new group find each other by: 128 bytes.
#[pyfunction]
fn new_group(py: Python<'_>) -> PyResult<Bound<'_, PyBytes>> {
    fork::check()?;
    let group = py.detach(GroupId::new).map_err(anymetal::Error::from).or_raise()?;
    Ok(PyBytes::new(py, &group.to_bytes()))
}

/// One device of this process in a group of devices.
#[pyclass(frozen, name = "Collectives", module = "anymetal._native")]
pub(crate) struct PyCollectives {
    state: Arc<DeviceState>,
    collectives: Collectives,
    rank: usize,
}

#[pymethods]
impl PyCollectives {
    #[new]
    fn new(
        py: Python<'_>,
        device: &Bound<'_, PyDevice>,
        group: &[u8],
        rank: usize,
        size: usize,
    ) -> PyResult<PyCollectives> {
        fork::check()?;
        let bytes = <[u8; GroupId::BYTES]>::try_from(group).map_err(|_| {
            PyValueError::new_err(format!(
                "a group has {} bytes, these are {}; take what `new_group()` gave one process",
                GroupId::BYTES,
                group.len()
            ))
        })?;
        let state = Arc::clone(&device.get().state);
        let collectives = py
            .detach(|| {
                let devices = std::slice::from_ref(&state.device);
                Collectives::join(devices, &GroupId::from_bytes(bytes), rank, size)
            })
            .or_raise()?;
        Ok(PyCollectives { state, collectives, rank })
    }

    #[getter]
    fn rank(&self) -> usize {
        self.rank
    }

    #[getter]
    fn size(&self) -> usize {
        self.collectives.rank_count()
    }

    /// The arrays of all ranks, reduced element by element.
    #[pyo3(signature = (x, op="sum"))]
    fn all_reduce(&self, py: Python<'_>, x: &Bound<'_, PyArray>, op: &str) -> PyResult<PyArray> {
        let reduce = reduction(op)?;
        let (array, element) = self.copied(py, x)?;
        let region = array.region()?;
        py.detach(|| self.collectives.all_reduce(&[region], element, reduce)).or_raise()?;
        Ok(array)
    }

    /// The array of the rank `root`.
    fn broadcast(&self, py: Python<'_>, x: &Bound<'_, PyArray>, root: usize) -> PyResult<PyArray> {
        let (array, element) = self.copied(py, x)?;
        let region = array.region()?;
        py.detach(|| self.collectives.broadcast(&[region], root, element)).or_raise()?;
        Ok(array)
    }

    /// The arrays of all ranks along a new first axis.
    fn all_gather(&self, py: Python<'_>, x: &Bound<'_, PyArray>) -> PyResult<PyArray> {
        let (array, element) = self.copied(py, x)?;
        let dtype = array.tensor().dtype();
        let mut shape = array.tensor().shape().to_vec();
        shape.insert(0, self.size());
        let result = PyArray::empty(&self.state, dtype, &shape)?;
        let (from, to) = (array.region()?, result.region()?);
        py.detach(|| self.collectives.all_gather(&[from], &[to], element)).or_raise()?;
        Ok(result)
    }

    /// The arrays of all ranks, reduced; of the result the part of this rank along the first axis, which has
    /// as many elements as there are ranks.
    #[pyo3(signature = (x, op="sum"))]
    fn reduce_scatter(&self, py: Python<'_>, x: &Bound<'_, PyArray>, op: &str) -> PyResult<PyArray> {
        let reduce = reduction(op)?;
        let (array, element) = self.copied(py, x)?;
        let (size, shape) = (self.size(), array.tensor().shape().to_vec());
        let Some((_, rest)) = shape.split_first().filter(|(first, _)| **first == size) else {
            return Err(PyValueError::new_err(format!(
                "the first axis has a part for each of the {size} ranks, but the shape is {shape:?}"
            )));
        };
        let result = PyArray::empty(&self.state, array.tensor().dtype(), rest)?;
        let (from, to) = (array.region()?, result.region()?);
        py.detach(|| self.collectives.reduce_scatter(&[from], &[to], element, reduce)).or_raise()?;
        Ok(result)
    }

    fn __repr__(&self) -> String {
        format!(
            "<anymetal.Collectives rank {} of {} on {}>",
            self.rank,
            self.size(),
            self.state.device.name()
        )
    }
}

impl PyCollectives {
    /// A contiguous copy, whose work has ended, and the type of its elements.
    fn copied(&self, py: Python<'_>, x: &Bound<'_, PyArray>) -> PyResult<(PyArray, ScalarType)> {
        fork::check()?;
        let x = x.get();
        if !x.state().device.is_same(&self.state.device) {
            return Err(PyValueError::new_err(format!(
                "the array is on `{}`, this rank is `{}`; copy it: `anymetal.asarray(x, device=...)`",
                x.state().device.name(),
                self.state.device.name()
            )));
        }
        let element = element_of(x.tensor().dtype())?;
        let copy = |tensor: &Tensor| {
            let copy = self.state.ops.copy(tensor)?;
            self.state.ops.wait()?;
            Ok::<_, anymetal_tensor_ops::OpError>(copy)
        };
        let copy = py.detach(|| copy(x.tensor())).or_raise()?;
        Ok((PyArray::new(Arc::clone(&self.state), copy), element))
    }
}

fn reduction(name: &str) -> PyResult<ReduceOp> {
    Ok(match name {
        "sum" => ReduceOp::Sum,
        "prod" => ReduceOp::Product,
        "max" => ReduceOp::Max,
        "min" => ReduceOp::Min,
        _ => {
            return Err(PyValueError::new_err(format!(
                "there is no reduction `{name}`; there are sum, prod, max and min"
            )));
        }
    })
}

fn element_of(dtype: DType) -> PyResult<ScalarType> {
    Ok(match dtype {
        DType::I8 => ScalarType::I8,
        DType::U8 => ScalarType::U8,
        DType::I32 => ScalarType::I32,
        DType::U32 => ScalarType::U32,
        DType::I64 => ScalarType::I64,
        DType::F16 => ScalarType::F16,
        DType::BF16 => ScalarType::BF16,
        DType::F32 => ScalarType::F32,
        DType::Bool => return Err(PyTypeError::new_err("collectives of bool; convert it to uint8 first")),
    })
}

/// Registers the class and the function.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyCollectives>()?;
    module.add_function(wrap_pyfunction!(new_group, module)?)
}

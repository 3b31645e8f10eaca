//! Tensor operations by name, for `anymetal.ops`, which has the names and defaults of the array
//! API.
//!
//! Owns the functions that take arrays of one device. Invariant: an operation returns when its work
//! is handed over, and never changes its inputs.

use std::sync::Arc;

use anymetal_tensor_ops::{
    Activation, BinaryOp, Comparison, Generator, OpError, Ops, Reduction, Tensor, UnaryOp,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::array::{PyArray, dtype_of};
use crate::device::{DeviceState, PyDevice};
use crate::fork;
use crate::interpreter::wait;
use crate::items::Items;

/// Runs an operation over one array.
fn on(
    py: Python<'_>,
    x: &Bound<'_, PyArray>,
    run: impl FnOnce(&Ops, &Tensor) -> Result<Tensor, OpError> + Send,
) -> PyResult<PyArray> {
    on_all(py, &[x], |ops, all| run(ops, all[0]))
}

/// Runs an operation over arrays of one device.
fn on_all(
    py: Python<'_>,
    arrays: &[&Bound<'_, PyArray>],
    run: impl FnOnce(&Ops, &[&Tensor]) -> Result<Tensor, OpError> + Send,
) -> PyResult<PyArray> {
    fork::check()?;
    let arrays: Vec<&PyArray> = arrays.iter().map(|array| array.get()).collect();
    let first = arrays.first().ok_or_else(|| PyValueError::new_err("at least one array is needed"))?;
    let state = first.state();
    for other in &arrays {
        let (one, other) = (state, other.state());
        if !one.device.is_same(&other.device) {
            return Err(PyValueError::new_err(format!(
                "the arrays are on `{}` and `{}`; copy one: `anymetal.asarray(x, device=...)`",
                one.device.name(),
                other.device.name()
            )));
        }
    }
    let tensors: Vec<&Tensor> = arrays.iter().map(|array| array.tensor()).collect();
    let result = wait(py, || run(&state.ops, &tensors))?;
    Ok(PyArray::made_from(&arrays, state, result))
}

fn state(py: Python<'_>, device: Option<&Bound<'_, PyDevice>>) -> PyResult<Arc<DeviceState>> {
    match device {
        Some(device) => Ok(Arc::clone(&device.get().state)),
        None => DeviceState::named(py, None),
    }
}

fn unknown(what: &str, name: &str) -> PyErr {
    PyValueError::new_err(format!("there is no {what} `{name}`"))
}

#[pyfunction]
fn unary(py: Python<'_>, name: &str, x: &Bound<'_, PyArray>) -> PyResult<PyArray> {
    let op = UnaryOp::ALL.iter().find(|op| op.name() == name).ok_or_else(|| unknown("function", name))?;
    on(py, x, |ops, x| ops.unary(*op, x))
}

#[pyfunction]
fn binary(py: Python<'_>, name: &str, a: &Bound<'_, PyArray>, b: &Bound<'_, PyArray>) -> PyResult<PyArray> {
    let op = BinaryOp::ALL.iter().find(|op| op.name() == name).ok_or_else(|| unknown("function", name))?;
    on_all(py, &[a, b], |ops, both| ops.binary(*op, both[0], both[1]))
}

#[pyfunction]
fn compare(py: Python<'_>, name: &str, a: &Bound<'_, PyArray>, b: &Bound<'_, PyArray>) -> PyResult<PyArray> {
    let comparison = match name {
        "eq" => Comparison::Eq,
        "ne" => Comparison::Ne,
        "lt" => Comparison::Lt,
        "le" => Comparison::Le,
        "gt" => Comparison::Gt,
        "ge" => Comparison::Ge,
        "and" => Comparison::And,
        "or" => Comparison::Or,
        "xor" => Comparison::Xor,
        _ => return Err(unknown("comparison", name)),
    };
    on_all(py, &[a, b], |ops, both| ops.compare(comparison, both[0], both[1]))
}

#[pyfunction]
fn test(py: Python<'_>, name: &str, x: &Bound<'_, PyArray>) -> PyResult<PyArray> {
    match name {
        "logical_not" => on(py, x, Ops::logical_not),
        "isnan" => on(py, x, Ops::isnan),
        "isinf" => on(py, x, Ops::isinf),
        "isfinite" => on(py, x, Ops::isfinite),
        _ => Err(unknown("test", name)),
    }
}

#[pyfunction]
fn activation(py: Python<'_>, name: &str, x: &Bound<'_, PyArray>) -> PyResult<PyArray> {
    match name {
        "relu" => on(py, x, Ops::relu),
        "gelu" => on(py, x, Ops::gelu),
        "silu" => on(py, x, Ops::silu),
        "sigmoid" => on(py, x, Ops::sigmoid),
        "tanh" => on(py, x, |ops, x| ops.activation(Activation::Tanh, x)),
        _ => Err(unknown("activation", name)),
    }
}

#[pyfunction]
fn cast(py: Python<'_>, x: &Bound<'_, PyArray>, dtype: &str) -> PyResult<PyArray> {
    let dtype = dtype_of(dtype)?;
    on(py, x, |ops, x| ops.cast(x, dtype))
}

#[pyfunction]
fn reduce(
    py: Python<'_>,
    name: &str,
    x: &Bound<'_, PyArray>,
    over: Items<isize>,
    keep: bool,
) -> PyResult<PyArray> {
    let found = Reduction::ALL.iter().find(|reduction| reduction.name() == name);
    let reduction = *found.ok_or_else(|| unknown("reduction", name))?;
    on(py, x, |ops, x| ops.reduce(reduction, x, &over.0, keep))
}

#[pyfunction]
fn spread(
    py: Python<'_>,
    name: &str,
    x: &Bound<'_, PyArray>,
    over: Items<isize>,
    correction: usize,
    keep: bool,
) -> PyResult<PyArray> {
    match name {
        "var" => on(py, x, |ops, x| ops.var(x, &over.0, correction, keep)),
        "std" => on(py, x, |ops, x| ops.std(x, &over.0, correction, keep)),
        "logsumexp" => on(py, x, |ops, x| ops.logsumexp(x, &over.0, keep)),
        _ => Err(unknown("reduction", name)),
    }
}

#[pyfunction]
fn along(py: Python<'_>, name: &str, x: &Bound<'_, PyArray>, axis: isize) -> PyResult<PyArray> {
    match name {
        "argmax" => on(py, x, |ops, x| ops.argmax(x, axis, false)),
        "argmin" => on(py, x, |ops, x| ops.argmin(x, axis, false)),
        "argmax_keep" => on(py, x, |ops, x| ops.argmax(x, axis, true)),
        "argmin_keep" => on(py, x, |ops, x| ops.argmin(x, axis, true)),
        "cumsum" => on(py, x, |ops, x| ops.cumsum(x, axis)),
        "cumprod" => on(py, x, |ops, x| ops.cumprod(x, axis)),
        "softmax" => on(py, x, |ops, x| ops.softmax(x, axis)),
        "log_softmax" => on(py, x, |ops, x| ops.log_softmax(x, axis)),
        "sort" => on(py, x, |ops, x| ops.sort(x, axis, false)),
        "sort_descending" => on(py, x, |ops, x| ops.sort(x, axis, true)),
        "argsort" => on(py, x, |ops, x| ops.argsort(x, axis, false)),
        "argsort_descending" => on(py, x, |ops, x| ops.argsort(x, axis, true)),
        _ => Err(unknown("operation", name)),
    }
}

#[pyfunction]
fn matmul(py: Python<'_>, a: &Bound<'_, PyArray>, b: &Bound<'_, PyArray>) -> PyResult<PyArray> {
    on_all(py, &[a, b], |ops, both| ops.matmul(both[0], both[1]))
}

#[pyfunction]
fn where_(
    py: Python<'_>,
    condition: &Bound<'_, PyArray>,
    yes: &Bound<'_, PyArray>,
    no: &Bound<'_, PyArray>,
) -> PyResult<PyArray> {
    on_all(py, &[condition, yes, no], |ops, all| ops.where_(all[0], all[1], all[2]))
}

#[pyfunction]
fn join(py: Python<'_>, name: &str, arrays: Items<Bound<'_, PyArray>>, axis: isize) -> PyResult<PyArray> {
    let arrays: Vec<&Bound<'_, PyArray>> = arrays.0.iter().collect();
    match name {
        "concat" => on_all(py, &arrays, |ops, all| ops.concat(all, axis)),
        "stack" => on_all(py, &arrays, |ops, all| ops.stack(all, axis)),
        _ => Err(unknown("operation", name)),
    }
}

#[pyfunction]
fn gather(
    py: Python<'_>,
    name: &str,
    x: &Bound<'_, PyArray>,
    indices: &Bound<'_, PyArray>,
    axis: isize,
) -> PyResult<PyArray> {
    match name {
        "take" => on_all(py, &[x, indices], |ops, both| ops.index_select(both[0], axis, both[1])),
        "take_along_axis" => on_all(py, &[x, indices], |ops, both| ops.gather(both[0], axis, both[1])),
        _ => Err(unknown("operation", name)),
    }
}

#[pyfunction]
fn triangle(py: Python<'_>, name: &str, x: &Bound<'_, PyArray>, diagonal: i32) -> PyResult<PyArray> {
    match name {
        "tril" => on(py, x, |ops, x| ops.tril(x, diagonal)),
        "triu" => on(py, x, |ops, x| ops.triu(x, diagonal)),
        _ => Err(unknown("operation", name)),
    }
}

#[pyfunction]
fn unique(py: Python<'_>, x: &Bound<'_, PyArray>) -> PyResult<(PyArray, PyArray)> {
    fork::check()?;
    let (x, state) = (x.get(), x.get().state());
    let (values, counts) = wait(py, || state.ops.unique(x.tensor()))?;
    Ok((PyArray::made_from(&[x], state, values), PyArray::made_from(&[x], state, counts)))
}

/// The positions of elements that are not zero: a row for each, a column for each axis.
#[pyfunction]
fn nonzero(py: Python<'_>, x: &Bound<'_, PyArray>) -> PyResult<PyArray> {
    on(py, x, Ops::nonzero)
}

#[pyfunction]
fn layer_norm(
    py: Python<'_>,
    x: &Bound<'_, PyArray>,
    dimensions: usize,
    weight: Option<&Bound<'_, PyArray>>,
    bias: Option<&Bound<'_, PyArray>>,
    epsilon: f32,
) -> PyResult<PyArray> {
    let (weight, bias) = (weight.map(|one| one.get().tensor()), bias.map(|one| one.get().tensor()));
    on(py, x, |ops, x| ops.layer_norm(x, dimensions, weight, bias, epsilon))
}

#[pyfunction]
fn rms_norm(
    py: Python<'_>,
    x: &Bound<'_, PyArray>,
    dimensions: usize,
    weight: Option<&Bound<'_, PyArray>>,
    epsilon: f32,
) -> PyResult<PyArray> {
    let weight = weight.map(|one| one.get().tensor());
    on(py, x, |ops, x| ops.rms_norm(x, dimensions, weight, epsilon))
}

/// Views and copies that change the shape: `numbers` are what the operation takes.
#[pyfunction]
fn reshaped(py: Python<'_>, name: &str, x: &Bound<'_, PyArray>, numbers: Items<isize>) -> PyResult<PyArray> {
    let numbers = numbers.0;
    let size = |number: isize| {
        usize::try_from(number).map_err(|_| PyValueError::new_err(format!("{name}: {number} is negative")))
    };
    let sizes = || numbers.iter().map(|&number| size(number)).collect::<PyResult<Vec<usize>>>();
    match (name, &numbers[..]) {
        ("reshape", _) => {
            let sizes = sizes()?;
            on(py, x, |ops, x| ops.reshape(x, &sizes))
        }
        ("broadcast_to", _) => {
            let sizes = sizes()?;
            on(py, x, |_, x| x.broadcast_to(&sizes))
        }
        ("permute", _) => {
            let sizes = sizes()?;
            on(py, x, |_, x| x.permute(&sizes))
        }
        ("contiguous", _) => on(py, x, Ops::contiguous),
        ("copy", _) => on(py, x, Ops::copy),
        ("expand_dims", &[axis]) => on(py, x, |_, x| x.unsqueeze(axis)),
        ("squeeze", &[axis]) => on(py, x, |_, x| x.squeeze(axis)),
        ("flip", &[axis]) => on(py, x, |_, x| x.flip(axis)),
        ("roll", &[shift, axis]) => on(py, x, |ops, x| ops.roll(x, shift, axis)),
        ("select", &[axis, at]) => {
            let at = size(at)?;
            on(py, x, |_, x| x.select(axis, at))
        }
        ("slice", &[axis, start, end, step]) => {
            let range = size(start)?..size(end)?;
            on(py, x, |_, x| x.slice(axis, range, step))
        }
        _ => Err(unknown("operation", name)),
    }
}

#[pyfunction]
fn pad(py: Python<'_>, x: &Bound<'_, PyArray>, pads: Items<(usize, usize)>, value: f64) -> PyResult<PyArray> {
    on(py, x, |ops, x| ops.pad(x, &pads.0, value))
}

#[pyfunction]
fn clamp(py: Python<'_>, x: &Bound<'_, PyArray>, low: f64, high: f64) -> PyResult<PyArray> {
    on(py, x, |ops, x| ops.clamp(x, low, high))
}

#[pyfunction]
fn arange(
    py: Python<'_>,
    count: usize,
    first: f64,
    step: f64,
    dtype: &str,
    device: Option<&Bound<'_, PyDevice>>,
) -> PyResult<PyArray> {
    let (dtype, state) = (dtype_of(dtype)?, state(py, device)?);
    let tensor = wait(py, || state.ops.arange(count, first, step, dtype))?;
    Ok(PyArray::new(state, tensor))
}

#[pyfunction]
fn eye(py: Python<'_>, size: usize, dtype: &str, device: Option<&Bound<'_, PyDevice>>) -> PyResult<PyArray> {
    let (dtype, state) = (dtype_of(dtype)?, state(py, device)?);
    let tensor = wait(py, || state.ops.eye(size, dtype))?;
    Ok(PyArray::new(state, tensor))
}

/// Random numbers of a distribution; the same seed gives the same numbers.
#[pyfunction]
fn random(
    py: Python<'_>,
    name: &str,
    seed: u64,
    shape: Items<usize>,
    parameters: (f32, f32),
    dtype: &str,
    device: Option<&Bound<'_, PyDevice>>,
) -> PyResult<PyArray> {
    let (dtype, state) = (dtype_of(dtype)?, state(py, device)?);
    let (first, second) = parameters;
    let generator = Generator::new(&state.ops, seed);
    let tensor = wait(py, || match name {
        "uniform" => generator.uniform(&shape.0, first, second, dtype).map(Some),
        "normal" => generator.normal(&shape.0, first, second, dtype).map(Some),
        _ => Ok(None),
    });
    let tensor = tensor?.ok_or_else(|| unknown("distribution", name))?;
    Ok(PyArray::new(state, tensor))
}

/// The functions, for `anymetal._native`.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(unary, module)?)?;
    module.add_function(wrap_pyfunction!(binary, module)?)?;
    module.add_function(wrap_pyfunction!(compare, module)?)?;
    module.add_function(wrap_pyfunction!(test, module)?)?;
    module.add_function(wrap_pyfunction!(activation, module)?)?;
    module.add_function(wrap_pyfunction!(cast, module)?)?;
    module.add_function(wrap_pyfunction!(reduce, module)?)?;
    module.add_function(wrap_pyfunction!(spread, module)?)?;
    module.add_function(wrap_pyfunction!(along, module)?)?;
    module.add_function(wrap_pyfunction!(matmul, module)?)?;
    module.add_function(wrap_pyfunction!(where_, module)?)?;
    module.add_function(wrap_pyfunction!(join, module)?)?;
    module.add_function(wrap_pyfunction!(gather, module)?)?;
    module.add_function(wrap_pyfunction!(triangle, module)?)?;
    module.add_function(wrap_pyfunction!(unique, module)?)?;
    module.add_function(wrap_pyfunction!(nonzero, module)?)?;
    module.add_function(wrap_pyfunction!(layer_norm, module)?)?;
    module.add_function(wrap_pyfunction!(rms_norm, module)?)?;
    module.add_function(wrap_pyfunction!(reshaped, module)?)?;
    module.add_function(wrap_pyfunction!(pad, module)?)?;
    module.add_function(wrap_pyfunction!(clamp, module)?)?;
    module.add_function(wrap_pyfunction!(arange, module)?)?;
    module.add_function(wrap_pyfunction!(eye, module)?)?;
    module.add_function(wrap_pyfunction!(random, module)?)?;
    Ok(())
}

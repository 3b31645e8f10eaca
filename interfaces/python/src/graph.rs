//! Graphs: kernels that are described once and run many times.
//!
//! Owns [`PyGraph`], [`PyGraphValue`] and [`PyExecutable`], thin over the facade's. Invariant: a
//! graph holds the arrays that its kernels use; they are arrays of anymetal, so that two kernels
//! with the same memory name the same buffer.

use std::sync::{Mutex, PoisonError};

use anymetal::Queue;
use anymetal::argument::Scalar;
use anymetal::graph::{Executable, GraphBuilder, PlanOptions, ValueId};
use pyo3::exceptions::{PyNotImplementedError, PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyTuple};

use crate::call::{Call, LaunchShape};
use crate::errors::Raise;
use crate::fork;
use crate::interpreter::wait;
use crate::kernel::PyKernel;
use crate::lend::Loans;
use crate::queue::PyQueue;
use crate::submission::PySubmission;

/// A number of a graph that may be another in the next run.
#[pyclass(frozen, name = "GraphValue", module = "anymetal")]
pub(crate) struct PyGraphValue {
    id: ValueId,
    initial: Py<PyAny>,
}

/// A graph while it is built.
#[pyclass(frozen, name = "Graph", module = "anymetal")]
pub(crate) struct PyGraph {
    /// `None` once it was built.
    builder: Mutex<Option<GraphBuilder>>,
    queue: Mutex<Option<Queue>>,
}

/// A graph that is ready to run.
#[pyclass(frozen, name = "Executable", module = "anymetal")]
pub(crate) struct PyExecutable {
    executable: Mutex<Executable>,
    queue: Queue,
}

fn built() -> PyErr {
    PyRuntimeError::new_err("the graph was built; make a new one to add kernels")
}

impl PyGraph {
    fn with<T>(&self, act: impl FnOnce(&mut GraphBuilder) -> PyResult<T>) -> PyResult<T> {
        let mut builder = self.builder.lock().unwrap_or_else(PoisonError::into_inner);
        act(builder.as_mut().ok_or_else(built)?)
    }
}

#[pymethods]
impl PyGraph {
    #[new]
    #[pyo3(signature = (name="graph"))]
    fn new(name: &str) -> PyGraph {
        PyGraph { builder: Mutex::new(Some(GraphBuilder::new(name))), queue: Mutex::default() }
    }

    /// A number that kernels take and that may be another in the next run.
    fn value(&self, name: &str, initial: &Bound<'_, PyAny>) -> PyResult<PyGraphValue> {
        let number = number(initial)?;
        let id = self.with(|builder| builder.value(name, number).or_raise())?;
        Ok(PyGraphValue { id, initial: initial.clone().unbind() })
    }

    /// Adds a kernel with its arguments: arrays of anymetal, numbers, values of the graph.
    #[pyo3(signature = (
        kernel, *args, threads=None, group_size=None, arg_casts=None, threadgroup_memory=None, name=None
    ))]
    #[allow(clippy::too_many_arguments, reason = "keywords of Python")]
    fn kernel(
        &self,
        py: Python<'_>,
        kernel: &Bound<'_, PyKernel>,
        args: &Bound<'_, PyTuple>,
        threads: Option<&Bound<'_, PyAny>>,
        group_size: Option<&Bound<'_, PyAny>>,
        arg_casts: Option<&Bound<'_, PyAny>>,
        threadgroup_memory: Option<&Bound<'_, PyDict>>,
        name: Option<&str>,
    ) -> PyResult<()> {
        fork::check()?;
        let kernel = kernel.get();
        let (mut plain, mut values) = (Vec::with_capacity(args.len()), Vec::new());
        let callee = kernel.callee();
        for (position, object) in args.iter().enumerate() {
            match object.cast::<PyGraphValue>() {
                Ok(value) => {
                    values.extend(callee.index_at(position, args.len()).map(|index| (index, value.get().id)));
                    plain.push(value.get().initial.clone_ref(py).into_bound(py));
                }
                Err(_) => plain.push(object),
            }
        }
        let plain = PyTuple::new(py, plain)?;
        let shape = LaunchShape { threads, group_size, arg_casts, threadgroup_memory };
        let call = Call::new(&callee, &plain, &shape)?;
        if call.has_tables() {
            return Err(PyNotImplementedError::new_err(
                "a list of arrays (pointers in memory) cannot be an argument in a graph; bind each array",
            ));
        }
        if call.lends() {
            return Err(PyTypeError::new_err(
                "a graph keeps its arrays: give arrays of anymetal, `anymetal.asarray(x)` for a copy or \
                 `anymetal.asarray(x, copy=False)` for the same memory",
            ));
        }
        let mut node = kernel.plain_pipeline().node();
        for (index, given) in call.given() {
            node = match values.iter().find(|(at, _)| at == index) {
                Some((_, value)) => node.arg_at(*index, *value),
                None => node.arg_at(*index, given),
            };
        }
        for &(index, bytes) in call.threadgroup_memory() {
            node = node.threadgroup_memory(index, bytes);
        }
        let node = wait(py, || node.threads(call.threads()).group_size(call.group_size()).build())?;
        let name = name.unwrap_or_else(|| kernel.plain_pipeline().name());
        self.with(|builder| builder.kernel(name, node).map(drop).or_raise())?;
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.get_or_insert_with(|| kernel.default_queue());
        Ok(())
    }

    /// Plans the graph: kernels run as if one after the other in the order in which they were
    /// added; what does not touch the same memory may run at the same time, and chains become one
    /// launch.
    fn build(&self, py: Python<'_>) -> PyResult<PyExecutable> {
        let mut builder =
            self.builder.lock().unwrap_or_else(PoisonError::into_inner).take().ok_or_else(built)?;
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let queue = queue.ok_or_else(|| PyRuntimeError::new_err("the graph has no kernels"))?;
        let executable = wait(py, || {
            builder.order_as_added();
            Executable::new(&builder.build()?, PlanOptions::default())
        });
        Ok(PyExecutable { executable: Mutex::new(executable?), queue })
    }
}

#[pymethods]
impl PyExecutable {
    /// Runs the graph and waits for it; the seconds that the device was at it.
    #[pyo3(signature = (queue=None))]
    fn run(&self, py: Python<'_>, queue: Option<&Bound<'_, PyQueue>>) -> PyResult<f64> {
        fork::check()?;
        let queue = queue.map_or(&self.queue, |queue| &queue.get().queue);
        let outcome = wait(py, || {
            let executable = self.executable.lock().unwrap_or_else(PoisonError::into_inner);
            let submission = queue.submit_graph(&executable)?;
            drop(executable);
            submission.wait()
        });
        Ok(outcome?.device_time().as_secs_f64())
    }

    /// Starts the graph and returns its submission.
    #[pyo3(signature = (queue=None))]
    fn submit(&self, py: Python<'_>, queue: Option<&Bound<'_, PyQueue>>) -> PyResult<PySubmission> {
        fork::check()?;
        let queue = queue.map_or(&self.queue, |queue| &queue.get().queue);
        let submission = wait(py, || {
            let executable = self.executable.lock().unwrap_or_else(PoisonError::into_inner);
            queue.submit_graph(&executable)
        });
        Ok(PySubmission::new(submission?, Loans::default()))
    }

    /// Sets a value for the runs from now on.
    fn set(
        &self,
        py: Python<'_>,
        value: &Bound<'_, PyGraphValue>,
        number_: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let (id, number) = (value.get().id, number(number_)?);
        wait(py, || self.executable.lock().unwrap_or_else(PoisonError::into_inner).set_value(id, number))
    }

    /// Launches that became one with the one before.
    #[getter]
    fn fused(&self) -> usize {
        self.executable.lock().unwrap_or_else(PoisonError::into_inner).plan().fused()
    }

    /// The plan as a drawing.
    fn to_svg(&self) -> String {
        self.executable.lock().unwrap_or_else(PoisonError::into_inner).plan().to_svg()
    }

    fn _repr_html_(&self) -> String {
        self.to_svg()
    }
}

fn number(given: &Bound<'_, PyAny>) -> PyResult<Scalar> {
    if let Ok(truth) = given.cast::<PyBool>() {
        return Ok(Scalar::Bool(truth.is_true()));
    }
    if given.is_instance_of::<PyInt>() {
        return Ok(Scalar::Integer(given.extract::<i64>()?.into()));
    }
    if given.is_instance_of::<PyFloat>() {
        return Ok(Scalar::Float(given.extract()?));
    }
    Err(PyTypeError::new_err(format!("a value of a graph is bool, int or float, not {given:?}")))
}

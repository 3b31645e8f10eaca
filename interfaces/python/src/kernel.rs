//! Kernels: what Python calls.
//!
//! Owns [`PyKernel`]. Invariant: a call returns when the kernel has ended, so that the caller's
//! arrays have the result; [`PyKernel::launch`] returns at once and its submission holds the
//! arrays.

use std::ffi::CString;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anymetal::command::Deadline;
use anymetal::reflection::{ArgumentInfo, ArgumentKind};
use anymetal::{Error, FunctionConstants, Pipeline, PipelineDescriptor, Queue};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use crate::call::{Call, Callee, LaunchShape, declaration};
use crate::functions::{Linked, PyFunctionTable};
use crate::interpreter::wait;
use crate::items::Items;
use crate::library::{LibraryState, constants_dictionary};
use crate::profile::PyProfile;
use crate::queue::PyQueue;
use crate::submission::PySubmission;
use crate::{check, fork, functions};

/// A kernel, ready to run.
#[pyclass(frozen, name = "Kernel", module = "anymetal._native")]
pub(crate) struct PyKernel {
    library: Arc<LibraryState>,
    constants: FunctionConstants,
    /// Visible functions of other libraries that it may call.
    linked: Vec<Linked>,
    pipeline: Pipeline,
    /// By their Metal indices.
    arguments: Vec<ArgumentInfo>,
    /// The same kernel under the sanitizer.
    checked: OnceLock<Result<Pipeline, Error>>,
    /// Whether Python was warned that the code was compiled with less than the full effort.
    warned: AtomicBool,
}

impl PyKernel {
    pub(crate) fn make(
        py: Python<'_>,
        library: &Arc<LibraryState>,
        name: &str,
        constants: FunctionConstants,
        linked: Vec<Linked>,
    ) -> PyResult<PyKernel> {
        let pipeline = wait(py, || {
            let functions = functions::linked_functions(&linked, false)?;
            let descriptor = PipelineDescriptor::new(name).constants(constants.clone());
            library.library().pipeline(descriptor.linked_functions(functions))
        });
        let pipeline = pipeline?;
        let is_bound = |argument: &&ArgumentInfo| argument.enabled && argument.kind == ArgumentKind::Buffer;
        let mut arguments: Vec<ArgumentInfo> =
            pipeline.kernel().arguments.iter().filter(is_bound).cloned().collect();
        arguments.sort_by_key(|argument| argument.index);
        let (library, checked) = (Arc::clone(library), OnceLock::new());
        let warned = AtomicBool::new(false);
        Ok(PyKernel { library, constants, linked, pipeline, arguments, checked, warned })
    }

    /// What is called.
    pub(crate) fn callee(&self) -> Callee<'_> {
        let kernel = self.pipeline.kernel();
        Callee {
            name: &kernel.name,
            pipeline: &self.pipeline,
            device: &self.library.device.device,
            arguments: &self.arguments,
            max_threads: kernel.max_threads_per_threadgroup,
            required_group: kernel.required_threads_per_threadgroup,
            conventions: self.library.conventions,
        }
    }

    pub(crate) fn plain_pipeline(&self) -> &Pipeline {
        &self.pipeline
    }

    pub(crate) fn default_queue(&self) -> Queue {
        self.library.device.queue.clone()
    }

    /// The pipeline that runs now: under the sanitizer while something demands that.
    fn pipeline(&self) -> Result<&Pipeline, Error> {
        if !check::is_checking() {
            return Ok(&self.pipeline);
        }
        let made = self.checked.get_or_init(|| {
            let functions = functions::linked_functions(&self.linked, true)?;
            let descriptor = PipelineDescriptor::new(self.pipeline.name()).constants(self.constants.clone());
            self.library.checked()?.pipeline(descriptor.linked_functions(functions))
        });
        made.as_ref().map_err(Error::clone)
    }

    /// Warns at the first call of a kernel whose code was compiled with less than the full effort.
    fn warn_of_reduced_effort(&self, py: Python<'_>) -> PyResult<()> {
        let Some(reduced) = self.pipeline.reduced_effort() else { return Ok(()) };
        if self.warned.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        let category = py.import("anymetal.errors")?.getattr("ReducedEffortWarning")?;
        let message = CString::new(format!("kernel `{}` is large: {reduced}", self.pipeline.name()))?;
        PyErr::warn(py, &category, &message, 1)
    }

    /// A call with one more buffer, to which the kernel reports errors.
    fn call_with_error_buffer(
        kernel: &Bound<'_, Self>,
        args: &Bound<'_, PyTuple>,
        index: &Bound<'_, PyAny>,
        keywords: [Option<&Bound<'_, PyAny>>; 5],
    ) -> PyResult<()> {
        let py = kernel.py();
        let given = PyDict::new(py);
        let names = ["threads", "group_size", "arg_casts", "threadgroup_memory", "queue"];
        for (name, value) in names.into_iter().zip(keywords) {
            given.set_item(name, value)?;
        }
        let deferred = kernel.get().library.conventions.torch;
        let call = py.import("anymetal._kernel_errors")?.getattr("call")?;
        call.call1((kernel, args, index, given, deferred)).map(drop)
    }

    fn queue_or_default<'a>(&'a self, queue: Option<&'a Bound<'_, PyAny>>) -> PyResult<&'a Queue> {
        let Some(queue) = queue else { return Ok(&self.library.device.queue) };
        // Sorted here, since pyo3's own error does not name the argument before Python 3.11.
        let Ok(queue) = queue.cast::<PyQueue>() else {
            let given = queue.get_type().name()?;
            return Err(PyTypeError::new_err(format!("argument `queue` is an anymetal.Queue, not {given}")));
        };
        let queue = &queue.get().queue;
        if !queue.device().is_same(&self.library.device.device) {
            return Err(PyValueError::new_err(format!(
                "the queue is of device `{}`, and kernel `{}` was compiled for `{}`; compile it for the queue's \
                 device: `compile_shader(source, device=queue.device)`",
                queue.device().name(),
                self.pipeline.name(),
                self.library.device.device.name()
            )));
        }
        Ok(queue)
    }
}

#[pymethods]
impl PyKernel {
    /// Runs the kernel over the arguments and waits for it.
    #[pyo3(signature = (
        *args, threads=None, group_size=None, arg_casts=None, error_buf_idx=None, threadgroup_memory=None,
        queue=None
    ))]
    #[allow(clippy::too_many_arguments, reason = "keywords of Python")]
    fn __call__(
        slf: &Bound<'_, Self>,
        args: &Bound<'_, PyTuple>,
        threads: Option<&Bound<'_, PyAny>>,
        group_size: Option<&Bound<'_, PyAny>>,
        arg_casts: Option<&Bound<'_, PyAny>>,
        error_buf_idx: Option<&Bound<'_, PyAny>>,
        threadgroup_memory: Option<&Bound<'_, PyDict>>,
        queue: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        fork::check()?;
        let this = slf.get();
        if let Some(index) = error_buf_idx {
            let keywords = [threads, group_size, arg_casts, threadgroup_memory.map(Bound::as_any), queue];
            return PyKernel::call_with_error_buffer(slf, args, index, keywords);
        }
        let shape = LaunchShape { threads, group_size, arg_casts, threadgroup_memory };
        let call = Call::new(&this.callee(), args, &shape)?;
        let queue = this.queue_or_default(queue)?;
        wait(slf.py(), || {
            call.launch(queue, this.pipeline()?).run()?;
            call.loans.write_back()
        })?;
        this.warn_of_reduced_effort(slf.py())
    }

    /// Starts the kernel and returns its submission, which can be waited for or awaited.
    #[pyo3(signature = (
        *args, threads=None, group_size=None, arg_casts=None, threadgroup_memory=None, queue=None,
        after=Items::none(), label=None, deadline=None
    ))]
    #[allow(clippy::too_many_arguments, reason = "keywords of Python")]
    fn launch(
        &self,
        py: Python<'_>,
        args: &Bound<'_, PyTuple>,
        threads: Option<&Bound<'_, PyAny>>,
        group_size: Option<&Bound<'_, PyAny>>,
        arg_casts: Option<&Bound<'_, PyAny>>,
        threadgroup_memory: Option<&Bound<'_, PyDict>>,
        queue: Option<&Bound<'_, PyAny>>,
        after: Items<Bound<'_, PySubmission>>,
        label: Option<String>,
        deadline: Option<f64>,
    ) -> PyResult<PySubmission> {
        fork::check()?;
        let shape = LaunchShape { threads, group_size, arg_casts, threadgroup_memory };
        let call = Call::new(&self.callee(), args, &shape)?;
        let queue = self.queue_or_default(queue)?;
        let after: Vec<_> = after.0.iter().map(|other| other.get().submission().clone()).collect();
        let deadline = deadline.map(deadline_of).transpose()?.unwrap_or_default();
        let submission = wait(py, || {
            let mut launch = call.launch(queue, self.pipeline()?).label(label.unwrap_or_default());
            for other in &after {
                launch = launch.after(other);
            }
            launch.deadline(deadline).submit()
        });
        let submission = PySubmission::new(submission?, call.loans);
        self.warn_of_reduced_effort(py)?;
        Ok(submission)
    }

    /// Runs the kernel again and again over the same arguments and measures each run by the
    /// device's clock. The arrays change as often as the kernel changes them.
    #[pyo3(signature = (
        *args, threads=None, group_size=None, arg_casts=None, threadgroup_memory=None, queue=None,
        iterations=30, warm_up=3, flop=0, bytes=0
    ))]
    #[allow(clippy::too_many_arguments, reason = "keywords of Python")]
    fn profile(
        &self,
        py: Python<'_>,
        args: &Bound<'_, PyTuple>,
        threads: Option<&Bound<'_, PyAny>>,
        group_size: Option<&Bound<'_, PyAny>>,
        arg_casts: Option<&Bound<'_, PyAny>>,
        threadgroup_memory: Option<&Bound<'_, PyDict>>,
        queue: Option<&Bound<'_, PyAny>>,
        iterations: usize,
        warm_up: usize,
        flop: u64,
        bytes: u64,
    ) -> PyResult<PyProfile> {
        fork::check()?;
        let shape = LaunchShape { threads, group_size, arg_casts, threadgroup_memory };
        let call = Call::new(&self.callee(), args, &shape)?;
        let queue = self.queue_or_default(queue)?;
        let work = anymetal::profile::CountedWork { flop, bytes };
        let rounds = crate::profile::Rounds { iterations, warm_up, work };
        let profile = wait(py, || {
            let profile = rounds.run(&call, queue, self.pipeline()?)?;
            call.loans.write_back()?;
            Ok::<_, Error>(profile)
        });
        Ok(PyProfile::new(self.pipeline.name(), profile?))
    }

    #[getter]
    fn name(&self) -> &str {
        self.pipeline.name()
    }

    #[getter]
    fn max_threads_per_threadgroup(&self) -> u32 {
        self.pipeline.max_total_threads_per_threadgroup()
    }

    #[getter]
    fn thread_execution_width(&self) -> u32 {
        self.pipeline.thread_execution_width()
    }

    /// Named as in PyTorch.
    #[getter]
    fn static_thread_group_memory_length(&self) -> u64 {
        self.pipeline.static_threadgroup_memory_length()
    }

    /// What it runs as: machine code, PTX, or the interpreter with the reason.
    #[getter]
    fn executor(&self) -> String {
        crate::device::executor_words(self.pipeline.executor())
    }

    /// The buffer arguments in the order of a call: dictionaries with index, name, type and access.
    #[getter]
    fn arguments<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for argument in &self.arguments {
            let described = PyDict::new(py);
            described.set_item("index", argument.index)?;
            described.set_item("name", &argument.name)?;
            described.set_item("type", &argument.type_name)?;
            described.set_item("element_size", argument.element_size)?;
            described.set_item("is_reference", argument.is_reference)?;
            let access = match argument.access {
                anymetal::reflection::Access::Read => "read",
                anymetal::reflection::Access::Write => "write",
                anymetal::reflection::Access::ReadWrite => "read-write",
            };
            described.set_item("access", access)?;
            list.append(described)?;
        }
        Ok(list)
    }

    /// A table of visible functions for this kernel and others that have the same: of a list of names, with
    /// `None` for entries without a function, or of so many such entries.
    fn function_table(&self, functions: &Bound<'_, PyAny>) -> PyResult<PyFunctionTable> {
        fork::check()?;
        PyFunctionTable::of(&self.pipeline, &self.library.device.device, functions)
    }

    /// Compiles the code for threadgroups of that size now.
    fn warm_up(&self, py: Python<'_>, group_size: &Bound<'_, PyAny>) -> PyResult<()> {
        fork::check()?;
        let size = crate::extent::Extents::of(group_size, "group_size")?.sizes();
        wait(py, || self.pipeline.warm_up([size]))
    }

    fn __repr__(&self) -> String {
        let arguments: Vec<String> = self.arguments.iter().map(declaration).collect();
        format!("<kernel {}({})>", self.pipeline.name(), arguments.join(", "))
    }

    /// A kernel is pickled as its source and compiled again where it arrives, through the cache on
    /// disk.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let rebuild = py.import("anymetal._shader")?.getattr("rebuild_kernel")?;
        let (source, device, options) = self.library.made_from(py)?;
        let (constants, linked) =
            (constants_dictionary(py, &self.constants)?, functions::as_list(py, &self.linked)?);
        let parts = (source, device, options, self.pipeline.name(), constants, linked);
        Ok((rebuild, parts.into_pyobject(py)?))
    }
}

/// A deadline that Python gives in seconds; 0: none.
fn deadline_of(given: f64) -> PyResult<Deadline> {
    Deadline::from_secs_f64(given).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// A time that Python gives in seconds.
pub(crate) fn seconds(given: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(given)
        .map_err(|_| PyValueError::new_err(format!("{given} is no number of seconds to wait")))
}

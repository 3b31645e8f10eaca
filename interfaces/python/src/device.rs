//! Devices: which there are, with the queue and the operations' context that a process uses of
//! each.
//!
//! Owns [`DeviceState`] and [`PyDevice`]. Invariant: a process has one state for each device, so
//! that arrays and kernels of one device share a queue and keep their order.

use std::sync::{Arc, Mutex, PoisonError};

use anymetal::{Device, DeviceKind, Event, Queue};
use anymetal_tensor_ops::Ops;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::Raise;
use crate::event::PyEvent;
use crate::fork;
use crate::interpreter::{detach, wait};
use crate::queue::PyQueue;

/// A device with its default queue.
#[derive(Debug)]
pub(crate) struct DeviceState {
    pub(crate) device: Device,
    pub(crate) queue: Queue,
    pub(crate) ops: Ops,
}

static STATES: Mutex<Vec<Arc<DeviceState>>> = Mutex::new(Vec::new());

impl DeviceState {
    /// The state of the device of that name, or of the default one.
    pub(crate) fn named(py: Python<'_>, name: Option<&str>) -> PyResult<Arc<DeviceState>> {
        fork::note_use()?;
        wait(py, || {
            anymetal_service::start()?;
            let device = match name {
                Some(name) => Device::by_name(name),
                None => Device::system_default(),
            }?;
            let mut states = STATES.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(known) = states.iter().find(|known| known.device.is_same(&device)) {
                return Ok(Arc::clone(known));
            }
            let queue = device.queue()?;
            let ops = Ops::on(&device, &queue);
            let state = Arc::new(DeviceState { device, queue, ops });
            states.push(Arc::clone(&state));
            Ok::<_, anymetal::Error>(state)
        })
    }
}

/// A processor or GPU that runs Metal kernels.
#[pyclass(frozen, name = "Device", module = "anymetal")]
pub(crate) struct PyDevice {
    pub(crate) state: Arc<DeviceState>,
}

#[pymethods]
impl PyDevice {
    #[new]
    #[pyo3(signature = (name=None))]
    fn new(py: Python<'_>, name: Option<&str>) -> PyResult<PyDevice> {
        Ok(PyDevice { state: DeviceState::named(py, name)? })
    }

    #[getter]
    fn name(&self) -> &str {
        self.state.device.name()
    }

    #[getter]
    fn kind(&self) -> &'static str {
        match self.state.device.capabilities().kind {
            DeviceKind::Cpu => "cpu",
            _ => "gpu",
        }
    }

    /// Whether kernels use the host's memory in place.
    #[getter]
    fn unified_memory(&self) -> bool {
        self.state.device.capabilities().unified_memory
    }

    /// What kernels that are compiled now run as.
    #[getter]
    fn executor(&self, py: Python<'_>) -> String {
        detach(py, || executor_words(&self.state.device.executor()))
    }

    /// Bytes and counts of the device's memory.
    fn memory<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let memory = self.state.device.memory();
        let numbers = PyDict::new(py);
        numbers.set_item("allocated_bytes", memory.allocated_bytes)?;
        numbers.set_item("budget_bytes", memory.budget.limit)?;
        numbers.set_item("reserved_bytes", memory.budget.reserved)?;
        numbers.set_item("live_buffers", self.state.device.live_buffers().len())?;
        Ok(numbers)
    }

    /// A queue of its own.
    #[pyo3(signature = (label=""))]
    fn queue(&self, label: &str) -> PyResult<PyQueue> {
        fork::note_use()?;
        let options = self.state.device.queue_descriptor().label(label);
        let queue = self.state.device.create_queue(&options).or_raise()?;
        Ok(PyQueue { state: Arc::clone(&self.state), queue })
    }

    /// The queue that kernels and operations use when none is given.
    #[getter]
    fn default_queue(&self) -> PyQueue {
        PyQueue { state: Arc::clone(&self.state), queue: self.state.queue.clone() }
    }

    /// An event with the value 0.
    fn event(&self) -> PyResult<PyEvent> {
        fork::note_use()?;
        let event: Event = self.state.device.event().or_raise()?;
        Ok(PyEvent { event })
    }

    /// Waits for all work of the default queue; what went wrong with operations is told here.
    fn synchronize(&self, py: Python<'_>) -> PyResult<()> {
        fork::check()?;
        wait(py, || self.state.ops.wait())?;
        wait(py, || self.state.queue.drain())
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<PyDevice>().is_ok_and(|other| other.get().state.device.is_same(&self.state.device))
    }

    fn __hash__(&self) -> usize {
        Arc::as_ptr(&self.state).addr()
    }

    fn __repr__(&self) -> String {
        format!("anymetal.Device({:?})", self.name())
    }

    fn __str__(&self) -> String {
        self.name().to_owned()
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        Ok((slf.get_type().into_any(), (slf.get().name().to_owned(),)))
    }
}

/// What kernels run as, in words.
pub(crate) fn executor_words(executor: &anymetal::reflection::Executor) -> String {
    match executor {
        anymetal::reflection::Executor::Interpreter { reason } => format!("interpreter: {reason}"),
        _ => "machine code".to_owned(),
    }
}

/// The names of this machine's devices, the default one first.
#[pyfunction]
pub(crate) fn device_names(py: Python<'_>) -> PyResult<Vec<String>> {
    fork::note_use()?;
    let devices = wait(py, || {
        anymetal_service::start()?;
        Device::all()
    })?;
    Ok(devices.iter().map(|device| device.name().to_owned()).collect())
}

/// What a user should know although nothing failed, told once.
#[pyfunction]
pub(crate) fn take_notices() -> Vec<String> {
    anymetal::notice::take().iter().map(ToString::to_string).collect()
}

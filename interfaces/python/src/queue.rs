//! Queues: where work goes, in order.

use std::sync::Arc;

use anymetal::Queue;
use pyo3::prelude::*;

use crate::device::{DeviceState, PyDevice};
use crate::event::PyEvent;
use crate::fork;
use crate::interpreter::{detach, wait};
use crate::lend::Loans;
use crate::submission::PySubmission;

/// Runs work in the order of its submission.
#[pyclass(frozen, name = "Queue", module = "anymetal")]
pub(crate) struct PyQueue {
    pub(crate) state: Arc<DeviceState>,
    pub(crate) queue: Queue,
}

#[pymethods]
impl PyQueue {
    #[getter]
    fn device(&self) -> PyDevice {
        PyDevice { state: Arc::clone(&self.state) }
    }

    #[getter]
    fn label(&self) -> &str {
        self.queue.label()
    }

    /// Work that was submitted and has not ended.
    #[getter]
    fn in_flight(&self) -> usize {
        self.queue.in_flight()
    }

    /// Waits until everything submitted has ended.
    fn synchronize(&self, py: Python<'_>) -> PyResult<()> {
        fork::check()?;
        wait(py, || self.queue.drain())
    }

    /// What follows in the queue waits until the event reaches the value.
    fn wait_event(&self, py: Python<'_>, event: &Bound<'_, PyEvent>, value: u64) -> PyResult<PySubmission> {
        fork::check()?;
        let event = event.get().event.clone();
        let submission = wait(py, || {
            let mut commands = self.queue.command_buffer()?;
            commands.wait_event(&event, value)?;
            commands.commit()
        });
        Ok(PySubmission::new(submission?, Loans::default()))
    }

    /// Raises the event once everything submitted before is done.
    fn signal_event(&self, py: Python<'_>, event: &Bound<'_, PyEvent>, value: u64) -> PyResult<PySubmission> {
        fork::check()?;
        let event = event.get().event.clone();
        let submission = wait(py, || {
            let mut commands = self.queue.command_buffer()?;
            commands.signal_event(&event, value)?;
            commands.commit()
        });
        Ok(PySubmission::new(submission?, Loans::default()))
    }

    /// Hands nothing more to the device until `resume`.
    fn pause(&self) {
        self.queue.pause();
    }

    /// Ends a pause.
    fn resume(&self, py: Python<'_>) {
        detach(py, || self.queue.resume());
    }

    /// Cancels everything that the device has not started; says how many.
    fn cancel_waiting(&self, py: Python<'_>) -> usize {
        detach(py, || self.queue.cancel_waiting())
    }

    fn __repr__(&self) -> String {
        format!("<anymetal.Queue {:?} on {}>", self.queue.label(), self.state.device.name())
    }
}

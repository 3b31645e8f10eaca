//! Events: values that only rise, for queues and the host to wait for.

use std::time::Duration;

use anymetal::Event;
use anymetal::command::interruption;
use anymetal::profile::SystemClock;
use pyo3::prelude::*;

use crate::fork;
use crate::interpreter::{detach, wait};
use crate::kernel::seconds;

/// A value that only rises.
#[pyclass(frozen, name = "Event", module = "anymetal")]
pub(crate) struct PyEvent {
    pub(crate) event: Event,
}

#[pymethods]
impl PyEvent {
    /// The highest value signalled so far.
    #[getter]
    fn value(&self) -> u64 {
        self.event.value()
    }

    /// Raises it from the host; a value that is not higher changes nothing.
    fn signal(&self, py: Python<'_>, value: u64) {
        detach(py, || self.event.signal(value));
    }

    /// Waits until the value is reached; `False` if the time is over.
    #[pyo3(signature = (value, timeout=None))]
    fn wait(&self, py: Python<'_>, value: u64, timeout: Option<f64>) -> PyResult<bool> {
        fork::check()?;
        let timeout = timeout.map(seconds).transpose()?;
        let clock = SystemClock::shared();
        let reached = |step| self.event.wait_timeout(value, step, &*clock).then_some(());
        let waited = wait(py, || match timeout {
            None => interruption::wait(|limit| reached(limit.unwrap_or(Duration::MAX))).map(Some),
            Some(timeout) => interruption::wait_timeout(timeout, reached),
        });
        Ok(waited?.is_some())
    }

    fn __repr__(&self) -> String {
        format!("<anymetal.Event {}>", self.value())
    }
}

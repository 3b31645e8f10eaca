//! Events: values that only rise, for queues and the host to wait for.

use anymetal::{Event, SystemClock};
use pyo3::prelude::*;

use crate::fork;
use crate::interpreter::detach;
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
        Ok(detach(py, || match timeout {
            None => {
                self.event.wait(value);
                true
            }
            Some(timeout) => self.event.wait_timeout(value, timeout, &*SystemClock::shared()),
        }))
    }

    fn __repr__(&self) -> String {
        format!("<anymetal.Event {}>", self.value())
    }
}

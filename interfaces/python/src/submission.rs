//! Submissions: work that was started.
//!
//! Owns [`PySubmission`]. Invariant: it holds the arrays that the work uses until it is dropped or
//! has ended; a thread that waits does not hold the interpreter's lock.

use anymetal::Submission;
use anymetal::command::interruption;
use anymetal::profile::Timing;
use pyo3::exceptions::PyTimeoutError;
use pyo3::prelude::*;

use crate::fork;
use crate::interpreter::{call_back, detach, wait};
use crate::kernel::seconds;
use crate::lend::Loans;

/// Work that was started.
#[pyclass(frozen, name = "Submission", module = "anymetal")]
pub(crate) struct PySubmission {
    submission: Submission,
    loans: Loans,
}

impl PySubmission {
    pub(crate) fn new(submission: Submission, loans: Loans) -> PySubmission {
        PySubmission { submission, loans }
    }

    pub(crate) fn submission(&self) -> &Submission {
        &self.submission
    }

    fn told(&self, py: Python<'_>, timing: Timing) -> PyResult<f64> {
        if self.loans.has_copies() {
            wait(py, || self.loans.write_back())?;
        }
        Ok(timing.device_time().as_secs_f64())
    }
}

#[pymethods]
impl PySubmission {
    /// Waits until it has ended; the seconds that the device was at it. `TimeoutError` if the time
    /// is over.
    #[pyo3(signature = (timeout=None))]
    fn wait(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<f64> {
        fork::check()?;
        let timeout = timeout.map(seconds).transpose()?;
        let ended = wait(py, || match timeout {
            None => self.submission.wait().map(Some),
            Some(timeout) => {
                let step = |step| self.submission.wait_timeout(step);
                interruption::wait_timeout(timeout, step)?.transpose()
            }
        });
        match ended? {
            Some(timing) => self.told(py, timing),
            None => Err(PyTimeoutError::new_err("the work has not ended yet; it goes on")),
        }
    }

    /// Whether it has ended.
    fn done(&self) -> bool {
        self.submission.is_done()
    }

    /// Takes the work back if it has not started; says whether it could.
    fn cancel(&self, py: Python<'_>) -> bool {
        let answer = detach(py, || self.submission.cancel());
        answer == anymetal::command::Cancellation::Removed
    }

    /// As `cancel`, and work that runs is told to leave; says whether it ends early for that. What it wrote
    /// stays.
    fn stop(&self, py: Python<'_>) -> bool {
        use anymetal::command::Cancellation;
        matches!(detach(py, || self.submission.stop()), Cancellation::Removed | Cancellation::Stopping)
    }

    #[getter]
    fn label(&self) -> &str {
        self.submission.label()
    }

    /// Calls a function when it has ended, on any thread; for `__await__`.
    fn _on_done(&self, py: Python<'_>, callback: Py<PyAny>) {
        detach(py, || {
            self.submission.on_done(move |_outcome| {
                call_back(|py| {
                    if let Err(error) = callback.call0(py) {
                        error.write_unraisable(py, None);
                    }
                });
            });
        });
    }

    /// Its result once it has ended.
    fn _result(&self, py: Python<'_>) -> PyResult<f64> {
        let timing = wait(py, || self.submission.wait())?;
        self.told(py, timing)
    }

    fn __await__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        fork::check()?;
        slf.py().import("anymetal._awaiting")?.getattr("wait_for")?.call1((slf,))
    }

    fn __repr__(&self) -> String {
        let state = match self.submission.outcome() {
            None => "running",
            Some(Ok(_)) => "done",
            Some(Err(_)) => "failed",
        };
        format!("<anymetal.Submission {:?}: {state}>", self.submission.label())
    }
}

//! Profiles: the times of one kernel run again and again.
//!
//! Owns [`Rounds`] and [`PyProfile`]; the statistics are the runtime's.

use anymetal::profile::{CountedWork, Profile, TimeSource};
use anymetal::{Error, Pipeline, Queue};
use pyo3::prelude::*;

use crate::call::Call;

/// How often to run what.
pub(crate) struct Rounds {
    pub(crate) iterations: usize,
    pub(crate) warm_up: usize,
    pub(crate) work: CountedWork,
}

impl Rounds {
    /// Runs a call, each time to its end.
    pub(crate) fn run(&self, call: &Call, queue: &Queue, pipeline: &Pipeline) -> Result<Profile, Error> {
        let count = self.iterations.max(1);
        for _ in 0..self.warm_up {
            call.launch(queue, pipeline).submit()?.wait()?;
        }
        // Grows as rounds end: the number of iterations is the caller's and has no limit.
        let mut samples = Vec::new();
        for _ in 0..count {
            let timing = call.launch(queue, pipeline).submit()?.wait()?;
            samples.push(timing.device_time().as_nanos() as u64);
        }
        Ok(Profile::new(samples, self.work, TimeSource::Device))
    }
}

/// The times of a kernel, in seconds.
#[pyclass(frozen, name = "Profile", module = "anymetal")]
pub(crate) struct PyProfile {
    kernel: String,
    profile: Profile,
}

impl PyProfile {
    pub(crate) fn new(kernel: &str, profile: Profile) -> PyProfile {
        PyProfile { kernel: kernel.to_owned(), profile }
    }
}

#[pymethods]
impl PyProfile {
    #[getter]
    fn kernel(&self) -> &str {
        &self.kernel
    }

    /// The times, shortest first.
    #[getter]
    fn samples(&self) -> Vec<f64> {
        self.profile.samples_ns().iter().map(|&nanoseconds| nanoseconds as f64 * 1e-9).collect()
    }

    #[getter]
    fn median(&self) -> f64 {
        self.profile.median().as_secs_f64()
    }

    #[getter]
    fn mean(&self) -> f64 {
        self.profile.mean().as_secs_f64()
    }

    #[getter]
    fn least(&self) -> f64 {
        self.percentile(0.0)
    }

    #[getter]
    fn deviation(&self) -> f64 {
        self.profile.deviation().as_secs_f64()
    }

    /// The least time that so many percent of the times do not exceed.
    fn percentile(&self, percent: f64) -> f64 {
        self.profile.percentile(percent).as_secs_f64()
    }

    fn __repr__(&self) -> String {
        format!("{}: {}", self.kernel, self.profile)
    }

    fn _repr_html_(slf: &Bound<'_, Self>) -> PyResult<String> {
        slf.py().import("anymetal._html")?.getattr("profile")?.call1((slf,))?.extract()
    }
}

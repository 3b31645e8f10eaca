//! The series of a device that every submission records in.
//!
//! Owns [`DeviceSeries`]: handles, made by the first submission that is recorded.

use std::sync::atomic::{AtomicU32, Ordering};

use anymetal_hal::error::ErrorClass;
use anymetal_telemetry::handle::{Counter, Histogram};
use anymetal_telemetry::names::metrics as names;

use crate::submission::ExecError;

/// A device's handles.
#[derive(Debug)]
pub(crate) struct DeviceSeries {
    ok: Counter,
    cancelled: Counter,
    failed: Counter,
    errors: [Counter; ErrorClass::ALL.len()],
    duration: Histogram,
    wait: Histogram,
    copied: Counter,
    /// Submissions of several dispatches so far.
    batches: AtomicU32,
}

impl DeviceSeries {
    pub(crate) fn new(device: &str) -> Self {
        let outcome =
            |outcome| Counter::new(&names::SUBMISSIONS, &[("device", device), ("outcome", outcome)]);
        let error =
            |class: ErrorClass| Counter::new(&names::ERRORS, &[("device", device), ("class", class.word())]);
        DeviceSeries {
            ok: outcome("ok"),
            cancelled: outcome("cancelled"),
            failed: outcome("failed"),
            errors: ErrorClass::ALL.map(error),
            duration: Histogram::new(&names::SUBMISSION_DURATION, &[("device", device)]),
            wait: Histogram::new(&names::SUBMISSION_WAIT, &[("device", device)]),
            copied: Counter::new(&names::COPIED_BYTES, &[("device", device), ("direction", "device")]),
            batches: AtomicU32::new(0),
        }
    }

    /// A submission ended well.
    pub(crate) fn ended_well(&self, device_ns: u64, wait_ns: u64, copied_bytes: u64) {
        self.ok.add(1);
        self.duration.record(device_ns as f64 * 1e-9);
        self.wait.record(wait_ns as f64 * 1e-9);
        if copied_bytes > 0 {
            self.copied.add(copied_bytes);
        }
    }

    /// A submission ended with an error.
    pub(crate) fn failed(&self, error: &ExecError) {
        if error.is_cancelled() {
            self.cancelled.add(1);
            return;
        }
        self.failed.add(1);
        let class = error.class();
        let place = ErrorClass::ALL.iter().position(|known| *known == class);
        if let Some(errors) = place.and_then(|place| self.errors.get(place)) {
            errors.add(1);
        }
    }

    /// Whether this submission is the one in `one_in` that is timed.
    pub(crate) fn is_sampled(&self, one_in: u32) -> bool {
        self.batches.fetch_add(1, Ordering::Relaxed).is_multiple_of(one_in)
    }
}

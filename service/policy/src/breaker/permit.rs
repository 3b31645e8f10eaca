//! The permission for one call.
//!
//! Owns [`Permit`]. Invariant: it reports exactly once: how the call ended, or, when it is dropped,
//! that it was cancelled.

use std::fmt;
use std::sync::Arc;

use anymetal_hal::error::ErrorClass;

use super::BreakerShared;
use super::state::{Admission, Report};
use crate::classified::Classified;

/// A call that a breaker let through. Dropped without a report, the call counts as cancelled:
/// neither success nor failure, and a probe's place is free again.
#[must_use = "a permit that is dropped counts as a cancelled call"]
pub struct Permit {
    shared: Arc<BreakerShared>,
    admission: Option<Admission>,
}

impl Permit {
    pub(super) fn new(shared: Arc<BreakerShared>, admission: Admission) -> Self {
        Permit { shared, admission: Some(admission) }
    }

    /// The call succeeded.
    pub fn success(mut self) {
        self.report(Report::Success);
    }

    /// The call failed. An error of the caller's class says nothing about the device and does not
    /// count.
    pub fn failure(mut self, class: ErrorClass) {
        self.report(Report::Failure(class));
    }

    /// Reports how the call ended.
    pub fn result<T, E: Classified>(self, result: &Result<T, E>) {
        match result {
            Ok(_) => self.success(),
            Err(error) => self.failure(error.class()),
        }
    }

    fn report(&mut self, report: Report) {
        if let Some(admission) = self.admission.take() {
            self.shared.report(admission, report);
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.report(Report::Cancelled);
    }
}

impl fmt::Debug for Permit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Permit").field("admission", &self.admission).finish_non_exhaustive()
    }
}

//! Why a submission ended without a result, or was refused.
//!
//! Owns [`ExecError`]. Invariant: limits are refused with what they are and how they are used, so that the
//! message tells a leak from load.

use std::sync::Arc;
use std::time::Duration;

use anymetal_hal::error::{DeviceError, ErrorClass, quoted};

use crate::tenant::QuotaError;

/// What went wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExecError {
    /// The device refused or failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The work was taken back before it ran.
    #[error("the submission{} was cancelled before it ran", quoted(label))]
    Cancelled {
        /// Its label; may be empty.
        label: String,
    },
    /// It was to run after another submission, and that one failed.
    #[error(
        "the submission{} did not run, because the one before it{} failed: {error}",
        quoted(label),
        quoted(dependency)
    )]
    DependencyFailed {
        /// Its label; may be empty.
        label: String,
        /// The label of the first that failed.
        dependency: String,
        /// Why that one failed.
        error: Arc<ExecError>,
    },
    /// All command buffers of the stream are taken, and none came back in time.
    #[error(
        "all {limit} command buffers of the queue{} are taken, and none came back within {} s: \
         {uncommitted} were never committed, {committed} are waiting or running",
        quoted(stream),
        waited.as_secs_f64()
    )]
    CommandBuffersExhausted {
        /// The stream's label.
        stream: String,
        /// Its limit.
        limit: usize,
        /// Made and neither committed nor dropped.
        uncommitted: usize,
        /// Committed and not ended.
        committed: usize,
        /// How long was waited.
        waited: Duration,
    },
    /// The tenant's quota is used up.
    #[error(transparent)]
    Quota(#[from] QuotaError),
    /// The stream is paused, so what waits in it will not end by itself.
    #[error("the queue{} is paused with {waiting} submissions waiting; resume it first", quoted(stream))]
    Paused {
        /// The stream's label.
        stream: String,
        /// Submissions that wait.
        waiting: usize,
    },
    /// Times of different devices, or of work that has not ended well, cannot be compared.
    #[error("no time between the two submissions: {reason}")]
    NoElapsedTime {
        /// Why.
        reason: &'static str,
    },
}

impl ExecError {
    /// The class, by which policies decide.
    pub fn class(&self) -> ErrorClass {
        match self {
            ExecError::Device(error) => error.class(),
            ExecError::DependencyFailed { error, .. } => error.class(),
            ExecError::CommandBuffersExhausted { .. } => ErrorClass::Exhausted,
            ExecError::Quota(quota) => quota.class(),
            ExecError::Cancelled { .. } | ExecError::Paused { .. } | ExecError::NoElapsedTime { .. } => {
                ErrorClass::Caller
            }
        }
    }

    /// Whether the work was taken back on purpose.
    pub fn is_cancelled(&self) -> bool {
        matches!(self, ExecError::Cancelled { .. })
    }

    /// The error of a dependent of `label`; the first cause is kept, not the chain.
    pub(crate) fn for_dependent(&self, dependent: &str, label: &str) -> ExecError {
        let (dependency, error) = match self {
            ExecError::DependencyFailed { dependency, error, .. } => (dependency.clone(), Arc::clone(error)),
            other => (label.to_owned(), Arc::new(other.clone())),
        };
        ExecError::DependencyFailed { label: dependent.to_owned(), dependency, error }
    }
}

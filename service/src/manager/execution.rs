//! What an execution tells when it succeeded.

use std::sync::Arc;
use std::time::Duration;

use anymetal::profile::Timing;
use anymetal_policy::ladder::Path;

/// A successful execution: where it ran, how long, and what it took to get there.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Execution {
    /// The name of the device that ran it.
    pub device: Arc<str>,
    /// The times of its last command buffer by the device's clock; there is more than one only if
    /// the work was split.
    pub timing: Timing,
    /// How long the device was at it, all pieces together.
    pub device_time: Duration,
    /// How many pieces it ran in; 1: it was not split.
    pub pieces: usize,
    /// Whether the kernel of [`ManagedLaunch::reduced`](super::ManagedLaunch::reduced) ran.
    pub is_reduced: bool,
    /// Every attempt with its times, by the manager's clock.
    pub path: Path,
}

impl Execution {
    /// How many attempts there were.
    pub fn attempts(&self) -> usize {
        self.path.attempts().len()
    }

    /// Whether it ran in a degraded mode: alone on its device, or in pieces.
    pub fn is_degraded(&self) -> bool {
        self.path.is_degraded()
    }

    /// Whether it ran on another device than the first that it was given to.
    pub fn fell_back(&self) -> bool {
        self.path.fell_back()
    }
}

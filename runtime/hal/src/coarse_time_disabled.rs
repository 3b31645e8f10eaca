//! Where the system keeps no note of the time that is cheaper to read than the clock.

use std::time::Duration;

/// When a clock was made.
#[derive(Debug)]
pub(crate) struct CoarseStart;

impl CoarseStart {
    pub(crate) fn now() -> Self {
        CoarseStart
    }

    pub(crate) fn elapsed(&self) -> Option<Duration> {
        None
    }
}

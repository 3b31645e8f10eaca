//! The system's own note of the time, which it renews every few milliseconds: reading it costs a fifth of
//! reading the clock. [`crate::clock::SystemClock`] answers [`crate::clock::Clock::recent`] with it.

use std::time::Duration;

use rustix::time::{ClockId, Timespec, clock_gettime};

/// When a clock was made.
#[derive(Debug)]
pub(crate) struct CoarseStart(Duration);

impl CoarseStart {
    pub(crate) fn now() -> Self {
        CoarseStart(since_boot(clock_gettime(ClockId::Monotonic)))
    }

    /// The time since then, behind by some milliseconds.
    pub(crate) fn elapsed(&self) -> Option<Duration> {
        Some(since_boot(clock_gettime(ClockId::MonotonicCoarse)).saturating_sub(self.0))
    }
}

fn since_boot(time: Timespec) -> Duration {
    // Neither is negative for these clocks.
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

//! The delays of one call.
//!
//! Owns [`Schedule`]. It is an iterator, and so any `backon::Backoff`. Delays are whole nanoseconds
//! computed in integers: `backon`'s own exponential backoff multiplies 32-bit floating-point
//! seconds, and only adds jitter.

use std::time::Duration;

use anymetal_hal::split_mix::{SplitMix64, finalise};

use super::{Jitter, RetryPolicy};
use crate::ratio::Ratio;

/// The delays before the second, third, … attempt of one call; `None`: no further attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    retries_left: u32,
    /// The next delay before jitter, in nanoseconds.
    next: u64,
    factor: Ratio,
    cap: u64,
    jitter: Jitter,
    numbers: SplitMix64,
    total_left: Option<Duration>,
}

impl Schedule {
    pub(super) fn new(policy: &RetryPolicy, call: u64) -> Self {
        Schedule {
            retries_left: policy.attempts - 1,
            next: nanoseconds(policy.base),
            factor: policy.factor,
            cap: nanoseconds(policy.cap),
            jitter: policy.jitter,
            numbers: SplitMix64::new(policy.seed ^ finalise(call)),
            total_left: policy.total_delay,
        }
    }

    /// How many retries are left, whatever their delays.
    pub fn retries_left(&self) -> u32 {
        self.retries_left
    }

    fn spread(&mut self, delay: u64) -> u64 {
        match self.jitter {
            Jitter::None => delay,
            Jitter::Full => self.numbers.next_up_to(delay),
            Jitter::Equal => delay / 2 + self.numbers.next_up_to(delay - delay / 2),
        }
    }
}

impl Iterator for Schedule {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        self.retries_left = self.retries_left.checked_sub(1)?;
        let unspread = self.next.min(self.cap);
        self.next = self.factor.of(unspread);
        let delay = Duration::from_nanos(self.spread(unspread));
        if let Some(left) = self.total_left {
            let Some(left) = left.checked_sub(delay) else {
                self.retries_left = 0;
                return None;
            };
            self.total_left = Some(left);
        }
        Some(delay)
    }
}

/// Saturates after about 584 years.
fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

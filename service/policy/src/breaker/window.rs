//! A sliding window of calls and failures, in constant memory.
//!
//! Owns [`Window`]: ten buckets of a tenth of its length each. Invariant: a call counts for at
//! least nine tenths of the length and at most all of it.

use std::time::Duration;

const BUCKETS: u64 = 10;

/// The shortest window: one nanosecond a bucket.
pub(super) const MIN_LENGTH: Duration = Duration::from_nanos(BUCKETS);

/// Calls and failures of the last while.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Window {
    /// Nanoseconds of a bucket.
    width: u128,
    buckets: [Bucket; BUCKETS as usize],
}

/// The calls of one stretch of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Bucket {
    /// The stretch's number since the clock's start, plus one; 0: never used.
    stretch: u128,
    calls: u64,
    failures: u64,
}

/// Sums over the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Totals {
    pub(super) calls: u64,
    pub(super) failures: u64,
}

impl Window {
    pub(super) fn new(length: Duration) -> Self {
        let width = (length.as_nanos() / u128::from(BUCKETS)).max(1);
        Window { width, buckets: Default::default() }
    }

    /// Counts one call that ended now.
    pub(super) fn record(&mut self, now: Duration, failed: bool) {
        let stretch = self.stretch(now);
        let bucket = &mut self.buckets[(stretch % u128::from(BUCKETS)) as usize];
        if bucket.stretch != stretch {
            *bucket = Bucket { stretch, ..Bucket::default() };
        }
        bucket.calls += 1;
        bucket.failures += u64::from(failed);
    }

    /// The sums as of now.
    pub(super) fn totals(&self, now: Duration) -> Totals {
        let oldest = self.stretch(now).saturating_sub(u128::from(BUCKETS) - 1).max(1);
        let counted = self.buckets.iter().filter(|bucket| bucket.stretch >= oldest);
        counted.fold(Totals::default(), |sum, bucket| Totals {
            calls: sum.calls + bucket.calls,
            failures: sum.failures + bucket.failures,
        })
    }

    fn stretch(&self, now: Duration) -> u128 {
        now.as_nanos() / self.width + 1
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    #[test]
    fn calls_leave_the_window_with_their_stretch_of_time() {
        let mut window = Window::new(ms(100));
        window.record(ms(0), true);
        window.record(ms(5), false);
        window.record(ms(12), true);
        assert_eq!(window.totals(ms(99)), Totals { calls: 3, failures: 2 });
        assert_eq!(window.totals(ms(100)), Totals { calls: 1, failures: 1 });
        assert_eq!(window.totals(ms(110)), Totals::default());
        window.record(ms(500), false);
        assert_eq!(window.totals(ms(500)), Totals { calls: 1, failures: 0 }, "a bucket is used again");
    }
}

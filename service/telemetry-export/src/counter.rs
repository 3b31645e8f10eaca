//! Counters of the store.
//!
//! Owns [`SummedCounter`]: a count in parts, one for each thread.

use std::sync::atomic::{AtomicU64, Ordering};

use metrics::CounterFn;

use crate::shards::{Adding, Sharded};

/// A count that threads add to without waiting for each other.
#[derive(Debug)]
pub(crate) struct SummedCounter {
    cells: Sharded<AtomicU64>,
}

impl Default for SummedCounter {
    fn default() -> Self {
        SummedCounter { cells: Sharded::new(AtomicU64::default) }
    }
}

impl SummedCounter {
    /// All parts together.
    pub(crate) fn value(&self) -> u64 {
        self.cells.all().fold(0, |sum, cell| sum.wrapping_add(cell.load(Ordering::Relaxed)))
    }
}

impl CounterFn for SummedCounter {
    fn increment(&self, more: u64) {
        let (cell, adding) = self.cells.mine(AtomicU64::default);
        adding.count(cell, more);
    }

    /// Never goes back.
    fn absolute(&self, value: u64) {
        let missing = value.saturating_sub(self.value());
        Adding::Shared.count(self.cells.shared(), missing);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absolute_value_never_goes_back() {
        let counter = SummedCounter::default();
        counter.increment(5);
        counter.absolute(3);
        assert_eq!(counter.value(), 5);
        counter.absolute(9);
        assert_eq!(counter.value(), 9);
    }
}

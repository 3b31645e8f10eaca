//! The series that acquisitions record in.
//!
//! Owns [`PoolSeries`]: handles, made by the first acquire that is recorded.

use anymetal_telemetry::handle::Counter;
use anymetal_telemetry::names::metrics as names;
use anymetal_telemetry::record;

use crate::memory::error::MemoryError;

/// A pool's handles.
#[derive(Debug)]
pub(super) struct PoolSeries {
    device: String,
    hits: Counter,
    misses: Counter,
    refused: Counter,
    made: Counter,
}

impl PoolSeries {
    pub(super) fn new(device: &str) -> Self {
        let acquisitions =
            |outcome| Counter::new(&names::POOL_ACQUISITIONS, &[("device", device), ("outcome", outcome)]);
        PoolSeries {
            device: device.to_owned(),
            hits: acquisitions("hit"),
            misses: acquisitions("miss"),
            refused: acquisitions("refused"),
            made: Counter::new(&names::ALLOCATIONS, &[("device", device), ("origin", "pool")]),
        }
    }

    /// A acquire took a block that was there.
    pub(super) fn hit(&self) {
        self.hits.add(1);
    }

    /// A block was made.
    pub(super) fn miss(&self) {
        self.misses.add(1);
        self.made.add(1);
    }

    /// A acquire was refused.
    pub(super) fn refused(&self, error: &MemoryError) {
        self.refused.add(1);
        record::allocation_failed(&self.device, error.class().word());
    }
}

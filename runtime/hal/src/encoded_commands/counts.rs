//! What an execution of encoded commands did, for whoever wants to know.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// Counts that the device writes as it executes; complete when the command buffer has ended.
#[derive(Debug, Default)]
pub struct ExecutionCounts {
    depth: AtomicU32,
    launches: AtomicU64,
    nanoseconds: AtomicU64,
}

impl ExecutionCounts {
    /// A range with so many dispatches in it was executed.
    pub fn executed(&self, launches: u64) {
        self.depth.fetch_add(1, Ordering::Relaxed);
        self.launches.fetch_add(launches, Ordering::Relaxed);
    }

    /// All of it took that long.
    pub fn took(&self, time: Duration) {
        let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.nanoseconds.store(nanoseconds, Ordering::Relaxed);
    }

    /// How many ranges were executed: how deep commands were nested.
    pub fn depth(&self) -> u32 {
        self.depth.load(Ordering::Relaxed)
    }

    /// How many dispatches their commands were.
    pub fn launches(&self) -> u64 {
        self.launches.load(Ordering::Relaxed)
    }

    /// How long it took, with reading and checking the commands.
    pub fn time(&self) -> Duration {
        Duration::from_nanos(self.nanoseconds.load(Ordering::Relaxed))
    }
}

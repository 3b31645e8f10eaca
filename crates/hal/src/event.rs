//! Events: monotonic values that queues and the host signal and wait for, as Metal's shared events.
//!
//! Owns the [`Event`] trait. Invariant: the signalled value never goes down.

use std::any::Any;
use std::fmt;
use std::time::Duration;

/// A monotonic value across queues and the host.
pub trait Event: Send + Sync + fmt::Debug {
    /// The highest value signalled so far; 0 at first.
    fn signaled_value(&self) -> u64;

    /// Signals from the host; a value not above the current one changes nothing.
    fn signal(&self, value: u64);

    /// Blocks the calling thread until the value is reached or the time is over; says which (`true`: reached).
    fn wait(&self, value: u64, timeout: Option<Duration>) -> bool;

    /// For the owning device to find its own type again.
    fn as_any(&self) -> &dyn Any;
}

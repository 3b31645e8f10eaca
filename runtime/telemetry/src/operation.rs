//! What is recorded of tensor operations: how often, how much work, how long.
//!
//! Owns [`OperationMetrics`], an operation's handles on one device. Invariant: the label `operation` has at
//! most [`MAX_OPERATIONS`] values and `other`.

use crate::handle::{Counter, Histogram};
use crate::kernel::Values;
use crate::names::metrics::{OPERATION_BYTES, OPERATION_DURATION, OPERATION_FLOP, OPERATIONS};

/// The most names of operations that are told apart in a process.
pub const MAX_OPERATIONS: usize = 200;

/// An operation's series on one device, by one path.
#[derive(Debug, Clone)]
pub struct OperationMetrics {
    calls: Counter,
    flop: Counter,
    bytes: Counter,
    duration: Histogram,
}

impl OperationMetrics {
    /// The series of an operation; the path is `own` or `vendor`.
    pub fn new(device: &str, operation: &str, path: &str) -> Self {
        static KNOWN: Values = Values::new("operation", MAX_OPERATIONS);
        let labels = [("device", device), ("operation", KNOWN.bounded(operation)), ("path", path)];
        OperationMetrics {
            calls: Counter::new(&OPERATIONS, &labels),
            flop: Counter::new(&OPERATION_FLOP, &labels),
            bytes: Counter::new(&OPERATION_BYTES, &labels),
            duration: Histogram::new(&OPERATION_DURATION, &labels),
        }
    }

    /// One call with that work was handed to the device.
    #[inline]
    pub fn called(&self, flop: u64, bytes: u64) {
        self.calls.add(1);
        self.flop.add(flop);
        self.bytes.add(bytes);
    }

    /// A call has ended that took the device so long.
    #[inline]
    pub fn took(&self, nanoseconds: u64) {
        self.duration.record(nanoseconds as f64 * 1e-9);
    }
}

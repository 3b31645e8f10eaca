//! What is recorded of kernels, and the bound on their names.
//!
//! Owns [`KernelMetrics`], a kernel's handles on one device, and [`Values`], the distinct values that a label
//! has had. Invariant: a label that a program's input decides has at most [`MAX_KERNELS`] values and `other`,
//! so that generated kernel names cannot fill a recorder.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use crate::handle::{Counter, Histogram};
use crate::names::metrics::{DISPATCH_DURATION, DISPATCHES, LABEL_OVERFLOWS};

/// The most kernel names that are told apart in a process.
pub const MAX_KERNELS: usize = 100;

/// What values beyond the most are recorded as.
pub const OTHER: &str = "other";

/// A kernel's series on one device.
#[derive(Debug, Clone)]
pub struct KernelMetrics {
    name: Box<str>,
    dispatches: Counter,
    duration: Histogram,
}

impl KernelMetrics {
    /// The series of a kernel.
    pub fn new(device: &str, backend: &str, kernel: &str) -> Self {
        let labels = [("device", device), ("backend", backend), ("kernel", bounded_kernel(kernel))];
        KernelMetrics {
            name: kernel.into(),
            dispatches: Counter::new(&DISPATCHES, &labels),
            duration: Histogram::new(&DISPATCH_DURATION, &labels),
        }
    }

    /// The kernel's own name, whatever it is recorded as.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// So many dispatches have ended well.
    #[inline]
    pub fn dispatched(&self, count: u64) {
        self.dispatches.add(count);
    }

    /// One dispatch took that long on the device.
    #[inline]
    pub fn took(&self, nanoseconds: u64) {
        self.duration.record(nanoseconds as f64 * 1e-9);
    }
}

/// The value of the label `kernel` for a kernel: its name, or `other` if there are too many.
pub fn bounded_kernel(kernel: &str) -> &str {
    static KNOWN: Values = Values::new("kernel", MAX_KERNELS);
    KNOWN.bounded(kernel)
}

/// The distinct values of one label, up to a number.
#[derive(Debug)]
pub struct Values {
    label: &'static str,
    most: usize,
    known: Mutex<BTreeSet<Box<str>>>,
}

impl Values {
    /// No values yet.
    pub const fn new(label: &'static str, most: usize) -> Self {
        Values { label, most, known: Mutex::new(BTreeSet::new()) }
    }

    /// The value, or `other`; that is counted.
    pub fn bounded<'a>(&self, value: &'a str) -> &'a str {
        {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            if known.contains(value) {
                return value;
            }
            if known.len() < self.most {
                known.insert(value.into());
                return value;
            }
        }
        Counter::new(&LABEL_OVERFLOWS, &[("label", self.label)]).add(1);
        OTHER
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_beyond_the_most_are_other_and_known_ones_stay() {
        let values = Values::new("kernel", 2);
        assert_eq!(
            ["a", "b", "c", "a", "d"].map(|value| values.bounded(value)),
            ["a", "b", "other", "a", "other"]
        );
    }
}

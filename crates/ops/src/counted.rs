//! What was called, by which path, and how much work that was.
//!
//! Owns [`CallRecord`] and the log of them. Invariant: the log is bounded; totals are not.

use std::collections::VecDeque;

use anymetal::CountedWork;

/// Calls that the log keeps.
const MAX_CALLS: usize = 1024;

/// Who did the work of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Path {
    /// Kernels of this crate.
    Own,
    /// A library made for the device: on CPUs the `gemm` crate.
    Vendor,
}

/// One call of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallRecord {
    /// The operation.
    pub operation: &'static str,
    /// Who did it.
    pub path: Path,
    /// Its work: operations by the mathematical definition, bytes of each tensor read or written
    /// once.
    pub work: CountedWork,
}

impl CallRecord {
    pub(crate) fn new(operation: &'static str, path: Path, flop: u64, bytes: u64) -> CallRecord {
        CallRecord { operation, path, work: CountedWork { flop, bytes } }
    }
}

/// The latest calls and the sums of all.
#[derive(Debug, Default)]
pub(crate) struct CallLog {
    latest: VecDeque<CallRecord>,
    total: CountedWork,
}

impl CallLog {
    pub(crate) fn add_all(&mut self, calls: &[CallRecord]) {
        for call in calls {
            if self.latest.len() == MAX_CALLS {
                self.latest.pop_front();
            }
            self.total.flop = self.total.flop.saturating_add(call.work.flop);
            self.total.bytes = self.total.bytes.saturating_add(call.work.bytes);
            self.latest.push_back(*call);
        }
    }

    pub(crate) fn take(&mut self) -> Vec<CallRecord> {
        self.latest.drain(..).collect()
    }

    pub(crate) fn total(&self) -> CountedWork {
        self.total
    }
}

//! What was called, by which path, and how much work that was.
//!
//! Owns [`CallRecord`] and the log of them. Invariant: the log is bounded; totals are not. Work is counted in
//! metrics from the time on at which the process has a recorder for them.

use std::collections::{BTreeMap, VecDeque};

use anymetal::profile::CountedWork;
use anymetal::telemetry::{OperationMetrics, metrics_on};

/// Calls that the log keeps.
const MAX_CALLS: usize = 1024;

/// Who did the work of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Path {
    /// Kernels of this crate.
    Own,
    /// A library made for the device: on CPUs the `gemm` crate, on NVIDIA GPUs cuBLAS.
    Vendor,
}

impl Path {
    /// Its name in metrics.
    fn name(self) -> &'static str {
        match self {
            Path::Own => "own",
            Path::Vendor => "vendor",
        }
    }
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
    metrics: BTreeMap<(&'static str, Path), OperationMetrics>,
}

impl CallLog {
    /// Notes calls on the device of that name.
    pub(crate) fn add_all(&mut self, device: &str, calls: &[CallRecord]) {
        let measured = metrics_on();
        for call in calls {
            if measured {
                let key = (call.operation, call.path);
                let new = || OperationMetrics::new(device, call.operation, call.path.name());
                self.metrics.entry(key).or_insert_with(new).called(call.work.flop, call.work.bytes);
            }
            if self.latest.len() == MAX_CALLS {
                self.latest.pop_front();
            }
            self.total.flop = self.total.flop.saturating_add(call.work.flop);
            self.total.bytes = self.total.bytes.saturating_add(call.work.bytes);
            self.latest.push_back(*call);
        }
    }

    /// The metrics of such calls, if they are measured.
    pub(crate) fn metrics(&self, call: &CallRecord) -> Option<OperationMetrics> {
        self.metrics.get(&(call.operation, call.path)).cloned()
    }

    pub(crate) fn take(&mut self) -> Vec<CallRecord> {
        self.latest.drain(..).collect()
    }

    pub(crate) fn total(&self) -> CountedWork {
        self.total
    }
}

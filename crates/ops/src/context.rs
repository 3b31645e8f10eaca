//! The context of all operations: a device, a queue, the pipelines.
//!
//! Owns [`Ops`]. Invariant: work runs in the order of the calls; what went wrong on the device is
//! told by the next wait, once.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anymetal::{Buffer, CountedWork, Device, DeviceKind, Launch, Pipeline, Queue, Submission};

use crate::counted::{CallLog, CallRecord, Path};
use crate::error::OpError;
use crate::kernels::{Defines, Kernels, Source};

/// Submissions that may be unfinished before the oldest is waited for.
const MAX_PENDING: usize = 512;

/// What operations need: a device, a queue of it, the pipelines that were made. Clones share all.
#[derive(Clone)]
pub struct Ops {
    state: Arc<ContextState>,
    path: Option<Path>,
}

struct ContextState {
    device: Device,
    queue: Queue,
    kernels: Kernels,
    pending: Mutex<Pending>,
    calls: Mutex<CallLog>,
}

/// Work that nobody has waited for.
#[derive(Default)]
struct Pending {
    submissions: VecDeque<Submission>,
    /// The first error of what has ended.
    failed: Option<OpError>,
    indices: Vec<IndexCheck>,
}

impl Pending {
    /// Drops what has ended; of a queue that is the oldest.
    fn drop_ended(&mut self) {
        while let Some(outcome) = self.submissions.front().and_then(Submission::outcome) {
            self.submissions.pop_front();
            if let Err(error) = outcome {
                self.failed.get_or_insert(error.into());
            }
        }
    }
}

/// Where a kernel notes an index that names nothing: a count, the element, and the index in two
/// words.
pub(crate) struct IndexCheck {
    pub(crate) operation: &'static str,
    pub(crate) length: usize,
    pub(crate) found: Buffer<u32>,
}

impl Ops {
    /// A context with a queue of its own.
    pub fn new(device: &Device) -> Result<Ops, OpError> {
        Ok(Ops::on(device, &device.queue()?))
    }

    /// A context whose work goes to that queue of the device.
    pub fn on(device: &Device, queue: &Queue) -> Ops {
        let state = ContextState {
            device: device.clone(),
            queue: queue.clone(),
            kernels: Kernels::default(),
            pending: Mutex::default(),
            calls: Mutex::default(),
        };
        Ops { state: Arc::new(state), path: None }
    }

    /// The same context, all operations by that path: [`Path::Own`] keeps to the kernels of this
    /// crate. [`Path::Vendor`] is taken wherever there is one, even where it is expected to be
    /// slower.
    pub fn forced(&self, path: Path) -> Ops {
        Ops { path: Some(path), ..self.clone() }
    }

    /// The path that is forced, if one is.
    pub fn forced_path(&self) -> Option<Path> {
        self.path
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.state.device
    }

    /// The queue.
    pub fn queue(&self) -> &Queue {
        &self.state.queue
    }

    /// Waits for all work so far; what went wrong with it is told here.
    pub fn wait(&self) -> Result<(), OpError> {
        let Pending { submissions, failed, indices } = std::mem::take(&mut *self.pending());
        // All are waited for, whatever the first one says.
        let mut outcome = failed.map_or(Ok(()), Err);
        for submission in submissions {
            let ended = submission.wait();
            if outcome.is_ok() {
                outcome = ended.map(drop).map_err(OpError::from);
            }
        }
        outcome?;
        indices.iter().try_for_each(IndexCheck::judge)
    }

    /// The calls since the last time this was asked, at most the latest 1024.
    pub fn take_calls(&self) -> Vec<CallRecord> {
        self.call_log().take()
    }

    /// The work of all calls so far.
    pub fn total_work(&self) -> CountedWork {
        self.call_log().total()
    }

    /// Threads of a threadgroup that walks over a row: few on processors, where each SIMD-group
    /// costs a loop.
    pub(crate) fn row_threads(&self) -> u32 {
        if self.device().capabilities().kind == DeviceKind::Cpu { 32 } else { 256 }
    }

    pub(crate) fn pipeline(
        &self,
        source: Source,
        kernel: &'static str,
        defines: Defines,
    ) -> Result<Pipeline, OpError> {
        self.state.kernels.pipeline(&self.state.device, source, kernel, defines)
    }

    /// Hands a launch over.
    pub(crate) fn submit(&self, launch: Launch<'_>) -> Result<(), OpError> {
        let submission = launch.submit()?;
        let mut pending = self.pending();
        pending.drop_ended();
        pending.submissions.push_back(submission);
        let oldest = match pending.submissions.len() > MAX_PENDING {
            true => pending.submissions.front().cloned(),
            false => None,
        };
        drop(pending);
        if let Some(oldest) = oldest {
            // Its outcome is told by the wait.
            let _outcome = oldest.wait();
        }
        Ok(())
    }

    /// Has the next wait look at what a kernel noted.
    pub(crate) fn check_indices(&self, check: IndexCheck) {
        self.pending().indices.push(check);
    }

    /// Notes a call that was handed over.
    pub(crate) fn count(&self, operation: &'static str, path: Path, flop: u64, bytes: u64) {
        self.call_log().add(CallRecord { operation, path, work: CountedWork { flop, bytes } });
    }

    fn pending(&self) -> MutexGuard<'_, Pending> {
        self.state.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn call_log(&self) -> MutexGuard<'_, CallLog> {
        self.state.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl IndexCheck {
    fn judge(&self) -> Result<(), OpError> {
        let [count, element, low, high] = self.found.read()?[..] else { return Ok(()) };
        if count == 0 {
            return Ok(());
        }
        let index = (u64::from(high) << 32 | u64::from(low)) as i64;
        let (operation, length) = (self.operation, self.length);
        Err(OpError::IndexOutOfRange { operation, index, element: element as usize, length })
    }
}

impl fmt::Debug for Ops {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Ops on {}", self.device().name())
    }
}

//! The context of all operations: a device, a queue, the pipelines.
//!
//! Owns [`Ops`]. Invariant: work runs in the order of the calls; what went wrong on the device is
//! told by the next wait, once. What a recorder is open for is noted instead.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anymetal::error::DeviceError;
use anymetal::profile::CountedWork;
use anymetal::{Buffer, Device, DeviceKind, Error, Pipeline, Queue, Submission};

use crate::counted::{CallLog, CallRecord, Path};
use crate::error::OpError;
use crate::kernels::{Defines, Kernels, Source};
use crate::launch::Shaping;
use crate::measured::CallTimes;
use crate::recording::{OPEN, Recorder};

/// Submissions that may be unfinished before the oldest is waited for.
const MAX_PENDING: usize = 512;

/// What operations need: a device, a queue of it, the pipelines that were made. Clones share all.
#[derive(Clone)]
pub struct Ops {
    state: Arc<ContextState>,
    path: Option<Path>,
    shaping: Shaping,
    recorder: Option<Arc<Recorder>>,
}

struct ContextState {
    device: Device,
    queue: Queue,
    kernels: Arc<Kernels>,
    pending: Mutex<Pending>,
    calls: Mutex<CallLog>,
    times: CallTimes,
}

/// Work that nobody has waited for.
#[derive(Default)]
struct Pending {
    submissions: VecDeque<Submission>,
    /// The first error of what has ended.
    failed: Option<OpError>,
    indices: Vec<Arc<IndexCheck>>,
}

impl Pending {
    fn add_check(&mut self, check: &Arc<IndexCheck>) {
        if !check.is_pending.swap(true, Ordering::Relaxed) {
            self.indices.push(Arc::clone(check));
        }
    }

    /// Puts back what a wait took, before what was added since.
    fn put_back(&mut self, mut taken: Pending) {
        taken.submissions.append(&mut self.submissions);
        self.submissions = taken.submissions;
        self.failed = taken.failed.or(self.failed.take());
        taken.indices.iter().for_each(|check| self.add_check(check));
    }

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
/// words. What is noted stays until a wait tells it.
pub(crate) struct IndexCheck {
    operation: &'static str,
    length: usize,
    found: Buffer<u32>,
    /// Whether a wait will look.
    is_pending: AtomicBool,
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
            kernels: Kernels::new(device),
            pending: Mutex::default(),
            calls: Mutex::default(),
            times: CallTimes::default(),
        };
        let shaping = match device.capabilities().kind {
            DeviceKind::Cpu => Shaping::Processor,
            _ => Shaping::Gpu,
        };
        Ops { state: Arc::new(state), path: None, shaping, recorder: None }
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

    /// The same context, with kernels that are written for such devices; without it they are those for the
    /// device that it is.
    pub fn shaped(&self, shaping: Shaping) -> Ops {
        Ops { shaping, ..self.clone() }
    }

    /// What kernels are written for.
    pub fn shaping(&self) -> Shaping {
        self.shaping
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
        let Pending { mut submissions, failed, indices } = std::mem::take(&mut *self.pending());
        for check in &indices {
            check.is_pending.store(false, Ordering::Relaxed);
        }
        // All are waited for, whatever the first one says.
        let mut outcome = failed.map_or(Ok(()), Err);
        while let Some(submission) = submissions.front() {
            let ended = submission.wait();
            if let Err(Error::Device(DeviceError::WaitInterrupted)) = ended {
                self.pending().put_back(Pending { submissions, failed: outcome.err(), indices });
                return Err(Error::from(DeviceError::WaitInterrupted).into());
            }
            submissions.pop_front();
            if outcome.is_ok() {
                outcome = ended.map(drop).map_err(OpError::from);
            }
        }
        outcome?;
        indices.iter().try_for_each(|check| check.judge())
    }

    /// The calls since the last time this was asked, at most the latest 1024.
    pub fn take_calls(&self) -> Vec<CallRecord> {
        self.call_log().take()
    }

    /// The work of all calls so far.
    pub fn total_work(&self) -> CountedWork {
        self.call_log().total()
    }

    pub(crate) fn pipeline(
        &self,
        source: Source,
        kernel: &'static str,
        defines: Defines,
    ) -> Result<Pipeline, OpError> {
        self.state.kernels.pipeline(&self.state.device, source, kernel, defines)
    }

    /// The pipeline of a kernel whose source was made for it.
    pub(crate) fn fused_pipeline(&self, source: String, defines: Defines) -> Result<Pipeline, OpError> {
        self.state.kernels.fused(&self.state.device, source, defines)
    }

    /// The recorder that calls go to, while it is open.
    pub(crate) fn recorder(&self) -> Option<&Arc<Recorder>> {
        self.recorder.as_ref().filter(|recorder| recorder.is_open())
    }

    /// The same context, whose calls go to the recorder while it is open.
    pub(crate) fn recorded_by(&self, recorder: &Arc<Recorder>) -> Ops {
        Ops { recorder: Some(Arc::clone(recorder)), ..self.clone() }
    }

    /// Whether another recorder that is open has this memory filled.
    pub(crate) fn is_unfinished(&self, buffer: &Buffer<u8>) -> bool {
        OPEN.fills(buffer, self.recorder.as_ref())
    }

    /// Has the next wait look at how it ends.
    pub(crate) fn note_submission(&self, submission: Submission) {
        self.state.times.made(&submission);
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
    }

    /// Notes the work of a replay, and has the next wait look at its indices.
    pub(crate) fn note_replay(&self, calls: &[CallRecord], checks: &[Arc<IndexCheck>]) {
        if !checks.is_empty() {
            let mut pending = self.pending();
            for check in checks {
                pending.add_check(check);
            }
        }
        let name = self.device().name();
        let mut log = self.call_log();
        log.add_all(name, calls);
        // Of several pieces in one submission only all together have a time.
        let metrics = if let [call] = calls { log.metrics(call) } else { None };
        drop(log);
        let add = |of: fn(&CountedWork) -> u64| {
            calls.iter().map(|call| of(&call.work)).fold(0, u64::saturating_add)
        };
        let record = CallRecord::new("replay", Path::Own, add(|work| work.flop), add(|work| work.bytes));
        self.state.times.counted(record, self.state.times.take(), metrics);
    }

    /// What listens to the times of calls.
    pub(crate) fn call_times(&self) -> &CallTimes {
        &self.state.times
    }

    /// Has the next wait look at what a kernel noted.
    pub(crate) fn check_indices(&self, operation: &'static str, length: usize, found: Buffer<u32>) {
        let check = Arc::new(IndexCheck { operation, length, found, is_pending: AtomicBool::new(false) });
        match self.recorder() {
            Some(recorder) => recorder.check_indices(check),
            None => self.pending().add_check(&check),
        }
    }

    /// Notes a call that was handed over.
    pub(crate) fn count(&self, operation: &'static str, path: Path, flop: u64, bytes: u64) {
        let record = CallRecord::new(operation, path, flop, bytes);
        match self.recorder() {
            Some(recorder) => recorder.count(record),
            None => {
                let mut log = self.call_log();
                log.add_all(self.device().name(), &[record]);
                let metrics = log.metrics(&record);
                drop(log);
                self.state.times.counted(record, self.state.times.take(), metrics);
            }
        }
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
        // A recording's is written again.
        self.found.write(&[0; 4])?;
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

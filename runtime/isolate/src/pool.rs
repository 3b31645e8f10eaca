//! The workers of a process.
//!
//! Owns [`Pool`]. Invariants: a worker has one request at a time; one that broke gets no other; a process
//! that was forked does not use the workers of its parent. Concurrency: the list of idle workers is locked
//! for look-ups only.

use std::path::PathBuf;
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use crate::error::IsolationError;
use crate::frame::Frame;
use crate::locate;
use crate::settings::Settings;
use crate::worker::{Role, Worker};

/// Starts workers when they are needed, and gives them requests.
#[derive(Debug)]
pub struct Pool {
    settings: Settings,
    /// What the worker must name: the build that it is of.
    identity: String,
    executable: OnceLock<Result<PathBuf, IsolationError>>,
    state: Mutex<State>,
    freed: Condvar,
}

#[derive(Debug)]
struct State {
    /// The process that started the workers.
    process: u32,
    /// The last used one is last.
    idle: Vec<Worker>,
    /// Number of workers that have a request or are being started.
    busy: usize,
}

impl Pool {
    /// A pool without workers. `identity` is one line, which workers of the same build send.
    pub fn new(settings: Settings, identity: &str) -> Self {
        let state = State { process: std::process::id(), idle: Vec::new(), busy: 0 };
        Self {
            settings,
            identity: identity.to_owned(),
            executable: OnceLock::new(),
            state: Mutex::new(state),
            freed: Condvar::new(),
        }
    }

    /// Sends a request to a worker and returns its answer. `reply` answers the worker's own questions, and
    /// returns `None` for the answer. A request is repeated where a worker that has answered others has no
    /// memory left, as these may have taken it.
    ///
    /// # Errors
    /// See [`IsolationError`]; those of `reply`.
    pub fn call(
        &self,
        request: &Frame,
        reply: &mut dyn FnMut(&Frame) -> Result<Option<Frame>, IsolationError>,
    ) -> Result<Frame, IsolationError> {
        request.checked_len().map_err(|bytes| IsolationError::RequestTooLarge { bytes })?;
        let slot = self.slot();
        let deadline = Instant::now() + self.settings.time;
        loop {
            let mut worker = match slot.idle() {
                Some(worker) => worker,
                None => Worker::start(
                    self.executable()?,
                    Role::Compile,
                    &self.settings,
                    &self.identity,
                    deadline,
                )?,
            };
            match worker.call(request, reply, deadline, &self.settings) {
                Ok(answer) => {
                    slot.keep(worker);
                    return Ok(answer);
                }
                Err(IsolationError::Memory { .. }) if worker.answered > 0 => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn executable(&self) -> Result<&PathBuf, IsolationError> {
        let found = self.executable.get_or_init(|| locate::worker(self.settings.worker.as_deref()));
        found.as_ref().map_err(Clone::clone)
    }

    /// Waits until fewer workers than allowed are busy.
    fn slot(&self) -> Slot<'_> {
        let mut state = self.lock();
        if state.process != std::process::id() {
            // The parent's: ending them, or their answers, would be its loss.
            std::mem::take(&mut state.idle).into_iter().for_each(std::mem::forget);
            (state.process, state.busy) = (std::process::id(), 0);
        }
        while state.busy >= self.settings.workers.max(1) {
            state = self.freed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.busy += 1;
        Slot(self)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics while holding the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The right to have one worker busy.
struct Slot<'p>(&'p Pool);

impl Slot<'_> {
    /// An idle worker that still runs.
    fn idle(&self) -> Option<Worker> {
        loop {
            let mut worker = self.0.lock().idle.pop()?;
            if worker.is_alive() {
                return Some(worker);
            }
        }
    }

    fn keep(&self, worker: Worker) {
        self.0.lock().idle.push(worker);
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.busy = state.busy.saturating_sub(1);
        drop(state);
        self.0.freed.notify_one();
    }
}

//! The life of a command buffer: encoding, committed, ended.
//!
//! Owns [`Commands`]. Invariants: there is at most one encoder at a time and none after the commit;
//! the work is handed to the queue once; handlers are called once, after the work has ended,
//! whatever its end.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use anymetal::{Error, Outcome, Submission};

use super::violation;
use crate::runtime::is_unwinding;

/// `MTLCommandBufferStatus`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    /// It has no place in the queue's order yet.
    NotEnqueued = 0,
    /// It has a place.
    Enqueued = 1,
    /// It was committed, and waits for those before it.
    Committed = 2,
    /// The device has it.
    Scheduled = 3,
    /// It ended well.
    Completed = 4,
    /// It ended without a result.
    Error = 5,
}

/// Checks that an encoder has ended, when its last reference is released; not while a failure unwinds, which
/// may be the reason.
pub(crate) fn check_ended(method: &str, ended: bool) {
    if !ended && !is_unwinding() {
        violation(method, "Command encoder released without endEncoding");
    }
}

/// Where a command buffer is in its life.
#[derive(Debug)]
pub(crate) struct Commands {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    stage: Stage,
    has_encoder: bool,
    is_enqueued: bool,
    /// Handlers are left to be called.
    owes_handlers: bool,
    /// Threads that wait for a change. Without any no change is told, which would cost a system call.
    waiting: usize,
}

#[derive(Debug)]
enum Stage {
    Encoding(Box<anymetal::CommandBuffer>),
    Committed,
    Submitted(Submission),
    /// It was refused. Boxed, because instance variables are aligned to 8 bytes at most.
    Refused(Box<Error>),
}

impl Commands {
    pub(crate) fn new(buffer: anymetal::CommandBuffer) -> Commands {
        let state = State {
            stage: Stage::Encoding(Box::new(buffer)),
            has_encoder: false,
            is_enqueued: false,
            owes_handlers: false,
            waiting: 0,
        };
        Commands { state: Mutex::new(state), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a change.
    fn wait<'a>(&self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        state.waiting += 1;
        let mut state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        state.waiting -= 1;
        state
    }

    /// Makes a change and tells those who wait for one.
    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.lock();
        change(&mut state);
        let has_waiting = state.waiting > 0;
        drop(state);
        if has_waiting {
            self.changed.notify_all();
        }
    }

    /// Begins an encoder, for the method that makes one.
    pub(crate) fn begin_encoder(&self, method: &str) {
        let mut state = self.lock();
        if !matches!(state.stage, Stage::Encoding(_)) {
            drop(state);
            violation(method, "the command buffer was committed, so nothing more is encoded to it");
        }
        if std::mem::replace(&mut state.has_encoder, true) {
            drop(state);
            violation(method, "A command encoder is already encoding to this command buffer");
        }
    }

    pub(crate) fn end_encoder(&self) {
        self.lock().has_encoder = false;
    }

    /// Whether no encoder is open, for methods that encode without one.
    pub(crate) fn require_no_encoder(&self, method: &str) {
        if self.lock().has_encoder {
            violation(method, "with uncommitted encoder");
        }
    }

    /// Encodes. Refusals are breaches of rules.
    pub(crate) fn encode(
        &self,
        method: &str,
        encode: impl FnOnce(&mut anymetal::CommandBuffer) -> Result<(), Error>,
    ) {
        let mut state = self.lock();
        let refusal = match &mut state.stage {
            Stage::Encoding(buffer) => encode(buffer).err().map(|error| error.to_string()),
            _ => Some("the command buffer was committed, so nothing more is encoded to it".to_owned()),
        };
        drop(state);
        if let Some(refusal) = refusal {
            violation(method, refusal);
        }
    }

    /// Notes that it has a place in the queue's order; says whether it had none.
    pub(crate) fn enqueue(&self) -> bool {
        let mut state = self.lock();
        !std::mem::replace(&mut state.is_enqueued, true)
    }

    /// Ends the encoding and gives the work, to be handed to the queue.
    pub(crate) fn commit(&self, owes_handlers: bool) -> anymetal::CommandBuffer {
        const METHOD: &str = "MTLCommandBuffer commit";
        let mut state = self.lock();
        if !matches!(state.stage, Stage::Encoding(_)) {
            drop(state);
            violation(METHOD, "Commit an already committed command buffer");
        }
        if state.has_encoder {
            drop(state);
            violation(METHOD, "commit command buffer with uncommitted encoder");
        }
        state.owes_handlers = owes_handlers;
        match std::mem::replace(&mut state.stage, Stage::Committed) {
            Stage::Encoding(buffer) => *buffer,
            Stage::Committed | Stage::Submitted(_) | Stage::Refused(_) => unreachable!("looked at above"),
        }
    }

    /// Notes what became of the work when it was handed over.
    pub(crate) fn handed_over(&self, result: Result<Submission, Error>) {
        let stage = match result {
            Ok(submission) => Stage::Submitted(submission),
            Err(error) => Stage::Refused(Box::new(error)),
        };
        self.change(|state| state.stage = stage);
    }

    /// Notes that its handlers were called.
    pub(crate) fn handlers_called(&self) {
        self.change(|state| state.owes_handlers = false);
    }

    /// How it ended, if it has.
    pub(crate) fn outcome(&self) -> Option<Outcome> {
        match &self.lock().stage {
            Stage::Encoding(_) | Stage::Committed => None,
            Stage::Submitted(submission) => submission.outcome(),
            Stage::Refused(error) => Some(Err(Error::clone(error))),
        }
    }

    pub(crate) fn status(&self) -> Status {
        let state = self.lock();
        match &state.stage {
            Stage::Encoding(_) if state.is_enqueued => Status::Enqueued,
            Stage::Encoding(_) => Status::NotEnqueued,
            Stage::Committed => Status::Committed,
            Stage::Refused(_) => Status::Error,
            Stage::Submitted(submission) => match submission.outcome() {
                None => Status::Scheduled,
                Some(Ok(_)) => Status::Completed,
                Some(Err(_)) => Status::Error,
            },
        }
    }

    /// Blocks until the queue has it; gives the submission, or `None` if it was refused.
    pub(crate) fn wait_scheduled(&self) -> Option<Submission> {
        let mut state = self.lock();
        loop {
            match &state.stage {
                Stage::Submitted(submission) => return Some(submission.clone()),
                Stage::Refused(_) => return None,
                Stage::Encoding(_) | Stage::Committed => {}
            }
            state = self.wait(state);
        }
    }

    /// Blocks until it has ended and its handlers were called.
    pub(crate) fn wait_completed(&self) {
        if let Some(submission) = self.wait_scheduled() {
            let _told_by_the_status = submission.wait();
        }
        let mut state = self.lock();
        while state.owes_handlers {
            state = self.wait(state);
        }
    }
}

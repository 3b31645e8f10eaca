//! Submissions: committed command buffers, from the commit to their one end.
//!
//! Owns [`CommittedCommands`], a handle that is a future for any executor and also blocks. [`command_buffer`]
//! makes submissions, [`argument`] converts the arguments of kernels. Invariant: every submission ends
//! exactly once: done, with a typed error, or cancelled; its resources live until the device is done with
//! them; dropping handles changes nothing about the work. Start at [`crate::stream::Stream::command_buffer`].

pub mod argument;
pub mod command_buffer;
mod error;
mod stage;

pub use error::ExecError;

use std::collections::BTreeSet;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use crate::record::recorder::EntryId;
use anymetal_hal::clock::wait_for;
use anymetal_hal::completion::{CommandTiming, Completion, CompletionSource, Timing, WaitAssist};
use anymetal_hal::error::DeviceError;
use anymetal_hal::interruption;
use anymetal_hal::logging::{CommandLog, Logs};
use anymetal_hal::queue::{Cancellation, Queue};

use crate::event::Bridge;
use crate::observe::Observation;
use crate::stream::StreamCore;
use crate::stream::permit::Permit;
use crate::submission::stage::{Ending, Look, Stage, Stages};
use crate::tenant::{MemoryCharge, WorkCharge};
use crate::trace::TracedSubmission;

/// How a submission ended.
pub type Outcome = Result<Timing, ExecError>;

/// What runs when a submission has ended, on the thread that ended it. It must be short and must not wait.
pub(crate) type Callback = Box<dyn FnOnce(&Outcome) + Send>;

/// Committed work: wait for it, await it, cancel it. Clones are the same work.
pub struct CommittedCommands {
    core: Arc<SubmissionCore>,
    /// This handle's waker, if it was polled.
    place: Option<u64>,
}

/// What is held until the device is given it.
#[derive(Debug)]
pub(crate) struct PendingWork {
    pub(crate) commands: anymetal_hal::command::CommandList,
    pub(crate) dependencies: Vec<Dependency>,
}

/// Another submission that must end well before.
#[derive(Debug)]
pub(crate) struct Dependency {
    pub(crate) on: Arc<SubmissionCore>,
    /// Whether the stream has left its waker there.
    pub(crate) subscribed: bool,
}

/// What the work keeps until its end besides its commands.
#[derive(Default)]
pub(crate) struct Attached {
    pub(crate) permit: Option<Permit>,
    pub(crate) charge: Option<WorkCharge>,
    /// The bytes that are staged for it.
    pub(crate) staging_charge: Option<MemoryCharge>,
    pub(crate) callbacks: Vec<Callback>,
    pub(crate) bridges: Vec<Bridge>,
    pub(crate) entry: Option<EntryId>,
    /// Names of its first commands, for a trace.
    pub(crate) names: Vec<String>,
    pub(crate) traced: Option<Box<TracedSubmission>>,
    /// Whether the stream counts it as with the device.
    pub(crate) counted: bool,
    /// What is recorded of it, if somebody listens.
    pub(crate) observed: Observation,
    /// Ends when the work has, where it was noted on its buffers as held.
    pub(crate) held: Option<CompletionSource>,
    /// Where its kernels write their messages.
    pub(crate) log: Option<CommandLog>,
}

/// The shared part of a submission.
pub(crate) struct SubmissionCore {
    /// Its number in the trace; 0: there was none when it was committed.
    pub(crate) id: u64,
    pub(crate) label: String,
    pub(crate) stream: Arc<StreamCore>,
    pub(crate) stages: Stages<PendingWork, Completion, Outcome>,
    pub(crate) attached: Mutex<Attached>,
    pub(crate) timings: OnceLock<Arc<[CommandTiming]>>,
    /// The messages of its kernels, once it has ended.
    pub(crate) logs: OnceLock<Arc<Logs>>,
    /// Whether the device would not take it.
    pub(crate) refused: AtomicBool,
}

impl Attached {
    /// Gives back what it takes from its tenant's quotas, before the end is published: whoever waited for the
    /// end finds them free. Under the lock: of two who end it the second waits here.
    fn release_charges(&mut self) {
        drop((self.charge.take(), self.staging_charge.take()));
    }
}

impl SubmissionCore {
    pub(crate) fn outcome(&self) -> Option<Outcome> {
        match self.stages.look() {
            Look::Ended(outcome) => Some(outcome),
            Look::Waiting | Look::Forwarded(_) => None,
        }
    }

    pub(crate) fn with_attached<R>(&self, change: impl FnOnce(&mut Attached) -> R) -> R {
        change(&mut self.attached.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }

    /// Blocks until it has ended; not interruptible.
    fn wait(&self) -> Outcome {
        self.wait_within(None).expect("a wait without a limit ends with the work")
    }

    /// Blocks until it has ended, or until each step of its wait has taken `limit`; then `None`.
    fn wait_within(&self, limit: Option<Duration>) -> Option<Outcome> {
        loop {
            match self.stages.look() {
                Look::Ended(outcome) => return Some(outcome),
                Look::Forwarded(completion) => {
                    let outcome = match limit {
                        None => completion.wait(),
                        Some(limit) => completion.wait_lending_briefly(limit)?,
                    };
                    self.settle(&completion, outcome);
                }
                Look::Waiting => {
                    let clock = self.stream.clock();
                    let until = limit.map(|limit| clock.now().saturating_add(limit));
                    wait_for(clock, until, LeavesStream { core: self, place: None })?;
                }
            }
        }
    }

    /// Notes it on the buffers that it uses, if the device has not been given it. To be called while no other
    /// thread can give it to the device: by the dispatcher, or before it is in the waiting list.
    pub(crate) fn note_held(self: &Arc<Self>) {
        let source = CompletionSource::new(Some(Arc::new(HeldWork(Arc::downgrade(self)))));
        let completion = source.completion();
        // First: whatever ends it from here on ends the completion too.
        self.with_attached(|attached| attached.held = Some(source));
        self.stages.with_held(|work| work.commands.note_held(&completion));
    }

    /// The device is done with it.
    pub(crate) fn settle(&self, completion: &Completion, outcome: Result<Timing, DeviceError>) {
        if let Some(timings) = completion.command_timings() {
            let _first = self.timings.set(timings);
        }
        let outcome = self.logged(outcome).map_err(|error| match error {
            DeviceError::Cancelled { label } => ExecError::Cancelled { label },
            other => ExecError::Device(other),
        });
        if let Ok(timing) = outcome {
            // Before anybody sees the end, and under the lock: of two who settle it the second waits here.
            self.with_attached(|attached| attached.charge.take().map(|charge| charge.finish(timing)));
        }
        self.end(outcome);
    }

    /// Reads what its kernels have logged; a message of `log_fault` is an error.
    fn logged(&self, outcome: Result<Timing, DeviceError>) -> Result<Timing, DeviceError> {
        // Under the lock: of two who settle it the second finds the messages here.
        let collected = self.with_attached(|attached| {
            let logs = attached.log.take()?.collect().map(|logs| self.logs.set(Arc::new(logs)));
            Some(logs.map(|_first| ()))
        });
        let timing = outcome?;
        collected.transpose()?;
        match self.logs.get().and_then(|logs| logs.error()) {
            Some(fault) => Err(fault),
            None => Ok(timing),
        }
    }

    /// Ends it, if it has not ended. Only when the device is done with it or will not be given it.
    pub(crate) fn end(&self, outcome: Outcome) -> bool {
        // Before the end is published: whoever waited for it finds its buffers unused and the quotas free.
        let (held, observed) = self.with_attached(|attached| {
            attached.release_charges();
            (attached.held.take(), std::mem::take(&mut attached.observed))
        });
        drop(held);
        self.record(observed, &outcome);
        let ending = self.stages.end(outcome.clone());
        self.after_end(ending, &outcome)
    }

    /// Takes it back, if the device has not been given it.
    fn end_held(&self) -> bool {
        let outcome = Err(ExecError::Cancelled { label: self.label.clone() });
        let release = || self.with_attached(Attached::release_charges);
        let ending = self.stages.end_held(outcome.clone(), release);
        self.after_end(ending, &outcome)
    }

    fn record(&self, observed: Observation, outcome: &Outcome) {
        observed.end(&self.stream, outcome, self.timings.get().map(|timings| &**timings));
    }

    fn after_end(&self, ending: Option<Ending<PendingWork, Completion, Outcome>>, outcome: &Outcome) -> bool {
        let Some(Ending { before, wakers }) = ending else {
            return false;
        };
        if let Stage::Held(work) = before {
            drop(work);
        }
        let attached = self.with_attached(std::mem::take);
        self.record(attached.observed, outcome);
        drop((attached.held, attached.permit, attached.bridges));
        if let Some(entry) = attached.entry {
            self.stream.note_end(entry, outcome);
        }
        if let (Some(traced), Some(trace)) = (attached.traced, self.stream.context.trace()) {
            trace.end(*traced, outcome, self.timings.get().cloned());
        }
        // Whoever is woken finds the place in the stream free.
        if attached.counted {
            self.stream.place_free();
        }
        wakers.into_iter().for_each(Waker::wake);
        attached.callbacks.into_iter().for_each(|callback| call(callback, outcome));
        self.stream.one_done();
        self.stream.pump_soon();
        true
    }
}

/// Work that was noted on its buffers while it was held: how those who wait for the buffers wait for it.
struct HeldWork(Weak<SubmissionCore>);

impl WaitAssist for HeldWork {
    fn assist(&self, _completion: &Completion) -> bool {
        if let Some(core) = self.0.upgrade() {
            let _outcome = core.wait();
        }
        true
    }

    fn obstacle(&self) -> Option<DeviceError> {
        self.0.upgrade().and_then(paused_before)
    }
}

/// The pause that keeps held work from the device: of its stream, or of one that it depends on.
fn paused_before(core: Arc<SubmissionCore>) -> Option<DeviceError> {
    let mut seen = BTreeSet::new();
    let mut left = vec![core];
    while let Some(core) = left.pop() {
        if seen.contains(&Arc::as_ptr(&core)) || !core.stages.is_held() {
            continue;
        }
        let (paused, held) = core.stream.held_up_to(&core);
        if paused {
            return Some(DeviceError::HeldByPause { queue: core.stream.label().to_owned() });
        }
        // What is before it in its stream goes first, and waits for what that depends on.
        for core in held {
            seen.insert(Arc::as_ptr(&core));
            core.stages.with_held(|work| left.extend(work.dependencies.iter().map(|on| Arc::clone(&on.on))));
        }
    }
    None
}

/// Calls back. A panic of the callback is its own: it must stop neither the device's thread nor the stream.
fn call(callback: Callback, outcome: &Outcome) {
    let call = std::panic::AssertUnwindSafe(|| callback(outcome));
    let _contained = std::panic::catch_unwind(call);
}

/// The device's completion has ended.
impl Wake for SubmissionCore {
    fn wake(self: Arc<Self>) {
        if let Look::Forwarded(completion) = self.stages.look()
            && let Some(outcome) = completion.outcome()
        {
            self.settle(&completion, outcome);
        }
    }
}

impl CommittedCommands {
    pub(crate) fn new(core: Arc<SubmissionCore>) -> Self {
        CommittedCommands { core, place: None }
    }

    pub(crate) fn core(&self) -> &Arc<SubmissionCore> {
        &self.core
    }

    /// Its label; may be empty.
    pub fn label(&self) -> &str {
        &self.core.label
    }

    /// Whether it has ended; never blocks.
    pub fn is_done(&self) -> bool {
        self.outcome().is_some()
    }

    /// How it ended, if it has; never blocks.
    pub fn outcome(&self) -> Option<Outcome> {
        self.core.outcome()
    }

    /// Why the device would not take it, if it is known already that it did not; nothing ran then.
    pub fn refusal(&self) -> Option<ExecError> {
        match self.core.refused.load(Ordering::Acquire) {
            true => self.outcome().and_then(Result::err),
            false => None,
        }
    }

    /// Blocks until it has ended. The thread may run work of the same queue meanwhile. On a thread whose
    /// waits can be interrupted ([`anymetal_hal::interruption`]) this may be
    /// [`DeviceError::WaitInterrupted`]; the work goes on then, and can be waited for again.
    pub fn wait(&self) -> Outcome {
        interruption::wait(|limit| self.core.wait_within(limit))
            .unwrap_or_else(|error| Err(ExecError::Device(error)))
    }

    /// Blocks until it has ended, at most that long by the stream's clock; `None` if the time is over. The
    /// work goes on; see [`CommittedCommands::cancel`].
    pub fn wait_timeout(&self, timeout: Duration) -> Option<Outcome> {
        let clock = self.core.stream.clock();
        let until = clock.now().saturating_add(timeout);
        wait_for(clock, Some(until), self.clone())
    }

    /// Takes the work back if it has not started; its waiters then get [`ExecError::Cancelled`]. Work that
    /// runs goes on; see [`CommittedCommands::stop`].
    pub fn cancel(&self) -> Cancellation {
        self.take_back(|queue, completion| queue.cancel(completion))
    }

    /// As [`CommittedCommands::cancel`], and work that runs is told to leave, as at its deadline; its waiters
    /// then get [`DeviceError::Stopped`]. What it wrote stays.
    pub fn stop(&self) -> Cancellation {
        self.take_back(|queue, completion| queue.stop(completion))
    }

    fn take_back(&self, of_device: impl FnOnce(&dyn Queue, &Completion) -> Cancellation) -> Cancellation {
        if self.core.end_held() {
            return Cancellation::Removed;
        }
        match self.core.stages.look() {
            Look::Ended(_) => Cancellation::Ended,
            Look::Waiting => Cancellation::TooLate,
            Look::Forwarded(completion) => match of_device(&**self.core.stream.queue(), &completion) {
                Cancellation::Ended if !self.is_done() => Cancellation::TooLate,
                answer => answer,
            },
        }
    }

    /// Cancels the work when the guard is dropped before the work ended.
    pub fn cancel_on_drop(self) -> CancelOnDrop {
        CancelOnDrop(self)
    }

    /// Calls back when it has ended, on the thread that ended it; at once if it has. That may be the thread
    /// that commits: the callback must take no lock that is held across a commit, be short, and not wait for
    /// other work.
    pub fn on_done(&self, callback: impl FnOnce(&Outcome) + Send + 'static) {
        let mut callback: Option<Callback> = Some(Box::new(callback));
        if self.outcome().is_none() {
            self.core.with_attached(|attached| attached.callbacks.extend(callback.take()));
        }
        // It may have ended in between, and then nobody else calls.
        if let Some(outcome) = self.outcome() {
            callback.into_iter().for_each(|callback| call(callback, &outcome));
            let late = self.core.with_attached(|attached| std::mem::take(&mut attached.callbacks));
            late.into_iter().for_each(|callback| call(callback, &outcome));
        }
    }

    /// The device time between the ends of two submissions of one device.
    pub fn elapsed_since(&self, earlier: &CommittedCommands) -> Result<Duration, ExecError> {
        let (Some(Ok(one)), Some(Ok(other))) = (earlier.outcome(), self.outcome()) else {
            return Err(ExecError::NoElapsedTime { reason: "one has not ended well" });
        };
        if !self.core.stream.same_device(&earlier.core.stream) {
            return Err(ExecError::NoElapsedTime { reason: "they are of different devices" });
        }
        Ok(Duration::from_nanos(other.ended_ns.saturating_sub(one.ended_ns)))
    }

    /// The messages of its kernels from its end on; `None`: none of its kernels can write one.
    pub fn logs(&self) -> Option<Arc<Logs>> {
        self.core.logs.get().cloned()
    }

    /// The times of its commands from its end on, where they were asked for and the device has them.
    pub fn command_timings(&self) -> Option<Arc<[CommandTiming]>> {
        self.core.timings.get().cloned()
    }
}

impl Clone for CommittedCommands {
    fn clone(&self) -> Self {
        CommittedCommands { core: Arc::clone(&self.core), place: None }
    }
}

impl Future for CommittedCommands {
    type Output = Outcome;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Outcome> {
        let this = &mut *self;
        match this.core.stages.leave_waker(&mut this.place, context.waker(), false) {
            Some(Look::Ended(outcome)) => Poll::Ready(outcome),
            _ => Poll::Pending,
        }
    }
}

impl Drop for CommittedCommands {
    fn drop(&mut self) {
        if let Some(place) = self.place {
            self.core.stages.remove_waker(place);
        }
    }
}

impl fmt::Debug for CommittedCommands {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (label, outcome) = (self.label(), self.outcome());
        formatter.debug_struct("CommittedCommands").field("label", &label).field("outcome", &outcome).finish()
    }
}

impl fmt::Debug for SubmissionCore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SubmissionCore").field("label", &self.label).finish_non_exhaustive()
    }
}

/// Ready when a submission is with the device or has ended.
struct LeavesStream<'a> {
    core: &'a SubmissionCore,
    place: Option<u64>,
}

impl Future for LeavesStream<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        match this.core.stages.leave_waker(&mut this.place, context.waker(), true) {
            Some(_) => Poll::Ready(()),
            None => Poll::Pending,
        }
    }
}

impl Drop for LeavesStream<'_> {
    fn drop(&mut self) {
        if let Some(place) = self.place {
            self.core.stages.remove_waker(place);
        }
    }
}

/// A submission that is cancelled when nobody is interested any more. It is a future as well.
#[derive(Debug)]
pub struct CancelOnDrop(CommittedCommands);

impl CancelOnDrop {
    /// The submission; dropping the guard still cancels it.
    pub fn submission(&self) -> &CommittedCommands {
        &self.0
    }
}

impl Future for CancelOnDrop {
    type Output = Outcome;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Outcome> {
        Pin::new(&mut self.0).poll(context)
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        let _answer = self.0.cancel();
    }
}

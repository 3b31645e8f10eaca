//! The dispatcher: submits committed work to the device in order, once its dependencies have ended.
//!
//! Invariant: one thread at a time looks at the head of the waiting list ([`SingleRunner`]); the device is
//! never called and wakers are never woken under the stream's lock.
//!
//! [`SingleRunner`]: anymetal_hal::single_runner::SingleRunner

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Wake, Waker};

use crate::record::recorder::EntryId;
use anymetal_hal::command::Timestamps;
use anymetal_hal::encoded_commands;
use anymetal_hal::logging::{self, DEFAULT_LOG_BYTES};
use anymetal_hal::stage_input;

use super::StreamCore;
use crate::submission::{ExecError, Outcome, PendingWork, SubmissionCore};
use crate::tenant::Tenant;

/// What is to be done with the first of the waiting list.
enum Next {
    Nothing,
    Forward(Arc<SubmissionCore>, PendingWork),
    /// What it depends on failed.
    Fail(Arc<SubmissionCore>, ExecError),
    /// It ended while it waited.
    Gone(Arc<SubmissionCore>),
}

/// Whether the first of the waiting list can go.
enum Readiness {
    Ready,
    Waits,
    Failed(ExecError),
    Gone,
}

thread_local! {
    /// Streams that the pumping loop of this thread still has to look at; `None`: no loop runs.
    ///
    /// It has no destructor and so is there until the thread's end: programs commit from destructors of
    /// their own thread-locals. A loop that ends leaves `None`, which owns nothing.
    static TO_PUMP: RefCell<ManuallyDrop<Option<VecDeque<Arc<StreamCore>>>>> =
        const { RefCell::new(ManuallyDrop::new(None)) };
}

impl StreamCore {
    /// Takes a committed submission over. When this returns the device has it, or it is noted on its buffers
    /// as held: a read after a commit never misses it.
    pub(crate) fn enqueue(self: &Arc<Self>, submission: &Arc<SubmissionCore>) {
        // As the only dispatcher this thread knows whether the device is given it at once; within another
        // pump, or while another thread dispatches, it does not.
        let pump_loop = PumpLoop::begin();
        let dispatches = pump_loop.is_some() && self.runner.try_start();
        if !dispatches {
            submission.note_held();
        }
        let mut state = self.lock();
        state.waiting.push_back(Arc::clone(submission));
        state.load += 1;
        drop(state);
        match pump_loop {
            None => PumpLoop::add(self),
            Some(pump_loop) => {
                if dispatches {
                    self.dispatch(Some(submission));
                } else {
                    self.pump();
                }
                pump_loop.run();
            }
        }
    }

    /// A submission that the device had has ended.
    pub(crate) fn place_free(self: &Arc<Self>) {
        self.lock().in_flight -= 1;
        if let Some(tenant) = &self.options.tenant {
            tenant.leave();
        }
    }

    /// A submission has ended, and everybody who asked has been told.
    pub(crate) fn one_done(self: &Arc<Self>) {
        let mut state = self.lock();
        state.load -= 1;
        let drainers = if state.load == 0 { std::mem::take(&mut state.drainers) } else { BTreeMap::new() };
        drop(state);
        drainers.into_values().for_each(Waker::wake);
    }

    pub(crate) fn note_end(&self, entry: EntryId, outcome: &Outcome) {
        if let Some(history) = &self.context.inner.history {
            history.note_end(entry, outcome);
        }
    }

    /// Pumps on this thread, now or in the loop that runs on it.
    pub(crate) fn pump_soon(self: &Arc<Self>) {
        match PumpLoop::begin() {
            None => PumpLoop::add(self),
            Some(pump_loop) => {
                self.pump();
                pump_loop.run();
            }
        }
    }

    /// Hands to the device what can go, unless another thread does.
    fn pump(self: &Arc<Self>) {
        if self.runner.try_start() {
            self.dispatch(None);
        }
    }

    /// Hands to the device what can go, as the runner. A submission that was just committed is noted on its
    /// buffers if it is still held, before another thread may dispatch it.
    fn dispatch(self: &Arc<Self>, mut committed: Option<&Arc<SubmissionCore>>) {
        loop {
            loop {
                match self.next() {
                    Next::Nothing => break,
                    Next::Forward(submission, work) => self.forward(&submission, work),
                    Next::Fail(submission, error) => drop(submission.end(Err(error))),
                    Next::Gone(submission) => drop(submission),
                }
            }
            if let Some(committed) = committed.take()
                && committed.stages.is_held()
            {
                committed.note_held();
            }
            if !self.runner.finish() {
                return;
            }
        }
    }

    /// Takes the first of the waiting list if it can go.
    fn next(self: &Arc<Self>) -> Next {
        let mut state = self.lock();
        let Some(first) = state.waiting.front().cloned() else {
            return Next::Nothing;
        };
        match self.readiness(&first) {
            Readiness::Waits => return Next::Nothing,
            Readiness::Ready => {}
            Readiness::Failed(error) => {
                state.waiting.pop_front();
                return Next::Fail(first, error);
            }
            Readiness::Gone => {
                state.waiting.pop_front();
                return Next::Gone(first);
            }
        }
        if state.paused || state.in_flight >= self.options.max_in_flight.max(1) {
            return Next::Nothing;
        }
        if self.options.tenant.as_ref().is_some_and(|tenant| !tenant.try_enter(self)) {
            return Next::Nothing;
        }
        state.waiting.pop_front();
        // Counted before it can end.
        state.in_flight += 1;
        drop(state);
        first.with_attached(|attached| attached.counted = true);
        match first.stages.take_work() {
            Some(work) => Next::Forward(first, work),
            None => {
                // Cancelled in between: its end may or may not have seen that it is counted.
                let uncounted = first.with_attached(|attached| std::mem::take(&mut attached.counted));
                if uncounted {
                    self.lock().in_flight -= 1;
                    self.options.tenant.iter().for_each(Tenant::leave);
                }
                Next::Gone(first)
            }
        }
    }

    /// Whether everything that a submission depends on has ended well.
    fn readiness(self: &Arc<Self>, submission: &Arc<SubmissionCore>) -> Readiness {
        let found = submission.stages.with_held(|work| {
            for dependency in &mut work.dependencies {
                if !dependency.subscribed {
                    dependency.subscribed = true;
                    // Left there until it ends, whatever becomes of this one.
                    let waker = Waker::from(Arc::clone(self));
                    let _ended = dependency.on.stages.leave_waker(&mut None, &waker, false);
                }
                match dependency.on.outcome() {
                    None => return Readiness::Waits,
                    Some(Ok(_)) => {}
                    Some(Err(error)) => {
                        let label = &dependency.on.label;
                        return Readiness::Failed(error.for_dependent(&submission.label, label));
                    }
                }
            }
            Readiness::Ready
        });
        found.unwrap_or(Readiness::Gone)
    }

    /// Gives a submission to the device.
    fn forward(self: &Arc<Self>, submission: &Arc<SubmissionCore>, work: PendingWork) {
        let PendingWork { mut commands, dependencies } = work;
        // A callback may take a lock that the committing thread holds.
        commands.may_run_inline = submission.with_attached(|attached| attached.callbacks.is_empty());
        if let Some(trace) = self.context.trace() {
            commands.timestamps = Timestamps::EachCommand;
            let after = dependencies.iter().map(|dependency| dependency.on.id).collect();
            submission.with_attached(|attached| {
                let (stream, names) = ((self.number, self.options.label.as_str()), &attached.names);
                let traced = trace.begin(submission.id, stream, after, &commands, names);
                attached.traced = Some(Box::new(traced));
            });
        }
        drop(dependencies);
        if let Some(history) = &self.context.inner.history {
            let entry = history.note(self.number, &self.options.label, &commands);
            submission.with_attached(|attached| attached.entry = Some(entry));
        }
        encoded_commands::attach(&mut commands.commands);
        stage_input::attach(&mut commands.commands);
        let bytes = commands.log_bytes.unwrap_or(DEFAULT_LOG_BYTES);
        let log = logging::attach(&mut commands.commands, &*self.context.inner.device, bytes);
        let log = log.map(|log| submission.with_attached(|attached| attached.log = log));
        match log.and_then(|()| self.queue.submit(commands)) {
            Ok(completion) => {
                let wakers = submission.stages.set_forwarded(completion.clone());
                wakers.into_iter().for_each(Waker::wake);
                if !completion.subscribe(Waker::from(Arc::clone(submission)))
                    && let Some(outcome) = completion.outcome()
                {
                    submission.settle(&completion, outcome);
                }
            }
            Err(error) => {
                submission.refused.store(true, Ordering::Release);
                submission.end(Err(ExecError::Device(error)));
            }
        }
    }
}

/// The pumping loop of this thread, of which there is one at a time; dropping it ends it, even by a panic of
/// a callback.
struct PumpLoop;

impl PumpLoop {
    /// Begins it; `None`: one runs on this thread.
    fn begin() -> Option<PumpLoop> {
        TO_PUMP.with_borrow_mut(|list| match &mut **list {
            Some(_) => None,
            none => {
                *none = Some(VecDeque::new());
                Some(PumpLoop)
            }
        })
    }

    /// Has the loop that runs on this thread look at a stream.
    fn add(stream: &Arc<StreamCore>) {
        TO_PUMP.with_borrow_mut(|list| list.get_or_insert_default().push_back(Arc::clone(stream)));
    }

    /// Pumps what was added until nothing is left.
    fn run(self) {
        while let Some(stream) = TO_PUMP.with_borrow_mut(|list| list.as_mut().and_then(VecDeque::pop_front)) {
            stream.pump();
        }
    }
}

impl Drop for PumpLoop {
    fn drop(&mut self) {
        TO_PUMP.with_borrow_mut(|list| **list = None);
    }
}

/// Something that the stream waited for has ended.
impl Wake for StreamCore {
    fn wake(self: Arc<Self>) {
        self.pump_soon();
    }
}

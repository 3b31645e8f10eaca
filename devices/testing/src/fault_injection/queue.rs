//! Queues that pass on to the wrapped device's, and change or delay how what they took ends.
//!
//! Invariant: completions end in order, and never before the wrapped device's have.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Wake, Waker};
use std::time::Duration;

use super::plan::{Injector, Kind};
use super::written::WrittenMemory;
use anymetal_hal::command::CommandList;
use anymetal_hal::completion::{Completion, CompletionSource, Outcome};
use anymetal_hal::error::DeviceError;
use anymetal_hal::queue::{Cancellation, Queue, QueueDescriptor, WhenFull};
use anymetal_hal::semaphore::Semaphore;
use anymetal_hal::single_runner::SingleRunner;

pub(super) struct FaultInjectingQueue(Arc<QueueCore>);

impl FaultInjectingQueue {
    pub(super) fn new(injector: &Arc<Injector>, inner: Arc<dyn Queue>, descriptor: &QueueDescriptor) -> Self {
        FaultInjectingQueue(Arc::new(QueueCore {
            injector: Arc::clone(injector),
            inner,
            space: Semaphore::new(descriptor.max_in_flight),
            when_full: descriptor.when_full,
            pending: Mutex::default(),
            runner: SingleRunner::default(),
        }))
    }
}

struct QueueCore {
    injector: Arc<Injector>,
    inner: Arc<dyn Queue>,
    space: Semaphore,
    when_full: WhenFull,
    pending: Mutex<VecDeque<Pending>>,
    /// Who passes completions on.
    runner: SingleRunner,
}

/// A submission whose completion has not been passed on.
struct Pending {
    /// The wrapped device's; `None` while it is being submitted.
    inner: Option<Completion>,
    source: CompletionSource,
    /// When it may end; set once the wrapped device is done with it and it is the first.
    due: Option<Duration>,
    hang: Hang,
    /// What it writes, if the plan changes that.
    written: Vec<WrittenMemory>,
}

/// Whether a submission that is due hangs.
#[derive(Clone, Copy)]
enum Hang {
    Undecided,
    No,
    /// Since hangs were ended that often.
    Since(u64),
}

/// Wakes a queue that hangs, without holding it.
struct HungQueue(Weak<QueueCore>);

impl Wake for HungQueue {
    fn wake(self: Arc<Self>) {
        if let Some(queue) = self.0.upgrade() {
            queue.deliver();
        }
    }
}

impl QueueCore {
    fn lock(&self) -> MutexGuard<'_, VecDeque<Pending>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Passes on, in order, the completions that are done and due.
    fn deliver(self: &Arc<Self>) {
        if !self.runner.try_start() {
            return;
        }
        loop {
            loop {
                match self.first_due() {
                    Due::Now(pending, outcome) => {
                        self.space.release();
                        let outcome = self.changed(&pending, outcome);
                        match pending.inner.as_ref().and_then(Completion::command_timings) {
                            Some(timings) => pending.source.finish_with_commands(outcome, timings),
                            None => pending.source.finish(outcome),
                        }
                    }
                    Due::At(at) => {
                        self.injector.clock.set_alarm(at, Waker::from(Arc::clone(self)));
                        break;
                    }
                    Due::Later => break,
                }
            }
            if !self.runner.finish() {
                return;
            }
        }
    }

    fn first_due(self: &Arc<Self>) -> Due {
        let mut pending = self.lock();
        let Some(first) = pending.front_mut() else {
            return Due::Later;
        };
        let Some(outcome) = first.inner.as_ref().and_then(Completion::outcome) else {
            return Due::Later;
        };
        let now = self.injector.clock.now();
        if first.due.is_none() {
            let due = now + self.injector.delay();
            first.due = Some(due);
            if due > now {
                return Due::At(due);
            }
        }
        if first.due.is_some_and(|due| due > now) {
            return Due::Later;
        }
        if matches!(first.hang, Hang::Undecided) {
            first.hang = match self.injector.happens(Kind::Hang) {
                None => Hang::No,
                Some(_) => {
                    let waker = Waker::from(Arc::new(HungQueue(Arc::downgrade(self))));
                    Hang::Since(self.injector.hang(waker))
                }
            };
        }
        if matches!(first.hang, Hang::Since(ended) if self.injector.hangs_at(ended)) {
            return Due::Later;
        }
        pending.pop_front().map_or(Due::Later, |first| Due::Now(first, outcome))
    }

    /// The outcome, or the planned failure of one that was good.
    fn changed(&self, pending: &Pending, outcome: Outcome) -> Outcome {
        let timing = outcome?;
        let injector = &self.injector;
        if matches!(pending.hang, Hang::Since(_)) {
            return Err(injector.lost_error());
        }
        if let Some(error) = injector.fault(Kind::Completion, 0) {
            return Err(error);
        }
        if let Some(class) = injector.happens(Kind::PartialWrite) {
            pending.written.iter().for_each(WrittenMemory::undo_second_half);
            return Err(injector.error(Kind::PartialWrite, class, 0));
        }
        if injector.happens(Kind::WrongResult).is_some() {
            pending.written.iter().for_each(WrittenMemory::corrupt);
        }
        Ok(timing)
    }
}

enum Due {
    Now(Pending, Outcome),
    /// An alarm is needed.
    At(Duration),
    /// Something that was asked for will come back here.
    Later,
}

/// The wrapped device is done with something, or something is due.
impl Wake for QueueCore {
    fn wake(self: Arc<Self>) {
        self.deliver();
    }
}

impl Queue for FaultInjectingQueue {
    fn submit(&self, submission: CommandList) -> Result<Completion, DeviceError> {
        let core = &self.0;
        if let Some(error) = core.injector.fault(Kind::Commit, 0) {
            return Err(error);
        }
        let clock = core.injector.clock.as_ref();
        let free = core.space.try_acquire()
            || match core.when_full {
                WhenFull::Refuse => false,
                WhenFull::Wait(longest) => {
                    core.space.acquire_until(clock, clock.now().saturating_add(longest))
                }
            };
        if !free {
            return Err(DeviceError::QueueFull { limit: core.space.capacity() });
        }
        let source = CompletionSource::new(None);
        let completion = source.completion();
        // Its place first: the wrapped device may run it, and whatever that wakes, before `submit` returns.
        // The wrapped queue has room, since it has at least as much as this one.
        let written = if core.injector.alters_memory() { WrittenMemory::of(&submission) } else { Vec::new() };
        let pending = Pending { inner: None, source, due: None, hang: Hang::Undecided, written };
        core.lock().push_back(pending);
        let submitted = core.inner.submit(submission);
        let mut waiting = core.lock();
        let at = waiting.iter().position(|pending| pending.source.is_for(&completion));
        let inner = match submitted {
            Ok(inner) => inner,
            Err(error) => {
                let removed = at.and_then(|at| waiting.remove(at));
                drop(waiting);
                drop(removed);
                core.space.release();
                core.deliver();
                return Err(error);
            }
        };
        if let Some(pending) = at.and_then(|at| waiting.get_mut(at)) {
            pending.inner = Some(inner.clone());
        }
        drop(waiting);
        if core.injector.is_in_step() {
            let _told_later = inner.wait();
        }
        if !inner.subscribe(Waker::from(Arc::clone(core))) {
            core.deliver();
        }
        Ok(completion)
    }

    fn cancel(&self, completion: &Completion) -> Cancellation {
        let core = &self.0;
        let waiting = core.lock();
        let Some(at) = waiting.iter().position(|pending| pending.source.is_for(completion)) else {
            return if completion.is_done() { Cancellation::Ended } else { Cancellation::TooLate };
        };
        let Some(inner) = waiting[at].inner.clone() else {
            return Cancellation::TooLate;
        };
        drop(waiting);
        match core.inner.cancel(&inner) {
            Cancellation::Removed => {}
            // It has ended below, but its end has not been passed on yet.
            Cancellation::Stopping | Cancellation::TooLate | Cancellation::Ended => {
                return Cancellation::TooLate;
            }
        }
        let mut waiting = core.lock();
        let at = waiting.iter().position(|pending| pending.source.is_for(completion));
        let removed = at.and_then(|at| waiting.remove(at));
        drop(waiting);
        if let (Some(removed), Some(outcome)) = (removed, inner.outcome()) {
            core.space.release();
            removed.source.finish(outcome);
        }
        core.deliver();
        Cancellation::Removed
    }

    fn stop(&self, completion: &Completion) -> Cancellation {
        match self.cancel(completion) {
            Cancellation::TooLate => {}
            answer => return answer,
        }
        let inner = {
            let waiting = self.0.lock();
            let pending = waiting.iter().find(|pending| pending.source.is_for(completion));
            pending.and_then(|pending| pending.inner.clone())
        };
        match inner.map(|inner| self.0.inner.stop(&inner)) {
            Some(Cancellation::Stopping) => Cancellation::Stopping,
            // It has ended below, or was never given on.
            _ => Cancellation::TooLate,
        }
    }

    fn in_flight(&self) -> usize {
        self.0.space.used()
    }

    fn label(&self) -> &str {
        self.0.inner.label()
    }
}

impl fmt::Debug for FaultInjectingQueue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("FaultInjectingQueue").field("inner", &self.0.inner).finish_non_exhaustive()
    }
}

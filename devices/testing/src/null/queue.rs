//! Queues of the null device: command buffers that do nothing but wait, signal and end.
//!
//! Invariant: they end in order, each as soon as its waits are met, on the thread that met them; a thread
//! that is ending one ends others in a loop, never by recursion.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt;
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Wake, Waker};
use std::time::Duration;

use super::memory::NullBuffer;
use super::{NullPipeline, NullShared};
use anymetal_hal::artifact::KernelInfo;
use anymetal_hal::clock::AlarmId;
use anymetal_hal::command::{Command, CommandList, DEFAULT_DEADLINE, Dispatch};
use anymetal_hal::completion::{Completion, CompletionSource, Timing};
use anymetal_hal::error::DeviceError;
use anymetal_hal::fence::HostFence;
use anymetal_hal::indirect::HostIndirect;
use anymetal_hal::pipeline::Pipeline;
use anymetal_hal::queue::{Cancellation, Queue, QueueDescriptor, admit, take_back};
use anymetal_hal::semaphore::Semaphore;
use anymetal_hal::single_runner::SingleRunner;

/// A queue's handle. Dropping it lets submitted work end.
pub(super) struct NullQueue(Arc<QueueCore>);

impl NullQueue {
    pub(super) fn new(shared: &Arc<NullShared>, descriptor: &QueueDescriptor) -> Self {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        NullQueue(Arc::new(QueueCore {
            shared: Arc::clone(shared),
            number: NonZero::<usize>::MIN.saturating_add(MADE.fetch_add(1, Ordering::Relaxed)),
            descriptor: descriptor.clone(),
            space: Semaphore::new(descriptor.max_in_flight),
            pending: Mutex::default(),
            runner: SingleRunner::default(),
        }))
    }
}

struct QueueCore {
    shared: Arc<NullShared>,
    number: NonZero<usize>,
    descriptor: QueueDescriptor,
    space: Semaphore,
    pending: Mutex<VecDeque<Item>>,
    /// Who ends command buffers.
    runner: SingleRunner,
}

/// A command buffer on its way.
struct Item {
    submission: CommandList,
    source: CompletionSource,
    timing: Timing,
    deadline: Option<(AlarmId, Arc<Expiry>)>,
    position: usize,
}

/// Notes that a deadline has passed.
struct Expiry {
    passed: AtomicBool,
    after: Duration,
    queue: Weak<QueueCore>,
}

impl Wake for Expiry {
    fn wake(self: Arc<Self>) {
        self.passed.store(true, Ordering::SeqCst);
        if let Some(queue) = self.queue.upgrade() {
            queue.run_soon();
        }
    }
}

thread_local! {
    /// Queues that the loop of this thread still has to look at; `None`: no loop runs.
    static TO_RUN: RefCell<Option<VecDeque<Arc<QueueCore>>>> = const { RefCell::new(None) };
}

impl QueueCore {
    pub(super) fn lock(&self) -> MutexGuard<'_, VecDeque<Item>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs the queue on this thread, or has the loop that runs on it do so.
    fn run_soon(self: Arc<Self>) {
        let nested = TO_RUN.with_borrow_mut(|list| match list {
            Some(list) => {
                list.push_back(Arc::clone(&self));
                true
            }
            None => {
                *list = Some(VecDeque::new());
                false
            }
        });
        if nested {
            return;
        }
        let mut next = Some(self);
        while let Some(queue) = next {
            queue.run();
            next = TO_RUN.with_borrow_mut(|list| {
                let next = list.as_mut().and_then(VecDeque::pop_front);
                if next.is_none() {
                    *list = None;
                }
                next
            });
        }
    }

    /// Ends command buffers until one has to wait.
    fn run(self: &Arc<Self>) {
        if !self.runner.try_start() {
            return;
        }
        loop {
            while let Some(mut item) = self.pop() {
                match self.advance(&mut item) {
                    Some(result) => self.finish(item, result),
                    None => {
                        // What it waits for may happen before it is back in its place: then the runner is
                        // passed on to this loop.
                        self.lock().push_front(item);
                        break;
                    }
                }
            }
            if !self.runner.finish() {
                return;
            }
        }
    }

    fn pop(&self) -> Option<Item> {
        self.lock().pop_front()
    }

    /// Goes on with a command buffer; `None`: it waits.
    fn advance(self: &Arc<Self>, item: &mut Item) -> Option<Result<(), DeviceError>> {
        let clock = &self.shared.clock;
        if item.timing.started_ns == 0 {
            item.timing.started_ns = self.shared.now_ns().max(1);
            let after = item.submission.deadline.after(DEFAULT_DEADLINE);
            let waits =
                item.submission.commands.iter().any(|command| matches!(command, Command::WaitEvent { .. }));
            item.deadline = after.filter(|_| waits).map(|after| {
                let queue = Arc::downgrade(self);
                let expiry = Arc::new(Expiry { passed: AtomicBool::new(false), after, queue });
                let alarm =
                    clock.set_alarm(clock.now().saturating_add(after), Waker::from(Arc::clone(&expiry)));
                (alarm, expiry)
            });
        }
        while let Some(command) = item.submission.commands.get(item.position) {
            match command {
                Command::SignalEvent { event, value } => event.signal(*value),
                Command::WaitEvent { event, value }
                    if event.subscribe(*value, Waker::from(Arc::clone(self))).is_some() =>
                {
                    let expiry = item.deadline.as_ref().map(|(_, expiry)| expiry);
                    let passed = expiry.filter(|expiry| expiry.passed.load(Ordering::SeqCst))?;
                    let after = passed.after;
                    return Some(Err(DeviceError::DeadlineExceeded { kernel: None, after }));
                }
                _ => {}
            }
            item.position += 1;
        }
        Some(Ok(()))
    }

    fn finish(&self, item: Item, result: Result<(), DeviceError>) {
        let Item { submission, source, mut timing, deadline, .. } = item;
        if let Some((alarm, _)) = deadline {
            self.shared.clock.clear_alarm(alarm);
        }
        drop(submission);
        timing.ended_ns = self.shared.now_ns();
        self.space.release();
        source.finish(result.map(|()| timing));
    }

    fn validate(&self, submission: &CommandList) -> Result<(), DeviceError> {
        submission.commands.iter().try_for_each(|command| self.validate_command(command))
    }

    fn validate_command(&self, command: &Command) -> Result<(), DeviceError> {
        let mut foreign = false;
        command.each_buffer(&mut |buffer| {
            let own = buffer.as_any().downcast_ref::<NullBuffer>();
            foreign |= own.is_none_or(|own| !Arc::ptr_eq(&own.shared, &self.shared));
        });
        if foreign {
            return Err(self.shared.wrong_device("buffer"));
        }
        match command {
            Command::Dispatch(dispatch) => self.validate_dispatch(dispatch)?,
            Command::DispatchIndirect(indirect) => self.validate_dispatch(indirect.dispatch())?,
            Command::UpdateFence(fence) | Command::WaitFence(fence) => {
                let own = fence.as_any().downcast_ref::<HostFence>();
                let own = own.ok_or_else(|| self.shared.wrong_device("fence"))?;
                if !own.bind_queue(self.number) {
                    return Err(DeviceError::FenceAcrossQueues);
                }
            }
            Command::ExecuteIndirect(indirect) => {
                let own = indirect.as_any().downcast_ref::<HostIndirect<Arc<NullShared>>>();
                if own.is_none_or(|own| !Arc::ptr_eq(&own.owner, &self.shared)) {
                    return Err(self.shared.wrong_device("indirect command buffer"));
                }
                indirect.commands().iter().try_for_each(|command| self.validate_command(command))?;
            }
            // These keep their rules since they were made.
            Command::MatrixProduct(_)
            | Command::ExecuteEncoded(_)
            | Command::Copy(_)
            | Command::Fill(_)
            | Command::SampleTime(_)
            | Command::WaitEvent { .. }
            | Command::SignalEvent { .. } => {}
        }
        Ok(())
    }

    fn validate_dispatch(&self, dispatch: &Dispatch) -> Result<(), DeviceError> {
        self.kernel(dispatch.pipeline())?;
        dispatch.check_complete(&self.shared.capabilities).map(drop)
    }

    pub(super) fn kernel<'a>(&self, pipeline: &'a Arc<dyn Pipeline>) -> Result<&'a KernelInfo, DeviceError> {
        let own = pipeline.as_any().downcast_ref::<NullPipeline>();
        own.map(|own| &own.0).ok_or_else(|| self.shared.wrong_device("pipeline"))
    }
}

/// An event that the queue waits for has reached its value.
impl Wake for QueueCore {
    fn wake(self: Arc<Self>) {
        self.run_soon();
    }
}

impl Queue for NullQueue {
    fn submit(&self, submission: CommandList) -> Result<Completion, DeviceError> {
        let core = &self.0;
        core.validate(&submission)?;
        let clock = core.shared.clock.as_ref();
        let (source, completion) = admit(&submission, &core.descriptor, &core.space, clock, None)?;
        let timing = Timing::default().submitted_ns(core.shared.now_ns());
        let item = Item { submission, source, timing, deadline: None, position: 0 };
        core.lock().push_back(item);
        Arc::clone(core).run_soon();
        Ok(completion)
    }

    fn cancel(&self, completion: &Completion) -> Cancellation {
        let removed = take_back(&mut self.0.lock(), completion, |item| &item.source);
        let item = match removed {
            Ok(item) => item,
            Err(outcome) => return outcome,
        };
        let label = item.submission.label.clone();
        self.0.finish(item, Err(DeviceError::Cancelled { label }));
        // It may have been the one that the others waited behind.
        Arc::clone(&self.0).run_soon();
        Cancellation::Removed
    }

    fn in_flight(&self) -> usize {
        self.0.space.used()
    }

    fn label(&self) -> &str {
        &self.0.descriptor.label
    }
}

impl fmt::Debug for NullQueue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("NullQueue").field("in_flight", &self.in_flight()).finish_non_exhaustive()
    }
}

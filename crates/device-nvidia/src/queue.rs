//! Queues: command buffers in order, on a thread of the queue.
//!
//! Owns [`NvidiaQueue`]. The thread takes one command buffer after the other and waits for its end. Before
//! it sleeps it looks for the next one for [`SPIN`]: waking it takes longer than an empty command buffer.
//! Concurrency: `state` guards the list; only the thread takes from its front. It ends after the last handle
//! is gone and the list is empty.

use std::collections::VecDeque;
use std::fmt;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anymetal_hal::command::Submission;
use anymetal_hal::completion::{Completion, CompletionSource, Timing};
use anymetal_hal::error::DeviceError;
use anymetal_hal::queue::{Cancellation, Priority, Queue, QueueDescriptor, admit, take_back};
use anymetal_hal::semaphore::Semaphore;
use anymetal_hal::sync::SPIN;

use crate::device::DeviceShared;
use crate::execution::{Execution, Measured};
use crate::lane::Lane;
use crate::launch;

/// A queue's handle. Dropping it lets submitted work finish.
pub(crate) struct NvidiaQueue(Arc<QueueCore>);

struct QueueCore {
    device: Arc<DeviceShared>,
    descriptor: QueueDescriptor,
    /// Names the queue to its fences.
    number: NonZero<usize>,
    space: Semaphore,
    state: Mutex<State>,
    changed: Condvar,
    /// Command buffers in the list, and one more once it is closed: for looks without the lock.
    waiting: AtomicUsize,
}

#[derive(Default)]
struct State {
    pending: VecDeque<Item>,
    /// No more work comes.
    is_closed: bool,
    /// The thread has to be woken.
    sleeps: bool,
}

struct Item {
    submission: Submission,
    source: CompletionSource,
    submitted_ns: u64,
    deadline: Option<Duration>,
}

impl NvidiaQueue {
    pub(crate) fn new(device: &Arc<DeviceShared>, descriptor: &QueueDescriptor) -> Result<Self, DeviceError> {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let priority = match descriptor.priority {
            Priority::Low => 1,
            Priority::Normal => 0,
            Priority::High => -1,
        };
        let number = NonZero::<usize>::MIN.saturating_add(MADE.fetch_add(1, Ordering::Relaxed));
        let lane = Lane::new(device, number, priority)?;
        let core = Arc::new(QueueCore {
            device: Arc::clone(device),
            descriptor: descriptor.clone(),
            number,
            space: Semaphore::new(descriptor.max_in_flight),
            state: Mutex::default(),
            changed: Condvar::new(),
            waiting: AtomicUsize::new(0),
        });
        let own = Arc::clone(&core);
        let thread = std::thread::Builder::new().name(format!("{} queue", device.name));
        thread.spawn(move || own.work(&lane)).map_err(|error| DeviceError::DeviceLost {
            device: device.name.clone(),
            reason: format!("the thread of a queue could not be started: {error}"),
        })?;
        Ok(NvidiaQueue(core))
    }
}

impl QueueCore {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The thread of the queue.
    fn work(&self, lane: &Lane) {
        while let Some(item) = self.next() {
            let started_ns = self.device.now_ns();
            let run = || Execution::new(lane, &item.submission, item.deadline).run();
            let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
            let result = result.unwrap_or_else(|panic| {
                let message = panic.downcast_ref::<&str>().copied().unwrap_or("unknown").to_owned();
                Err(DeviceError::WorkerPanicked { kernel: None, message })
            });
            self.finish(item, started_ns, result);
        }
    }

    fn next(&self) -> Option<Item> {
        let start = Instant::now();
        while self.waiting.load(Ordering::Acquire) == 0 && start.elapsed() < SPIN {
            std::hint::spin_loop();
        }
        let mut state = self.lock();
        loop {
            if let Some(item) = state.pending.pop_front() {
                self.waiting.fetch_sub(1, Ordering::Release);
                return Some(item);
            }
            if state.is_closed {
                return None;
            }
            state.sleeps = true;
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.sleeps = false;
        }
    }

    fn finish(&self, item: Item, started_ns: u64, result: Result<Measured, DeviceError>) {
        let Item { submission, source, submitted_ns, .. } = item;
        drop(submission);
        self.space.release();
        match result {
            Err(error) => source.finish(Err(error)),
            Ok(Measured { device_ns, mut commands }) => {
                let ended_ns = self.device.now_ns();
                let started_ns = ended_ns.saturating_sub(device_ns).max(started_ns);
                for command in &mut commands {
                    command.started_ns = (command.started_ns + started_ns).min(ended_ns);
                    command.ended_ns = (command.ended_ns + started_ns).min(ended_ns);
                }
                source
                    .finish_with_commands(Ok(Timing { submitted_ns, started_ns, ended_ns }), commands.into());
            }
        }
    }
}

impl Queue for NvidiaQueue {
    fn submit(&self, submission: Submission) -> Result<Completion, DeviceError> {
        let core = &self.0;
        launch::check_commands(&core.device, &submission.commands, Some(core.number))?;
        let clock = core.device.clock.as_ref();
        let (source, completion) = admit(&submission, &core.descriptor, &core.space, clock)?;
        let deadline = submission.deadline.after(core.device.options.default_deadline);
        let submitted_ns = core.device.now_ns();
        let mut state = core.lock();
        state.pending.push_back(Item { submission, source, submitted_ns, deadline });
        core.waiting.fetch_add(1, Ordering::Release);
        let sleeps = state.sleeps;
        drop(state);
        if sleeps {
            core.changed.notify_one();
        }
        Ok(completion)
    }

    fn cancel(&self, completion: &Completion) -> Cancellation {
        let core = &self.0;
        let removed = {
            let mut state = core.lock();
            let removed = take_back(&mut state.pending, completion, |item| &item.source);
            core.waiting.fetch_sub(usize::from(removed.is_ok()), Ordering::Release);
            removed
        };
        match removed {
            Ok(item) => {
                let label = item.submission.label.clone();
                core.finish(item, 0, Err(DeviceError::Cancelled { label }));
                Cancellation::Removed
            }
            Err(outcome) => outcome,
        }
    }

    fn in_flight(&self) -> usize {
        self.0.space.used()
    }

    fn label(&self) -> &str {
        &self.0.descriptor.label
    }
}

impl Drop for NvidiaQueue {
    fn drop(&mut self) {
        self.0.lock().is_closed = true;
        self.0.waiting.fetch_add(1, Ordering::Release);
        self.0.changed.notify_all();
    }
}

impl fmt::Debug for NvidiaQueue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("NvidiaQueue")
            .field("label", &self.label())
            .field("in_flight", &self.in_flight())
            .finish()
    }
}

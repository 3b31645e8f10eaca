//! Queues: command buffers in order, on a thread of the queue or on one that waits for them.
//!
//! Owns [`NvidiaQueue`]. Whoever holds the lock takes one command buffer after the other; those that need
//! nothing of the host are put into the stream while others run, at most [`IN_FLIGHT`]. A thread that waits
//! for a command buffer takes the lock if it is free, because waking the queue's thread, and being woken by
//! it, takes longer than many a kernel. Before that thread sleeps it looks for the next command buffer for
//! [`SPIN`]. Concurrency: `state` guards the list; only who holds `holder` takes from its front. The thread
//! ends after the last handle is gone and the list is empty.

use std::collections::VecDeque;
use std::fmt;
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anymetal_hal::command::CommandList;
use anymetal_hal::completion::{Completion, CompletionSource, Timing, WaitAssist};
use anymetal_hal::error::DeviceError;
use anymetal_hal::queue::{Cancellation, Priority, Queue, QueueDescriptor, admit, take_back};
use anymetal_hal::semaphore::Semaphore;
use anymetal_hal::sync::SPIN;

use crate::device_shared::DeviceShared;
use crate::execution::{Execution, Measured, guarded};
use crate::graph::GRAPH_SLOT;
use crate::launch;
use crate::queue_streams::{IN_FLIGHT, QueueStreams};
use crate::residency::Residency;

/// A queue's handle. Dropping it lets submitted work finish.
pub(crate) struct NvidiaQueue {
    core: Arc<QueueCore>,
    assistance: Arc<Assistance>,
}

/// Lends threads that wait to the queue.
struct Assistance(Arc<QueueCore>);

struct QueueCore {
    device: Arc<DeviceShared>,
    descriptor: QueueDescriptor,
    /// Names the queue to its fences.
    number: NonZero<usize>,
    space: Semaphore,
    streams: Arc<QueueStreams>,
    /// Held by whoever runs command buffers.
    holder: Mutex<()>,
    state: Mutex<State>,
    changed: Condvar,
    /// Command buffers in the list, and one more once it is closed: for looks without the lock.
    waiting: AtomicUsize,
}

#[derive(Default)]
struct State {
    pending: VecDeque<Item>,
    /// Those in the stream, each with what tells it to stop.
    started: Vec<(Completion, Arc<AtomicBool>)>,
    /// No more work comes.
    is_closed: bool,
    /// The thread has to be woken.
    sleeps: bool,
}

/// A command buffer that is in the stream.
struct Running {
    item: Item,
    execution: Execution,
    started_ns: u64,
}

struct Item {
    submission: CommandList,
    source: CompletionSource,
    submitted_ns: u64,
    deadline: Option<Duration>,
    /// Nothing else is in the stream while it is.
    alone: bool,
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
        let streams = QueueStreams::new(device, number, priority)?;
        let core = Arc::new(QueueCore {
            device: Arc::clone(device),
            descriptor: descriptor.clone(),
            number,
            space: Semaphore::new(descriptor.max_in_flight),
            streams: Arc::new(streams),
            holder: Mutex::default(),
            state: Mutex::default(),
            changed: Condvar::new(),
            waiting: AtomicUsize::new(0),
        });
        let own = Arc::clone(&core);
        let thread = std::thread::Builder::new().name(format!("{} queue", device.name));
        thread.spawn(move || own.work()).map_err(|error| DeviceError::DeviceLost {
            device: device.name.clone(),
            reason: format!("the thread of a queue could not be started: {error}"),
        })?;
        let assistance = Arc::new(Assistance(Arc::clone(&core)));
        Ok(NvidiaQueue { core, assistance })
    }
}

impl QueueCore {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The thread of the queue.
    fn work(&self) {
        while self.wait_for_work() {
            let _holder = self.holder.lock().unwrap_or_else(PoisonError::into_inner);
            self.run(None);
        }
    }

    /// Runs command buffers until there is none, or none but those behind the one that ends `last`. The
    /// caller is the holder.
    fn run(&self, last: Option<&Completion>) {
        let mut running = VecDeque::<Running>::new();
        let (mut since, mut goes_on) = (Instant::now(), true);
        loop {
            while goes_on && let Some(next) = self.start_next(&running) {
                goes_on = last.is_none_or(|last| !next.item.source.is_for(last));
                running.push_back(next);
                since = Instant::now();
            }
            let Some(front) = running.front_mut() else { return };
            front.execution.count_deadline();
            let polled = front.execution.poll();
            if matches!(polled, Ok(false)) {
                Execution::pause(since);
                continue;
            }
            if let Some(Running { item, execution, started_ns }) = running.pop_front() {
                self.finish(item, started_ns, guarded(|| execution.finish(polled)));
            }
            since = Instant::now();
        }
    }

    /// Takes the command buffer at the front, if it can be in the stream beside those that are, and puts it
    /// there.
    fn start_next(&self, running: &VecDeque<Running>) -> Option<Running> {
        let mut state = self.lock();
        let alone = state.pending.front()?.alone;
        let is_full = running.len() == IN_FLIGHT || running.front().is_some_and(|front| front.item.alone);
        if is_full || (alone && !running.is_empty()) {
            return None;
        }
        let mut item = state.pending.pop_front()?;
        let stop = Arc::new(AtomicBool::new(false));
        state.started.push((item.source.completion(), Arc::clone(&stop)));
        drop(state);
        self.waiting.fetch_sub(1, Ordering::Release);
        let started_ns = self.device.now_ns();
        let is_free = |slot: &usize| running.iter().all(|other| other.execution.slot_number() != *slot);
        let slot = if alone { GRAPH_SLOT } else { (0..IN_FLIGHT).find(is_free)? };
        let submission = std::mem::take(&mut item.submission);
        let now = self.device.clock.now();
        let before = running.back().map_or(Some(now), |before| before.execution.latest());
        let mut execution = Execution::new(&self.streams, slot, submission, item.deadline, stop, before);
        if alone {
            // It may wait in the midst.
            execution.count_deadline();
        }
        execution.start();
        Some(Running { item, execution, started_ns })
    }

    /// Returns when there seems to be a command buffer; `false`: none will come any more.
    fn wait_for_work(&self) -> bool {
        let start = Instant::now();
        while self.waiting.load(Ordering::Acquire) == 0 && start.elapsed() < SPIN {
            std::hint::spin_loop();
        }
        let mut state = self.lock();
        while state.pending.is_empty() {
            if state.is_closed {
                return false;
            }
            state.sleeps = true;
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.sleeps = false;
        }
        true
    }

    fn finish(&self, item: Item, started_ns: u64, result: Result<Measured, DeviceError>) {
        let Item { submission, source, submitted_ns, .. } = item;
        drop(submission);
        self.lock().started.retain(|(completion, _)| !source.is_for(completion));
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
                source.finish_with_commands(
                    Ok(Timing::new(submitted_ns, started_ns, ended_ns)),
                    commands.into(),
                );
            }
        }
    }
}

impl WaitAssist for Assistance {
    fn assist(&self, completion: &Completion) -> bool {
        // Otherwise another thread runs what there is.
        if let Ok(_holder) = self.0.holder.try_lock() {
            self.0.run(Some(completion));
        }
        true
    }
}

impl Queue for NvidiaQueue {
    fn submit(&self, submission: CommandList) -> Result<Completion, DeviceError> {
        let core = &self.core;
        launch::check_commands(&core.device, &submission.commands, Some(core.number))?;
        Residency::check(&core.device, &submission.resident)?;
        let clock = core.device.clock.as_ref();
        let assist = Some(Arc::clone(&self.assistance) as Arc<dyn WaitAssist>);
        let (source, completion) = admit(&submission, &core.descriptor, &core.space, clock, assist)?;
        let deadline = submission.deadline.after(core.device.options.default_deadline);
        let submitted_ns = core.device.now_ns();
        let alone = !Execution::can_overlap(&submission);
        let mut state = core.lock();
        state.pending.push_back(Item { submission, source, submitted_ns, deadline, alone });
        core.waiting.fetch_add(1, Ordering::Release);
        let sleeps = state.sleeps;
        drop(state);
        if sleeps {
            core.changed.notify_one();
        }
        Ok(completion)
    }

    fn cancel(&self, completion: &Completion) -> Cancellation {
        let core = &self.core;
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

    fn stop(&self, completion: &Completion) -> Cancellation {
        match self.cancel(completion) {
            Cancellation::TooLate => {}
            answer => return answer,
        }
        let state = self.core.lock();
        match state.started.iter().find(|(started, _)| started.is_same(completion)) {
            Some((_, stop)) => {
                stop.store(true, Ordering::Relaxed);
                Cancellation::Stopping
            }
            None => Cancellation::Ended,
        }
    }

    fn in_flight(&self) -> usize {
        self.core.space.used()
    }

    fn label(&self) -> &str {
        &self.core.descriptor.label
    }
}

impl Drop for NvidiaQueue {
    fn drop(&mut self) {
        self.core.lock().is_closed = true;
        self.core.waiting.fetch_add(1, Ordering::Release);
        self.core.changed.notify_all();
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

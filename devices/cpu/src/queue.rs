//! Queues of the CPU device: command buffers in order, run by pool workers or waiting threads.
//!
//! A queue has no thread of its own. When command buffers are pending, a pool worker is scheduled to lead the
//! queue; a thread that waits for one of them, or submits a short one, may lead instead. The leader runs
//! command buffers (`execution`) until none is left (a waiting thread only until its own is done). How many
//! are in flight is bounded (`backpressure`).
//!
//! Concurrency: `state` guards the pending list and the [`Role`]. Only the leader (the one that set
//! `Role::Running`) pops and runs. A command buffer that waits for an event is put back and the queue becomes
//! `Blocked`, without a thread, until the event or its deadline's alarm unblocks it. A leader that is a
//! worker goes back in line when others of the pool wait and are more urgent or have waited long. A thread
//! that submits one short dispatch and waits for it leads without a command buffer (`inline_run`).

mod backpressure;
mod encoded;
mod execution;
mod inline_run;
#[cfg(all(test, loom))]
mod models;

use std::collections::VecDeque;
use std::fmt;
use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::task::{Wake, Waker};
use std::time::Duration;

#[cfg(all(test, loom))]
use anymetal_hal::command::Deadline;
use anymetal_hal::command::{CommandList, Timestamps};
use anymetal_hal::completion::{Completion, CompletionSource, Outcome, WaitAssist};
use anymetal_hal::error::DeviceError;
use anymetal_hal::event::Event;
use anymetal_hal::queue::{Cancellation, Priority, Queue, QueueDescriptor};
use anymetal_hal::sync::{Condvar, Mutex, MutexGuard, lock};

use crate::affinity;
use crate::command_buffer::{LaunchTables, Preparer, each_buffer};
use crate::device::DeviceShared;
use crate::inline_policy::{self, Expected};
use crate::memory::CpuBuffer;
use crate::pool::{Runnable, SchedulePlace};
use execution::{CommandBuffer, Progress, StopSignal};
use inline_run::RunWatch;

/// A queue's handle. Dropping it lets submitted work finish.
pub(crate) struct CpuQueue {
    core: Arc<QueueCore>,
    assistance: Arc<Assistance>,
}

struct QueueCore {
    device: Arc<DeviceShared>,
    descriptor: QueueDescriptor,
    /// Names the queue to its fences.
    number: NonZero<usize>,
    state: Mutex<QueueState>,
    space: Condvar,
    /// The processor of who leads, or led last, when it began to.
    leads_on: AtomicUsize,
    /// Tells the kernel of a run at once to leave.
    run_stop: AtomicU32,
}

struct QueueState {
    pending: VecDeque<CommandBuffer>,
    in_flight: usize,
    role: Role,
    /// What the leader runs, unless it runs without a command buffer.
    running: Option<(Completion, Arc<StopSignal>)>,
    /// Submitters that wait for space.
    waiting_submitters: usize,
    watch: RunWatch,
    /// The launch tables of the last run at once, for their memory.
    spare_tables: LaunchTables,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// Nothing is pending.
    Idle,
    /// A worker was asked to lead; anyone may be faster.
    Scheduled,
    /// Someone leads.
    Running,
    /// The first command buffer waits for an event.
    Blocked,
}

impl CpuQueue {
    pub(crate) fn new(device: &Arc<DeviceShared>, descriptor: &QueueDescriptor) -> Self {
        let state = QueueState {
            pending: VecDeque::new(),
            in_flight: 0,
            role: Role::Idle,
            running: None,
            waiting_submitters: 0,
            watch: RunWatch::default(),
            spare_tables: LaunchTables::default(),
        };
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let number = NonZero::<usize>::MIN.saturating_add(MADE.fetch_add(1, Ordering::Relaxed));
        let core = Arc::new(QueueCore {
            device: Arc::clone(device),
            descriptor: descriptor.clone(),
            number,
            state: Mutex::new(state),
            space: Condvar::new(),
            leads_on: AtomicUsize::new(usize::MAX),
            run_stop: AtomicU32::new(0),
        });
        CpuQueue { assistance: Arc::new(Assistance(Arc::clone(&core))), core }
    }
}

impl Queue for CpuQueue {
    fn submit(&self, submission: CommandList) -> Result<Completion, DeviceError> {
        let device = &self.core.device;
        let submitted_ns = device.now_ns();
        let tables = self.core.preparer().prepare(&submission)?;
        let assist: Option<Arc<dyn WaitAssist>> = match device.lend_waiting_threads {
            true => Some(Arc::<Assistance>::clone(&self.assistance)),
            false => None,
        };
        let source = CompletionSource::new(assist);
        let completion = source.completion();
        note_uses(&submission, &completion)?;
        let deadline = submission.deadline.after(device.default_deadline);
        let expected = inline_policy::expect(&submission, &tables);
        let stop = StopSignal { flag: AtomicU32::new(0), queue: Arc::downgrade(&self.core) };
        let command_buffer =
            CommandBuffer::new(submission, tables, source, stop, deadline, expected, submitted_ns);
        self.core.enqueue(command_buffer, &completion)?;
        Ok(completion)
    }

    fn run_inline(&self, submission: &CommandList) -> Option<Outcome> {
        self.core.run_inline(submission)
    }

    fn cancel(&self, completion: &Completion) -> Cancellation {
        self.core.cancel(completion)
    }

    fn stop(&self, completion: &Completion) -> Cancellation {
        match self.core.cancel(completion) {
            Cancellation::TooLate => self.core.stop(completion),
            answer => answer,
        }
    }

    fn in_flight(&self) -> usize {
        self.core.lock().in_flight
    }

    fn label(&self) -> &str {
        &self.core.descriptor.label
    }
}

impl fmt::Debug for CpuQueue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let in_flight = self.in_flight();
        formatter
            .debug_struct("CpuQueue")
            .field("label", &self.label())
            .field("in_flight", &in_flight)
            .finish()
    }
}

impl QueueCore {
    fn lock(&self) -> MutexGuard<'_, QueueState> {
        // Commands run outside the lock, so nothing panics inside.
        lock(&self.state)
    }

    fn preparer(&self) -> Preparer<'_> {
        let device = &self.device;
        Preparer {
            account: &device.account,
            limits: &device.capabilities,
            device: &device.name,
            queue: self.number,
        }
    }

    /// Takes a command buffer over. If it is to run at once and the queue has nothing else to do, the calling
    /// thread runs it.
    fn enqueue(
        self: &Arc<Self>,
        command_buffer: CommandBuffer,
        completion: &Completion,
    ) -> Result<(), DeviceError> {
        let expected = command_buffer.expected;
        let mut state = self.wait_for_space()?;
        state.pending.push_back(command_buffer);
        state.in_flight += 1;
        let alone = self.device.serial_submissions.begin();
        let wake = state.role == Role::Idle;
        if wake {
            state.role = Role::Scheduled;
        }
        drop(state);
        if !wake {
            return Ok(());
        }
        match expected {
            // It must not wait for an interpreted dispatch. Anybody may be faster, and then leads instead.
            Expected::Inline if self.device.account.gate.is_free_to_share() => {
                self.try_lead(Some(completion))
            }
            Expected::Short if alone => self.schedule(SchedulePlace::Here),
            Expected::Inline | Expected::Short | Expected::Unknown => self.schedule(SchedulePlace::Elsewhere),
        }
        Ok(())
    }

    /// Has a worker lead.
    fn schedule(self: &Arc<Self>, at: SchedulePlace) {
        self.device.pool.schedule(Arc::<QueueCore>::clone(self), at);
    }

    /// Leads the queue if nobody does: until nothing is pending, or `until` is done.
    fn try_lead(self: &Arc<Self>, until: Option<&Completion>) {
        let mut state = self.lock();
        if !matches!(state.role, Role::Idle | Role::Scheduled) {
            return;
        }
        self.leads_on.store(affinity::current_processor().unwrap_or(usize::MAX), Ordering::Relaxed);
        let mut ran = 0;
        while let Some(command_buffer) = state.pending.pop_front() {
            // Whoever waits or submits lends its thread, and may have less stack than a worker.
            if until.is_some() && !command_buffer.fits_stack() {
                state.pending.push_front(command_buffer);
                state.role = Role::Scheduled;
                drop(state);
                self.schedule(SchedulePlace::Elsewhere);
                return;
            }
            state.role = Role::Running;
            let completion = command_buffer.source.completion();
            state.running = Some((completion, Arc::clone(&command_buffer.stop)));
            drop(state);
            if !self.advance(command_buffer) {
                return;
            }
            state = self.lock();
            state.running = None;
            ran += 1;
            let leaves = match until {
                Some(completion) => completion.is_done(),
                None => self.device.pool.others_first(self.descriptor.priority, ran),
            };
            if leaves && !state.pending.is_empty() {
                state.role = Role::Scheduled;
                drop(state);
                self.schedule(SchedulePlace::Elsewhere);
                return;
            }
        }
        state.role = Role::Idle;
    }

    /// Runs a command buffer on; says whether it is done (`false`: the queue is blocked).
    fn advance(self: &Arc<Self>, mut command_buffer: CommandBuffer) -> bool {
        let run = std::panic::AssertUnwindSafe(|| command_buffer.run(&self.device, self.descriptor.priority));
        let result =
            std::panic::catch_unwind(run).unwrap_or_else(|panic| Err(command_buffer.panicked(&panic)));
        match result {
            Ok(Progress::Blocked(event, value)) => {
                self.block(command_buffer, &event, value);
                false
            }
            Ok(Progress::Done) => {
                self.finish(command_buffer, Ok(()));
                true
            }
            Err(error) => {
                self.finish(command_buffer, Err(error));
                true
            }
        }
    }

    fn finish(&self, command_buffer: CommandBuffer, result: Result<(), DeviceError>) {
        let timestamps = command_buffer.submission.timestamps;
        let CommandBuffer { submission, tables, source, mut timing, armed, command_timings, .. } =
            command_buffer;
        if let Some(armed) = armed {
            self.device.clock.clear_alarm(armed);
        }
        timing.ended_ns = self.device.now_ns();
        if result.is_ok() {
            inline_policy::note(&submission, &tables, timing.device_time());
        }
        // Whoever waits finds resources given back and the place free.
        drop(tables);
        drop(submission);
        self.release_slot(timing.device_time());
        let outcome: Outcome = result.map(|()| timing);
        match timestamps {
            Timestamps::CommandBuffer => source.finish(outcome),
            Timestamps::EachCommand => source.finish_with_commands(outcome, command_timings.into()),
        }
    }

    fn cancel(self: &Arc<Self>, completion: &Completion) -> Cancellation {
        if completion.is_done() {
            return Cancellation::Ended;
        }
        let mut state = self.lock();
        let at = state.pending.iter().position(|pending| pending.source.is_for(completion));
        let Some(at) = at.filter(|&at| !state.pending[at].has_run()) else {
            return if completion.is_done() { Cancellation::Ended } else { Cancellation::TooLate };
        };
        let removed = state.pending.remove(at);
        // The one that the queue waited with; the next may not have to wait.
        let unblocks = at == 0 && state.role == Role::Blocked;
        drop(state);
        if unblocks {
            self.unblock();
        }
        let Some(command_buffer) = removed else {
            return Cancellation::Ended;
        };
        let label = command_buffer.submission.label.clone();
        self.finish(command_buffer, Err(DeviceError::Cancelled { label }));
        Cancellation::Removed
    }

    /// Tells a command buffer that has started to leave.
    fn stop(&self, completion: &Completion) -> Cancellation {
        let signal = {
            let state = self.lock();
            let running = state.running.iter().filter(|(running, _)| running.is_same(completion));
            let blocked = state.pending.iter().filter(|pending| pending.source.is_for(completion));
            let signals = running.map(|(_, stop)| stop).chain(blocked.map(|pending| &pending.stop));
            signals.map(Arc::clone).next()
        };
        match signal {
            Some(signal) => {
                signal.stop();
                Cancellation::Stopping
            }
            // Its end is on its way.
            None => Cancellation::Ended,
        }
    }

    fn block(self: &Arc<Self>, command_buffer: CommandBuffer, event: &Arc<dyn Event>, value: u64) {
        let stop = Arc::clone(&command_buffer.stop);
        let mut state = self.lock();
        state.pending.push_front(command_buffer);
        (state.role, state.running) = (Role::Blocked, None);
        let wake = state.frees_enough(self.limit(), Duration::ZERO);
        drop(state);
        if wake {
            self.space.notify_all();
        }
        let reached = event.subscribe(value, Waker::from(Arc::clone(self))).is_none();
        // The deadline may have passed while the queue was not yet blocked.
        if reached || stop.flag.load(Ordering::SeqCst) != 0 {
            self.unblock();
        }
    }

    /// Has a worker look at a blocked queue again: in the caller's place if what is left takes less than
    /// waking one elsewhere.
    fn unblock(self: &Arc<Self>) {
        let mut state = self.lock();
        if state.role != Role::Blocked {
            return;
        }
        state.role = Role::Scheduled;
        let (first, more) = (state.pending.front(), state.pending.len() > 1);
        let inline = first.is_none_or(CommandBuffer::ends_inline);
        drop(state);
        self.schedule(if inline && !more { SchedulePlace::Here } else { SchedulePlace::Elsewhere });
    }
}

impl Runnable for QueueCore {
    fn run(self: Arc<Self>) {
        self.try_lead(None);
    }

    fn priority(&self) -> Priority {
        self.descriptor.priority
    }
}

/// The event that the queue waits for has reached its value.
impl Wake for QueueCore {
    fn wake(self: Arc<Self>) {
        self.unblock();
    }
}

/// Lends a waiting thread to its queue. Gone once the completion it serves has ended.
struct Assistance(Arc<QueueCore>);

impl WaitAssist for Assistance {
    fn assist(&self, completion: &Completion) -> bool {
        self.0.try_lead(Some(completion));
        self.is_elsewhere()
    }

    fn assist_briefly(&self, completion: &Completion) -> bool {
        let is_short = self.0.lock().pending.iter().all(|pending| pending.expected != Expected::Unknown);
        if is_short {
            self.0.try_lead(Some(completion));
        }
        self.is_elsewhere()
    }
}

impl Assistance {
    /// Whether the queue is led on another processor.
    fn is_elsewhere(&self) -> bool {
        affinity::current_processor().is_none_or(|here| here != self.0.leads_on.load(Ordering::Relaxed))
    }
}

/// Notes the submission on each buffer that it uses, once; refused if one is mapped.
fn note_uses(submission: &CommandList, completion: &Completion) -> Result<(), DeviceError> {
    let mut buffers: Vec<&CpuBuffer> = Vec::new();
    each_buffer(submission, &mut |buffer| {
        // A command buffer tends to use the same few buffers again and again.
        if !buffers.iter().rev().take(8).any(|known| std::ptr::eq(*known, buffer)) {
            buffers.push(buffer);
        }
    });
    buffers.sort_unstable_by_key(|buffer| std::ptr::from_ref(*buffer));
    buffers.dedup_by(|one, other| std::ptr::eq(*one, *other));
    buffers.into_iter().try_for_each(|buffer| buffer.note_use(completion))
}

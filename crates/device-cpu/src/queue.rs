//! Queues of the CPU device: command buffers in order, run by whoever comes first.
//!
//! A queue has no thread of its own. When command buffers are pending, a pool worker is asked to lead the
//! queue; a thread that waits for one of them may lead instead. The leader runs command buffers until none is
//! left (a waiting thread only until its own is done).
//!
//! Concurrency: `state` guards the pending list and the [`Role`]. Only the leader (the one that set
//! `Role::Running`) pops and runs. A command buffer that waits for an event is put back and the queue becomes
//! `Blocked`, without a thread, until the event or the watchdog unblocks it.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use anymetal_hal::command::{Command, Deadline, Submission};
use anymetal_hal::completion::{Completion, CompletionSource, Outcome, Timing, WaitAssist};
use anymetal_hal::error::DeviceError;
use anymetal_hal::event::Event;
use anymetal_hal::queue::{Queue, QueueDescriptor, WhenFull};

use crate::command_buffer::{LaunchTables, Preparer, Step, cpu_buffer, each_buffer};
use crate::device::DeviceShared;
use crate::event::{CpuEvent, Subscriber};
use crate::execute::{Ended, Executor};
use crate::memory::CpuBuffer;
use crate::pipeline::CpuPipeline;
use crate::pool::Runnable;
use crate::watchdog::{Alarm, Armed};

/// A queue's handle. Dropping it lets submitted work finish.
pub(crate) struct CpuQueue {
    core: Arc<QueueCore>,
    assistance: Arc<Assistance>,
}

struct QueueCore {
    device: Arc<DeviceShared>,
    descriptor: QueueDescriptor,
    state: Mutex<State>,
    space: Condvar,
}

struct State {
    pending: VecDeque<CommandBuffer>,
    in_flight: usize,
    role: Role,
    /// Submitters that wait for space.
    crowding: usize,
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

/// A command buffer on its way.
struct CommandBuffer {
    submission: Submission,
    tables: LaunchTables,
    source: CompletionSource,
    stop: Arc<StopSignal>,
    deadline: Option<Duration>,
    timing: Timing,
    armed: Option<Armed>,
    /// The next command.
    position: usize,
}

/// Tells a command buffer's kernels to leave, and wakes its queue if it is blocked.
struct StopSignal {
    flag: AtomicU32,
    queue: Weak<QueueCore>,
}

impl Alarm for StopSignal {
    fn go_off(&self) {
        self.flag.store(1, Ordering::SeqCst);
        if let Some(queue) = self.queue.upgrade() {
            queue.unblock();
        }
    }
}

/// How far a command buffer got.
enum Progress {
    Done,
    Blocked(Arc<dyn Event>, u64),
}

impl CpuQueue {
    pub(crate) fn new(device: &Arc<DeviceShared>, descriptor: &QueueDescriptor) -> Self {
        let state = State { pending: VecDeque::new(), in_flight: 0, role: Role::Idle, crowding: 0 };
        let core = Arc::new(QueueCore {
            device: Arc::clone(device),
            descriptor: descriptor.clone(),
            state: Mutex::new(state),
            space: Condvar::new(),
        });
        CpuQueue { assistance: Arc::new(Assistance(Arc::clone(&core))), core }
    }
}

impl Queue for CpuQueue {
    fn submit(&self, submission: Submission) -> Result<Completion, DeviceError> {
        let device = &self.core.device;
        let submitted_ns = device.now_ns();
        let preparer =
            Preparer { account: &device.account, limits: &device.capabilities, device: &device.name };
        let tables = preparer.prepare(&submission)?;
        let assist: Option<Arc<dyn WaitAssist>> = match device.lend_waiting_threads {
            true => Some(Arc::<Assistance>::clone(&self.assistance)),
            false => None,
        };
        let source = CompletionSource::new(assist);
        let completion = source.completion();
        note_uses(&submission, &completion);
        let deadline = match submission.deadline {
            Deadline::Default => Some(device.default_deadline),
            Deadline::After(after) => Some(after),
            Deadline::Never => None,
        };
        let stop = Arc::new(StopSignal { flag: AtomicU32::new(0), queue: Arc::downgrade(&self.core) });
        let timing = Timing { submitted_ns, ..Timing::default() };
        self.core.enqueue(CommandBuffer {
            submission,
            tables,
            source,
            stop,
            deadline,
            timing,
            armed: None,
            position: 0,
        })?;
        Ok(completion)
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
    fn lock(&self) -> MutexGuard<'_, State> {
        // Commands run outside the lock, so nothing panics inside.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enqueue(self: &Arc<Self>, command_buffer: CommandBuffer) -> Result<(), DeviceError> {
        let mut state = self.wait_for_space()?;
        state.pending.push_back(command_buffer);
        state.in_flight += 1;
        let wake = state.role == Role::Idle;
        if wake {
            state.role = Role::Scheduled;
        }
        drop(state);
        if wake {
            self.device.pool.schedule(Arc::<QueueCore>::clone(self));
        }
        Ok(())
    }

    fn wait_for_space(&self) -> Result<MutexGuard<'_, State>, DeviceError> {
        let limit = self.descriptor.max_in_flight.max(1);
        let mut state = self.lock();
        let until = match self.descriptor.when_full {
            _ if state.in_flight < limit => return Ok(state),
            WhenFull::Refuse => return Err(DeviceError::QueueFull { limit }),
            WhenFull::Wait(longest) => Instant::now().checked_add(longest),
        };
        state.crowding += 1;
        while state.in_flight >= limit {
            let left = until.map_or(Duration::MAX, |until| until.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                state.crowding -= 1;
                return Err(DeviceError::QueueFull { limit });
            }
            state = self.space.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        state.crowding -= 1;
        Ok(state)
    }

    /// Leads the queue if nobody does: until nothing is pending, or `until` is done.
    fn try_lead(self: &Arc<Self>, until: Option<&Completion>) {
        let mut state = self.lock();
        if !matches!(state.role, Role::Idle | Role::Scheduled) {
            return;
        }
        while let Some(command_buffer) = state.pending.pop_front() {
            state.role = Role::Running;
            drop(state);
            if !self.advance(command_buffer) {
                return;
            }
            state = self.lock();
            if until.is_some_and(Completion::is_done) && !state.pending.is_empty() {
                state.role = Role::Scheduled;
                drop(state);
                self.device.pool.schedule(Arc::<QueueCore>::clone(self));
                return;
            }
        }
        state.role = Role::Idle;
    }

    /// Runs a command buffer on; says whether it is done (`false`: the queue is blocked).
    fn advance(self: &Arc<Self>, mut command_buffer: CommandBuffer) -> bool {
        let run = std::panic::AssertUnwindSafe(|| command_buffer.run(&self.device));
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
        let CommandBuffer { submission, tables, source, mut timing, armed, .. } = command_buffer;
        if let Some(armed) = armed {
            self.device.watchdog.disarm(armed);
        }
        // Whoever waits finds resources given back and the place free.
        drop(tables);
        drop(submission);
        let mut state = self.lock();
        state.in_flight -= 1;
        // Waking a submitter for each free place would cost more than the work; a quarter is worth it.
        let limit = self.descriptor.max_in_flight.max(1);
        let wake = state.crowding > 0 && state.in_flight <= limit - limit / 4;
        drop(state);
        if wake {
            self.space.notify_all();
        }
        timing.ended_ns = self.device.now_ns();
        let outcome: Outcome = result.map(|()| timing);
        source.finish(outcome);
    }

    fn block(self: &Arc<Self>, command_buffer: CommandBuffer, event: &Arc<dyn Event>, value: u64) {
        let stop = Arc::clone(&command_buffer.stop);
        let mut state = self.lock();
        state.pending.push_front(command_buffer);
        state.role = Role::Blocked;
        drop(state);
        let event = event.as_any().downcast_ref::<CpuEvent>();
        let reached = event.is_none_or(|event| event.subscribe(value, Arc::<QueueCore>::clone(self)));
        // The deadline may have passed while the queue was not yet blocked.
        if reached || stop.flag.load(Ordering::SeqCst) != 0 {
            self.unblock();
        }
    }

    /// Has a worker look at a blocked queue again.
    fn unblock(self: &Arc<Self>) {
        let mut state = self.lock();
        if state.role == Role::Blocked {
            state.role = Role::Scheduled;
            drop(state);
            self.device.pool.schedule(Arc::<QueueCore>::clone(self));
        }
    }
}

impl Runnable for QueueCore {
    fn run(self: Arc<Self>) {
        self.try_lead(None);
    }
}

impl Subscriber for QueueCore {
    fn reached(self: Arc<Self>) {
        self.unblock();
    }
}

/// Lends a waiting thread to its queue. Gone once the completion it serves has ended.
struct Assistance(Arc<QueueCore>);

impl WaitAssist for Assistance {
    fn assist(&self, completion: &Completion) {
        self.0.try_lead(Some(completion));
    }
}

impl CommandBuffer {
    /// Runs commands from `position` on.
    fn run(&mut self, device: &Arc<DeviceShared>) -> Result<Progress, DeviceError> {
        if self.position == 0 && self.armed.is_none() {
            self.timing.started_ns = device.now_ns();
            let at = self.deadline.and_then(|deadline| Instant::now().checked_add(deadline));
            self.armed = at.map(|at| device.watchdog.arm(at, Arc::<StopSignal>::clone(&self.stop)));
        }
        let executor = Executor { pool: &device.pool, account: &device.account, stop: &self.stop.flag };
        while self.position < self.submission.commands.len() {
            if self.stop.flag.load(Ordering::Relaxed) != 0 {
                return Err(self.deadline_exceeded());
            }
            match (&self.submission.commands[self.position], &self.tables.steps[self.position]) {
                (Command::Dispatch(dispatch), Step::Dispatch(prepared)) => {
                    let pipeline = dispatch.pipeline.as_any().downcast_ref::<CpuPipeline>();
                    let pipeline = pipeline.expect("a prepared dispatch has a pipeline of this device");
                    if let Ended::Stopped = executor.dispatch(pipeline, dispatch, prepared, &self.tables)? {
                        return Err(self.deadline_exceeded());
                    }
                }
                (Command::Dispatch(_), Step::EmptyDispatch | Step::Other) => {}
                (Command::Copy(copy), _) => executor.copy(copy)?,
                (Command::Fill(fill), _) => executor.fill(fill)?,
                (Command::SignalEvent { event, value }, _) => event.signal(*value),
                (Command::WaitEvent { event, value }, _) => {
                    if event.signaled_value() < *value {
                        return Ok(Progress::Blocked(Arc::clone(event), *value));
                    }
                }
            }
            self.position += 1;
        }
        Ok(Progress::Done)
    }

    /// The kernel at `position`, if the command there is a dispatch.
    fn current_kernel(&self) -> Option<String> {
        match self.submission.commands.get(self.position) {
            Some(Command::Dispatch(dispatch)) => Some(dispatch.pipeline.kernel().name.clone()),
            _ => None,
        }
    }

    fn deadline_exceeded(&self) -> DeviceError {
        let after = self.deadline.unwrap_or_default();
        DeviceError::DeadlineExceeded { kernel: self.current_kernel(), after }
    }

    fn panicked(&self, panic: &Box<dyn std::any::Any + Send>) -> DeviceError {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        let message = text.unwrap_or_else(|| "no message".to_owned());
        DeviceError::WorkerPanicked { kernel: self.current_kernel(), message }
    }
}

/// Tells each buffer of the submission, once, what uses it.
fn note_uses(submission: &Submission, completion: &Completion) {
    let mut buffers: Vec<&CpuBuffer> = Vec::new();
    each_buffer(submission, &mut |buffer| {
        // A command buffer tends to use the same few buffers again and again.
        if let Some(buffer) = cpu_buffer(buffer)
            && !buffers.iter().rev().take(8).any(|known| std::ptr::eq(*known, buffer))
        {
            buffers.push(buffer);
        }
    });
    buffers.sort_unstable_by_key(|buffer| std::ptr::from_ref(*buffer));
    buffers.dedup_by(|one, other| std::ptr::eq(*one, *other));
    buffers.into_iter().for_each(|buffer| buffer.note_use(completion));
}

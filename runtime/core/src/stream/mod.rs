//! Streams: work in order, on one queue of a device, with bounds, dependencies and a brake.
//!
//! Owns [`Stream`] and its scheduler. A committed command buffer joins the stream's waiting list;
//! [`StreamCore`] hands the first of the list to the device's queue as soon as everything it depends on has
//! ended well, the stream is not paused, and stream and tenant have a place free. What ends, or changes one
//! of these, *pumps* the stream: nothing polls, and no thread belongs to a stream.
//!
//! Invariants: submissions of a stream reach the device in the order of their commits, and never before those
//! they depend on have ended; a dependent of one that failed does not run, but ends as
//! [`ExecError::DependencyFailed`]; every committed submission ends. Concurrency: `state` guards list and
//! counts; [`SingleRunner`] lets one thread at a time pump; a thread that pumps one stream while it is
//! pumping another does so in a loop ([`StreamCore::pump_soon`]), not by recursion. [`context`] is where
//! streams come from, [`group`] spreads work over several, a [`Tenant`] limits several together.

pub mod context;
mod dispatcher;
pub mod group;
pub(crate) mod permit;

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context as TaskContext, Poll, Waker};
use std::time::Duration;

use anymetal_hal::clock::{Clock, wait_for};
use anymetal_hal::command::{Command, Deadline};
use anymetal_hal::error::DeviceError;
use anymetal_hal::interruption;
use anymetal_hal::queue::{Priority, Queue, QueueDescriptor, WhenFull};
use anymetal_hal::semaphore::Semaphore;
use anymetal_hal::single_runner::SingleRunner;

use crate::event::Event;
use crate::stream::context::Context;
use crate::stream::permit::Permit;
use crate::submission::command_buffer::CommandBuffer;
use crate::submission::{CommittedCommands, ExecError, SubmissionCore};
use crate::tenant::{Tenant, WorkCharge};

/// How a stream works.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct StreamOptions {
    /// A name for messages; may be empty.
    pub label: String,
    /// Which streams go first.
    pub priority: Priority,
    /// How many command buffers may exist: being encoded, waiting, or with the device.
    pub max_command_buffers: usize,
    /// What [`Stream::command_buffer`] does when there are that many.
    pub when_exhausted: WhenFull,
    /// How many submissions the device is given at once.
    pub max_in_flight: usize,
    /// The deadline of work that has [`Deadline::Default`], on devices that support deadlines.
    pub deadline: Deadline,
    /// Whose account the work is on.
    pub tenant: Option<Tenant>,
}

impl Default for StreamOptions {
    fn default() -> Self {
        StreamOptions {
            label: String::new(),
            priority: Priority::Normal,
            max_command_buffers: 1024,
            when_exhausted: WhenFull::Wait(Duration::from_secs(10)),
            max_in_flight: 64,
            deadline: Deadline::Default,
            tenant: None,
        }
    }
}

impl StreamOptions {
    /// The defaults.
    pub fn new() -> Self {
        StreamOptions::default()
    }

    /// With a name for messages.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// With a priority among the streams of the device.
    pub fn priority(mut self, priority: Priority) -> Self {
        self.priority = priority;
        self
    }

    /// With at most that many command buffers.
    pub fn max_command_buffers(mut self, count: usize) -> Self {
        self.max_command_buffers = count;
        self
    }

    /// What happens when there are as many command buffers as there may be.
    pub fn when_exhausted(mut self, what: WhenFull) -> Self {
        self.when_exhausted = what;
        self
    }

    /// With at most that many submissions given to the device at once.
    pub fn max_in_flight(mut self, count: usize) -> Self {
        self.max_in_flight = count;
        self
    }

    /// With a deadline for work that has none of its own.
    pub fn deadline(mut self, deadline: impl Into<Deadline>) -> Self {
        self.deadline = deadline.into();
        self
    }

    /// Charged to the account of a tenant, or of none.
    pub fn tenant(mut self, tenant: impl Into<Option<Tenant>>) -> Self {
        self.tenant = tenant.into();
        self
    }
}

/// Work in order. Clones are the same stream. When the last handle goes, a pause ends, and committed work is
/// done all the same.
#[derive(Clone)]
pub struct Stream {
    handle: Arc<Handle>,
}

struct Handle {
    core: Arc<StreamCore>,
}

pub(crate) struct StreamCore {
    pub(crate) context: Context,
    options: StreamOptions,
    number: u32,
    queue: Arc<dyn Queue>,
    pub(crate) permits: Semaphore,
    pub(crate) uncommitted: AtomicUsize,
    state: Mutex<StreamState>,
    runner: SingleRunner,
}

#[derive(Default)]
struct StreamState {
    waiting: VecDeque<Arc<SubmissionCore>>,
    in_flight: usize,
    /// Committed and not ended.
    load: usize,
    paused: bool,
    /// Of futures that wait for an empty stream, by their numbers.
    drainers: BTreeMap<u64, Waker>,
    drainers_made: u64,
}

impl Stream {
    pub(crate) fn new(context: &Context, options: StreamOptions) -> Result<Self, DeviceError> {
        let queue = context.inner.device.queue(
            &QueueDescriptor::default()
                .label(options.label.clone())
                .max_in_flight(options.max_in_flight.max(1))
                // The stream never gives it more than that.
                .when_full(WhenFull::Refuse)
                .priority(options.priority),
        )?;
        let core = StreamCore {
            context: context.clone(),
            number: context.next_stream_number(),
            queue,
            permits: Semaphore::new(options.max_command_buffers),
            options,
            uncommitted: AtomicUsize::new(0),
            state: Mutex::default(),
            runner: SingleRunner::default(),
        };
        let core = Arc::new(core);
        context.note_stream(&core);
        Ok(Stream { handle: Arc::new(Handle { core }) })
    }

    /// Starts a command buffer. If the stream has as many as it may, this blocks or refuses as
    /// [`StreamOptions::when_exhausted`] says, and the refusal tells how many were never committed. A tenant
    /// whose quota is used up is refused at once.
    pub fn command_buffer(&self) -> Result<CommandBuffer, ExecError> {
        let core = self.core();
        let charge = core.charge()?;
        if !core.permits.try_acquire() {
            let WhenFull::Wait(longest) = core.options.when_exhausted else {
                return Err(core.exhausted(Duration::ZERO));
            };
            let until = core.clock().now().saturating_add(longest);
            if !core.permits.acquire_until(core.clock(), until) {
                return Err(core.exhausted(longest));
            }
        }
        Ok(CommandBuffer::new(Permit::new(core), charge, core))
    }

    /// Starts a command buffer in its turn, without blocking the thread. A tenant whose quota is used up is
    /// refused at once.
    pub async fn command_buffer_async(&self) -> Result<CommandBuffer, ExecError> {
        let core = self.core();
        let charge = core.charge()?;
        core.permits.acquire().await;
        Ok(CommandBuffer::new(Permit::new(core), charge, core))
    }

    /// Hands nothing more to the device until [`Stream::resume`]. What the device has goes on.
    pub fn pause(&self) {
        self.core().lock().paused = true;
    }

    /// Ends a pause.
    pub fn resume(&self) {
        self.core().resume();
    }

    /// Whether it is paused.
    pub fn is_paused(&self) -> bool {
        self.core().lock().paused
    }

    /// Blocks until everything committed so far, and since, has ended and its callbacks have returned.
    /// Refuses if the stream is paused and work waits in it.
    pub fn drain(&self) -> Result<(), ExecError> {
        self.check_not_stuck()?;
        let clock = self.core().clock();
        interruption::wait(|limit| {
            wait_for(clock, limit.map(|limit| clock.now().saturating_add(limit)), self.drained())
        })?;
        Ok(())
    }

    /// As [`Stream::drain`], at most that long; says whether all has ended.
    pub fn drain_timeout(&self, timeout: Duration) -> Result<bool, ExecError> {
        self.check_not_stuck()?;
        let clock = self.core().clock();
        Ok(wait_for(clock, Some(clock.now().saturating_add(timeout)), self.drained()).is_some())
    }

    /// A future that is ready when everything committed has ended.
    pub fn drained(&self) -> Drained<'_> {
        Drained { core: self.core(), number: None }
    }

    /// A point in the stream: ends when everything committed before has ended, and can be depended on.
    pub fn marker(&self) -> Result<CommittedCommands, ExecError> {
        Ok(self.command_buffer()?.commit())
    }

    /// Raises an event when everything committed before has ended well.
    pub fn record(&self, event: &Event, value: u64) -> Result<CommittedCommands, ExecError> {
        let mut command_buffer = self.command_buffer()?;
        command_buffer.signal_event(event, value)?;
        Ok(command_buffer.commit())
    }

    /// Cancels everything that the device has not started; says how many.
    pub fn cancel_waiting(&self) -> usize {
        let waiting: Vec<_> = self.core().lock().waiting.iter().cloned().collect();
        let cancelled = waiting.into_iter().map(CommittedCommands::new).map(|waiting| waiting.cancel());
        cancelled.filter(|answer| *answer == anymetal_hal::queue::Cancellation::Removed).count()
    }

    /// Submissions that are committed and have not ended.
    pub fn load(&self) -> usize {
        self.core().lock().load
    }

    /// Submissions that the device has.
    pub fn in_flight(&self) -> usize {
        self.core().lock().in_flight
    }

    /// Its name; may be empty.
    pub fn label(&self) -> &str {
        &self.core().options.label
    }

    /// What it was made with.
    pub fn options(&self) -> &StreamOptions {
        &self.core().options
    }

    /// The context it belongs to.
    pub fn context(&self) -> &Context {
        &self.core().context
    }

    fn core(&self) -> &Arc<StreamCore> {
        &self.handle.core
    }

    fn check_not_stuck(&self) -> Result<(), ExecError> {
        let state = self.core().lock();
        if state.paused && !state.waiting.is_empty() {
            let (stream, waiting) = (self.label().to_owned(), state.waiting.len());
            return Err(ExecError::Paused { stream, waiting });
        }
        Ok(())
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // Nobody is left to resume it.
        self.core.resume();
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.core().fmt(formatter)
    }
}

impl fmt::Debug for StreamCore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (label, load) = (&self.options.label, self.lock().load);
        formatter.debug_struct("Stream").field("label", label).field("load", &load).finish_non_exhaustive()
    }
}

/// Ready when nothing committed to a stream is left.
#[derive(Debug)]
pub struct Drained<'a> {
    core: &'a Arc<StreamCore>,
    /// Its number among the waiting ones, once it has waited.
    number: Option<u64>,
}

impl Future for Drained<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut TaskContext<'_>) -> Poll<()> {
        let core = self.core;
        let mut state = core.lock();
        if state.load == 0 {
            return Poll::Ready(());
        }
        let number = *self.number.get_or_insert_with(|| {
            state.drainers_made += 1;
            state.drainers_made
        });
        state.drainers.insert(number, context.waker().clone());
        Poll::Pending
    }
}

impl Drop for Drained<'_> {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            let waker = self.core.lock().drainers.remove(&number);
            drop(waker);
        }
    }
}

impl StreamCore {
    pub(crate) fn clock(&self) -> &dyn Clock {
        self.context.inner.clock.as_ref()
    }

    pub(crate) fn queue(&self) -> &Arc<dyn Queue> {
        &self.queue
    }

    /// The deadline of work that has [`Deadline::Default`].
    pub(crate) fn default_deadline(&self) -> Deadline {
        match self.context.inner.device.capabilities().supports_deadlines {
            true => self.options.deadline,
            // Such a device refuses submissions with a deadline; the system has one for them.
            false => Deadline::Default,
        }
    }

    pub(crate) fn same_device(&self, other: &StreamCore) -> bool {
        let (one, other) = (&self.context.inner.device, &other.context.inner.device);
        std::ptr::addr_eq(Arc::as_ptr(one), Arc::as_ptr(other))
    }

    /// What a new command buffer takes of its tenant's quota.
    fn charge(&self) -> Result<Option<WorkCharge>, ExecError> {
        Ok(self.options.tenant.as_ref().map(Tenant::charge_work).transpose()?)
    }

    /// Whether it is paused, and what waits in it up to a submission, which may have left it meanwhile.
    pub(crate) fn held_up_to(&self, last: &Arc<SubmissionCore>) -> (bool, Vec<Arc<SubmissionCore>>) {
        let state = self.lock();
        let end = state.waiting.iter().position(|waiting| Arc::ptr_eq(waiting, last));
        (state.paused, state.waiting.iter().take(end.map_or(0, |end| end + 1)).cloned().collect())
    }

    pub(crate) fn label(&self) -> &str {
        &self.options.label
    }

    /// What is committed and has not ended, and how much of it the device has.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let state = self.lock();
        (state.load, state.in_flight)
    }

    /// Whether nothing is committed that has not ended, and it is not paused.
    pub(crate) fn is_idle(&self) -> bool {
        let state = self.lock();
        state.load == 0 && !state.paused
    }

    fn resume(self: &Arc<Self>) {
        let paused = std::mem::take(&mut self.lock().paused);
        if paused {
            self.pump_soon();
        }
    }

    fn exhausted(&self, waited: Duration) -> ExecError {
        let uncommitted = self.uncommitted.load(Ordering::Relaxed);
        ExecError::CommandBuffersExhausted {
            stream: self.options.label.clone(),
            limit: self.permits.capacity(),
            uncommitted,
            committed: self.permits.used().saturating_sub(uncommitted),
            waited,
        }
    }

    fn lock(&self) -> MutexGuard<'_, StreamState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Encodes a wait or signal of an event of this stream's device.
pub(crate) fn event_command(event: &Arc<dyn anymetal_hal::event::Event>, value: u64, wait: bool) -> Command {
    let event = Arc::clone(event);
    if wait { Command::WaitEvent { event, value } } else { Command::SignalEvent { event, value } }
}

//! The commands of one command buffer on their way through the card.
//!
//! Owns [`Execution`]. [`Execution::start`] puts dispatches and copies into the queue's stream some at a
//! time, with one upload of all their inline bytes before them, and where the host has to act (an event,
//! counts in a buffer) waits for the stream. [`Execution::poll`] and [`Execution::finish`] see to the end:
//! of the deadline, of the fault records if there are any, of times. Invariants: no later command's effect
//! on the host is seen before those of earlier ones; however a command buffer ends, the next one in its
//! slot finds cleared records, unless the device is lost.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anymetal_hal::buffer::Buffer;
use anymetal_hal::command::{Command, CommandList, Dispatch, IndirectDispatch, Timestamps};
use anymetal_hal::completion::CommandTiming;
use anymetal_hal::encoded_commands::{
    CommandMemory, EncodedExecution, ExecutedRange, INDIRECT_RANGE_BYTES, words,
};
use anymetal_hal::error::DeviceError;
use anymetal_hal::event::Event;
use anymetal_hal::indirect::IndirectCommandBuffer;
use anymetal_hal::launch::nvidia::GRID_BARRIER_BYTES;
use anymetal_hal::pipeline::Pipeline;
use anymetal_hal::time_sample::TimeSample;
use anymetal_hal::validate::DispatchShape;

use crate::arena::{ArenaUse, Inline};
use crate::driver::DriverError;
use crate::encode::{self, StreamCommand};
use crate::graph::{GRAPH_SLOT, NvidiaIndirect};
use crate::launch;
use crate::memory::NvidiaBuffer;
use crate::owned::OwnedEvent;
use crate::queue_streams::{CommandSlot, QueueStreams};
use crate::residency::{Residency, Table};
use crate::started::Started;

/// Polls follow each other without a pause for so long; then they let others run.
const POLL: Duration = Duration::from_millis(1);
const PAUSE: Duration = Duration::from_micros(50);
/// Launches and copies that are put into the stream together. An upload costs as much as several launches.
const MAX_PENDING: usize = 32;
/// How often a wait for an event looks whether it is to end.
const LOOKS_EVERY: Duration = Duration::from_millis(10);

/// How long a kernel may go on after it was asked to stop.
const GRACE: Duration = Duration::from_secs(10);

/// How long after a deadline the watchdog asks. A thread that is not held up has asked by then.
const HELD_UP: Duration = Duration::from_millis(100);
/// How long the driver may take to start a command buffer before the watchdog counts its time.
const STARTING: Duration = Duration::from_secs(1);

/// One command buffer that runs.
#[derive(Debug)]
pub(crate) struct Execution {
    streams: Arc<QueueStreams>,
    slot: usize,
    /// They hold the buffers, and stay until the end.
    commands: Arc<[Command]>,
    timestamps: Timestamps,
    deadline: Option<Duration>,
    /// By the device's clock, once the deadline counts.
    limit: Option<Duration>,
    /// The watchdog's limit: when it has ended at the latest.
    latest: Option<Duration>,
    /// Whether the submitter wants it to end.
    stop: Arc<AtomicBool>,
    /// When its kernels were asked to stop, and the error that this is.
    asked: Option<(Duration, DeviceError)>,
    /// How [`Self::start`] ended.
    result: Result<(), DeviceError>,
    /// What was encoded and is not in the stream yet, and the inline bytes of it.
    pending: Vec<StreamCommand>,
    inline: Inline,
    started: Started,
    residency: Residency,
    room: ArenaUse,
    timings: Vec<(usize, [OwnedEvent; 2])>,
}

impl Drop for Execution {
    fn drop(&mut self) {
        self.slot().watch.end();
    }
}

/// How a command buffer ended well: nanoseconds on the card, and of each command where that was asked for.
#[derive(Debug, Default)]
pub(crate) struct Measured {
    pub(crate) device_ns: u64,
    pub(crate) commands: Vec<CommandTiming>,
}

impl Execution {
    /// In that slot, which nothing else uses until the end. `deadline` counts from
    /// [`Self::count_deadline`]. The watchdog stops it even if the driver holds up the thread that starts it,
    /// or that waits for the one before it in the stream, which ends at `before` at the latest.
    pub(crate) fn new(
        streams: &Arc<QueueStreams>,
        slot: usize,
        submission: CommandList,
        deadline: Option<Duration>,
        stop: Arc<AtomicBool>,
        before: Option<Duration>,
    ) -> Self {
        let CommandList { commands, timestamps, resident, .. } = submission;
        let latest =
            before.zip(deadline).map(|(before, after)| before.saturating_add(after).saturating_add(STARTING));
        streams.slot(slot).watch.begin(&stop, latest);
        Execution {
            streams: Arc::clone(streams),
            slot,
            commands: commands.into(),
            timestamps,
            deadline,
            limit: None,
            latest,
            stop,
            asked: None,
            result: Ok(()),
            pending: Vec::new(),
            inline: Inline::default(),
            started: Started::default(),
            residency: Residency::new(resident),
            room: ArenaUse::default(),
            timings: Vec::new(),
        }
    }

    /// Whether a submission can be in the stream beside others: the host has nothing to do before its end,
    /// and it fits into a slot.
    pub(crate) fn can_overlap(submission: &CommandList) -> bool {
        let (mut dispatches, mut inline) = (0, 0);
        let plain = submission.commands.iter().all(|command| match command {
            Command::Dispatch(dispatch) => {
                dispatches += 1;
                inline += encode::inline_bytes(dispatch.kernel(), dispatch.bindings()) + GRID_BARRIER_BYTES;
                true
            }
            Command::Copy(_)
            | Command::Fill(_)
            | Command::MatrixProduct(_)
            | Command::UpdateFence(_)
            | Command::WaitFence(_) => true,
            _ => false,
        });
        plain && submission.timestamps != Timestamps::EachCommand && CommandSlot::has_room(dispatches, inline)
    }

    /// The deadline counts from now, unless it does already.
    pub(crate) fn count_deadline(&mut self) {
        if self.limit.is_some() || self.deadline.is_none() {
            return;
        }
        let now = self.streams.device.clock.now();
        self.limit = self.deadline.map(|after| now.saturating_add(after));
        self.latest = self.limit.map(|limit| limit.saturating_add(HELD_UP));
        self.slot().watch.set_limit(self.latest);
    }

    /// When the watchdog has stopped it at the latest.
    pub(crate) fn latest(&self) -> Option<Duration> {
        self.latest
    }

    /// Puts all commands into the stream.
    pub(crate) fn start(&mut self) {
        self.result = guarded(|| self.put_all());
    }

    fn put_all(&mut self) -> Result<(), DeviceError> {
        let streams = Arc::clone(&self.streams);
        streams.device.check_alive()?;
        if self.commands.is_empty() {
            return Ok(());
        }
        let [start, end] = streams.slot(self.slot).timers();
        self.call(streams.device.driver.record(start, streams.stream()))?;
        let commands = Arc::clone(&self.commands);
        let put = self.put_commands(&commands);
        // What was encoded before a command that fails is executed, too.
        put.and(self.put_pending())?;
        self.call(streams.device.driver.record(end, streams.stream()))
    }

    /// Whether the stream has got to its end, or why it never will. Asks kernels to stop at the deadline.
    pub(crate) fn poll(&mut self) -> Result<bool, DeviceError> {
        if self.has_nothing_in_stream() {
            return Ok(true);
        }
        let streams = &self.streams;
        streams.device.check_alive()?;
        let [_, end] = streams.slot(self.slot).timers();
        let ended = match &self.result {
            Ok(()) => streams.device.driver.has_ended(end),
            // Its end is not marked.
            Err(_) => streams.device.driver.is_idle(streams.stream()),
        };
        if self.call(ended)? {
            return Ok(true);
        }
        self.look_at_deadline().map(|()| false)
    }

    /// Pauses between two polls, the longer the longer it has taken.
    pub(crate) fn pause(since: Instant) {
        if since.elapsed() < POLL {
            std::hint::spin_loop();
        } else {
            std::thread::sleep(PAUSE);
        }
    }

    /// How it ended, after [`Self::poll`] said that it has, and what that returned.
    pub(crate) fn finish(mut self, polled: Result<bool, DeviceError>) -> Result<Measured, DeviceError> {
        if self.has_nothing_in_stream() {
            return std::mem::replace(&mut self.result, Ok(())).map(|()| Measured::default());
        }
        polled?;
        // From here on nothing sets the flag that the next command buffer in the slot looks at.
        let by_watchdog = self.slot().watch.end();
        let settled = self.settle(by_watchdog);
        std::mem::replace(&mut self.result, Ok(())).and(settled)?;
        let [start, end] = self.slot().timers();
        let mut measured = Measured { device_ns: self.elapsed(start, end)?, commands: Vec::new() };
        for (command, [from, to]) in &self.timings {
            let (started_ns, ended_ns) = (self.elapsed(start, from.number)?, self.elapsed(start, to.number)?);
            measured.commands.push(CommandTiming::new(*command, started_ns, ended_ns));
        }
        Ok(measured)
    }

    /// What was started must not outlive its buffers; but a lost device is not waited for again.
    fn has_nothing_in_stream(&self) -> bool {
        self.commands.is_empty() || matches!(self.result, Err(DeviceError::DeviceLost { .. }))
    }

    /// The number of the slot that it is in.
    pub(crate) fn slot_number(&self) -> usize {
        self.slot
    }

    fn slot(&self) -> &CommandSlot {
        self.streams.slot(self.slot)
    }

    fn put_commands(&mut self, commands: &[Command]) -> Result<(), DeviceError> {
        let streams = Arc::clone(&self.streams);
        let each = self.timestamps == Timestamps::EachCommand;
        for (number, command) in commands.iter().enumerate() {
            if !each {
                self.command(command)?;
                continue;
            }
            let event = || OwnedEvent::new(&streams.device);
            let events = [self.call(event())?, self.call(event())?];
            let [from, to] = [events[0].number, events[1].number];
            self.timings.push((number, events));
            self.call(streams.device.driver.record(from, streams.stream()))?;
            self.command(command)?;
            self.put_pending()?;
            self.call(streams.device.driver.record(to, streams.stream()))?;
        }
        Ok(())
    }

    fn command(&mut self, command: &Command) -> Result<(), DeviceError> {
        let device = &self.streams.device;
        match command {
            Command::Dispatch(dispatch) => {
                let (_, shape) = encode::shape_of(device, dispatch)?;
                shape.map_or(Ok(()), |shape| self.dispatch(dispatch, shape))
            }
            Command::DispatchIndirect(dispatch) => self.indirect(dispatch),
            Command::Copy(_) | Command::Fill(_) | Command::MatrixProduct(_) => {
                encode::blit(device, command)?.map_or(Ok(()), |step| self.put(step))
            }
            Command::SampleTime(sample) => self.sample_time(sample),
            Command::ExecuteIndirect(indirect) => self.replay(indirect),
            Command::ExecuteEncoded(execution) => self.encoded(execution),
            Command::WaitEvent { event, value } => self.wait_for_event(event, *value),
            Command::SignalEvent { event, value } => {
                self.flush()?;
                event.signal(*value);
                Ok(())
            }
            // The stream keeps the order.
            Command::UpdateFence(_) | Command::WaitFence(_) => Ok(()),
        }
    }

    /// Executes commands as a graph, or one by one.
    fn replay(&mut self, indirect: &Arc<dyn IndirectCommandBuffer>) -> Result<(), DeviceError> {
        let streams = Arc::clone(&self.streams);
        let own = indirect.as_any().downcast_ref::<NvidiaIndirect>();
        let own = own.ok_or_else(|| streams.device.wrong_device("indirect command buffer"))?;
        debug_assert_eq!(self.slot, GRAPH_SLOT, "it is alone in the stream");
        let Some(graph) = own.graph(&streams)? else {
            return own.commands.iter().try_for_each(|command| self.command(command));
        };
        self.put_pending()?;
        self.call(graph.launch(&streams.device, streams.stream()))?;
        self.started.graph(Arc::clone(indirect), graph);
        Ok(())
    }

    /// Executes commands that kernels have encoded: waits for these kernels and reads what they wrote.
    fn encoded(&mut self, execution: &EncodedExecution) -> Result<(), DeviceError> {
        let (mut depth, start) = (0, Instant::now());
        while let Some((memory, range)) = execution.range(depth) {
            self.flush()?;
            let commands = match range {
                ExecutedRange::Commands(range) => range.clone(),
                ExecutedRange::Indirect { buffer, offset } => {
                    let mut bytes = [0; INDIRECT_RANGE_BYTES as usize];
                    self.download(buffer, *offset, &mut bytes)?;
                    let range = words(&bytes);
                    let (start, count) = (u64::from(range[0]), u64::from(range[1]));
                    memory.check(start..start + count)?
                }
            };
            if !execution.should_execute(depth, &commands)? {
                break;
            }
            let launches = self.put_encoded(execution, memory, commands)?;
            execution.counts().executed(launches);
            depth += 1;
        }
        execution.counts().took(start.elapsed());
        Ok(())
    }

    /// Puts the commands into the stream; gives how many dispatches they are.
    fn put_encoded(
        &mut self,
        execution: &EncodedExecution,
        memory: &CommandMemory,
        commands: Range<u32>,
    ) -> Result<u64, DeviceError> {
        let place = memory.bytes_of(&commands);
        let mut bytes = vec![0; (place.end - place.start) as usize];
        self.download(memory.buffer(), place.start, &mut bytes)?;
        let (words, mut launches) = (words(&bytes), 0);
        for (words, number) in words.chunks_exact(memory.layout().command_words() as usize).zip(commands) {
            if let Some(dispatch) = execution.dispatch(memory, number, words)? {
                let command = Command::Dispatch(dispatch);
                launch::check_commands(&self.streams.device, std::slice::from_ref(&command), None)?;
                self.command(&command)?;
                launches += 1;
            }
        }
        Ok(launches)
    }

    fn download(&self, buffer: &Arc<dyn Buffer>, offset: u64, bytes: &mut [u8]) -> Result<(), DeviceError> {
        if bytes.is_empty() {
            return Ok(());
        }
        let device = &self.streams.device;
        let own = launch::own(device, buffer).ok_or_else(|| device.wrong_device("buffer"))?;
        self.call(device.driver.download(bytes, own.address() + offset, self.streams.stream()))
    }

    fn indirect(&mut self, indirect: &IndirectDispatch) -> Result<(), DeviceError> {
        self.flush()?;
        let mut bytes = [0; 12];
        self.download(indirect.counts(), indirect.counts_offset(), &mut bytes)?;
        let count = |n: usize| u32::from_le_bytes([bytes[n], bytes[n + 1], bytes[n + 2], bytes[n + 3]]);
        let counts = [count(0), count(4), count(8)];
        let shape = indirect.shape(counts, &self.streams.device.capabilities)?;
        let (dispatch, Some(shape)) = (indirect.dispatch(), shape) else { return Ok(()) };
        launch::check_groups(&dispatch.kernel().name, &shape)?;
        self.dispatch(dispatch, shape)
    }

    fn dispatch(&mut self, dispatch: &Dispatch, shape: DispatchShape) -> Result<(), DeviceError> {
        let streams = Arc::clone(&self.streams);
        let slot = streams.slot(self.slot);
        // Words of barriers of the grid take no more than this beside the inline bytes.
        let inline = encode::inline_bytes(dispatch.kernel(), dispatch.bindings()) + GRID_BARRIER_BYTES;
        if !self.room.has(&slot.arena, inline) {
            self.flush()?;
        }
        let own = launch::pipeline(&streams.device, dispatch.pipeline())?;
        let residents = match own.kernel().loads_pointers {
            true => {
                let launch = (own.kernel(), dispatch.bindings());
                let entries = self.residency.entries(&self.commands, &streams, slot, launch)?;
                if self.residency.replaces(&entries) {
                    // Launches that are not in the stream yet have the other table.
                    self.put_pending()?;
                }
                self.residency.table(&streams, slot, entries)?
            }
            false => Table::default(),
        };
        let parts = (&slot.arena, &mut self.room, &mut self.inline);
        let signals = (slot.watch.flag().address(), residents);
        let encoded = encode::dispatch(&streams.device, own, &shape, dispatch, signals, parts)?;
        self.started.dispatch(Arc::clone(dispatch.pipeline()), shape, encoded.record);
        self.put(encoded.launch)
    }

    /// Puts it into the stream, soon.
    fn put(&mut self, step: StreamCommand) -> Result<(), DeviceError> {
        self.pending.push(step);
        if self.pending.len() < MAX_PENDING { Ok(()) } else { self.put_pending() }
    }

    fn put_pending(&mut self) -> Result<(), DeviceError> {
        let streams = Arc::clone(&self.streams);
        let uploaded = self.inline.upload(&streams.device, streams.stream());
        let pending = std::mem::take(&mut self.pending);
        self.call(uploaded)?;
        pending.iter().try_for_each(|step| self.call(step.put(&*streams.device.driver, streams.stream())))
    }

    /// The host reads the clock once everything before is done: the GPU's own clock is another one.
    fn sample_time(&mut self, sample: &TimeSample) -> Result<(), DeviceError> {
        self.flush()?;
        let device = &self.streams.device;
        NvidiaBuffer::of(sample.buffer(), device)?.write_time(sample.offset(), device.now_ns())
    }

    fn wait_for_event(&mut self, event: &Arc<dyn Event>, value: u64) -> Result<(), DeviceError> {
        if event.signaled_value() >= value {
            return Ok(());
        }
        // What comes before it must not wait, too: someone may wait for its effects.
        self.flush()?;
        loop {
            let clock = &self.streams.device.clock;
            if let Some(error) = self.reason_to_stop(clock.now(), || None) {
                return Err(error);
            }
            let left = self.limit.map_or(Some(LOOKS_EVERY), |limit| clock.real_time_until(limit));
            let reached = match left {
                Some(left) => event.wait(value, Some(left.min(LOOKS_EVERY))),
                None => {
                    // By a clock that is not of real time.
                    let reached = anymetal_hal::event::Reached::new(Arc::clone(event), value);
                    anymetal_hal::clock::wait_for(&**clock, self.limit, reached).is_some()
                }
            };
            if reached {
                return Ok(());
            }
        }
    }

    /// The error if it is to end before it has run: at the request of the submitter or by its deadline.
    fn reason_to_stop(&self, now: Duration, kernel: impl FnOnce() -> Option<String>) -> Option<DeviceError> {
        if self.stop.load(Ordering::Relaxed) {
            return Some(DeviceError::Stopped { kernel: kernel() });
        }
        let after = self.deadline.filter(|_| self.limit.is_some_and(|limit| now >= limit))?;
        Some(DeviceError::DeadlineExceeded { kernel: kernel(), after })
    }

    /// Waits for the stream in the midst of a command buffer, which is alone in it.
    fn flush(&mut self) -> Result<(), DeviceError> {
        let put = self.put_pending();
        if matches!(put, Err(DeviceError::DeviceLost { .. })) {
            return put;
        }
        let streams = Arc::clone(&self.streams);
        let since = Instant::now();
        while !self.call(streams.device.driver.is_idle(streams.stream()))? {
            self.look_at_deadline()?;
            Self::pause(since);
        }
        let by_watchdog = self.slot().watch.take_asked();
        put.and(self.settle(by_watchdog))
    }

    /// Asks kernels to stop once they are to; loses the device if they do not.
    fn look_at_deadline(&mut self) -> Result<(), DeviceError> {
        let (streams, now) = (&self.streams, self.streams.device.clock.now());
        if let Some((asked, _)) = self.asked {
            return match now.saturating_sub(asked) > GRACE {
                true => {
                    let reason = format!("a kernel went on for {GRACE:?} after it was asked to stop");
                    Err(streams.device.lose(reason))
                }
                false => Ok(()),
            };
        }
        if let Some(error) = self.reason_to_stop(now, || self.started.last_kernel()) {
            self.call(self.slot().watch.flag().set(&*streams.device.driver, streams.side()))?;
            self.asked = Some((now, error));
        }
        Ok(())
    }

    /// What has ended: reads and clears what dispatches recorded, and takes back what asked them to stop. The
    /// watchdog has, `by_watchdog`, if the driver held this thread up.
    fn settle(&mut self, by_watchdog: bool) -> Result<(), DeviceError> {
        let streams = Arc::clone(&self.streams);
        let by_watchdog = by_watchdog.then(|| {
            let reason = self.reason_to_stop(streams.device.clock.now(), || self.started.last_kernel());
            reason.unwrap_or_else(|| DeviceError::DeadlineExceeded {
                kernel: self.started.last_kernel(),
                // Which may not count yet.
                after: self.deadline.expect("the watchdog asks at a deadline, or when the submitter does"),
            })
        });
        let by_this = self.asked.take().map(|(_, error)| error);
        if by_this.is_some() {
            self.call(self.slot().watch.flag().clear(&*streams.device.driver, streams.side()))?;
        }
        let started = std::mem::take(&mut self.started);
        self.room = ArenaUse::default();
        let label = |address| self.residency.label_at(&self.commands, &streams.device, address);
        let fault = self.call(started.first_fault(&streams, self.slot(), &label))?;
        by_this.or(by_watchdog).or(fault).map_or(Ok(()), Err)
    }

    fn elapsed(&self, from: u64, to: u64) -> Result<u64, DeviceError> {
        self.call(self.streams.device.driver.elapsed(from, to))
    }

    fn call<T>(&self, result: Result<T, DriverError>) -> Result<T, DeviceError> {
        result.map_err(|error| error.of(&self.streams.device.name, 0))
    }
}

/// What panicked becomes the command buffer's error, so that its waiters hear of it.
pub(crate) fn guarded<T>(run: impl FnOnce() -> Result<T, DeviceError>) -> Result<T, DeviceError> {
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
    result.unwrap_or_else(|panic| {
        let message = panic.downcast_ref::<&str>().copied().unwrap_or("unknown").to_owned();
        Err(DeviceError::WorkerPanicked { kernel: None, message })
    })
}

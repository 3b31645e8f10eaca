//! The commands of one command buffer on their way through the card.
//!
//! Owns [`Execution`]. Dispatches and copies are put into the queue's stream as they come; the host waits for
//! the stream where it has to act (an event, counts in a buffer) and at the end, and reads the fault records
//! then. Invariants: no later command's effect on the host is seen before those of earlier ones; however a
//! command buffer ends, the next one finds cleared records, unless the device is lost.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anymetal_hal::command::{Command, IndirectDispatch, Submission, Timestamps};
use anymetal_hal::completion::CommandTiming;
use anymetal_hal::error::DeviceError;
use anymetal_hal::event::Event;
use anymetal_hal::fault;
use anymetal_hal::indirect::IndirectCommandBuffer;
use anymetal_hal::launch::RecordedFault;
use anymetal_hal::launch::nvidia::GRID_BARRIER_BYTES;
use anymetal_hal::pipeline::Pipeline;
use anymetal_hal::validate::{self, DispatchShape};

use crate::arena::Room;
use crate::driver::DriverError;
use crate::encode::{self, Bound, Step};
use crate::graph::{Graph, NvidiaIndirect};
use crate::lane::Lane;
use crate::launch;
use crate::owned::OwnedEvent;
use crate::pipeline::NvidiaPipeline;

/// Polls follow each other without a pause for so long; then they let others run.
const POLL: Duration = Duration::from_millis(1);
const PAUSE: Duration = Duration::from_micros(50);
/// How long a kernel may go on after it was asked to stop.
const GRACE: Duration = Duration::from_secs(10);

/// What is in the stream and whose records have not been read.
enum Started<'s> {
    Dispatch { pipeline: &'s NvidiaPipeline, shape: DispatchShape, record: Option<usize> },
    Graph { indirect: &'s NvidiaIndirect, graph: Arc<Graph> },
}

/// One command buffer that runs.
pub(crate) struct Execution<'s> {
    lane: &'s Lane,
    submission: &'s Submission,
    /// By the device's clock.
    limit: Option<(Duration, Duration)>,
    started: Vec<Started<'s>>,
    room: Room,
    timings: Vec<(usize, [OwnedEvent; 2])>,
}

/// How a command buffer ended well: nanoseconds on the card, and of each command where that was asked for.
#[derive(Debug, Default)]
pub(crate) struct Measured {
    pub(crate) device_ns: u64,
    pub(crate) commands: Vec<CommandTiming>,
}

impl<'s> Execution<'s> {
    /// `deadline` counts from now.
    pub(crate) fn new(lane: &'s Lane, submission: &'s Submission, deadline: Option<Duration>) -> Self {
        let now = lane.device.clock.now();
        let limit = deadline.map(|after| (now.saturating_add(after), after));
        let (started, timings) = (Vec::new(), Vec::new());
        Execution { lane, submission, limit, started, room: Room::default(), timings }
    }

    /// Runs all commands.
    pub(crate) fn run(mut self) -> Result<Measured, DeviceError> {
        self.lane.device.check_alive()?;
        if self.submission.commands.is_empty() {
            return Ok(Measured::default());
        }
        let driver = &self.lane.device.driver;
        let [start, end] = self.lane.timers();
        self.call(driver.record(start, self.lane.stream()))?;
        let mut result = self.commands();
        if result.is_ok() {
            result = self.call(driver.record(end, self.lane.stream()));
        }
        // What was started must not outlive its buffers; but a lost device is not waited for again.
        if !matches!(result, Err(DeviceError::DeviceLost { .. })) {
            result = result.and(self.flush());
        }
        result?;
        let mut measured = Measured { device_ns: self.elapsed(start, end)?, commands: Vec::new() };
        for (command, [from, to]) in &self.timings {
            let (started_ns, ended_ns) = (self.elapsed(start, from.number)?, self.elapsed(start, to.number)?);
            measured.commands.push(CommandTiming { command: *command, started_ns, ended_ns });
        }
        Ok(measured)
    }

    fn commands(&mut self) -> Result<(), DeviceError> {
        let (lane, submission) = (self.lane, self.submission);
        let each = submission.timestamps == Timestamps::EachCommand;
        for (number, command) in submission.commands.iter().enumerate() {
            if !each {
                self.command(command)?;
                continue;
            }
            let event = || OwnedEvent::new(&lane.device);
            let events = [self.call(event())?, self.call(event())?];
            let [from, to] = [events[0].number, events[1].number];
            self.timings.push((number, events));
            self.call(lane.device.driver.record(from, lane.stream()))?;
            self.command(command)?;
            self.call(lane.device.driver.record(to, lane.stream()))?;
        }
        Ok(())
    }

    fn command(&mut self, command: &'s Command) -> Result<(), DeviceError> {
        let device = &self.lane.device;
        match command {
            Command::Dispatch(dispatch) => {
                let (pipeline, shape) = encode::shape_of(device, dispatch)?;
                let bound = (&*dispatch.bindings, &*dispatch.threadgroup_memory);
                shape.map_or(Ok(()), |shape| self.dispatch(pipeline, shape, bound))
            }
            Command::DispatchIndirect(dispatch) => self.indirect(dispatch),
            Command::Copy(_) | Command::Fill(_) => {
                encode::blit(device, command)?.map_or(Ok(()), |step| self.put(&step))
            }
            Command::ExecuteIndirect(indirect) => self.replay(indirect),
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
    fn replay(&mut self, indirect: &'s Arc<dyn IndirectCommandBuffer>) -> Result<(), DeviceError> {
        let device = &self.lane.device;
        let own = indirect.as_any().downcast_ref::<NvidiaIndirect>();
        let indirect = own.ok_or_else(|| device.wrong_device("indirect command buffer"))?;
        let Some(graph) = indirect.graph(self.lane)? else {
            return indirect.commands.iter().try_for_each(|command| self.command(command));
        };
        self.call(graph.launch(device, self.lane.stream()))?;
        self.started.push(Started::Graph { indirect, graph });
        Ok(())
    }

    fn indirect(&mut self, dispatch: &'s IndirectDispatch) -> Result<(), DeviceError> {
        self.flush()?;
        let device = &self.lane.device;
        let pipeline = launch::pipeline(device, &dispatch.pipeline)?;
        let own = launch::own(device, &dispatch.counts).ok_or_else(|| device.wrong_device("buffer"))?;
        let mut bytes = [0; 12];
        let from = own.address() + dispatch.counts_offset;
        self.call(device.driver.download(&mut bytes, from, self.lane.stream()))?;
        let count = |n: usize| u32::from_le_bytes([bytes[n], bytes[n + 1], bytes[n + 2], bytes[n + 3]]);
        let counts = [count(0), count(4), count(8)];
        let limits = &device.capabilities;
        let shape = validate::indirect_shape(pipeline.kernel(), counts, dispatch.group_size, limits)?;
        let Some(shape) = shape else { return Ok(()) };
        launch::check_groups(&pipeline.kernel().name, &shape)?;
        self.dispatch(pipeline, shape, (&dispatch.bindings, &dispatch.threadgroup_memory))
    }

    fn dispatch(
        &mut self,
        pipeline: &'s NvidiaPipeline,
        shape: DispatchShape,
        bound: Bound<'_>,
    ) -> Result<(), DeviceError> {
        let lane = self.lane;
        // Words of barriers of the grid take no more than this beside the inline bytes.
        if !self.room.has(&lane.arena, encode::inline_bytes(bound.0) + GRID_BARRIER_BYTES) {
            self.flush()?;
        }
        let arena = (&lane.arena, &mut self.room);
        let encoded = encode::dispatch(&lane.device, pipeline, &shape, bound, lane.stop(), arena)?;
        if let Some(upload) = &encoded.upload {
            self.put(upload)?;
        }
        self.put(&encoded.launch)?;
        self.started.push(Started::Dispatch { pipeline, shape, record: encoded.record });
        Ok(())
    }

    fn put(&self, step: &Step) -> Result<(), DeviceError> {
        self.call(step.put(&*self.lane.device.driver, self.lane.stream()))
    }

    fn wait_for_event(&mut self, event: &Arc<dyn Event>, value: u64) -> Result<(), DeviceError> {
        if event.signaled_value() >= value {
            return Ok(());
        }
        // What comes before it must not wait, too: someone may wait for its effects.
        self.flush()?;
        let Some((limit, after)) = self.limit else {
            event.wait(value, None);
            return Ok(());
        };
        let clock = &self.lane.device.clock;
        let reached = match clock.real_time_until(limit) {
            Some(left) => event.wait(value, Some(left)),
            None => {
                let reached = anymetal_hal::event::Reached::new(Arc::clone(event), value);
                anymetal_hal::clock::wait_for(&**clock, Some(limit), reached).is_some()
            }
        };
        if reached { Ok(()) } else { Err(DeviceError::DeadlineExceeded { kernel: None, after }) }
    }

    /// Waits for the stream, and reads and clears what dispatches recorded.
    fn flush(&mut self) -> Result<(), DeviceError> {
        let lane = self.lane;
        let records = self.records();
        if records > 0 {
            self.call(lane.arena.fetch(&lane.device, records, lane.stream()))?;
        }
        let waited = self.wait();
        if matches!(waited, Err(DeviceError::DeviceLost { .. })) {
            return waited;
        }
        let started = std::mem::take(&mut self.started);
        self.room = Room::default();
        let fault = self.first_fault(&started, records)?;
        waited?;
        fault.map_or(Ok(()), Err)
    }

    /// How many of the lane's records dispatches may have written.
    fn records(&self) -> usize {
        let end = |started: &Started<'_>| match started {
            Started::Dispatch { record: Some(record), .. } => record + 1,
            _ => 0,
        };
        self.started.iter().map(end).max().unwrap_or(0)
    }

    /// The first fault of what has ended. Clears the records that have one.
    fn first_fault(
        &self,
        started: &[Started<'_>],
        records: usize,
    ) -> Result<Option<DeviceError>, DeviceError> {
        let lane = self.lane;
        let (mut first, mut lane_has_one) = (None, false);
        for started in started {
            match started {
                Started::Dispatch { pipeline, shape, record } => {
                    let Some(fault) = record.and_then(|record| lane.arena.fault(record)) else { continue };
                    lane_has_one = true;
                    first.get_or_insert_with(|| error_of(pipeline, shape, fault));
                }
                Started::Graph { indirect, graph } => {
                    let faults = graph.faultable.iter().filter_map(|(command, shape, record)| {
                        let Command::Dispatch(dispatch) = &indirect.commands[*command] else { return None };
                        let pipeline = launch::pipeline(&lane.device, &dispatch.pipeline).ok()?;
                        Some(error_of(pipeline, shape, graph.arena.fault(*record)?))
                    });
                    let Some(fault) = faults.into_iter().next() else { continue };
                    first.get_or_insert(fault);
                    self.call(graph.arena.clear(&lane.device, graph.records, lane.stream()))?;
                }
            }
        }
        if lane_has_one {
            self.call(lane.arena.clear(&lane.device, records, lane.stream()))?;
        }
        Ok(first)
    }

    /// Waits until the stream is idle, or asks its kernels to stop at the deadline.
    fn wait(&self) -> Result<(), DeviceError> {
        let (lane, device) = (self.lane, &self.lane.device);
        let Some((limit, after)) = self.limit else {
            return self.call(device.driver.synchronise(lane.stream()));
        };
        let started = Instant::now();
        loop {
            if self.call(device.driver.is_idle(lane.stream()))? {
                return Ok(());
            }
            if device.clock.now() >= limit {
                break;
            }
            pause(started);
        }
        self.call(device.driver.upload(lane.stop(), &1u32.to_le_bytes(), lane.side()))?;
        let asked = device.clock.now();
        let started = Instant::now();
        while !self.call(device.driver.is_idle(lane.stream()))? {
            if device.clock.now().saturating_sub(asked) > GRACE {
                return Err(device.lose(format!("a kernel went on for {GRACE:?} after it was asked to stop")));
            }
            pause(started);
        }
        self.call(device.driver.upload(lane.stop(), &0u32.to_le_bytes(), lane.side()))?;
        self.call(device.driver.synchronise(lane.side()))?;
        Err(DeviceError::DeadlineExceeded { kernel: self.last_kernel(), after })
    }

    /// The kernel that was started last.
    fn last_kernel(&self) -> Option<String> {
        let pipeline: &dyn Pipeline = match self.started.last()? {
            Started::Dispatch { pipeline, .. } => *pipeline,
            Started::Graph { indirect, .. } => {
                let last = |command: &'s Command| match command {
                    Command::Dispatch(dispatch) => Some(&*dispatch.pipeline),
                    _ => None,
                };
                indirect.commands.iter().rev().find_map(last)?
            }
        };
        Some(pipeline.kernel().name.clone())
    }

    fn elapsed(&self, from: u64, to: u64) -> Result<u64, DeviceError> {
        self.call(self.lane.device.driver.elapsed(from, to))
    }

    fn call<T>(&self, result: Result<T, DriverError>) -> Result<T, DeviceError> {
        result.map_err(|error| error.of(&self.lane.device.name, 0))
    }
}

fn error_of(pipeline: &NvidiaPipeline, shape: &DispatchShape, fault: RecordedFault) -> DeviceError {
    fault::describe(pipeline.artifact(), &pipeline.kernel().name, shape, fault)
}

fn pause(since: Instant) {
    if since.elapsed() < POLL {
        std::hint::spin_loop();
    } else {
        std::thread::sleep(PAUSE);
    }
}

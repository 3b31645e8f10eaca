//! The commands of one command buffer on their way through the card.
//!
//! Owns [`Execution`]. Dispatches and copies are put into the queue's stream as they come; the host waits for
//! the stream where it has to act (an event, counts in a buffer) and at the end, and reads the fault records
//! then. Invariant: no later command's effect on the host is seen before those of earlier ones.

use std::sync::Arc;
use std::time::Duration;

use anymetal_hal::command::{Command, IndirectDispatch, Submission, Timestamps};
use anymetal_hal::completion::CommandTiming;
use anymetal_hal::error::DeviceError;
use anymetal_hal::event::Event;
use anymetal_hal::fault;
use anymetal_hal::launch::RecordedFault;
use anymetal_hal::pipeline::Pipeline;
use anymetal_hal::validate::{self, DispatchShape};

use crate::device::DeviceShared;
use crate::driver::{DriverError, KernelLaunch, Place};
use crate::launch::{self, Signals};
use crate::pipeline::NvidiaPipeline;

/// Bytes of a fault record with what pads it.
const RECORD_BYTES: u64 = 64;
/// Dispatches between two looks at their records.
const MAX_RECORDS: usize = 256;
/// Room for inline bytes between two waits.
const INLINE_BYTES: u64 = 1 << 20;
/// The alignment of inline bytes: the largest of a type in MSL.
const INLINE_ALIGNMENT: u64 = 16;
const RECORDS_AT: u64 = 64;
const INLINE_AT: u64 = RECORDS_AT + RECORD_BYTES * MAX_RECORDS as u64;
/// Polls follow each other without a pause for so long; then they let others run.
const SPIN: Duration = Duration::from_micros(200);
const PAUSE: Duration = Duration::from_micros(50);
/// How long a kernel may go on after it was asked to stop.
const GRACE: Duration = Duration::from_secs(10);

/// What a queue keeps in the card: the stop flag, fault records, inline bytes.
#[derive(Debug)]
pub(crate) struct Lane {
    device: Arc<DeviceShared>,
    stream: u64,
    /// For the stop flag while the other is busy.
    side: u64,
    scratch: crate::driver::Allocation,
    timers: [u64; 2],
}

// SAFETY: the allocation is in the card: there is no host address in it.
unsafe impl Send for Lane {}
// SAFETY: as above; driver calls may come from any thread.
unsafe impl Sync for Lane {}

impl Lane {
    pub(crate) fn new(device: &Arc<DeviceShared>, priority: i32) -> Result<Self, DeviceError> {
        let driver = &device.driver;
        let bytes = INLINE_AT + INLINE_BYTES;
        let make = || {
            let scratch = driver.allocate(bytes, Place::Device)?;
            let stream = driver.create_stream(priority)?;
            driver.fill(scratch.address, 0, INLINE_AT, stream)?;
            driver.synchronise(stream)?;
            let timers = [driver.create_event()?, driver.create_event()?];
            Ok(Lane { device: Arc::clone(device), stream, side: driver.create_stream(-1)?, scratch, timers })
        };
        make().map_err(|error: DriverError| error.of(&device.name, bytes))
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        let driver = &self.device.driver;
        // The queue's thread has waited for all work before it lets the lane go.
        driver.destroy_stream(self.stream);
        driver.destroy_stream(self.side);
        self.timers.iter().for_each(|&event| driver.destroy_event(event));
        driver.free(self.scratch);
    }
}

/// A dispatch in the stream whose record has not been read.
struct Launched<'s> {
    pipeline: &'s NvidiaPipeline,
    shape: DispatchShape,
}

/// One command buffer that runs.
pub(crate) struct Execution<'s> {
    lane: &'s Lane,
    submission: &'s Submission,
    /// By the device's clock.
    limit: Option<(Duration, Duration)>,
    launched: Vec<Launched<'s>>,
    inline_used: u64,
    timings: Vec<(usize, [u64; 2])>,
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
        Execution { lane, submission, limit, launched: Vec::new(), inline_used: 0, timings: Vec::new() }
    }

    /// Runs all commands.
    pub(crate) fn run(mut self) -> Result<Measured, DeviceError> {
        let driver = &self.lane.device.driver;
        let [start, end] = self.lane.timers;
        self.call(driver.record(start, self.lane.stream))?;
        let each = self.submission.timestamps == Timestamps::EachCommand;
        let result = self.commands(each);
        let result = match result {
            Ok(()) => self.call(driver.record(end, self.lane.stream)).and_then(|()| self.flush()),
            Err(error) => {
                // What was started must not outlive its buffers.
                let _ = self.flush();
                Err(error)
            }
        };
        let measured = result.and_then(|()| {
            let mut measured = Measured { device_ns: self.elapsed(start, end)?, commands: Vec::new() };
            for (command, [from, to]) in &self.timings {
                let (started_ns, ended_ns) = (self.elapsed(start, *from)?, self.elapsed(start, *to)?);
                measured.commands.push(CommandTiming { command: *command, started_ns, ended_ns });
            }
            Ok(measured)
        });
        self.timings.iter().flat_map(|(_, events)| events).for_each(|&event| driver.destroy_event(event));
        measured
    }

    fn commands(&mut self, each: bool) -> Result<(), DeviceError> {
        let driver = &self.lane.device.driver;
        for (number, command) in self.submission.commands.iter().enumerate() {
            if !each {
                self.command(command)?;
                continue;
            }
            let events = [self.call(driver.create_event())?, self.call(driver.create_event())?];
            self.timings.push((number, events));
            self.call(driver.record(events[0], self.lane.stream))?;
            self.command(command)?;
            self.call(driver.record(events[1], self.lane.stream))?;
        }
        Ok(())
    }

    fn command(&mut self, command: &'s Command) -> Result<(), DeviceError> {
        let (device, stream) = (&self.lane.device, self.lane.stream);
        match command {
            Command::Dispatch(dispatch) => {
                let pipeline = launch::pipeline(device, &dispatch.pipeline)?;
                let limits = &device.capabilities;
                let shape =
                    validate::dispatch_shape(pipeline.kernel(), dispatch.grid, dispatch.group_size, limits)?;
                let given = (&*dispatch.bindings, &*dispatch.threadgroup_memory);
                shape.map_or(Ok(()), |shape| self.dispatch(pipeline, shape, given))
            }
            Command::DispatchIndirect(dispatch) => self.indirect(dispatch),
            Command::Copy(copy) => {
                let own = |buffer| launch::own(device, buffer).ok_or_else(|| device.wrong_device("buffer"));
                let (source, destination) = (own(&copy.source)?, own(&copy.destination)?);
                let (to, from) =
                    (destination.address() + copy.destination_offset, source.address() + copy.source_offset);
                match copy.length {
                    0 => Ok(()),
                    bytes => self.call(device.driver.copy(to, from, bytes, stream)),
                }
            }
            Command::Fill(fill) => {
                let own = launch::own(device, &fill.buffer).ok_or_else(|| device.wrong_device("buffer"))?;
                match fill.length {
                    0 => Ok(()),
                    bytes => {
                        self.call(device.driver.fill(own.address() + fill.offset, fill.value, bytes, stream))
                    }
                }
            }
            Command::ExecuteIndirect(indirect) => {
                indirect.commands().iter().try_for_each(|command| self.command(command))
            }
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

    fn indirect(&mut self, dispatch: &'s IndirectDispatch) -> Result<(), DeviceError> {
        self.flush()?;
        let device = &self.lane.device;
        let pipeline = launch::pipeline(device, &dispatch.pipeline)?;
        let own = launch::own(device, &dispatch.counts).ok_or_else(|| device.wrong_device("buffer"))?;
        let mut bytes = [0; 12];
        let from = own.address() + dispatch.counts_offset;
        self.call(device.driver.download(&mut bytes, from, self.lane.stream))?;
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
        given: (&[anymetal_hal::command::Binding], &[anymetal_hal::command::ThreadgroupMemory]),
    ) -> Result<(), DeviceError> {
        if self.launched.len() == MAX_RECORDS {
            self.flush()?;
        }
        let inline: u64 = given.0.iter().map(inline_bytes).sum();
        if inline > INLINE_BYTES - self.inline_used {
            self.flush()?;
        }
        let (lane, device) = (self.lane, &self.lane.device);
        let signals = Signals {
            fault: lane.scratch.address + RECORDS_AT + RECORD_BYTES * self.launched.len() as u64,
            stop: lane.scratch.address,
        };
        let used = &mut self.inline_used;
        let upload = |bytes: &[u8]| {
            let to = lane.scratch.address + INLINE_AT + *used;
            *used += (bytes.len() as u64).next_multiple_of(INLINE_ALIGNMENT);
            device.driver.upload(to, bytes, lane.stream).map_err(|error| error.of(&device.name, 0))?;
            Ok(to)
        };
        let encoded = launch::encode(device, pipeline, given, shape.grid_threads, signals, upload)?;
        let launch = KernelLaunch {
            function: pipeline.function,
            groups: shape.groups,
            group_size: shape.group_size,
            shared_bytes: encoded.shared_bytes,
            parameters: &encoded.parameters,
        };
        self.call(device.driver.launch(launch, lane.stream))?;
        self.launched.push(Launched { pipeline, shape });
        Ok(())
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

    /// Waits for the stream and reads what dispatches recorded.
    fn flush(&mut self) -> Result<(), DeviceError> {
        self.wait()?;
        let launched = std::mem::take(&mut self.launched);
        self.inline_used = 0;
        if launched.is_empty() {
            return Ok(());
        }
        let (lane, driver) = (self.lane, &self.lane.device.driver);
        let records = lane.scratch.address + RECORDS_AT;
        let mut bytes = vec![0; launched.len() * RECORD_BYTES as usize];
        self.call(driver.download(&mut bytes, records, lane.stream))?;
        let first = bytes
            .chunks_exact(RECORD_BYTES as usize)
            .zip(&launched)
            .find_map(|(record, launched)| Some((recorded(record)?, launched)));
        let Some((fault, Launched { pipeline, shape })) = first else { return Ok(()) };
        self.call(driver.fill(records, 0, bytes.len() as u64, lane.stream))?;
        Err(fault::describe(pipeline.artifact(), &pipeline.kernel().name, shape, fault))
    }

    /// Waits until the stream is idle, or asks its kernels to stop at the deadline.
    fn wait(&self) -> Result<(), DeviceError> {
        let (lane, device) = (self.lane, &self.lane.device);
        let Some((limit, after)) = self.limit else {
            return self.call(device.driver.synchronise(lane.stream));
        };
        let started = std::time::Instant::now();
        loop {
            if self.call(device.driver.is_idle(lane.stream))? {
                return Ok(());
            }
            if device.clock.now() >= limit {
                break;
            }
            pause(started);
        }
        self.call(device.driver.upload(lane.scratch.address, &1u32.to_le_bytes(), lane.side))?;
        let asked = std::time::Instant::now();
        while !self.call(device.driver.is_idle(lane.stream))? {
            if asked.elapsed() > GRACE {
                let reason = format!("a kernel went on for {GRACE:?} after it was asked to stop");
                return Err(DeviceError::DeviceLost { device: device.name.clone(), reason });
            }
            pause(asked);
        }
        self.call(device.driver.upload(lane.scratch.address, &0u32.to_le_bytes(), lane.side))?;
        self.call(device.driver.synchronise(lane.side))?;
        let kernel = self.launched.last().map(|launched| launched.pipeline.kernel().name.clone());
        Err(DeviceError::DeadlineExceeded { kernel, after })
    }

    fn elapsed(&self, from: u64, to: u64) -> Result<u64, DeviceError> {
        self.call(self.lane.device.driver.elapsed(from, to))
    }

    fn call<T>(&self, result: Result<T, DriverError>) -> Result<T, DeviceError> {
        result.map_err(|error| error.of(&self.lane.device.name, 0))
    }
}

fn pause(since: std::time::Instant) {
    if since.elapsed() < SPIN {
        std::hint::spin_loop();
    } else {
        std::thread::sleep(PAUSE);
    }
}

fn inline_bytes(binding: &anymetal_hal::command::Binding) -> u64 {
    match &binding.resource {
        anymetal_hal::command::BoundResource::Bytes(bytes) => {
            (bytes.len() as u64).next_multiple_of(INLINE_ALIGNMENT)
        }
        _ => 0,
    }
}

/// The fault in a record of the layout of [`anymetal_hal::launch::FaultRecord`], if one was recorded.
fn recorded(record: &[u8]) -> Option<RecordedFault> {
    let word = |at: usize| u32::from_le_bytes([record[at], record[at + 1], record[at + 2], record[at + 3]]);
    let long = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
    (word(0) != 0).then(|| RecordedFault {
        site: word(4),
        byte_offset: long(8) as i64,
        bound_len: long(16),
        group_linear: long(24),
        thread_in_group: word(32),
    })
}

//! The worker: an ordinary CPU device behind messages.
//!
//! Owns [`serve`]. One thread receives and executes requests, none of which runs a kernel; the threads of the
//! device run kernels and report their ends. The worker trusts its host, which is of the same build: a
//! malformed message is a panic.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::task::{Wake, Waker};

use anymetal_cpu::{CpuDevice, CpuDeviceOptions};
use anymetal_hal::artifact::ArtifactCode;
use anymetal_hal::buffer::Buffer;
use anymetal_hal::capabilities::Capabilities;
use anymetal_hal::clock::SystemClock;
use anymetal_hal::command::{
    Binding, BoundResource, BufferCopy, BufferFill, Command, CommandList, Dispatch, Grid, IndirectDispatch,
    ResidentBuffer,
};
use anymetal_hal::completion::Completion;
use anymetal_hal::device::{Device, LentMemory};
use anymetal_hal::encoding;
use anymetal_hal::error::DeviceError;
use anymetal_hal::event::{Event, HostEvent, Subscription};
use anymetal_hal::fence::HostFence;
use anymetal_hal::indirect::IndirectCommandBuffer;
use anymetal_hal::pipeline::Pipeline;
use anymetal_hal::queue::{Cancellation, Queue, QueueDescriptor, WhenFull};
use anymetal_hal::sync::{Mutex, lock};
use anymetal_hal::time_sample::TimeSample;
use anymetal_isolate::sandbox::{self, Code};
use anymetal_isolate::{Channel, Frame};
use rustix::fs::fstat;

use crate::DecodeInterpreter;
use crate::arena::Mapping;
use crate::device::monotonic_time;
use crate::wire::{
    self, Body, Reply, Report, Request, Start, WireCode, WireCommand, WireLaunch, WireResource, WireWork,
};

/// The address of the memory: far from all that the system maps by itself, so that it is free in each worker.
const BASE: usize = 1 << 44;

/// Serves the process that started this one, and passed a socket as its standard input and the memory of
/// buffers as its standard output. Returns only with an error: the process ends when its host does.
///
/// `memory_bytes` is what the device may allocate besides that memory.
///
/// # Errors
/// The standard input is not such a socket, the standard output is not such a file, or the host has ended.
///
/// # Panics
/// The system refuses a limit or a filter, or a thread started before this call still runs.
pub fn serve(memory_bytes: u64, identity: &str, decode: DecodeInterpreter) -> io::Result<()> {
    let channel = Channel::open()?;
    let output = io::stdout();
    let length = u64::try_from(fstat(&output)?.st_size).unwrap_or(0);
    let memory = Mapping::new(output.as_fd(), length, BASE)?;
    // The sandbox denies queries of the machine. The first reading of the clock is one: it finds the vDSO.
    let capabilities = CpuDeviceOptions::default().capabilities();
    let _time = monotonic_time();
    sandbox::wait_for_threads();
    let missing = sandbox::close(&channel, memory_bytes, Code::Allowed);
    channel.greet(identity, &missing)?;
    let Ok(first) = channel.receive() else { channel.end() };
    let host = Arc::new(Host { channel, turn: Mutex::new(()) });
    let mut worker = Worker::start(&host, Arc::new(memory), capabilities, decode, &first);
    loop {
        let Ok(frame) = host.channel.receive() else { host.channel.end() };
        worker.take(&frame);
    }
}

/// The connection to the host, for all threads.
struct Host {
    channel: Channel,
    /// Held while a frame is sent.
    turn: Mutex<()>,
}

impl Host {
    fn report(&self, report: &Report) {
        let frame = wire::frame(report, Vec::new());
        let _turn = lock(&self.turn);
        if self.channel.send(&frame).is_err() {
            self.channel.end();
        }
    }

    fn reply(&self, number: Option<u64>, result: Result<Reply, DeviceError>) {
        if let Some(number) = number {
            self.report(&Report::Replied { number, result });
        }
    }
}

/// The counterparts of the host's objects. Those that could not be made are kept as the reason.
struct Worker {
    host: Arc<Host>,
    memory: Arc<Mapping>,
    device: CpuDevice,
    decode: DecodeInterpreter,
    buffers: BTreeMap<u64, Result<Arc<dyn Buffer>, DeviceError>>,
    pipelines: BTreeMap<u64, Result<Arc<dyn Pipeline>, DeviceError>>,
    indirects: BTreeMap<u64, Result<Arc<dyn IndirectCommandBuffer>, DeviceError>>,
    queues: BTreeMap<u64, Arc<dyn Queue>>,
    running: Arc<Mutex<BTreeMap<u64, Running>>>,
}

/// A submission that has not ended.
struct Running {
    completion: Completion,
    /// The events that it waits for, by command.
    waits: BTreeMap<usize, Arc<HostEvent>>,
}

fn request(frame: &Frame) -> Request {
    wire::read(frame).unwrap_or_else(|error| panic!("the host sent a message that is none: {error}"))
}

/// The object with that number. The host names no others.
fn known<T: Clone>(objects: &BTreeMap<u64, T>, id: u64) -> T {
    objects.get(&id).unwrap_or_else(|| panic!("the host named object {id}, which there is not")).clone()
}

impl Worker {
    fn start(
        host: &Arc<Host>,
        memory: Arc<Mapping>,
        capabilities: Capabilities,
        decode: DecodeInterpreter,
        first: &Frame,
    ) -> Self {
        let Request { reply, body } = request(first);
        let Body::Start(Start { threads, pin_workers, default_deadline, made_at }) = body else {
            panic!("the host's first message starts nothing");
        };
        let options = CpuDeviceOptions {
            threads,
            pin_workers,
            default_deadline,
            lend_waiting_threads: false,
            age: monotonic_time().saturating_sub(made_at),
            ..CpuDeviceOptions::default()
        };
        let device = CpuDevice::with_capabilities(&options, capabilities, SystemClock::shared());
        let device = device.unwrap_or_else(|error| panic!("no device: {error}"));
        host.reply(reply, Ok(Reply::Started { base: memory.start().addr().get() as u64 }));
        Worker {
            host: Arc::clone(host),
            memory,
            device,
            decode,
            buffers: BTreeMap::new(),
            pipelines: BTreeMap::new(),
            indirects: BTreeMap::new(),
            queues: BTreeMap::new(),
            running: Arc::default(),
        }
    }

    /// Executes a request.
    fn take(&mut self, frame: &Frame) {
        let Request { reply, body } = request(frame);
        let done = |made: Result<(), DeviceError>| made.map(|()| Reply::Done);
        let result = match body {
            Body::Start(_) => panic!("the host started twice"),
            Body::Buffer { id, offset, length, label } => {
                let buffer = self.buffer(offset, length, &label);
                self.buffers.insert(id, buffer);
                Ok(Reply::Done)
            }
            Body::Pipeline { id, kernel, code } => {
                let pipeline = self.pipeline(&kernel, &code, &frame.blob);
                let made = pipeline.as_ref().map(drop).map_err(Clone::clone);
                self.pipelines.insert(id, pipeline);
                done(made)
            }
            Body::Queue { id, label, max_in_flight, priority } => {
                let when_full = WhenFull::Refuse;
                let descriptor = QueueDescriptor::default()
                    .label(label)
                    .max_in_flight(max_in_flight)
                    .when_full(when_full)
                    .priority(priority);
                let queue = self.device.queue(&descriptor);
                self.queues.insert(id, queue.unwrap_or_else(|error| panic!("no queue: {error}")));
                Ok(Reply::Done)
            }
            Body::Indirect { id, commands } => {
                let commands = self.commands(0, commands, &frame.blob, &mut BTreeMap::new());
                let indirect = commands.and_then(|commands| self.device.indirect_command_buffer(commands));
                let made = indirect.as_ref().map(drop).map_err(Clone::clone);
                self.indirects.insert(id, indirect);
                done(made)
            }
            Body::Submit { submission, queue, work } => {
                done(self.submit(submission, queue, work, &frame.blob))
            }
            Body::Cancel { submission, queue, stops } => {
                Ok(Reply::Cancelled(self.cancel(submission, queue, stops)))
            }
            Body::Reached { submission, command } => {
                self.reached(submission, command);
                Ok(Reply::Done)
            }
            Body::Forget { id } => {
                self.forget(id);
                Ok(Reply::Done)
            }
        };
        self.host.reply(reply, result);
    }

    fn forget(&mut self, id: u64) {
        self.buffers.remove(&id);
        self.pipelines.remove(&id);
        self.indirects.remove(&id);
        self.queues.remove(&id);
    }

    fn buffer(&self, offset: u64, length: u64, label: &str) -> Result<Arc<dyn Buffer>, DeviceError> {
        let (start, owner) = (self.memory.at(offset, length), Box::new(Arc::clone(&self.memory)));
        // SAFETY: `at` checked that the range is within the mapping, which the owner holds. Its bytes are
        // those of a file, so they are initialised and may be read and written. This process makes no
        // references to them other than those of the device. The host may change them meanwhile, as kernels
        // may.
        let lent = unsafe { LentMemory::new(start, length as usize, owner) };
        self.device.borrow_host(lent, label)
    }

    fn pipeline(&self, kernel: &str, code: &WireCode, blob: &[u8]) -> Result<Arc<dyn Pipeline>, DeviceError> {
        let unloadable = |reason: String| DeviceError::UnloadableCode { kernel: kernel.to_owned(), reason };
        let decoded = |bytes| encoding::decode(bytes).map_err(|error| unloadable(error.to_string()));
        let artifact = match code {
            WireCode::Artifact => decoded(blob)?,
            WireCode::Interpreter { description, interpreter } => {
                let missing = || unloadable("a part of the message is missing".to_owned());
                let artifact = decoded(description.of(blob).ok_or_else(missing)?)?;
                let interpreter = (self.decode)(interpreter.of(blob).ok_or_else(missing)?);
                let code = ArtifactCode::Interpreter(interpreter.map_err(unloadable)?);
                artifact.code(code)
            }
        };
        self.device.pipeline(&Arc::new(artifact), kernel)
    }

    fn submit(&mut self, number: u64, queue: u64, work: WireWork, blob: &[u8]) -> Result<(), DeviceError> {
        let mut waits = BTreeMap::new();
        let resident = work.resident.into_iter();
        let resident = resident.map(|(id, usage)| Ok(ResidentBuffer::new(known(&self.buffers, id)?, usage)));
        let resident = resident.collect::<Result<_, DeviceError>>()?;
        // `may_run_inline` stays false: the receiving thread must not run kernels.
        let submission = CommandList::new(self.commands(number, work.commands, blob, &mut waits)?)
            .resident(resident)
            .deadline(work.deadline)
            .timestamps(work.timestamps)
            .label(work.label);
        let completion = known(&self.queues, queue).submit(submission)?;
        lock(&self.running).insert(number, Running { completion: completion.clone(), waits });
        let (host, running) = (Arc::clone(&self.host), Arc::clone(&self.running));
        let ending = Arc::new(Ending { host, running, number, completion: completion.clone() });
        if !completion.subscribe(Waker::from(Arc::clone(&ending))) {
            ending.wake();
        }
        Ok(())
    }

    fn cancel(&self, submission: u64, queue: u64, stops: bool) -> Cancellation {
        let completion = lock(&self.running).get(&submission).map(|running| running.completion.clone());
        let Some(completion) = completion else { return Cancellation::Ended };
        let queue = known(&self.queues, queue);
        if stops { queue.stop(&completion) } else { queue.cancel(&completion) }
    }

    /// An event that a submission waits for has reached its value; the submission may have ended.
    fn reached(&self, submission: u64, command: usize) {
        let event =
            lock(&self.running).get(&submission).and_then(|running| running.waits.get(&command).cloned());
        if let Some(event) = event {
            event.signal(u64::MAX);
        }
    }

    fn commands(
        &self,
        submission: u64,
        commands: Vec<WireCommand>,
        blob: &[u8],
        waits: &mut BTreeMap<usize, Arc<HostEvent>>,
    ) -> Result<Vec<Command>, DeviceError> {
        let commands = commands.into_iter().enumerate();
        let commands = commands.map(|(number, command)| match command {
            WireCommand::WaitEvent { value, is_reached } => {
                let event = Arc::new(HostEvent::default());
                event.signal(if is_reached { value } else { 0 });
                waits.insert(number, Arc::clone(&event));
                Ok(Command::WaitEvent { event, value })
            }
            WireCommand::SignalEvent { value } => {
                let event = ReportedEvent {
                    event: HostEvent::default(),
                    host: Arc::clone(&self.host),
                    submission,
                    command: number,
                };
                Ok(Command::SignalEvent { event: Arc::new(event), value })
            }
            other => self.command(other, blob),
        });
        commands.collect()
    }

    /// A command without events.
    fn command(&self, command: WireCommand, blob: &[u8]) -> Result<Command, DeviceError> {
        let buffer = |id| known(&self.buffers, id);
        Ok(match command {
            WireCommand::Dispatch { launch, grid, cooperative } => {
                Command::Dispatch(self.dispatch(launch, grid, blob)?.with_cooperation(cooperative))
            }
            WireCommand::DispatchIndirect { launch, counts, offset } => {
                let dispatch = self.dispatch(launch, Grid::Threadgroups([1; 3]), blob)?;
                Command::DispatchIndirect(IndirectDispatch::new(dispatch, buffer(counts)?, offset)?)
            }
            WireCommand::Copy { source, source_offset, destination, destination_offset, length } => {
                let (source, destination) = (buffer(source)?, buffer(destination)?);
                let range = source_offset..source_offset.saturating_add(length);
                Command::Copy(BufferCopy::new(source, range, destination, destination_offset)?)
            }
            WireCommand::Fill { buffer: filled, offset, length, value } => {
                let range = offset..offset.saturating_add(length);
                Command::Fill(BufferFill::new(buffer(filled)?, range, value)?)
            }
            WireCommand::SampleTime { buffer: written, offset } => {
                Command::SampleTime(TimeSample::new(buffer(written)?, offset)?)
            }
            WireCommand::ExecuteIndirect(indirect) => {
                Command::ExecuteIndirect(known(&self.indirects, indirect)?)
            }
            WireCommand::Fence => Command::UpdateFence(Arc::new(HostFence::default())),
            WireCommand::WaitEvent { .. } | WireCommand::SignalEvent { .. } => {
                unreachable!("events are those of a submission")
            }
        })
    }

    fn dispatch(&self, launch: WireLaunch, grid: Grid, blob: &[u8]) -> Result<Dispatch, DeviceError> {
        let WireLaunch { pipeline, bindings, threadgroup_memory, group_size } = launch;
        let dispatch = Dispatch::new(known(&self.pipelines, pipeline)?, grid, group_size);
        Ok(dispatch.with_bindings(self.bindings(bindings, blob)?).with_threadgroup_memory(threadgroup_memory))
    }

    fn bindings(&self, bindings: Vec<(u32, WireResource)>, blob: &[u8]) -> Result<Vec<Binding>, DeviceError> {
        let resource = |resource| {
            Ok(match resource {
                WireResource::Buffer { buffer, offset, length } => {
                    BoundResource::Buffer { buffer: known(&self.buffers, buffer)?, offset, length }
                }
                WireResource::Bytes(bytes) => BoundResource::Bytes(
                    bytes.of(blob).expect("the host sent the bytes that it names").to_vec(),
                ),
                WireResource::Unbound => BoundResource::Unbound,
            })
        };
        bindings.into_iter().map(|(index, bound)| Ok(Binding::new(index, resource(bound)?))).collect()
    }
}

/// Reports the end of a submission.
struct Ending {
    host: Arc<Host>,
    running: Arc<Mutex<BTreeMap<u64, Running>>>,
    number: u64,
    completion: Completion,
}

impl Wake for Ending {
    fn wake(self: Arc<Self>) {
        let outcome = self.completion.outcome().expect("a completion wakes when it has ended");
        let commands = self.completion.command_timings().map(|timings| timings.to_vec());
        lock(&self.running).remove(&self.number);
        self.host.report(&Report::Ended { submission: self.number, outcome, commands });
    }
}

/// An event of the host's that a submission signals.
#[derive(Debug)]
struct ReportedEvent {
    event: HostEvent,
    host: Arc<Host>,
    submission: u64,
    command: usize,
}

impl Event for ReportedEvent {
    fn signaled_value(&self) -> u64 {
        self.event.signaled_value()
    }

    fn signal(&self, value: u64) {
        self.host.report(&Report::Signaled { submission: self.submission, command: self.command });
        self.event.signal(value);
    }

    fn subscribe(&self, value: u64, waker: Waker) -> Option<Subscription> {
        self.event.subscribe(value, waker)
    }

    fn unsubscribe(&self, subscription: Subscription) {
        self.event.unsubscribe(subscription);
    }

    fn wait(&self, value: u64, timeout: Option<std::time::Duration>) -> bool {
        self.event.wait(value, timeout)
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}

impl std::fmt::Debug for Host {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Host").finish_non_exhaustive()
    }
}

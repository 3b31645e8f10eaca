//! Replay: the submissions of a recording once more, on any device.
//!
//! Owns [`Recording::replay`]. Entries run one after the other in their recorded order, each with the
//! contents that its buffers had; so a wait for an event is met before it is submitted. Invariant: every
//! entry is either run and compared, or the replay ends with an error that says which entry and why.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::record::{Entry, RecordedBinding, RecordedCommand, RecordedGrid, RecordedOutcome, Recording};
use anymetal_hal::artifact::Artifact;
use anymetal_hal::buffer::{Buffer, BufferDescriptor};
use anymetal_hal::command::{
    Binding, BoundResource, BufferCopy, BufferFill, Command, CommandList, Dispatch, Grid, IndirectDispatch,
    ThreadgroupMemory,
};
use anymetal_hal::completion::Outcome;
use anymetal_hal::device::Device;
use anymetal_hal::error::DeviceError;
use anymetal_hal::event::Event;
use anymetal_hal::fence::Fence;
use anymetal_hal::logging::{self, DEFAULT_LOG_BYTES};
use anymetal_hal::matrix_product::CheckedProduct;
use anymetal_hal::pipeline::Pipeline;
use anymetal_hal::queue::{Queue, QueueDescriptor};
use anymetal_hal::stage_input;
use anymetal_hal::time_sample::TimeSample;

/// How one entry went this time.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Replayed {
    /// The entry's number.
    pub number: u64,
    /// How it ended when it was recorded.
    pub recorded: Option<RecordedOutcome>,
    /// How it ended now.
    pub outcome: Outcome,
    /// The buffers it used, by number, as they are now.
    pub buffers: Vec<(u32, Arc<dyn Buffer>)>,
}

impl Replayed {
    /// Whether it ended as when it was recorded: good both times, or with the same error.
    pub fn is_same(&self) -> bool {
        match (&self.recorded, &self.outcome) {
            (Some(RecordedOutcome::Done { .. }), Ok(_)) => true,
            (Some(RecordedOutcome::Failed { error }), Err(now)) => *error == now.to_string(),
            _ => false,
        }
    }
}

/// Why a replay ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// Neither the recording nor the caller has the code of a kernel.
    #[error("entry {entry}: the code of kernel `{kernel}` is not recorded, and none was given for it")]
    NoCode {
        /// The entry.
        entry: u64,
        /// The kernel.
        kernel: String,
    },
    /// The entry has more commands than were recorded.
    #[error("entry {entry}: {left_out} commands of it were not recorded")]
    CommandsLeftOut {
        /// The entry.
        entry: u64,
        /// How many are missing.
        left_out: usize,
    },
    /// The entry names something that the recording does not have.
    #[error("entry {entry}: the recording does not describe its {what} {number}")]
    Unknown {
        /// The entry.
        entry: u64,
        /// "buffer" or "pipeline".
        what: &'static str,
        /// Its number.
        number: u32,
    },
    /// The entry executes commands that kernels encoded, which hold addresses.
    #[error("entry {entry}: commands that kernels encoded hold addresses and cannot be replayed")]
    Encoded {
        /// The entry.
        entry: u64,
    },
    /// The device refused to make a resource.
    #[error("entry {entry}: {source}")]
    Device {
        /// The entry.
        entry: u64,
        /// Why.
        source: DeviceError,
    },
}

/// Finds code that a recording lacks: by kernel and fingerprint.
pub type CodeSource<'a> = dyn Fn(&str, &str) -> Option<Arc<Artifact>> + 'a;

impl Recording {
    /// Runs every entry on the device. `code` is asked for artifacts that are not in the recording.
    pub fn replay(&self, device: &dyn Device, code: &CodeSource<'_>) -> Result<Vec<Replayed>, ReplayError> {
        let mut stage = Stage::new(self, device, code);
        self.entries.iter().map(|entry| stage.run(entry)).collect()
    }
}

/// The resources of a replay, by their recorded numbers.
struct Stage<'a> {
    recording: &'a Recording,
    device: &'a dyn Device,
    code: &'a CodeSource<'a>,
    queues: BTreeMap<u32, Arc<dyn Queue>>,
    buffers: BTreeMap<u32, Arc<dyn Buffer>>,
    events: BTreeMap<u32, Arc<dyn Event>>,
    fences: BTreeMap<u32, Arc<dyn Fence>>,
    pipelines: BTreeMap<u32, Arc<dyn Pipeline>>,
    /// The entry that runs.
    entry: u64,
}

impl<'a> Stage<'a> {
    fn new(recording: &'a Recording, device: &'a dyn Device, code: &'a CodeSource<'a>) -> Self {
        Stage {
            recording,
            device,
            code,
            queues: BTreeMap::new(),
            buffers: BTreeMap::new(),
            events: BTreeMap::new(),
            fences: BTreeMap::new(),
            pipelines: BTreeMap::new(),
            entry: 0,
        }
    }

    fn run(&mut self, entry: &Entry) -> Result<Replayed, ReplayError> {
        self.entry = entry.number;
        if entry.commands_left_out > 0 {
            let (entry, left_out) = (entry.number, entry.commands_left_out);
            return Err(ReplayError::CommandsLeftOut { entry, left_out });
        }
        self.prepare_buffers(entry)?;
        let mut submission = CommandList::default().label(entry.label.clone());
        for command in &entry.commands {
            submission.commands.push(self.command(command)?);
        }
        stage_input::attach(&mut submission.commands);
        // What kernels log is not part of a recording.
        let log = logging::attach(&mut submission.commands, self.device, DEFAULT_LOG_BYTES);
        let _log = log.map_err(|error| self.device_error(error))?;
        let (number, label) = &entry.queue;
        let queue = match self.queues.get(number) {
            Some(queue) => Arc::clone(queue),
            None => {
                let descriptor = QueueDescriptor::default().label(label.clone());
                let queue = self.device.queue(&descriptor).map_err(|error| self.device_error(error))?;
                self.queues.insert(*number, Arc::clone(&queue));
                queue
            }
        };
        let outcome = queue.submit(submission).and_then(|completion| completion.wait());
        let used = entry.buffers.iter().filter_map(|record| {
            self.buffers.get(&record.buffer).map(|buffer| (record.buffer, Arc::clone(buffer)))
        });
        let (number, recorded) = (entry.number, entry.outcome.clone());
        Ok(Replayed { number, recorded, outcome, buffers: used.collect() })
    }

    fn prepare_buffers(&mut self, entry: &Entry) -> Result<(), ReplayError> {
        for record in &entry.buffers {
            let known = self.buffers.get(&record.buffer).filter(|known| known.length() == record.length);
            let buffer = match known {
                Some(known) => Arc::clone(known),
                None => {
                    let descriptor = BufferDescriptor::shared(record.length)
                        .storage_mode(record.storage_mode())
                        .label(record.label.clone());
                    self.device.buffer(&descriptor).map_err(|error| self.device_error(error))?
                }
            };
            if let Some(contents) = &record.contents {
                buffer.write(0, contents).map_err(|error| self.device_error(error))?;
            }
            self.buffers.insert(record.buffer, buffer);
        }
        Ok(())
    }

    fn command(&mut self, command: &RecordedCommand) -> Result<Command, ReplayError> {
        Ok(match command {
            RecordedCommand::Dispatch {
                pipeline,
                bindings,
                threadgroup_memory,
                grid,
                group_size,
                cooperative,
            } => {
                let pipeline = self.pipeline(*pipeline)?;
                let bindings = self.bindings(bindings)?;
                let threadgroup_memory =
                    threadgroup_memory.iter().map(|&(index, length)| ThreadgroupMemory::new(index, length));
                let threadgroup_memory = threadgroup_memory.collect();
                let shape = (grid, *group_size, *cooperative);
                self.dispatch(pipeline, bindings, threadgroup_memory, shape)?
            }
            RecordedCommand::Copy { source, destination, length } => {
                let (from, to) = (self.buffer(source.0)?, self.buffer(destination.0)?);
                let copy = BufferCopy::new(from, range(source.1, *length), to, destination.1);
                Command::Copy(copy.map_err(|error| self.device_error(error))?)
            }
            RecordedCommand::Fill { target: (buffer, offset), length, value } => {
                let fill = BufferFill::new(self.buffer(*buffer)?, range(*offset, *length), *value);
                Command::Fill(fill.map_err(|error| self.device_error(error))?)
            }
            RecordedCommand::MatrixProduct(product) => {
                let product = CheckedProduct::new(product.try_map(|buffer| self.buffer(*buffer))?);
                Command::MatrixProduct(Box::new(product.map_err(|error| self.device_error(error))?))
            }
            RecordedCommand::SampleTime { target: (buffer, offset) } => {
                let sample = TimeSample::new(self.buffer(*buffer)?, *offset);
                Command::SampleTime(sample.map_err(|error| self.device_error(error))?)
            }
            RecordedCommand::WaitEvent { event, value } => {
                let event = self.event(*event)?;
                // Whoever signalled it ran before, or is not part of the recording.
                event.signal(*value);
                Command::WaitEvent { event, value: *value }
            }
            RecordedCommand::SignalEvent { event, value } => {
                Command::SignalEvent { event: self.event(*event)?, value: *value }
            }
            RecordedCommand::ExecuteEncoded => return Err(ReplayError::Encoded { entry: self.entry }),
            RecordedCommand::UpdateFence { fence } => Command::UpdateFence(self.fence(*fence)?),
            RecordedCommand::WaitFence { fence } => Command::WaitFence(self.fence(*fence)?),
        })
    }

    fn dispatch(
        &self,
        pipeline: Arc<dyn Pipeline>,
        bindings: Vec<Binding>,
        threadgroup_memory: Vec<ThreadgroupMemory>,
        (grid, group_size, cooperative): (&RecordedGrid, [u32; 3], bool),
    ) -> Result<Command, ReplayError> {
        let dispatch = |grid| {
            Dispatch::new(pipeline, grid, group_size)
                .with_bindings(bindings)
                .with_threadgroup_memory(threadgroup_memory)
                .with_cooperation(cooperative)
        };
        Ok(match *grid {
            RecordedGrid::Threads(threads) => Command::Dispatch(dispatch(Grid::Threads(threads))),
            RecordedGrid::Threadgroups(groups) => Command::Dispatch(dispatch(Grid::Threadgroups(groups))),
            RecordedGrid::Indirect(counts, offset) => {
                let counts = self.buffer(counts)?;
                let indirect = IndirectDispatch::new(dispatch(Grid::Threadgroups([1; 3])), counts, offset);
                Command::DispatchIndirect(indirect.map_err(|error| self.device_error(error))?)
            }
        })
    }

    fn bindings(&self, bindings: &[(u32, RecordedBinding)]) -> Result<Vec<Binding>, ReplayError> {
        let resource = |binding: &RecordedBinding| {
            Ok(match binding {
                RecordedBinding::Buffer { buffer, offset, length } => {
                    BoundResource::Buffer { buffer: self.buffer(*buffer)?, offset: *offset, length: *length }
                }
                RecordedBinding::Bytes(bytes) => BoundResource::Bytes(bytes.clone()),
                RecordedBinding::Unbound => BoundResource::Unbound,
            })
        };
        let bound = |(index, binding): &(u32, RecordedBinding)| Ok(Binding::new(*index, resource(binding)?));
        bindings.iter().map(bound).collect()
    }

    fn buffer(&self, number: u32) -> Result<Arc<dyn Buffer>, ReplayError> {
        let unknown = ReplayError::Unknown { entry: self.entry, what: "buffer", number };
        self.buffers.get(&number).cloned().ok_or(unknown)
    }

    fn pipeline(&mut self, number: u32) -> Result<Arc<dyn Pipeline>, ReplayError> {
        if let Some(known) = self.pipelines.get(&number) {
            return Ok(Arc::clone(known));
        }
        let unknown = ReplayError::Unknown { entry: self.entry, what: "pipeline", number };
        let record = self.recording.pipelines.get(number as usize).ok_or(unknown)?;
        let artifact = record.artifact.clone().or_else(|| (self.code)(&record.kernel, &record.fingerprint));
        let no_code = ReplayError::NoCode { entry: self.entry, kernel: record.kernel.clone() };
        let artifact = artifact.ok_or(no_code)?;
        let pipeline = self.device.pipeline(&artifact, &record.kernel);
        let pipeline = pipeline.map_err(|error| self.device_error(error))?;
        self.pipelines.insert(number, Arc::clone(&pipeline));
        Ok(pipeline)
    }

    fn event(&mut self, number: u32) -> Result<Arc<dyn Event>, ReplayError> {
        if let Some(known) = self.events.get(&number) {
            return Ok(Arc::clone(known));
        }
        let event = self.device.event().map_err(|error| self.device_error(error))?;
        self.events.insert(number, Arc::clone(&event));
        Ok(event)
    }

    fn fence(&mut self, number: u32) -> Result<Arc<dyn Fence>, ReplayError> {
        if let Some(known) = self.fences.get(&number) {
            return Ok(Arc::clone(known));
        }
        let fence = self.device.fence().map_err(|error| self.device_error(error))?;
        self.fences.insert(number, Arc::clone(&fence));
        Ok(fence)
    }

    fn device_error(&self, source: DeviceError) -> ReplayError {
        ReplayError::Device { entry: self.entry, source }
    }
}

/// The range of a recording; one that ends beyond all addresses is refused with its buffer.
fn range(start: u64, length: u64) -> std::ops::Range<u64> {
    start..start.saturating_add(length)
}

//! The recorder: a ring of the last submissions.
//!
//! Owns [`Recorder`], which devices and runtimes feed. Concurrency: everything is behind one mutex that is
//! held for the copying of one submission's commands, never while contents are read. Invariant: the ring
//! never holds more than it was made for; a number names one buffer, event, fence or pipeline for the
//! recorder's life.

use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::record::{
    BufferRecord, Entry, PipelineRecord, RecordedBinding, RecordedCommand, RecordedGrid, RecordedOutcome,
    Recording,
};
use anymetal_hal::artifact::{Artifact, ArtifactCode};
use anymetal_hal::buffer::{Buffer, StorageMode};
use anymetal_hal::command::{
    Binding, BoundResource, Command, CommandList, Dispatch, Grid, ThreadgroupMemory,
};
use anymetal_hal::completion::{Completion, Outcome};
use anymetal_hal::event::Event;
use anymetal_hal::fence::Fence;
use anymetal_hal::pipeline::Pipeline;

/// What a recorder keeps.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RecorderOptions {
    /// The most submissions.
    pub entries: usize,
    /// The most commands of each; the others are counted.
    pub commands: usize,
    /// Whether to keep the bytes of each buffer before each submission, and the artifacts: needed to replay.
    /// It waits until nothing in flight uses the buffers, so it is for finding faults, not for speed.
    pub contents: bool,
}

impl Default for RecorderOptions {
    fn default() -> Self {
        RecorderOptions { entries: 256, commands: 64, contents: false }
    }
}

impl RecorderOptions {
    /// Everything that a replay needs, of so many submissions.
    pub fn replayable(entries: usize) -> Self {
        RecorderOptions { entries, commands: usize::MAX, contents: true }
    }
}

/// Keeps the last submissions.
#[derive(Debug)]
pub struct Recorder {
    options: RecorderOptions,
    state: Mutex<RecorderState>,
}

/// Names a recorded submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntryId(u64);

#[derive(Debug, Default)]
struct RecorderState {
    ring: VecDeque<Entry>,
    /// By number: the ends that are still to be noted.
    running: BTreeMap<u64, Completion>,
    recorded: u64,
    queues: u32,
    buffers: Numbers<dyn Buffer>,
    events: Numbers<dyn Event>,
    fences: Numbers<dyn Fence>,
    pipelines: Numbers<dyn Pipeline>,
    pipeline_records: Vec<PipelineRecord>,
}

/// Numbers for resources by identity. A weak handle keeps an address from being used again.
#[derive(Debug)]
struct Numbers<T: ?Sized> {
    known: BTreeMap<usize, (u32, Weak<T>)>,
    next: u32,
    prune_at: usize,
}

impl<T: ?Sized> Default for Numbers<T> {
    fn default() -> Self {
        Numbers { known: BTreeMap::new(), next: 0, prune_at: 64 }
    }
}

impl<T: ?Sized> Numbers<T> {
    /// The resource's number, and whether it is new.
    fn of(&mut self, resource: &Arc<T>) -> (u32, bool) {
        let address = Arc::as_ptr(resource).cast::<()>() as usize;
        if let Some((number, _)) = self.known.get(&address) {
            return (*number, false);
        }
        if self.known.len() >= self.prune_at {
            self.known.retain(|_, (_, resource)| resource.strong_count() > 0);
            self.prune_at = (2 * self.known.len()).max(64);
        }
        let number = self.next;
        self.next += 1;
        self.known.insert(address, (number, Arc::downgrade(resource)));
        (number, true)
    }
}

impl Recorder {
    /// An empty ring.
    pub fn new(options: RecorderOptions) -> Self {
        Recorder { options, state: Mutex::default() }
    }

    /// A number for a queue.
    pub fn queue_number(&self) -> u32 {
        let mut state = self.lock();
        state.queues += 1;
        state.queues - 1
    }

    /// Notes where a pipeline comes from.
    pub fn note_pipeline(&self, pipeline: &Arc<dyn Pipeline>, artifact: &Arc<Artifact>) {
        let replayable = self.options.contents && !matches!(artifact.code, ArtifactCode::Interpreter(_));
        let mut state = self.lock();
        let number = state.pipeline(pipeline);
        if let Some(record) = state.pipeline_records.get_mut(number as usize) {
            record.fingerprint.clone_from(&artifact.fingerprint);
            record.artifact = replayable.then(|| Arc::clone(artifact));
        }
    }

    /// Notes a submission that is about to be handed over.
    pub fn note(&self, queue: u32, queue_label: &str, submission: &CommandList) -> EntryId {
        let contents = self.contents(submission);
        // What is executed indirectly is told as what it is, so that a recording needs no encoding to run.
        let all = || submission.commands.iter().flat_map(Command::expanded);
        let left_out = all().count().saturating_sub(self.options.commands);
        let mut state = self.lock();
        let commands = all().take(self.options.commands);
        let commands = commands.filter_map(|command| state.command(command)).collect();
        let buffers = contents
            .into_iter()
            .map(|(buffer, contents)| BufferRecord {
                buffer: state.buffers.of(buffer).0,
                length: buffer.length(),
                private: buffer.storage_mode() == StorageMode::Private,
                label: buffer.label().to_owned(),
                contents,
            })
            .collect();
        let number = state.recorded;
        state.recorded += 1;
        state.ring.push_back(Entry {
            number,
            queue: (queue, queue_label.to_owned()),
            label: submission.label.clone(),
            commands,
            commands_left_out: left_out,
            buffers,
            outcome: None,
        });
        if state.ring.len() > self.options.entries.max(1)
            && let Some(oldest) = state.ring.pop_front()
        {
            state.running.remove(&oldest.number);
        }
        EntryId(number)
    }

    /// Keeps the completion of a submission until its end is noted: whoever waited for it may ask for the
    /// recording before the device's thread has come to tell.
    pub fn note_running(&self, entry: EntryId, completion: &Completion) {
        self.lock().running.insert(entry.0, completion.clone());
    }

    /// Notes how a submission ended, if it is still in the ring.
    pub fn note_end(&self, entry: EntryId, outcome: &Outcome) {
        let outcome = match outcome {
            Ok(timing) => RecordedOutcome::Done { device_ns: timing.device_time().as_nanos() as u64 },
            Err(error) => RecordedOutcome::Failed { error: error.to_string() },
        };
        let mut state = self.lock();
        state.running.remove(&entry.0);
        let first = state.ring.front().map_or(0, |first| first.number);
        let at = entry.0.checked_sub(first).and_then(|at| usize::try_from(at).ok());
        if let Some(entry) = at.and_then(|at| state.ring.get_mut(at)) {
            entry.outcome = Some(outcome);
        }
    }

    /// What the ring holds now.
    pub fn recording(&self) -> Recording {
        let running: Vec<(u64, Completion)> =
            self.lock().running.iter().map(|(number, completion)| (*number, completion.clone())).collect();
        for (number, completion) in running {
            if let Some(outcome) = completion.outcome() {
                self.note_end(EntryId(number), &outcome);
            }
        }
        let state = self.lock();
        Recording { entries: state.ring.iter().cloned().collect(), pipelines: state.pipeline_records.clone() }
    }

    /// The ring as text.
    pub fn dump(&self) -> String {
        self.recording().text()
    }

    /// The distinct buffers of a submission; with their bytes, if those are kept.
    fn contents<'a>(&self, submission: &'a CommandList) -> Vec<(&'a Arc<dyn Buffer>, Option<Arc<[u8]>>)> {
        if !self.options.contents {
            return Vec::new();
        }
        let read = |buffer: &dyn Buffer| {
            buffer.uses().wait_submitted();
            let mut bytes = vec![0; usize::try_from(buffer.length()).ok()?];
            buffer.read(0, &mut bytes).ok()?;
            Some(Arc::from(bytes))
        };
        submission.buffers().into_iter().map(|buffer| (buffer, read(buffer.as_ref()))).collect()
    }

    fn lock(&self) -> MutexGuard<'_, RecorderState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RecorderState {
    fn pipeline(&mut self, pipeline: &Arc<dyn Pipeline>) -> u32 {
        let (number, new) = self.pipelines.of(pipeline);
        if new {
            let kernel = pipeline.kernel().name.clone();
            self.pipeline_records.push(PipelineRecord { kernel, fingerprint: String::new(), artifact: None });
        }
        number
    }

    /// `None`: it was expanded.
    fn command(&mut self, command: &Command) -> Option<RecordedCommand> {
        Some(match command {
            Command::ExecuteIndirect(_) => return None,
            Command::ExecuteEncoded(_) => RecordedCommand::ExecuteEncoded,
            Command::Dispatch(dispatch) => {
                let grid = match dispatch.grid() {
                    Grid::Threads(threads) => RecordedGrid::Threads(threads),
                    Grid::Threadgroups(groups) => RecordedGrid::Threadgroups(groups),
                };
                self.dispatch(dispatch, grid)
            }
            Command::DispatchIndirect(indirect) => {
                let grid =
                    RecordedGrid::Indirect(self.buffers.of(indirect.counts()).0, indirect.counts_offset());
                self.dispatch(indirect.dispatch(), grid)
            }
            Command::MatrixProduct(product) => {
                let numbered = product.try_map(|buffer| Ok::<_, Infallible>(self.buffers.of(buffer).0));
                let Ok(numbered) = numbered;
                RecordedCommand::MatrixProduct(Box::new(numbered))
            }
            Command::Copy(copy) => RecordedCommand::Copy {
                source: (self.buffers.of(copy.source()).0, copy.source_offset()),
                destination: (self.buffers.of(copy.destination()).0, copy.destination_offset()),
                length: copy.length(),
            },
            Command::Fill(fill) => RecordedCommand::Fill {
                target: (self.buffers.of(fill.buffer()).0, fill.offset()),
                length: fill.length(),
                value: fill.value(),
            },
            Command::SampleTime(sample) => {
                RecordedCommand::SampleTime { target: (self.buffers.of(sample.buffer()).0, sample.offset()) }
            }
            Command::WaitEvent { event, value } => {
                RecordedCommand::WaitEvent { event: self.events.of(event).0, value: *value }
            }
            Command::SignalEvent { event, value } => {
                RecordedCommand::SignalEvent { event: self.events.of(event).0, value: *value }
            }
            Command::UpdateFence(fence) => RecordedCommand::UpdateFence { fence: self.fences.of(fence).0 },
            Command::WaitFence(fence) => RecordedCommand::WaitFence { fence: self.fences.of(fence).0 },
        })
    }

    fn dispatch(&mut self, dispatch: &Dispatch, grid: RecordedGrid) -> RecordedCommand {
        RecordedCommand::Dispatch {
            pipeline: self.pipeline(dispatch.pipeline()),
            bindings: self.bindings(dispatch.bindings()),
            threadgroup_memory: threadgroup_memory(dispatch.threadgroup_memory()),
            grid,
            group_size: dispatch.group_size(),
            cooperative: dispatch.is_cooperative(),
        }
    }

    fn bindings(&mut self, bindings: &[Binding]) -> Vec<(u32, RecordedBinding)> {
        let mut recorded = |resource: &BoundResource| match resource {
            BoundResource::Buffer { buffer, offset, length } => RecordedBinding::Buffer {
                buffer: self.buffers.of(buffer).0,
                offset: *offset,
                length: *length,
            },
            BoundResource::Bytes(bytes) => RecordedBinding::Bytes(bytes.clone()),
            BoundResource::Unbound => RecordedBinding::Unbound,
        };
        bindings.iter().map(|binding| (binding.index, recorded(&binding.resource))).collect()
    }
}

fn threadgroup_memory(lengths: &[ThreadgroupMemory]) -> Vec<(u32, u64)> {
    lengths.iter().map(|memory| (memory.index, memory.length)).collect()
}

//! Recording: what was submitted and how it ended, in a ring; as text, in a file, and run again.
//!
//! Owns the plain records. [`recorder`] keeps the ring, which streams and `anymetal_testing::recording` fill;
//! [`file`] has the byte encoding; [`replay`] runs a recording on any device. Invariant: a record holds no
//! resource alive (buffers are named by numbers), and an entry with contents can be replayed without the
//! others.

pub mod file;
pub mod recorder;
pub mod replay;

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use anymetal_hal::artifact::Artifact;
use anymetal_hal::buffer::StorageMode;
use anymetal_hal::matrix_product::{MatrixOperand, MatrixProduct};

/// A recording: entries and what they name.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Recording {
    /// The submissions, in the order in which they were handed over.
    pub entries: Vec<Entry>,
    /// The pipelines that entries name by position.
    pub pipelines: Vec<PipelineRecord>,
}

/// A pipeline.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PipelineRecord {
    /// Its kernel.
    pub kernel: String,
    /// The fingerprint of its artifact; empty if the recorder never saw it.
    pub fingerprint: String,
    /// The artifact, if contents are recorded and it has object code.
    pub artifact: Option<Arc<Artifact>>,
}

/// One submission.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Entry {
    /// Counts the submissions of the recorder from 0.
    pub number: u64,
    /// The queue's number, and its label.
    pub queue: (u32, String),
    /// The submission's label.
    pub label: String,
    /// Its commands.
    pub commands: Vec<RecordedCommand>,
    /// Commands beyond the recorder's limit, which are counted only.
    pub commands_left_out: usize,
    /// The buffers that it uses.
    pub buffers: Vec<BufferRecord>,
    /// How it ended; `None`: it had not.
    pub outcome: Option<RecordedOutcome>,
}

/// A buffer at the time of a submission.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[non_exhaustive]
pub struct BufferRecord {
    /// Its number.
    pub buffer: u32,
    /// Its length.
    pub length: u64,
    /// Whether the host could not see it.
    pub private: bool,
    /// Its label.
    pub label: String,
    /// Its bytes before the submission ran, if contents are recorded and the host can see it.
    #[serde(skip)]
    pub contents: Option<Arc<[u8]>>,
}

impl BufferRecord {
    /// The storage mode to make it with.
    pub fn storage_mode(&self) -> StorageMode {
        if self.private { StorageMode::Private } else { StorageMode::Shared }
    }
}

/// How a submission ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum RecordedOutcome {
    /// It ran, so long by the device's clock.
    Done {
        /// Nanoseconds.
        device_ns: u64,
    },
    /// It failed.
    Failed {
        /// The error, in words.
        error: String,
    },
}

/// One command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum RecordedCommand {
    /// A dispatch.
    Dispatch {
        /// The pipeline, by its position in [`Recording::pipelines`].
        pipeline: u32,
        /// What was bound.
        bindings: Vec<(u32, RecordedBinding)>,
        /// Index and bytes of threadgroup memory.
        threadgroup_memory: Vec<(u32, u64)>,
        /// The grid.
        grid: RecordedGrid,
        /// Threads per threadgroup.
        group_size: [u32; 3],
        /// Whether it is cooperative.
        #[serde(default)]
        cooperative: bool,
    },
    /// A copy.
    Copy {
        /// Buffer and first byte.
        source: (u32, u64),
        /// Buffer and first byte.
        destination: (u32, u64),
        /// Bytes.
        length: u64,
    },
    /// A fill.
    Fill {
        /// Buffer and first byte.
        target: (u32, u64),
        /// Bytes.
        length: u64,
        /// The byte.
        value: u8,
    },
    /// A product of matrices, in buffers of those numbers.
    MatrixProduct(Box<MatrixProduct<u32>>),
    /// A sample of the device's clock.
    SampleTime {
        /// Buffer and first byte.
        target: (u32, u64),
    },
    /// A wait for an event.
    WaitEvent {
        /// The event's number.
        event: u32,
        /// The value.
        value: u64,
    },
    /// A signal of an event.
    SignalEvent {
        /// The event's number.
        event: u32,
        /// The value.
        value: u64,
    },
    /// An update of a fence.
    UpdateFence {
        /// The fence's number.
        fence: u32,
    },
    /// An execution of commands that kernels encoded. It holds addresses, so it cannot be replayed.
    ExecuteEncoded,
    /// A wait for a fence.
    WaitFence {
        /// The fence's number.
        fence: u32,
    },
}

/// What was bound.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum RecordedBinding {
    /// A buffer's range.
    Buffer {
        /// Its number.
        buffer: u32,
        /// The first byte.
        offset: u64,
        /// Bytes; `None`: to the end.
        length: Option<u64>,
    },
    /// Inline bytes.
    Bytes(Vec<u8>),
    /// Nothing.
    Unbound,
}

/// A grid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum RecordedGrid {
    /// Threads.
    Threads([u32; 3]),
    /// Threadgroups.
    Threadgroups([u32; 3]),
    /// Threadgroups by the counts at a byte of a buffer.
    Indirect(u32, u64),
}

impl Recording {
    /// The recording as text, one entry after the other.
    pub fn text(&self) -> String {
        self.entries.iter().map(|entry| entry.describe(&self.pipelines)).collect()
    }
}

impl Entry {
    /// The entry as text: a line for it, and one for each command.
    pub fn describe(&self, pipelines: &[PipelineRecord]) -> String {
        let (queue, queue_label) = &self.queue;
        let mut text = format!("#{} queue {queue} {queue_label:?} {:?}", self.number, self.label);
        text += &match &self.outcome {
            None => ": not done\n".to_owned(),
            Some(RecordedOutcome::Done { device_ns }) => {
                format!(": done in {} us\n", *device_ns as f64 / 1e3)
            }
            Some(RecordedOutcome::Failed { error }) => format!(": FAILED: {error}\n"),
        };
        for command in &self.commands {
            text += "    ";
            text += &command.describe(pipelines);
            text += "\n";
        }
        if self.commands_left_out > 0 {
            text += &format!("    and {} more commands\n", self.commands_left_out);
        }
        text
    }
}

impl RecordedCommand {
    fn describe(&self, pipelines: &[PipelineRecord]) -> String {
        match self {
            RecordedCommand::Dispatch {
                pipeline,
                bindings,
                threadgroup_memory,
                grid,
                group_size,
                cooperative,
            } => {
                let kernel = pipelines.get(*pipeline as usize).map_or("?", |record| record.kernel.as_str());
                let mut text = format!("dispatch {kernel} over {grid} of {}", extent(*group_size));
                if *cooperative {
                    text += ", cooperative";
                }
                for (index, binding) in bindings {
                    text += &format!(", {index}: {binding}");
                }
                for (index, bytes) in threadgroup_memory {
                    text += &format!(", threadgroup {index}: {bytes} bytes");
                }
                text
            }
            RecordedCommand::Copy { source, destination, length } => format!(
                "copy {length} bytes from buffer {}+{} to buffer {}+{}",
                source.0, source.1, destination.0, destination.1
            ),
            RecordedCommand::Fill { target, length, value } => {
                format!("fill {length} bytes of buffer {}+{} with {value:#04x}", target.0, target.1)
            }
            RecordedCommand::MatrixProduct(product) => describe_product(product),
            RecordedCommand::SampleTime { target } => {
                format!("sample the time into buffer {}+{}", target.0, target.1)
            }
            RecordedCommand::WaitEvent { event, value } => format!("wait for event {event} to reach {value}"),
            RecordedCommand::SignalEvent { event, value } => format!("signal event {event} to {value}"),
            RecordedCommand::ExecuteEncoded => "execute commands that kernels encoded".to_owned(),
            RecordedCommand::UpdateFence { fence } => format!("update fence {fence}"),
            RecordedCommand::WaitFence { fence } => format!("wait for fence {fence}"),
        }
    }
}

impl fmt::Display for RecordedGrid {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecordedGrid::Threads(threads) => write!(formatter, "{} threads in groups", extent(*threads)),
            RecordedGrid::Threadgroups(groups) => write!(formatter, "{} groups", extent(*groups)),
            RecordedGrid::Indirect(buffer, offset) => {
                write!(formatter, "as many groups as buffer {buffer}+{offset} says")
            }
        }
    }
}

impl fmt::Display for RecordedBinding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecordedBinding::Buffer { buffer, offset, length: None } => {
                write!(formatter, "buffer {buffer}+{offset}")
            }
            RecordedBinding::Buffer { buffer, offset, length: Some(length) } => {
                write!(formatter, "buffer {buffer}+{offset} ({length} bytes)")
            }
            RecordedBinding::Bytes(bytes) => write!(formatter, "{} inline bytes", bytes.len()),
            RecordedBinding::Unbound => formatter.write_str("nothing"),
        }
    }
}

fn describe_product(product: &MatrixProduct<u32>) -> String {
    let MatrixProduct { left, right, result, rows, columns, inner, batches, .. } = product;
    let place = |operand: &MatrixOperand<u32>| format!("buffer {}+{}", operand.buffer, operand.offset);
    format!(
        "multiply {batches} of {rows}x{inner} in {} by {inner}x{columns} in {} into {}",
        place(left),
        place(right),
        place(result)
    )
}

fn extent([x, y, z]: [u32; 3]) -> String {
    format!("{x}x{y}x{z}")
}

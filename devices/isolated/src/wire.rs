//! The messages between host and worker.
//!
//! A message is JSON, and bytes that it refers to by [`Bytes`]. Objects have numbers that the host chooses.
//! Invariant: what comes from a worker is a [`Report`], whose numbers the host looks up before it uses them.

use std::time::Duration;

use anymetal_hal::command::{Deadline, Grid, ResourceUsage, ThreadgroupMemory, Timestamps};
use anymetal_hal::completion::{CommandTiming, Outcome};
use anymetal_hal::error::DeviceError;
use anymetal_hal::queue::{Cancellation, Priority};
use anymetal_isolate::{Frame, IsolationError};
use serde::{Deserialize, Serialize};

/// The kind of a frame of either direction; greetings have 0.
const KIND: u8 = 1;

/// The frame of a message.
pub(crate) fn frame(message: &impl Serialize, blob: Vec<u8>) -> Frame {
    let header = serde_json::to_vec(message).expect("numbers and texts can be written");
    Frame { kind: KIND, header, blob }
}

/// The message of a frame.
pub(crate) fn read<'f, T: Deserialize<'f>>(frame: &'f Frame) -> Result<T, IsolationError> {
    if frame.kind != KIND {
        return Err(IsolationError::malformed(format!("a message of kind {}", frame.kind)));
    }
    serde_json::from_slice(&frame.header).map_err(|error| IsolationError::malformed(error.to_string()))
}

/// A part of the bytes of a message.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Bytes {
    from: usize,
    length: usize,
}

impl Bytes {
    /// Appends bytes to those of a message.
    pub(crate) fn append(blob: &mut Vec<u8>, bytes: &[u8]) -> Self {
        let from = blob.len();
        blob.extend_from_slice(bytes);
        Bytes { from, length: bytes.len() }
    }

    /// These bytes; `None`: the message does not have them.
    pub(crate) fn of(self, blob: &[u8]) -> Option<&[u8]> {
        blob.get(self.from..self.from.checked_add(self.length)?)
    }
}

/// A request of the host.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Request {
    /// The number of the [`Report::Replied`] that the host waits for.
    pub(crate) reply: Option<u64>,
    pub(crate) body: Body,
}

/// What the host requests.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Body {
    /// Makes the device: the first message.
    Start(Start),
    /// Makes a buffer of a range of the memory.
    Buffer { id: u64, offset: u64, length: u64, label: String },
    /// Makes a pipeline of the artifact in the message's bytes.
    Pipeline { id: u64, kernel: String, code: WireCode },
    /// Makes a queue.
    Queue { id: u64, label: String, max_in_flight: usize, priority: Priority },
    /// Makes an indirect command buffer.
    Indirect { id: u64, commands: Vec<WireCommand> },
    /// Runs commands.
    Submit { submission: u64, queue: u64, work: WireWork },
    /// Takes a submission back if it has not started.
    Cancel { submission: u64, queue: u64, stops: bool },
    /// The event of a wait has reached its value.
    Reached { submission: u64, command: usize },
    /// No message will name the object again.
    Forget { id: u64 },
}

/// The options of the device.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Start {
    pub(crate) threads: Option<usize>,
    pub(crate) pin_workers: Option<bool>,
    pub(crate) default_deadline: Duration,
    /// When the host's device was made, by the system's monotonic clock.
    pub(crate) made_at: Duration,
}

/// The code of a pipeline.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum WireCode {
    /// The bytes are an artifact.
    Artifact,
    /// The bytes are an artifact without code, and an interpreter.
    Interpreter { description: Bytes, interpreter: Bytes },
}

/// A submission.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct WireWork {
    pub(crate) commands: Vec<WireCommand>,
    pub(crate) deadline: Deadline,
    pub(crate) timestamps: Timestamps,
    pub(crate) label: String,
    pub(crate) resident: Vec<(u64, ResourceUsage)>,
}

/// A command.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum WireCommand {
    Dispatch {
        launch: WireLaunch,
        grid: Grid,
        cooperative: bool,
    },
    DispatchIndirect {
        launch: WireLaunch,
        counts: u64,
        offset: u64,
    },
    Copy {
        source: u64,
        source_offset: u64,
        destination: u64,
        destination_offset: u64,
        length: u64,
    },
    Fill {
        buffer: u64,
        offset: u64,
        length: u64,
        value: u8,
    },
    SampleTime {
        buffer: u64,
        offset: u64,
    },
    ExecuteIndirect(u64),
    WaitEvent {
        value: u64,
        /// Whether it is reached already.
        is_reached: bool,
    },
    SignalEvent {
        value: u64,
    },
    /// Queues keep their order anyway.
    Fence,
}

/// A kernel with its arguments.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct WireLaunch {
    pub(crate) pipeline: u64,
    pub(crate) bindings: Vec<(u32, WireResource)>,
    pub(crate) threadgroup_memory: Vec<ThreadgroupMemory>,
    pub(crate) group_size: [u32; 3],
}

/// What is bound.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum WireResource {
    Buffer { buffer: u64, offset: u64, length: Option<u64> },
    Bytes(Bytes),
    Unbound,
}

/// A message of a worker.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Report {
    /// The answer to a request.
    Replied { number: u64, result: Result<Reply, DeviceError> },
    /// A submission has come to a command that signals an event.
    Signaled { submission: u64, command: usize },
    /// A submission has ended.
    Ended { submission: u64, outcome: Outcome, commands: Option<Vec<CommandTiming>> },
}

/// An answer.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Reply {
    /// It is done.
    Done,
    /// The device is made, and the memory begins at that address.
    Started { base: u64 },
    /// What became of a request to take a submission back.
    Cancelled(Cancellation),
}

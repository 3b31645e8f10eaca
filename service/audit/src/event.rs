//! What is logged.
//!
//! Owns [`Event`], what callers record, and `ChainEvent`, what the log itself records: where it begins and
//! ends, and what it left out. The form of both is a contract: fields are added, never changed.

use anymetal_hal::error::ErrorClass;
use serde::{Deserialize, Serialize};

/// How something ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Outcome {
    /// Well.
    Ok,
    /// With an error.
    Failed {
        /// The error's class in one word: `transient`, `exhausted`, `lost`, `caller`.
        class: String,
        /// The error, in words.
        reason: String,
    },
}

impl Outcome {
    /// With an error of that class.
    pub fn failed(class: ErrorClass, reason: impl Into<String>) -> Self {
        Outcome::Failed { class: class_word(class).to_owned(), reason: reason.into() }
    }
}

/// Something that a process did or refused to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Event {
    /// A kernel was compiled.
    Compile {
        /// The device that it is for.
        device: String,
        /// The kernel.
        kernel: String,
        /// The source's hash, or its name where there is no source.
        source: String,
        /// How it ended.
        outcome: Outcome,
    },
    /// Memory was taken.
    Allocate {
        /// The device.
        device: String,
        /// The buffer's label; may be empty.
        label: String,
        /// Its bytes.
        bytes: u64,
        /// How it ended.
        outcome: Outcome,
    },
    /// A kernel was launched.
    Dispatch {
        /// The device.
        device: String,
        /// The kernel.
        kernel: String,
        /// Threads of the grid.
        grid: [u32; 3],
        /// Threads of a threadgroup.
        group: [u32; 3],
        /// How it ended.
        outcome: Outcome,
    },
    /// A request was refused before anything happened.
    Refuse {
        /// What was refused: `launch`, `buffer`, `compile`.
        what: String,
        /// The reason, in words.
        reason: String,
        /// The error's class in one word.
        class: String,
    },
    /// An execution begins: its record is taken before anything of it runs.
    Begin {
        /// Its number in its manager, which its other records repeat.
        execution: u64,
        /// The kernel or graph.
        work: String,
    },
    /// An attempt of an execution failed.
    Attempt {
        /// The execution.
        execution: u64,
        /// The kernel or graph.
        work: String,
        /// The device.
        device: String,
        /// The level of degradation; 0: none.
        level: u8,
        /// How it ended.
        outcome: Outcome,
    },
    /// An execution ended.
    End {
        /// The execution.
        execution: u64,
        /// The kernel or graph.
        work: String,
        /// The device that ran it; empty if none did.
        device: String,
        /// Its attempts.
        attempts: u64,
        /// From its begin, by the clock.
        took_ns: u64,
        /// How it ended.
        outcome: Outcome,
    },
    /// A device was lost or rebuilt.
    Device {
        /// The device.
        device: String,
        /// What happened: `lost`, `rebuilt`, `not-rebuilt`.
        change: String,
        /// How often it had been made, if that is known; 0 otherwise.
        generation: u64,
        /// Why, in words; may be empty.
        reason: String,
    },
    /// The last copy of a buffer's contents went with a device.
    ContentsLost {
        /// The buffer's label; may be empty.
        label: String,
        /// The device.
        device: String,
    },
    /// A policy decided something.
    Policy {
        /// The policy: `retry`, `breaker`, `fallback`.
        policy: String,
        /// The decision: `open`, `attempt 2`.
        decision: String,
        /// What it is about; may be empty.
        detail: String,
    },
}

impl Event {
    /// A kernel that was compiled well.
    pub fn compile(device: impl Into<String>, kernel: impl Into<String>, source: impl Into<String>) -> Self {
        let (device, kernel, source) = (device.into(), kernel.into(), source.into());
        Event::Compile { device, kernel, source, outcome: Outcome::Ok }
    }

    /// Memory that was taken.
    pub fn allocate(device: impl Into<String>, label: impl Into<String>, bytes: u64) -> Self {
        Event::Allocate { device: device.into(), label: label.into(), bytes, outcome: Outcome::Ok }
    }

    /// A kernel that ran well.
    pub fn dispatch(
        device: impl Into<String>,
        kernel: impl Into<String>,
        grid: [u32; 3],
        group: [u32; 3],
    ) -> Self {
        Event::Dispatch { device: device.into(), kernel: kernel.into(), grid, group, outcome: Outcome::Ok }
    }

    /// A refusal.
    pub fn refuse(what: impl Into<String>, reason: impl Into<String>, class: ErrorClass) -> Self {
        Event::Refuse { what: what.into(), reason: reason.into(), class: class_word(class).to_owned() }
    }

    /// A decision of a policy.
    pub fn policy(policy: impl Into<String>, decision: impl Into<String>, detail: impl Into<String>) -> Self {
        Event::Policy { policy: policy.into(), decision: decision.into(), detail: detail.into() }
    }

    /// The same event with another end; events without an end stay as they are.
    pub fn with_outcome(mut self, end: Outcome) -> Self {
        match &mut self {
            Event::Compile { outcome, .. }
            | Event::Allocate { outcome, .. }
            | Event::Dispatch { outcome, .. }
            | Event::Attempt { outcome, .. }
            | Event::End { outcome, .. } => *outcome = end,
            Event::Refuse { .. }
            | Event::Policy { .. }
            | Event::Begin { .. }
            | Event::Device { .. }
            | Event::ContentsLost { .. } => {}
        }
        self
    }
}

/// What the log says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(crate) enum ChainEvent {
    /// A process opened the log; its clock may begin anew.
    Opened {
        /// The version of this crate.
        version: String,
        /// Nanoseconds of Unix time at the clock's zero, if the opener said so.
        unix_ns_at_zero: Option<u64>,
    },
    /// The process closed the log.
    Closed,
    /// The file before ends in a record that was cut off: the process or machine had stopped while writing.
    Recovered {
        /// The file's name.
        file: String,
        /// The bytes of the part.
        torn_bytes: u64,
    },
    /// Old files were removed.
    Removed {
        /// The newest record that was removed.
        through: u64,
        /// Its digest.
        digest: String,
    },
    /// Records that could not be written and were given up.
    Lost {
        /// How many.
        count: u64,
    },
}

fn class_word(class: ErrorClass) -> &'static str {
    match class {
        ErrorClass::Transient => "transient",
        ErrorClass::Exhausted => "exhausted",
        ErrorClass::Lost => "lost",
        ErrorClass::Caller => "caller",
    }
}

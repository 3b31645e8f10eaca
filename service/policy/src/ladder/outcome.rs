//! What the ladder is told of an attempt, and why it gives up.

use std::fmt;
use std::time::Duration;

use anymetal_hal::error::{DeviceError, ErrorClass};
use serde::{Deserialize, Serialize};

use crate::idempotence::NotRetryable;

/// What ran out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Resource {
    /// Memory of the device or a heap, or a budget or quota of it.
    Memory,
    /// Places in a queue, or command buffers.
    Queue,
}

/// What a failed attempt may have done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Effects {
    /// Nothing: it was refused before anything ran.
    None,
    /// It may have written any part of what it writes.
    Possible,
}

/// How an attempt failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Failure {
    /// The class.
    pub class: ErrorClass,
    /// What ran out; `None` unless the class is exhausted.
    pub resource: Option<Resource>,
    /// What it may have done.
    pub effects: Effects,
}

impl Failure {
    /// The failure of a refusal, before anything ran, with that error.
    pub fn refused(error: &DeviceError) -> Self {
        Failure { class: error.class(), resource: resource(error), effects: Effects::None }
    }

    /// The failure of work that ran, at least in part, with that error.
    pub fn ran(error: &DeviceError) -> Self {
        Failure { effects: Effects::Possible, ..Failure::refused(error) }
    }
}

fn resource(error: &DeviceError) -> Option<Resource> {
    match error {
        DeviceError::OutOfMemory { .. } | DeviceError::HeapFull { .. } => Some(Resource::Memory),
        DeviceError::QueueFull { .. } => Some(Resource::Queue),
        _ => None,
    }
}

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// It succeeded.
    Success,
    /// It failed.
    Failed(Failure),
    /// The device's breaker did not let it through, so it did not run.
    BreakerOpen {
        /// From when on the breaker may let a call through, on the clock; `None`: it never does.
        until: Option<Duration>,
    },
}

/// Why the ladder gave up.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum GiveUp {
    /// The caller's program is wrong; every attempt on any device would fail alike.
    Caller,
    /// An attempt may have written something, and the work may not run again.
    NotRetryable(NotRetryable),
    /// The time is over.
    Deadline,
    /// All rungs were tried; the class of the last failure.
    NoRungLeft(ErrorClass),
    /// The last device's breaker is open.
    BreakerOpen,
}

impl GiveUp {
    /// The word for labels: `caller`, `not-retryable`, `deadline`, `no-rung-left`, `breaker-open`.
    pub const fn word(&self) -> &'static str {
        match self {
            GiveUp::Caller => "caller",
            GiveUp::NotRetryable(_) => "not-retryable",
            GiveUp::Deadline => "deadline",
            GiveUp::NoRungLeft(_) => "no-rung-left",
            GiveUp::BreakerOpen => "breaker-open",
        }
    }
}

impl fmt::Display for GiveUp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GiveUp::Caller => formatter.write_str("the error is the caller's; trying again changes nothing"),
            GiveUp::NotRetryable(why) => write!(formatter, "it may not run again: {why}"),
            GiveUp::Deadline => formatter.write_str("the deadline has passed"),
            GiveUp::NoRungLeft(class) => {
                write!(formatter, "nothing is left to try after an error of the class {}", class.word())
            }
            GiveUp::BreakerOpen => formatter.write_str(
                "the circuit breaker of the last device is open (with the rung `wait` it is waited for)",
            ),
        }
    }
}

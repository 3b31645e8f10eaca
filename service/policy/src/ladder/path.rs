//! The path of a call: every attempt, for the result to tell.
//!
//! Owns [`Path`] and its [`AttemptRecord`]s. Invariant: attempts are in the order in which they
//! began, and only attempts that ended are in it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use anymetal_hal::error::ErrorClass;
use serde::{Serialize, Serializer};

use super::policy::Rung;

/// How an attempt ended, as the path tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Ending {
    /// It succeeded.
    Success,
    /// It failed with an error of the class.
    #[serde(serialize_with = "word")]
    Failed(ErrorClass),
    /// The breaker did not let it through.
    BreakerOpen,
}

/// One attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AttemptRecord {
    /// The device's name.
    #[serde(serialize_with = "text")]
    pub device: Arc<str>,
    /// The level of degradation; 0: none.
    pub level: u8,
    /// The rung that led to it; `None`: it is the first.
    pub rung: Option<Rung>,
    /// Whether what an earlier attempt wrote was restored before it.
    pub restored: bool,
    /// When it began, on the clock.
    #[serde(rename = "started_ns", serialize_with = "nanoseconds")]
    pub started: Duration,
    /// When it ended, on the clock.
    #[serde(rename = "ended_ns", serialize_with = "nanoseconds")]
    pub ended: Duration,
    /// How it ended.
    pub ending: Ending,
}

/// All attempts of a call.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(transparent)]
pub struct Path {
    attempts: Vec<AttemptRecord>,
}

impl Path {
    pub(super) fn push(&mut self, attempt: AttemptRecord) {
        self.attempts.push(attempt);
    }

    /// The attempts in the order in which they began.
    pub fn attempts(&self) -> &[AttemptRecord] {
        &self.attempts
    }

    /// Attempts after the first, whatever led to them.
    pub fn retries(&self) -> usize {
        self.attempts.len().saturating_sub(1)
    }

    /// Whether the last attempt was in a degraded mode.
    pub fn is_degraded(&self) -> bool {
        self.attempts.last().is_some_and(|attempt| attempt.level > 0)
    }

    /// Whether the last attempt was on another device than the first.
    pub fn fell_back(&self) -> bool {
        let device = |attempt: Option<&AttemptRecord>| attempt.map(|attempt| Arc::clone(&attempt.device));
        device(self.attempts.first()) != device(self.attempts.last())
    }

    /// The device of the last attempt.
    pub fn device(&self) -> Option<&str> {
        self.attempts.last().map(|attempt| &*attempt.device)
    }
}

/// `gpu transient @0+1ms, retry gpu ok @101ms+2ms`: for each attempt the rung that led to it, the
/// device, the level of degradation, how it ended, when it began and how long it took.
impl fmt::Display for Path {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, attempt) in self.attempts.iter().enumerate() {
            if number > 0 {
                formatter.write_str(", ")?;
            }
            attempt.fmt(formatter)?;
        }
        Ok(())
    }
}

impl fmt::Display for AttemptRecord {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(rung) = self.rung {
            write!(formatter, "{} ", rung.word())?;
        }
        if self.restored {
            formatter.write_str("restored ")?;
        }
        formatter.write_str(&self.device)?;
        if self.level > 0 {
            write!(formatter, "/{}", self.level)?;
        }
        let ending = match self.ending {
            Ending::Success => "ok",
            Ending::Failed(class) => class.word(),
            Ending::BreakerOpen => "breaker-open",
        };
        write!(formatter, " {ending} @{:?}+{:?}", self.started, self.ended.saturating_sub(self.started))
    }
}

fn text<S: Serializer>(text: &Arc<str>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(text)
}

fn word<S: Serializer>(class: &ErrorClass, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(class.word())
}

fn nanoseconds<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
}

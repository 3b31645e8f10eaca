//! What a breaker tells: its states, their changes, its refusals, and the listeners that are told.

use std::fmt;
use std::time::Duration;

use anymetal_hal::error::ErrorClass;
use serde::{Deserialize, Serialize};

/// The state of a breaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BreakerState {
    /// Calls go through; failures are counted.
    Closed,
    /// Calls are refused until its time is over.
    Open,
    /// Probes go through; all other calls are refused.
    HalfOpen,
}

impl BreakerState {
    /// The word for messages and labels: `closed`, `open`, `half-open`.
    pub const fn word(self) -> &'static str {
        match self {
            BreakerState::Closed => "closed",
            BreakerState::Open => "open",
            BreakerState::HalfOpen => "half-open",
        }
    }
}

/// Why a breaker changed its state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cause {
    /// That many calls failed in a row.
    ConsecutiveFailures(u32),
    /// Too many calls of the window failed.
    FailureRate {
        /// Failed calls of the window.
        failures: u64,
        /// All calls of the window.
        calls: u64,
    },
    /// The device was lost.
    DeviceLost,
    /// A probe failed with an error of that class.
    ProbeFailed(ErrorClass),
    /// It was open for long enough.
    OpenTimeOver,
    /// All probes succeeded.
    ProbesSucceeded,
    /// It was opened by hand or by the recovery ladder.
    Tripped,
    /// It was closed by hand, as after a device was rebuilt.
    Reset,
}

impl fmt::Display for Cause {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cause::ConsecutiveFailures(count) => write!(formatter, "{count} failures in a row"),
            Cause::FailureRate { failures, calls } => write!(formatter, "{failures} of {calls} calls failed"),
            Cause::DeviceLost => formatter.write_str("the device was lost"),
            Cause::ProbeFailed(class) => write!(formatter, "a probe failed ({})", class.word()),
            Cause::OpenTimeOver => formatter.write_str("it was open for long enough"),
            Cause::ProbesSucceeded => formatter.write_str("all probes succeeded"),
            Cause::Tripped => formatter.write_str("it was tripped"),
            Cause::Reset => formatter.write_str("it was reset"),
        }
    }
}

/// One change of a breaker's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transition {
    /// Its number, from 1. Listeners run outside the lock, so two changes may be told out of order.
    pub sequence: u64,
    /// The state before.
    pub from: BreakerState,
    /// The state after.
    pub to: BreakerState,
    /// When, on the clock.
    pub at: Duration,
    /// Why.
    pub cause: Cause,
}

/// A call was refused by its breaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BreakerOpen {
    /// It is open until that time of the clock.
    #[error("the circuit breaker is open")]
    Until(Duration),
    /// It is half-open and all its probes are taken.
    #[error("the circuit breaker is half-open and its {probes} probes are taken")]
    Probing {
        /// The probes of the policy.
        probes: u32,
    },
}

impl BreakerOpen {
    /// From when on the breaker may let a call through: now, if its probes are under way.
    pub fn until(&self, now: Duration) -> Duration {
        match self {
            BreakerOpen::Until(until) => *until,
            BreakerOpen::Probing { .. } => now,
        }
    }
}

/// Is told when a breaker changes its state. Runs on the thread of the call that changed it, with
/// no lock held; it may use the breaker.
pub trait BreakerListener: Send + Sync {
    /// The state changed.
    fn changed(&self, transition: &Transition);
}

/// Is told when a breaker of a registry changes its state, under the rules of [`BreakerListener`].
pub trait KeyedListener<K>: Send + Sync {
    /// The state of the breaker of that key changed.
    fn changed(&self, key: &K, transition: &Transition);
}

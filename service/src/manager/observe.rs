//! Where the manager tells what it does.
//!
//! Owns [`ManagerEvent`] and [`Observe`], the one seam for telemetry and audit: everything that
//! happens to an execution, a device or a buffer goes through it. By default it goes to telemetry, and
//! to `tracing` as events of the target `anymetal::manager`.

use std::sync::Arc;
use std::time::Duration;

use anymetal::Error;
use anymetal::error::ErrorClass;
use anymetal_policy::adapt::ThermalState;
use anymetal_policy::breaker::{BreakerState, KeyedListener, Transition};
use anymetal_policy::ladder::{AttemptRecord, Ending, GiveUp, Rung};
use anymetal_telemetry::record;

use super::audit::Audit;
use super::error::AttemptError;

/// A breaker's key: device and kernel or graph.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct BreakerKey {
    pub(super) device: Arc<str>,
    pub(super) work: Arc<str>,
}

/// Something that happened.
#[derive(Debug)]
pub(super) enum ManagerEvent<'a> {
    /// An attempt ended; the cause is how the last one failed that was let through.
    Attempt { execution: u64, work: &'a str, record: &'a AttemptRecord, cause: Option<&'a AttemptError> },
    /// A rung of the ladder is taken.
    Rung(RungTaken<'a>),
    /// What an attempt may have written was restored.
    Restored { work: &'a str, buffers: usize },
    /// An execution ended.
    Ended(EndedExecution<'a>),
    /// The ladder gave up.
    GaveUp { work: &'a str, why: &'a GiveUp },
    /// A kernel was compiled for a device, or could not be. The source is its hash.
    Compiled { device: &'a str, work: &'a str, source: &'a str, failure: Option<&'a Error> },
    /// Memory for a buffer's contents was taken on a device, or could not be.
    Allocated { device: &'a str, label: &'a str, bytes: u64, failure: Option<&'a Error> },
    /// A breaker changed its state.
    Breaker { key: &'a BreakerKey, transition: &'a Transition },
    /// A device's generation ended.
    DeviceLost { device: &'a str, generation: u64, reason: &'a str },
    /// A device was rebuilt.
    DeviceRebuilt { device: &'a str, generation: u64 },
    /// A device could not be rebuilt.
    RebuildFailed { device: &'a str, reason: &'a str },
    /// The only copy of a buffer's contents was on a lost device.
    ContentsLost { label: &'a str, device: &'a str },
    /// Heat or power changed how strained the machine is.
    Strain { state: ThermalState },
    /// The temperature of a zone was read.
    Temperature { zone: &'a str, celsius: f64 },
    /// The power of the machine was read.
    Power { watts: f64 },
    /// A source of heat or power cannot be read, and is not asked again.
    SourceUnavailable { reason: &'a str },
}

/// An execution that ended.
#[derive(Debug)]
pub(super) struct EndedExecution<'a> {
    pub(super) execution: u64,
    pub(super) work: &'a str,
    /// The device of the last attempt; empty if there was none.
    pub(super) device: &'a str,
    /// The class of its error and the error in words; `None`: it succeeded.
    pub(super) failure: Option<(ErrorClass, &'a str)>,
    pub(super) took: Duration,
    pub(super) attempts: usize,
}

impl EndedExecution<'_> {
    /// `ok`, or the class of its error.
    pub(super) fn outcome(&self) -> &'static str {
        self.failure.map_or("ok", |(class, _)| class.word())
    }
}

/// The rung of a ladder that is taken, and what for.
#[derive(Debug)]
pub(super) struct RungTaken<'a> {
    pub(super) work: &'a str,
    pub(super) rung: Rung,
    /// The device of the attempt before.
    pub(super) from: &'a str,
    /// The class of its error; `breaker-open` if it was not let through.
    pub(super) reason: &'a str,
    /// The device of the next attempt.
    pub(super) device: &'a str,
    pub(super) level: u8,
    pub(super) delay: Duration,
}

/// Is told what happens, on the thread that it happens on, with no lock of the manager's held that
/// a call of the manager could want.
pub(super) trait Observe: Send + Sync {
    fn observe(&self, event: &ManagerEvent<'_>);
}

/// Passes everything on to `tracing`.
#[derive(Debug)]
pub(super) struct Traced;

impl Observe for Traced {
    fn observe(&self, event: &ManagerEvent<'_>) {
        match event {
            ManagerEvent::Attempt { work, record, .. } => {
                tracing::debug!(target: "anymetal::manager", work, %record, "attempt");
            }
            ManagerEvent::Ended(ended) => {
                let (outcome, took, attempts) = (ended.outcome(), ended.took, ended.attempts);
                tracing::debug!(target: "anymetal::manager", outcome, ?took, attempts, "execution");
            }
            ManagerEvent::Rung(RungTaken { work, rung, device, level, delay, .. }) => {
                let rung = rung.word();
                tracing::info!(target: "anymetal::manager", work, rung, device, level, ?delay, "recovery");
            }
            ManagerEvent::Restored { work, buffers } => {
                tracing::debug!(target: "anymetal::manager", work, buffers, "restored");
            }
            ManagerEvent::GaveUp { work, why } => {
                tracing::warn!(target: "anymetal::manager", work, why = why.word(), "gave up");
            }
            ManagerEvent::Allocated { device, label, bytes, failure: None } => {
                tracing::trace!(target: "anymetal::manager", device, label, bytes, "allocated");
            }
            ManagerEvent::Allocated { device, label, bytes, failure: Some(error) } => {
                tracing::debug!(target: "anymetal::manager", device, label, bytes, %error, "not allocated");
            }
            ManagerEvent::Compiled { device, work, failure: None, .. } => {
                tracing::debug!(target: "anymetal::manager", work, device, "compiled");
            }
            ManagerEvent::Compiled { device, work, failure: Some(error), .. } => {
                tracing::info!(target: "anymetal::manager", work, device, %error, "not compiled");
            }
            ManagerEvent::Breaker { key, transition } => {
                let (device, work) = (&*key.device, &*key.work);
                let (from, to) = (transition.from.word(), transition.to.word());
                let cause = transition.cause;
                tracing::info!(target: "anymetal::manager", device, work, from, to, %cause, "breaker");
            }
            ManagerEvent::DeviceLost { device, generation, reason } => {
                tracing::warn!(target: "anymetal::manager", device, generation, reason, "device lost");
            }
            ManagerEvent::DeviceRebuilt { device, generation } => {
                tracing::info!(target: "anymetal::manager", device, generation, "device rebuilt");
            }
            ManagerEvent::RebuildFailed { device, reason } => {
                tracing::warn!(target: "anymetal::manager", device, reason, "device not rebuilt");
            }
            ManagerEvent::ContentsLost { label, device } => {
                tracing::warn!(target: "anymetal::manager", label, device, "contents lost");
            }
            ManagerEvent::Strain { state } => {
                tracing::info!(target: "anymetal::manager", state = state.word(), "strain");
            }
            ManagerEvent::Temperature { .. } | ManagerEvent::Power { .. } => {}
            ManagerEvent::SourceUnavailable { reason } => {
                tracing::info!(target: "anymetal::manager", reason, "source unavailable");
            }
        }
    }
}

/// Records metrics, and passes everything on to `tracing`.
#[derive(Debug)]
pub(super) struct Recorded;

impl Observe for Recorded {
    fn observe(&self, event: &ManagerEvent<'_>) {
        Traced.observe(event);
        match event {
            ManagerEvent::Attempt { record, .. } if record.ending == Ending::BreakerOpen => {
                record::breaker_rejection(&record.device);
            }
            ManagerEvent::Attempt { record, cause: Some(cause), .. } if record.ending != Ending::Success => {
                attempt_failed(&record.device, cause);
            }
            ManagerEvent::Ended(ended) => {
                let attempts = u32::try_from(ended.attempts).unwrap_or(u32::MAX);
                record::execution(ended.outcome(), ended.took, attempts);
            }
            ManagerEvent::Rung(taken) => rung(taken),
            ManagerEvent::Breaker { key, transition } => {
                let state = match transition.to {
                    BreakerState::Closed => record::BreakerState::Closed,
                    BreakerState::HalfOpen => record::BreakerState::HalfOpen,
                    BreakerState::Open => record::BreakerState::Open,
                };
                record::breaker(&key.device, &key.work, state);
            }
            ManagerEvent::DeviceLost { device, .. } => record::device_lost(device),
            ManagerEvent::Strain { state } => record::thermal_state("machine", *state as u8),
            ManagerEvent::Temperature { zone, celsius } => record::temperature(zone, *celsius),
            ManagerEvent::Power { watts } => record::power("machine", *watts),
            _ => {}
        }
    }
}

fn rung(taken: &RungTaken<'_>) {
    match taken.rung {
        Rung::Retry => record::retry(taken.reason),
        Rung::ReleaseMemory => record::recovery_step("trim", "ok"),
        Rung::Degrade => record::recovery_step("degrade", "ok"),
        Rung::Fallback => record::fallback(taken.from, taken.device, taken.reason),
        Rung::Wait => record::recovery_step("wait", "ok"),
    }
}

fn attempt_failed(device: &str, cause: &AttemptError) {
    if matches!(cause, AttemptError::Bulkhead(_)) {
        record::bulkhead_rejection(device);
    }
    if cause.is_deadline() {
        record::deadline_exceeded(device);
    }
}

/// Tells the audit log what it tells the other.
pub(super) struct Both(pub(super) Arc<dyn Observe>, pub(super) Arc<Audit>);

impl Observe for Both {
    fn observe(&self, event: &ManagerEvent<'_>) {
        self.0.observe(event);
        self.1.observe(event);
    }
}

/// Passes on what breakers tell.
pub(super) struct BreakersTold(pub(super) Arc<dyn Observe>);

impl KeyedListener<BreakerKey> for BreakersTold {
    fn changed(&self, key: &BreakerKey, transition: &Transition) {
        self.0.observe(&ManagerEvent::Breaker { key, transition });
    }
}

//! What fails, and deciding it.
//!
//! Invariant: whether the n-th operation of a kind fails depends on the plan alone, never on threads or time;
//! but after a loss everything fails.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::clock::Clock;
use crate::error::{DeviceError, ErrorClass};
use crate::split_mix::{GAMMA, finalise};

/// What fails, and how long things take.
#[derive(Debug, Clone, Default)]
pub struct FaultPlan {
    /// Decides, with the number of each operation, which of them fail.
    pub seed: u64,
    /// Which buffers and heaps are refused.
    pub allocations: Faults,
    /// Which submissions are refused.
    pub commits: Faults,
    /// Which submissions fail after they ran.
    pub completions: Faults,
    /// How much later than the wrapped device's each completion ends, by the clock; empty: not at all.
    pub latency: Range<Duration>,
}

/// Which operations of one kind fail.
#[derive(Debug, Clone, Default)]
pub struct Faults {
    /// So many of a million, by chance.
    pub per_million: u32,
    /// And exactly these, counted from 0.
    pub exactly: Vec<u64>,
    /// With errors of these classes, by chance; none: transient.
    pub classes: Vec<ErrorClass>,
}

impl Faults {
    /// The n-th operation fails with that class, no other does.
    pub fn at(number: u64, class: ErrorClass) -> Self {
        Faults { per_million: 0, exactly: vec![number], classes: vec![class] }
    }

    /// So many of a million fail, with those classes.
    pub fn by_chance(per_million: u32, classes: &[ErrorClass]) -> Self {
        Faults { per_million, exactly: Vec::new(), classes: classes.to_vec() }
    }

    fn decide(&self, random: u64, number: u64) -> Option<ErrorClass> {
        let fails = self.exactly.contains(&number) || random % 1_000_000 < u64::from(self.per_million);
        let class = (random >> 32) as usize % self.classes.len().max(1);
        fails.then(|| self.classes.get(class).copied().unwrap_or(ErrorClass::Transient))
    }
}

/// How many faults were injected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Injected {
    /// Refused buffers and heaps.
    pub allocations: u64,
    /// Refused submissions.
    pub commits: u64,
    /// Failed submissions.
    pub completions: u64,
}

#[derive(Debug)]
pub(super) struct Injector {
    pub(super) name: String,
    plan: FaultPlan,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) lost: AtomicBool,
    kinds: [Counter; 3],
    delays: AtomicU64,
}

/// Operations of one kind: how many there were, how many failed.
#[derive(Debug, Default)]
struct Counter {
    tried: AtomicU64,
    failed: AtomicU64,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    Allocation,
    Commit,
    Completion,
}

impl Injector {
    pub(super) fn new(name: &str, plan: FaultPlan, clock: Arc<dyn Clock>) -> Self {
        Injector {
            name: name.to_owned(),
            plan,
            clock,
            lost: AtomicBool::new(false),
            kinds: Default::default(),
            delays: AtomicU64::new(0),
        }
    }

    pub(super) fn injected(&self) -> Injected {
        let failed = |at: usize| self.kinds[at].failed.load(Ordering::Relaxed);
        Injected { allocations: failed(0), commits: failed(1), completions: failed(2) }
    }

    /// The error that the next operation of a kind fails with, if it does.
    pub(super) fn fault(&self, kind: Kind, bytes: u64) -> Option<DeviceError> {
        if self.lost.load(Ordering::Relaxed) {
            return Some(self.lost_error());
        }
        let (faults, counter) = match kind {
            Kind::Allocation => (&self.plan.allocations, &self.kinds[0]),
            Kind::Commit => (&self.plan.commits, &self.kinds[1]),
            Kind::Completion => (&self.plan.completions, &self.kinds[2]),
        };
        let number = counter.tried.fetch_add(1, Ordering::Relaxed);
        let class = faults.decide(self.random(kind as u64, number), number)?;
        counter.failed.fetch_add(1, Ordering::Relaxed);
        Some(self.error(kind, class, bytes))
    }

    fn error(&self, kind: Kind, class: ErrorClass, bytes: u64) -> DeviceError {
        match (class, kind) {
            (ErrorClass::Transient, _) => {
                DeviceError::Busy { device: self.name.clone(), what: "an operation that failed by plan" }
            }
            (ErrorClass::Exhausted, Kind::Commit) => DeviceError::QueueFull { limit: 0 },
            (ErrorClass::Exhausted, _) => DeviceError::OutOfMemory { requested: bytes },
            (ErrorClass::Lost, _) => {
                self.lost.store(true, Ordering::Relaxed);
                self.lost_error()
            }
            (ErrorClass::Caller, _) => DeviceError::Unsupported {
                device: self.name.clone(),
                what: "an operation that failed by plan".to_owned(),
                alternative: "nothing is wrong with it".to_owned(),
            },
        }
    }

    pub(super) fn lost_error(&self) -> DeviceError {
        let reason = "it was lost by plan".to_owned();
        DeviceError::DeviceLost { device: self.name.clone(), reason }
    }

    pub(super) fn delay(&self) -> Duration {
        let Range { start, end } = self.plan.latency;
        let span = end.saturating_sub(start).as_nanos() as u64;
        let number = self.delays.fetch_add(1, Ordering::Relaxed);
        start + Duration::from_nanos(self.random(9, number).checked_rem(span).unwrap_or(0))
    }

    /// A number for the n-th operation of a kind.
    fn random(&self, kind: u64, number: u64) -> u64 {
        finalise(self.plan.seed ^ (kind << 56) ^ number.wrapping_mul(GAMMA))
    }
}

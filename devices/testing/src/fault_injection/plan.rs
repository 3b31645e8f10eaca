//! What fails, and deciding it.
//!
//! Invariant: whether the n-th operation of a kind fails depends on the plan alone, never on threads or time;
//! but after a loss everything fails.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::Waker;
use std::time::Duration;

use anymetal_hal::clock::Clock;
use anymetal_hal::error::{DeviceError, ErrorClass};
use anymetal_hal::split_mix::{GAMMA, finalise};
use anymetal_hal::sync::{Mutex, lock};
use anymetal_types::setters;

/// What fails, and how long things take.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct FaultPlan {
    /// Decides, with the number of each operation, which of them fail.
    pub seed: u64,
    /// Which buffers and heaps are refused.
    pub allocations: Faults,
    /// Which submissions are refused.
    pub commits: Faults,
    /// Which submissions fail after they ran.
    pub completions: Faults,
    /// Which submissions do not end, and with them those behind them in their queue, until
    /// [`super::FaultInjectingDevice::end_hangs`]. Their classes mean nothing.
    pub hangs: Faults,
    /// Which submissions end well with a wrong byte at the start of all that they write. Their
    /// classes mean nothing.
    pub wrong_results: Faults,
    /// Which submissions fail with the second half of all that they write left as it was when they
    /// were submitted.
    pub partial_writes: Faults,
    /// Whether `submit` returns only once the wrapped device is done, so that the clock alone
    /// decides when work ends. For tests by a manual clock over a device that runs by real time;
    /// work must not wait for something that only its submitter does.
    pub in_step: bool,
    /// How much later than the wrapped device's each completion ends, by the clock; empty: not at all.
    pub latency: Range<Duration>,
}

setters!(FaultPlan {
    seed: u64,
    allocations: Faults,
    commits: Faults,
    completions: Faults,
    hangs: Faults,
    wrong_results: Faults,
    partial_writes: Faults,
    in_step: bool,
    latency: Range<Duration>,
});

/// Which operations of one kind fail.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Faults {
    /// So many of a million, by chance.
    pub per_million: u32,
    /// And exactly these, counted from 0.
    pub exactly: Vec<u64>,
    /// With errors of these classes, by chance; none: transient.
    pub classes: Vec<ErrorClass>,
}

setters!(Faults { per_million: u32, exactly: Vec<u64>, classes: Vec<ErrorClass> });

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

    fn is_none(&self) -> bool {
        self.per_million == 0 && self.exactly.is_empty()
    }
}

/// How many faults were injected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Injected {
    /// Refused buffers and heaps.
    pub allocations: u64,
    /// Refused submissions.
    pub commits: u64,
    /// Failed submissions.
    pub completions: u64,
    /// Submissions that did not end.
    pub hangs: u64,
    /// Submissions with a wrong result.
    pub wrong_results: u64,
    /// Submissions that wrote a part.
    pub partial_writes: u64,
}

#[derive(Debug)]
pub(super) struct Injector {
    pub(super) name: String,
    plan: FaultPlan,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) lost: AtomicBool,
    kinds: [Counter; 6],
    delays: AtomicU64,
    /// How often hangs were ended.
    ended_hangs: AtomicU64,
    /// Wake the queues that hang.
    hanging: Mutex<Vec<Waker>>,
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
    Hang,
    WrongResult,
    PartialWrite,
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
            ended_hangs: AtomicU64::new(0),
            hanging: Mutex::default(),
        }
    }

    pub(super) fn injected(&self) -> Injected {
        let failed = |at: usize| self.kinds[at].failed.load(Ordering::Relaxed);
        Injected {
            allocations: failed(0),
            commits: failed(1),
            completions: failed(2),
            hangs: failed(3),
            wrong_results: failed(4),
            partial_writes: failed(5),
        }
    }

    /// The error that the next operation of a kind fails with, if it does.
    pub(super) fn fault(&self, kind: Kind, bytes: u64) -> Option<DeviceError> {
        if self.lost.load(Ordering::Relaxed) {
            return Some(self.lost_error());
        }
        self.happens(kind).map(|class| self.error(kind, class, bytes))
    }

    /// Whether the next operation of a kind fails, and with which class.
    pub(super) fn happens(&self, kind: Kind) -> Option<ErrorClass> {
        let (faults, counter) = match kind {
            Kind::Allocation => (&self.plan.allocations, &self.kinds[0]),
            Kind::Commit => (&self.plan.commits, &self.kinds[1]),
            Kind::Completion => (&self.plan.completions, &self.kinds[2]),
            Kind::Hang => (&self.plan.hangs, &self.kinds[3]),
            Kind::WrongResult => (&self.plan.wrong_results, &self.kinds[4]),
            Kind::PartialWrite => (&self.plan.partial_writes, &self.kinds[5]),
        };
        let number = counter.tried.fetch_add(1, Ordering::Relaxed);
        let class = faults.decide(self.random(kind as u64, number), number)?;
        counter.failed.fetch_add(1, Ordering::Relaxed);
        Some(class)
    }

    /// Whether the plan changes what work writes.
    pub(super) fn alters_memory(&self) -> bool {
        !(self.plan.wrong_results.is_none() && self.plan.partial_writes.is_none())
    }

    pub(super) fn is_in_step(&self) -> bool {
        self.plan.in_step
    }

    /// What [`Injector::hangs_at`] is asked with later.
    pub(super) fn hang(&self, queue: Waker) -> u64 {
        lock(&self.hanging).push(queue);
        self.ended_hangs.load(Ordering::SeqCst)
    }

    /// Whether what began to hang then still does.
    pub(super) fn hangs_at(&self, ended_hangs: u64) -> bool {
        self.ended_hangs.load(Ordering::SeqCst) == ended_hangs
    }

    pub(super) fn end_hangs(&self) {
        self.ended_hangs.fetch_add(1, Ordering::SeqCst);
        let hanging = std::mem::take(&mut *lock(&self.hanging));
        hanging.into_iter().for_each(Waker::wake);
    }

    pub(super) fn error(&self, kind: Kind, class: ErrorClass, bytes: u64) -> DeviceError {
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

//! Circuit breaker: stops calls to what keeps failing, and finds out when it works again.
//!
//! Owns [`Breaker`] with its [`Permit`]s, and [`Breakers`], one for each key, such as device and
//! kernel. The thresholds are in `policy`, the state machine in `state`, what it tells in
//! `transition`.
//!
//! Invariants: those of `state`; a permit reports exactly once, at the latest when it is dropped,
//! so that a probe is never lost. Concurrency: one mutex guards the state machine; listeners run
//! after it is released.

mod permit;
mod policy;
mod registry;
mod state;
mod transition;
mod window;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use anymetal_hal::clock::Clock;
use anymetal_hal::sync::{Mutex, lock};

pub use permit::Permit;
pub use policy::{BreakerPolicy, BreakerPolicyBuilder};
pub use registry::{Breakers, BreakersFull};
pub use transition::{BreakerListener, BreakerOpen, BreakerState, Cause, KeyedListener, Transition};

use state::{Admission, Machine, Report};

/// A circuit breaker; cheap to clone.
#[derive(Clone)]
pub struct Breaker {
    shared: Arc<BreakerShared>,
}

struct BreakerShared {
    clock: Arc<dyn Clock>,
    guarded: Mutex<Guarded>,
    listener: Option<Arc<dyn BreakerListener>>,
}

struct Guarded {
    machine: Machine,
    counts: BreakerCounts,
}

/// How many calls ended which way since the breaker was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BreakerCounts {
    /// Succeeded.
    pub successes: u64,
    /// Failed with a class that counts against the device.
    pub failures: u64,
    /// Failed with another class.
    pub not_counted: u64,
    /// Were dropped without a report.
    pub cancelled: u64,
    /// Were not let through.
    pub refused: u64,
}

/// A breaker at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BreakerSnapshot {
    /// Its state. An open one whose time is over stays open until the next call.
    pub state: BreakerState,
    /// Failures in a row; 0 unless it is closed.
    pub consecutive_failures: u32,
    /// When it lets probes through; `None` unless it is open.
    pub open_until: Option<Duration>,
    /// Its calls.
    pub counts: BreakerCounts,
}

impl Breaker {
    /// A closed breaker.
    pub fn new(policy: BreakerPolicy, clock: Arc<dyn Clock>) -> Self {
        Breaker::with(policy, clock, None)
    }

    /// A closed breaker that tells each change of its state.
    pub fn with_listener(
        policy: BreakerPolicy,
        clock: Arc<dyn Clock>,
        listener: Arc<dyn BreakerListener>,
    ) -> Self {
        Breaker::with(policy, clock, Some(listener))
    }

    fn with(
        policy: BreakerPolicy,
        clock: Arc<dyn Clock>,
        listener: Option<Arc<dyn BreakerListener>>,
    ) -> Self {
        let guarded = Guarded { machine: Machine::new(policy), counts: BreakerCounts::default() };
        Breaker { shared: Arc::new(BreakerShared { clock, guarded: Mutex::new(guarded), listener }) }
    }

    /// Lets a call through, or refuses it at once.
    pub fn permit(&self) -> Result<Permit, BreakerOpen> {
        let now = self.shared.clock.now();
        let (admitted, transition) = {
            let mut guarded = lock(&self.shared.guarded);
            let (admitted, transition) = guarded.machine.admit(now);
            guarded.counts.refused += u64::from(admitted.is_err());
            (admitted, transition)
        };
        self.shared.notify(transition);
        admitted.map(|admission| Permit::new(Arc::clone(&self.shared), admission))
    }

    /// Opens it, as the recovery ladder does before it leaves a device; one that is open stays as
    /// it is.
    pub fn trip(&self) {
        let now = self.shared.clock.now();
        let transition = lock(&self.shared.guarded).machine.trip(now);
        self.shared.notify(transition);
    }

    /// Closes it and forgets its failures, as after a device was rebuilt.
    pub fn reset(&self) {
        let now = self.shared.clock.now();
        let transition = lock(&self.shared.guarded).machine.close(now, Cause::Reset);
        self.shared.notify(Some(transition));
    }

    /// Its state and counts.
    pub fn snapshot(&self) -> BreakerSnapshot {
        let guarded = lock(&self.shared.guarded);
        BreakerSnapshot {
            state: guarded.machine.state(),
            consecutive_failures: guarded.machine.consecutive(),
            open_until: guarded.machine.open_until(),
            counts: guarded.counts,
        }
    }

    /// Its thresholds.
    pub fn policy(&self) -> BreakerPolicy {
        *lock(&self.shared.guarded).machine.policy()
    }

    /// Whether nobody but the asking registry has it.
    fn is_unused(&self) -> bool {
        Arc::strong_count(&self.shared) == 1
    }
}

impl BreakerShared {
    fn report(&self, admission: Admission, report: Report) {
        let now = self.clock.now();
        let transition = {
            let mut guarded = lock(&self.guarded);
            let counts = |class| guarded.machine.policy().counts(class);
            *match report {
                Report::Success => &mut guarded.counts.successes,
                Report::Failure(class) if counts(class) => &mut guarded.counts.failures,
                Report::Failure(_) => &mut guarded.counts.not_counted,
                Report::Cancelled => &mut guarded.counts.cancelled,
            } += 1;
            guarded.machine.report(now, admission, report)
        };
        self.notify(transition);
    }

    fn notify(&self, transition: Option<Transition>) {
        if let (Some(listener), Some(transition)) = (&self.listener, transition) {
            listener.changed(&transition);
        }
    }
}

impl fmt::Debug for Breaker {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Breaker").field("snapshot", &self.snapshot()).finish_non_exhaustive()
    }
}

#[cfg(all(test, loom))]
mod models;
#[cfg(all(test, not(loom)))]
mod tests;

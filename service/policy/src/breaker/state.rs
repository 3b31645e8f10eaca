//! The state machine of a breaker, without clock and lock.
//!
//! Owns [`Machine`]. Invariants: while half-open, probes in flight plus probes that succeeded never
//! exceed the policy's number; a report counts only in the state in which its call was admitted
//! (each transition has a number, and so has each admission); errors of the caller's class never
//! count.

use std::time::Duration;

use anymetal_hal::error::ErrorClass;

use super::policy::BreakerPolicy;
use super::transition::{BreakerOpen, BreakerState, Cause, Transition};
use super::window::{Totals, Window};

/// What a call was admitted as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Admission {
    /// The number of the last transition before it.
    sequence: u64,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Report {
    Success,
    Failure(ErrorClass),
    /// It never told.
    Cancelled,
}

#[derive(Debug)]
enum MachineState {
    Closed { consecutive: u32 },
    Open { until: Duration },
    HalfOpen { in_flight: u32, succeeded: u32 },
}

#[derive(Debug)]
pub(super) struct Machine {
    policy: BreakerPolicy,
    state: MachineState,
    /// The calls since it was last closed.
    window: Window,
    sequence: u64,
}

impl Machine {
    pub(super) fn new(policy: BreakerPolicy) -> Self {
        let window = Window::new(policy.window);
        Machine { policy, state: MachineState::Closed { consecutive: 0 }, window, sequence: 0 }
    }

    pub(super) fn policy(&self) -> &BreakerPolicy {
        &self.policy
    }

    /// Lets a call through or refuses it; an open breaker whose time is over becomes half-open.
    pub(super) fn admit(&mut self, now: Duration) -> (Result<Admission, BreakerOpen>, Option<Transition>) {
        let is_over = matches!(self.state, MachineState::Open { until } if until <= now);
        let half_open = MachineState::HalfOpen { in_flight: 0, succeeded: 0 };
        let transition = is_over.then(|| self.change(half_open, now, Cause::OpenTimeOver));
        let admitted = match &mut self.state {
            MachineState::Closed { .. } => Ok(()),
            MachineState::Open { until } => Err(BreakerOpen::Until(*until)),
            MachineState::HalfOpen { in_flight, succeeded }
                if *in_flight + *succeeded < self.policy.probes =>
            {
                *in_flight += 1;
                Ok(())
            }
            MachineState::HalfOpen { .. } => Err(BreakerOpen::Probing { probes: self.policy.probes }),
        };
        (admitted.map(|()| Admission { sequence: self.sequence }), transition)
    }

    /// Counts the end of a call.
    pub(super) fn report(
        &mut self,
        now: Duration,
        admission: Admission,
        report: Report,
    ) -> Option<Transition> {
        if admission.sequence != self.sequence {
            return None;
        }
        match report {
            Report::Success => self.succeeded(now),
            Report::Failure(class) if self.policy.counts(class) => self.failed(now, class),
            Report::Failure(_) | Report::Cancelled => self.told_nothing(),
        }
    }

    /// Opens it by hand; one that is open stays so until its time is over.
    pub(super) fn trip(&mut self, now: Duration) -> Option<Transition> {
        let is_open = matches!(self.state, MachineState::Open { until } if until > now);
        (!is_open).then(|| self.open(now, Cause::Tripped))
    }

    fn open(&mut self, now: Duration, cause: Cause) -> Transition {
        let until = now.saturating_add(self.policy.open_for);
        self.change(MachineState::Open { until }, now, cause)
    }

    /// Closes it and forgets all calls, whatever it was.
    pub(super) fn close(&mut self, now: Duration, cause: Cause) -> Transition {
        self.window = Window::new(self.policy.window);
        self.change(MachineState::Closed { consecutive: 0 }, now, cause)
    }

    pub(super) fn state(&self) -> BreakerState {
        self.state.kind()
    }

    /// The number of failures in a row; 0 unless closed.
    pub(super) fn consecutive(&self) -> u32 {
        match &self.state {
            MachineState::Closed { consecutive } => *consecutive,
            MachineState::Open { .. } | MachineState::HalfOpen { .. } => 0,
        }
    }

    /// When an open breaker lets probes through.
    pub(super) fn open_until(&self) -> Option<Duration> {
        match &self.state {
            MachineState::Open { until } => Some(*until),
            MachineState::Closed { .. } | MachineState::HalfOpen { .. } => None,
        }
    }

    fn succeeded(&mut self, now: Duration) -> Option<Transition> {
        match &mut self.state {
            MachineState::Closed { consecutive } => {
                *consecutive = 0;
                self.window.record(now, false);
                None
            }
            MachineState::HalfOpen { in_flight, succeeded } => {
                *in_flight = in_flight.saturating_sub(1);
                *succeeded += 1;
                let all = *succeeded >= self.policy.probes;
                all.then(|| self.close(now, Cause::ProbesSucceeded))
            }
            MachineState::Open { .. } => None,
        }
    }

    fn told_nothing(&mut self) -> Option<Transition> {
        if let MachineState::HalfOpen { in_flight, .. } = &mut self.state {
            *in_flight = in_flight.saturating_sub(1);
        }
        None
    }

    fn failed(&mut self, now: Duration, class: ErrorClass) -> Option<Transition> {
        let cause = match &mut self.state {
            MachineState::Closed { consecutive } => {
                *consecutive = consecutive.saturating_add(1);
                self.window.record(now, true);
                cause_to_open(&self.policy, class, *consecutive, self.window.totals(now))
            }
            MachineState::HalfOpen { .. } => Some(Cause::ProbeFailed(class)),
            MachineState::Open { .. } => None,
        };
        cause.map(|cause| self.open(now, cause))
    }

    fn change(&mut self, state: MachineState, now: Duration, cause: Cause) -> Transition {
        let from = self.state.kind();
        self.state = state;
        self.sequence += 1;
        Transition { sequence: self.sequence, from, to: self.state.kind(), at: now, cause }
    }
}

fn cause_to_open(
    policy: &BreakerPolicy,
    class: ErrorClass,
    consecutive: u32,
    totals: Totals,
) -> Option<Cause> {
    if class == ErrorClass::Lost && policy.opens_on_loss {
        return Some(Cause::DeviceLost);
    }
    if consecutive >= policy.consecutive_failures {
        return Some(Cause::ConsecutiveFailures(consecutive));
    }
    let enough = totals.calls >= u64::from(policy.minimum_calls);
    let reached = enough && policy.failure_rate.is_reached_by(totals.failures, totals.calls);
    reached.then_some(Cause::FailureRate { failures: totals.failures, calls: totals.calls })
}

impl MachineState {
    fn kind(&self) -> BreakerState {
        match self {
            MachineState::Closed { .. } => BreakerState::Closed,
            MachineState::Open { .. } => BreakerState::Open,
            MachineState::HalfOpen { .. } => BreakerState::HalfOpen,
        }
    }
}

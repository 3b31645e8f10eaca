//! Deadlines: one budget of time that all attempts of an operation share.
//!
//! Owns [`Deadline`] (a time on the clock, or none), [`DeadlinePolicy`] and the running
//! [`TimeBudget`]. Invariant: no attempt gets a deadline after the operation's, and no delay is
//! allowed that would leave an attempt no time: giving up at once is better than waiting in vain.

use std::time::Duration;

use crate::invalid::{InvalidPolicy, require};

/// A time on the clock that something must end by; [`Deadline::NEVER`] is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Deadline {
    at: Option<Duration>,
}

impl Deadline {
    /// No deadline.
    pub const NEVER: Deadline = Deadline { at: None };

    /// At that time of the clock.
    pub const fn at(time: Duration) -> Self {
        Deadline { at: Some(time) }
    }

    /// So long after `now`; a time that the clock cannot tell is never.
    pub fn after(now: Duration, length: Duration) -> Self {
        Deadline { at: now.checked_add(length) }
    }

    /// The time of the clock; `None`: never.
    pub const fn time(self) -> Option<Duration> {
        self.at
    }

    /// The time left; `None`: without limit.
    pub fn remaining(self, now: Duration) -> Option<Duration> {
        self.at.map(|at| at.saturating_sub(now))
    }

    /// Whether it is over.
    pub fn has_passed(self, now: Duration) -> bool {
        self.at.is_some_and(|at| at <= now)
    }

    /// Whichever comes first.
    pub fn earlier(self, other: Deadline) -> Deadline {
        match (self.at, other.at) {
            (Some(one), Some(two)) => Deadline::at(one.min(two)),
            (one, two) => Deadline { at: one.or(two) },
        }
    }

    /// Whether there is time left after a delay that begins now.
    pub fn allows_delay(self, now: Duration, delay: Duration) -> bool {
        self.at.is_none_or(|at| now.saturating_add(delay) < at)
    }
}

/// How long an operation, and each attempt of it, may take. The default is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DeadlinePolicy {
    total: Option<Duration>,
    attempt: Option<Duration>,
}

impl DeadlinePolicy {
    /// A builder without limits.
    pub fn builder() -> DeadlinePolicyBuilder {
        DeadlinePolicyBuilder::default()
    }

    /// How long all attempts with their delays may take together.
    pub fn total(&self) -> Option<Duration> {
        self.total
    }

    /// How long one attempt may take.
    pub fn attempt(&self) -> Option<Duration> {
        self.attempt
    }

    /// The budget of an operation that begins now. A deadline that the caller brings counts as
    /// well.
    pub fn start(&self, now: Duration, callers: Deadline) -> TimeBudget {
        let total = self.total.map_or(Deadline::NEVER, |total| Deadline::after(now, total));
        TimeBudget { total: total.earlier(callers), attempt: self.attempt }
    }
}

/// Builds a [`DeadlinePolicy`].
#[derive(Debug, Clone, Copy, Default)]
pub struct DeadlinePolicyBuilder {
    policy: DeadlinePolicy,
}

impl DeadlinePolicyBuilder {
    /// Limits all attempts with their delays together.
    pub fn total(mut self, total: Duration) -> Self {
        self.policy.total = Some(total);
        self
    }

    /// Limits each attempt.
    pub fn attempt(mut self, attempt: Duration) -> Self {
        self.policy.attempt = Some(attempt);
        self
    }

    /// The policy, or the value that makes no sense.
    pub fn build(self) -> Result<DeadlinePolicy, InvalidPolicy> {
        let DeadlinePolicy { total, attempt } = self.policy;
        let some_time = "no time is left for any attempt";
        if let Some(total) = total {
            require(!total.is_zero(), "deadline.total", total, some_time)?;
        }
        if let Some(attempt) = attempt {
            require(!attempt.is_zero(), "deadline.attempt", attempt, some_time)?;
            let within = total.is_none_or(|total| attempt <= total);
            require(
                within,
                "deadline.attempt",
                attempt,
                "longer than deadline.total allows for all attempts",
            )?;
        }
        Ok(self.policy)
    }
}

/// The time of one operation, which its attempts and delays share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeBudget {
    total: Deadline,
    attempt: Option<Duration>,
}

impl TimeBudget {
    /// No limit.
    pub const UNLIMITED: TimeBudget = TimeBudget { total: Deadline::NEVER, attempt: None };

    /// The deadline of the whole operation.
    pub fn total(&self) -> Deadline {
        self.total
    }

    /// The deadline of an attempt that begins now.
    pub fn attempt(&self, now: Duration) -> Deadline {
        let attempt = self.attempt.map_or(Deadline::NEVER, |length| Deadline::after(now, length));
        self.total.earlier(attempt)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    #[test]
    fn attempts_share_the_time_of_their_operation() {
        let policy = DeadlinePolicy::builder().total(ms(100)).attempt(ms(60)).build().unwrap();
        let budget = policy.start(ms(1000), Deadline::NEVER);
        assert_eq!(budget.attempt(ms(1000)), Deadline::at(ms(1060)));
        assert_eq!(budget.attempt(ms(1070)), Deadline::at(ms(1100)), "what the first one left");
        assert_eq!(policy.start(ms(1000), Deadline::at(ms(1010))).total(), Deadline::at(ms(1010)));
        assert_eq!(TimeBudget::UNLIMITED.attempt(ms(5)), Deadline::NEVER);
    }

    #[test]
    fn a_delay_that_leaves_no_time_is_not_allowed() {
        let deadline = Deadline::after(ms(10), ms(20));
        assert!(deadline.allows_delay(ms(10), ms(19)) && !deadline.allows_delay(ms(10), ms(20)));
        assert!(Deadline::NEVER.allows_delay(ms(1), Duration::MAX));
        assert!(!deadline.has_passed(ms(29)) && deadline.has_passed(ms(30)));
        assert_eq!((deadline.remaining(ms(25)), deadline.remaining(ms(99))), (Some(ms(5)), Some(ms(0))));
        assert_eq!(Deadline::after(ms(1), Duration::MAX), Deadline::NEVER);
    }

    #[test]
    fn impossible_limits_are_refused_with_field_value_and_rule() {
        let error = DeadlinePolicy::builder().attempt(ms(3)).total(ms(2)).build().unwrap_err();
        assert_eq!((error.field(), error.value()), ("deadline.attempt", "3ms"));
        let error = DeadlinePolicy::builder().total(ms(0)).build().unwrap_err();
        assert_eq!(error.to_string(), "deadline.total = 0ns: no time is left for any attempt");
    }
}

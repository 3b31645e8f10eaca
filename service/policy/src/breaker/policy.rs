//! When a breaker opens, for how long, and what closes it.

use std::time::Duration;

use anymetal_hal::error::ErrorClass;

use crate::invalid::{InvalidPolicy, require};
use crate::ratio::Ratio;

/// The thresholds of a breaker. The default opens after 5 failures in a row, or when half of at
/// least 10 calls within 30 s failed, or at once when the device is lost; stays open for 10 s; lets
/// 1 probe through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BreakerPolicy {
    pub(super) consecutive_failures: u32,
    pub(super) failure_rate: Ratio,
    pub(super) window: Duration,
    pub(super) minimum_calls: u32,
    pub(super) open_for: Duration,
    pub(super) probes: u32,
    pub(super) opens_on_loss: bool,
    pub(super) counts_exhausted: bool,
}

impl Default for BreakerPolicy {
    fn default() -> Self {
        BreakerPolicy {
            consecutive_failures: 5,
            failure_rate: Ratio::percent(50),
            window: Duration::from_secs(30),
            minimum_calls: 10,
            open_for: Duration::from_secs(10),
            probes: 1,
            opens_on_loss: true,
            counts_exhausted: false,
        }
    }
}

impl BreakerPolicy {
    /// A builder with the defaults.
    pub fn builder() -> BreakerPolicyBuilder {
        BreakerPolicyBuilder { policy: BreakerPolicy::default() }
    }

    /// Failures in a row that open it.
    pub fn consecutive_failures(&self) -> u32 {
        self.consecutive_failures
    }

    /// The share of failed calls in the window that opens it.
    pub fn failure_rate(&self) -> Ratio {
        self.failure_rate
    }

    /// The length of the window.
    pub fn window(&self) -> Duration {
        self.window
    }

    /// Calls in the window below which the share says nothing.
    pub fn minimum_calls(&self) -> u32 {
        self.minimum_calls
    }

    /// How long it stays open before probes are let through.
    pub fn open_for(&self) -> Duration {
        self.open_for
    }

    /// Probes that are let through, and must all succeed, before it closes.
    pub fn probes(&self) -> u32 {
        self.probes
    }

    /// Whether one loss of the device opens it.
    pub fn opens_on_loss(&self) -> bool {
        self.opens_on_loss
    }

    /// Whether a failure counts because a resource was exhausted.
    pub fn counts_exhausted(&self) -> bool {
        self.counts_exhausted
    }

    /// Whether a failure of that class says something about the device. The caller's never does;
    /// that a resource is exhausted usually tells of the load, and one large request must not stop
    /// all.
    pub(super) fn counts(&self, class: ErrorClass) -> bool {
        match class {
            ErrorClass::Transient | ErrorClass::Lost => true,
            ErrorClass::Exhausted => self.counts_exhausted,
            ErrorClass::Caller => false,
        }
    }
}

/// Builds a [`BreakerPolicy`].
#[derive(Debug, Clone, Copy)]
pub struct BreakerPolicyBuilder {
    policy: BreakerPolicy,
}

impl BreakerPolicyBuilder {
    /// Failures in a row that open it.
    pub fn consecutive_failures(mut self, failures: u32) -> Self {
        self.policy.consecutive_failures = failures;
        self
    }

    /// The share of failed calls in the window that opens it, above 0 and at most 1.
    pub fn failure_rate(mut self, rate: Ratio) -> Self {
        self.policy.failure_rate = rate;
        self
    }

    /// The length of the window.
    pub fn window(mut self, window: Duration) -> Self {
        self.policy.window = window;
        self
    }

    /// Calls in the window below which the share says nothing.
    pub fn minimum_calls(mut self, calls: u32) -> Self {
        self.policy.minimum_calls = calls;
        self
    }

    /// How long it stays open before probes are let through.
    pub fn open_for(mut self, open_for: Duration) -> Self {
        self.policy.open_for = open_for;
        self
    }

    /// Probes that are let through, and must all succeed, before it closes.
    pub fn probes(mut self, probes: u32) -> Self {
        self.policy.probes = probes;
        self
    }

    /// Whether one loss of the device opens it.
    pub fn opens_on_loss(mut self, opens: bool) -> Self {
        self.policy.opens_on_loss = opens;
        self
    }

    /// Whether a failure counts because a resource was exhausted.
    pub fn counts_exhausted(mut self, counts: bool) -> Self {
        self.policy.counts_exhausted = counts;
        self
    }

    /// The policy, or the value that makes no sense.
    pub fn build(self) -> Result<BreakerPolicy, InvalidPolicy> {
        let policy = self.policy;
        let (failures, rate) = (policy.consecutive_failures, policy.failure_rate);
        let open_from_the_start = "it would be open before anything failed: at least 1";
        require(failures > 0, "breaker.consecutive-failures", failures, open_from_the_start)?;
        let is_share = rate > Ratio::percent(0) && rate <= Ratio::ONE;
        require(
            is_share,
            "breaker.failure-rate",
            format_args!("{rate}"),
            "a share above 0 and at most 100 %",
        )?;
        let calls = policy.minimum_calls;
        require(calls > 0, "breaker.minimum-calls", calls, "no calls have no share of failures: at least 1")?;
        let long = policy.window >= super::window::MIN_LENGTH;
        require(long, "breaker.window", policy.window, "shorter than its ten parts of 1 ns")?;
        let open_for = policy.open_for;
        require(!open_for.is_zero(), "breaker.open-for", open_for, "a breaker that does not stay open")?;
        require(policy.probes > 0, "breaker.probes", policy.probes, "without a probe it never closes")?;
        Ok(policy)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn impossible_thresholds_are_refused_with_field_value_and_rule() {
        let refused = |builder: BreakerPolicyBuilder| builder.build().unwrap_err().to_string();
        let policy = BreakerPolicy::builder;
        let expected =
            "breaker.consecutive-failures = 0: it would be open before anything failed: at least 1";
        assert_eq!(refused(policy().consecutive_failures(0)), expected);
        assert!(
            refused(policy().failure_rate(Ratio::percent(101))).starts_with("breaker.failure-rate = 1.01")
        );
        assert!(refused(policy().failure_rate(Ratio::percent(0))).contains("above 0"));
        assert!(refused(policy().minimum_calls(0)).starts_with("breaker.minimum-calls = 0"));
        assert!(refused(policy().window(Duration::from_nanos(9))).starts_with("breaker.window = 9ns"));
        assert!(refused(policy().open_for(Duration::ZERO)).starts_with("breaker.open-for = 0ns"));
        assert!(refused(policy().probes(0)).starts_with("breaker.probes = 0"));
        assert_eq!(policy().build(), Ok(BreakerPolicy::default()));
    }
}

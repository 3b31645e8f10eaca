//! Retry: how often the same work is tried again, and after which delays.
//!
//! Owns [`RetryPolicy`] and its builder; the delays are in `schedule`. The policy runs nothing: a
//! blocking caller waits for each delay of the [`Schedule`], an asynchronous one awaits it, and
//! [`crate::stack::Stack`] does either. Invariant: the delays depend on the policy and on the
//! number of the call alone.

mod schedule;

use std::time::Duration;

use anymetal_hal::error::ErrorClass;
use serde::{Deserialize, Serialize};

use crate::classified::is_retried;
use crate::invalid::{InvalidPolicy, require};
use crate::ratio::Ratio;

pub use schedule::Schedule;

/// How a delay is spread, so that calls that failed together do not come back together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Jitter {
    /// Not at all.
    None,
    /// Between nothing and all of it.
    Full,
    /// Between half and all of it: the device always gets some time.
    #[default]
    Equal,
}

impl std::str::FromStr for Jitter {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "none" => Ok(Jitter::None),
            "full" => Ok(Jitter::Full),
            "equal" => Ok(Jitter::Equal),
            _ => Err(()),
        }
    }
}

/// Attempts and their delays. The default: 3 attempts, 100 ms, each delay twice the one before, at
/// most 10 s, equal jitter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryPolicy {
    attempts: u32,
    base: Duration,
    factor: Ratio,
    cap: Duration,
    jitter: Jitter,
    seed: u64,
    total_delay: Option<Duration>,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        RetryPolicy {
            attempts: 3,
            base: Duration::from_millis(100),
            factor: Ratio::percent(200),
            cap: Duration::from_secs(10),
            jitter: Jitter::default(),
            seed: 0,
            total_delay: None,
        }
    }
}

impl RetryPolicy {
    /// A builder with the defaults.
    pub fn builder() -> RetryPolicyBuilder {
        RetryPolicyBuilder::default()
    }

    /// One attempt: nothing is tried again.
    pub fn once() -> Self {
        RetryPolicy { attempts: 1, ..RetryPolicy::default() }
    }

    /// Attempts in all, the first one included; at least 1.
    pub fn attempts(&self) -> u32 {
        self.attempts
    }

    /// Whether an error of that class is tried again: transient and exhausted only.
    pub fn retries(&self, class: ErrorClass) -> bool {
        is_retried(class)
    }

    /// The delays of one call: one fewer than attempts, or less if their sum is limited. Calls of
    /// different numbers have different jitter; the same number has always the same.
    pub fn schedule(&self, call: u64) -> Schedule {
        Schedule::new(self, call)
    }
}

/// Builds a [`RetryPolicy`].
#[derive(Debug, Clone, Default)]
pub struct RetryPolicyBuilder {
    attempts: Option<u32>,
    base: Option<Duration>,
    factor: Option<Ratio>,
    cap: Option<Duration>,
    jitter: Option<Jitter>,
    seed: Option<u64>,
    total_delay: Option<Duration>,
}

impl RetryPolicyBuilder {
    /// Attempts in all, the first one included.
    pub fn attempts(mut self, attempts: u32) -> Self {
        self.attempts = Some(attempts);
        self
    }

    /// The first delay, before jitter.
    pub fn base(mut self, base: Duration) -> Self {
        self.base = Some(base);
        self
    }

    /// What each delay is multiplied by for the next.
    pub fn factor(mut self, factor: Ratio) -> Self {
        self.factor = Some(factor);
        self
    }

    /// The longest delay.
    pub fn cap(mut self, cap: Duration) -> Self {
        self.cap = Some(cap);
        self
    }

    /// How delays are spread.
    pub fn jitter(mut self, jitter: Jitter) -> Self {
        self.jitter = Some(jitter);
        self
    }

    /// The seed of the jitter.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Limits the sum of a call's delays: a delay that would exceed it ends the attempts.
    pub fn total_delay(mut self, total_delay: Duration) -> Self {
        self.total_delay = Some(total_delay);
        self
    }

    /// The policy, or the value that makes no sense.
    pub fn build(self) -> Result<RetryPolicy, InvalidPolicy> {
        let defaults = RetryPolicy::default();
        let attempts = self.attempts.unwrap_or(defaults.attempts);
        require(attempts > 0, "retry.attempts", attempts, "work that is never attempted never ends")?;
        let factor = self.factor.unwrap_or(defaults.factor);
        require(
            factor >= Ratio::ONE,
            "retry.factor",
            format_args!("{factor}"),
            "delays must not shrink: at least 1",
        )?;
        if let Some(base) = self.base {
            require(
                !base.is_zero(),
                "retry.base",
                base,
                "a retry without a delay finds the device as it was",
            )?;
        }
        // A default that does not fit what is set gives way.
        let base = self.base.unwrap_or_else(|| self.cap.map_or(defaults.base, |cap| cap.min(defaults.base)));
        let cap = self.cap.unwrap_or(defaults.cap.max(base));
        require(!cap.is_zero(), "retry.cap", cap, "a retry without a delay finds the device as it was")?;
        require(cap >= base, "retry.cap", cap, "shorter than retry.base")?;
        if let Some(total) = self.total_delay {
            require(!total.is_zero(), "retry.total-delay", total, "no delay fits; use retry.attempts = 1")?;
        }
        Ok(RetryPolicy {
            attempts,
            base,
            factor,
            cap,
            jitter: self.jitter.unwrap_or(defaults.jitter),
            seed: self.seed.unwrap_or(defaults.seed),
            total_delay: self.total_delay,
        })
    }
}

#[cfg(all(test, not(loom)))]
mod tests;

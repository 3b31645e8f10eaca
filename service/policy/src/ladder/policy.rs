//! Which rungs the ladder has.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::invalid::{InvalidPolicy, require};

/// One way to go on after a failed attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rung {
    /// The same again after a delay, as [`crate::retry::RetryPolicy`] says.
    Retry,
    /// The same again after idle memory was released; only for exhausted memory.
    ReleaseMemory,
    /// The same work in a degraded mode: fewer streams, smaller pieces.
    Degrade,
    /// The same work on the next device.
    Fallback,
    /// Once no device is left and the breaker of one refused: the same work on the device whose breaker
    /// first lets a call through, when it does, and from there on the others. At most as often as
    /// [`crate::retry::RetryPolicy`] tries again, and after its delays at the least.
    Wait,
}

impl Rung {
    /// All rungs in their usual order.
    pub const ALL: [Rung; 5] = [Rung::Retry, Rung::ReleaseMemory, Rung::Degrade, Rung::Fallback, Rung::Wait];

    /// The word for settings, messages and labels: `retry`, `release-memory`, `degrade`,
    /// `fallback`, `wait`.
    pub const fn word(self) -> &'static str {
        match self {
            Rung::Retry => "retry",
            Rung::ReleaseMemory => "release-memory",
            Rung::Degrade => "degrade",
            Rung::Fallback => "fallback",
            Rung::Wait => "wait",
        }
    }
}

impl FromStr for Rung {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Rung::ALL.into_iter().find(|rung| rung.word() == text).ok_or(())
    }
}

/// The rungs in the order in which they are tried. The default: all but [`Rung::Wait`], so that work
/// that every device refuses fails at once; two levels of degradation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LadderPolicy {
    rungs: Vec<Rung>,
    levels: u8,
}

impl Default for LadderPolicy {
    fn default() -> Self {
        let rungs = vec![Rung::Retry, Rung::ReleaseMemory, Rung::Degrade, Rung::Fallback];
        LadderPolicy { rungs, levels: 2 }
    }
}

impl LadderPolicy {
    /// A builder with the defaults.
    pub fn builder() -> LadderPolicyBuilder {
        LadderPolicyBuilder { policy: LadderPolicy::default() }
    }

    /// The rungs in the order in which they are tried on each device.
    pub fn rungs(&self) -> &[Rung] {
        &self.rungs
    }

    /// How many levels of degradation there are.
    pub fn levels(&self) -> u8 {
        self.levels
    }
}

/// Builds a [`LadderPolicy`].
#[derive(Debug, Clone)]
pub struct LadderPolicyBuilder {
    policy: LadderPolicy,
}

impl LadderPolicyBuilder {
    /// The rungs in the order in which they are tried; none: the first failure is the last.
    pub fn rungs(mut self, rungs: impl IntoIterator<Item = Rung>) -> Self {
        self.policy.rungs = rungs.into_iter().collect();
        self
    }

    /// How many levels of degradation there are.
    pub fn levels(mut self, levels: u8) -> Self {
        self.policy.levels = levels;
        self
    }

    /// The policy, or the value that makes no sense.
    pub fn build(self) -> Result<LadderPolicy, InvalidPolicy> {
        let LadderPolicy { rungs, levels } = &self.policy;
        let words: Vec<_> = rungs.iter().map(|rung| rung.word()).collect();
        let twice = rungs.iter().enumerate().any(|(at, rung)| rungs[..at].contains(rung));
        require(!twice, "ladder.rungs", &words, "a rung is there twice")?;
        let of_all_devices = |rung: &&Rung| matches!(rung, Rung::Fallback | Rung::Wait);
        let mut last = rungs.iter().skip_while(|rung| !of_all_devices(rung));
        require(
            last.all(|rung| of_all_devices(&rung)),
            "ladder.rungs",
            &words,
            "fallback and wait are the last rungs: the next device has all the others again",
        )?;
        let degrades = !rungs.contains(&Rung::Degrade) || *levels > 0;
        require(degrades, "ladder.levels", levels, "a rung `degrade` without a level to degrade to")?;
        Ok(self.policy)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn impossible_ladders_are_refused() {
        let refused = |rungs: &[Rung]| {
            LadderPolicy::builder().rungs(rungs.iter().copied()).build().unwrap_err().to_string()
        };
        let twice = refused(&[Rung::Retry, Rung::Retry]);
        assert_eq!(twice, "ladder.rungs = [\"retry\", \"retry\"]: a rung is there twice");
        assert!(refused(&[Rung::Fallback, Rung::Retry]).contains("fallback and wait are the last rungs"));
        assert!(refused(&[Rung::Wait, Rung::Degrade]).contains("fallback and wait are the last rungs"));
        assert!(LadderPolicy::builder().rungs(Rung::ALL).build().is_ok());
        assert_eq!(LadderPolicy::builder().levels(0).build().unwrap_err().field(), "ladder.levels");
        assert!(LadderPolicy::builder().rungs([]).levels(0).build().is_ok());
        assert!(Rung::ALL.into_iter().all(|rung| rung.word().parse() == Ok(rung)));
    }
}

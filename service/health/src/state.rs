//! The states of a component, and the hysteresis between them.
//!
//! Owns [`Health`] and [`Damped`]. Invariant: a state is left only when all readings for a time were on the
//! same side of it, and the state that is entered is the one nearest to the old that all of them support. So
//! a single bad reading, or a reading that flickers around a threshold, changes nothing.

use std::time::Duration;

use serde::Serialize;

/// How a component is. Worse ones are greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Health {
    /// As it should be.
    #[default]
    Healthy,
    /// It works, and not as well as it should.
    Degraded,
    /// It does not do its work.
    Unhealthy,
}

impl Health {
    /// Its name in one lower-case word.
    pub fn word(self) -> &'static str {
        match self {
            Health::Healthy => "healthy",
            Health::Degraded => "degraded",
            Health::Unhealthy => "unhealthy",
        }
    }

    /// Its number in metrics.
    pub fn number(self) -> u8 {
        match self {
            Health::Healthy => 0,
            Health::Degraded => 1,
            Health::Unhealthy => 2,
        }
    }
}

/// How long readings must last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hysteresis {
    /// Until a worse state is entered.
    pub worse_for: Duration,
    /// Until a better state is entered.
    pub better_for: Duration,
}

impl Default for Hysteresis {
    /// 10 s to become worse, 30 s to become better.
    fn default() -> Self {
        Hysteresis { worse_for: Duration::from_secs(10), better_for: Duration::from_secs(30) }
    }
}

/// A state that follows readings with hysteresis.
#[derive(Debug, Clone)]
pub struct Damped {
    state: Health,
    hysteresis: Hysteresis,
    /// Since when all readings are on one side of the state, and the one of them nearest to it.
    pending: Option<(Duration, Health)>,
}

impl Damped {
    /// A healthy one.
    pub fn new(hysteresis: Hysteresis) -> Self {
        Damped { state: Health::Healthy, hysteresis, pending: None }
    }

    /// The state.
    pub fn state(&self) -> Health {
        self.state
    }

    /// Follows a reading; gives the state that is entered, if one is.
    pub fn observe(&mut self, now: Duration, reading: Health) -> Option<Health> {
        if reading == self.state {
            self.pending = None;
            return None;
        }
        let worse = reading > self.state;
        let same_side = |&(_, nearest): &(Duration, Health)| (nearest > self.state) == worse;
        let (since, nearest) = match self.pending.filter(same_side) {
            None => (now, reading),
            Some((since, nearest)) if worse => (since, nearest.min(reading)),
            Some((since, nearest)) => (since, nearest.max(reading)),
        };
        let needed = if worse { self.hysteresis.worse_for } else { self.hysteresis.better_for };
        if now.saturating_sub(since) < needed {
            self.pending = Some((since, nearest));
            return None;
        }
        self.state = nearest;
        self.pending = None;
        Some(nearest)
    }
}

#[cfg(test)]
mod tests {
    use Health::{Degraded, Healthy, Unhealthy};

    use super::*;

    fn run(readings: &[(u64, Health)]) -> Vec<(u64, Health)> {
        let hysteresis =
            Hysteresis { worse_for: Duration::from_secs(10), better_for: Duration::from_secs(30) };
        let mut damped = Damped::new(hysteresis);
        let enter = |&(at, reading)| Some((at, damped.observe(Duration::from_secs(at), reading)?));
        readings.iter().filter_map(enter).collect()
    }

    #[test]
    fn a_reading_must_last_before_a_state_is_entered() {
        assert_eq!(run(&[(0, Unhealthy), (9, Unhealthy)]), []);
        assert_eq!(run(&[(0, Unhealthy), (10, Unhealthy)]), [(10, Unhealthy)]);
    }

    #[test]
    fn readings_that_flicker_change_nothing() {
        let flicker: Vec<_> = (0..100).map(|at| (at * 6, [Unhealthy, Healthy][at as usize % 2])).collect();
        assert_eq!(run(&flicker), []);
    }

    #[test]
    fn the_state_that_all_readings_support_is_entered() {
        assert_eq!(run(&[(0, Unhealthy), (5, Degraded), (10, Unhealthy)]), [(10, Degraded)]);
        let recovers = [(0, Unhealthy), (10, Unhealthy), (20, Healthy), (30, Degraded), (50, Healthy)];
        assert_eq!(run(&recovers), [(10, Unhealthy), (50, Degraded)]);
    }
}

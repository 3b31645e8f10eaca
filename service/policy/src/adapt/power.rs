//! Power, and where it is measured.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::thermal::{ThermalState, Unavailable};
use crate::ratio::Ratio;

/// Power, in milliwatts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Power {
    /// Milliwatts.
    pub milliwatts: u64,
}

impl Power {
    /// That many watts.
    pub const fn watts(watts: u32) -> Power {
        Power { milliwatts: watts as u64 * 1000 }
    }

    /// What this power means under a budget: fair from 90 %, serious from all of it, critical from
    /// 120 %. Power is answered as heat is, by fewer streams.
    pub fn state_under(self, budget: Power) -> ThermalState {
        let reaches = |percent| Ratio::percent(percent).is_reached_by(self.milliwatts, budget.milliwatts);
        if reaches(120) {
            ThermalState::Critical
        } else if reaches(100) {
            ThermalState::Serious
        } else if reaches(90) {
            ThermalState::Fair
        } else {
            ThermalState::Nominal
        }
    }
}

/// Measures the power of the machine.
pub trait PowerSource: Send + Sync {
    /// The mean power since the reading before, at that time of the clock; `None` if there is none
    /// to tell yet: at the first reading, or where no time has passed.
    fn power(&self, now: Duration) -> Result<Option<Power>, Unavailable>;
}

/// A source that a test sets; clones share the power.
#[derive(Debug, Clone, Default)]
pub struct SimulatedPower {
    milliwatts: Arc<AtomicU64>,
}

impl SimulatedPower {
    /// A machine that uses none.
    pub fn new() -> Self {
        SimulatedPower::default()
    }

    /// Changes the power.
    pub fn set(&self, power: Power) {
        self.milliwatts.store(power.milliwatts, Ordering::Relaxed);
    }
}

impl PowerSource for SimulatedPower {
    fn power(&self, _now: Duration) -> Result<Option<Power>, Unavailable> {
        Ok(Some(Power { milliwatts: self.milliwatts.load(Ordering::Relaxed) }))
    }
}

//! Heat, and where it is read.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use serde::{Deserialize, Serialize};

/// How hot the machine is, in the steps of Apple's `ProcessInfo.ThermalState`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ThermalState {
    /// Nothing to do.
    #[default]
    Nominal,
    /// Fans run; work that can wait should.
    Fair,
    /// Clocks are lowered; use less.
    Serious,
    /// The machine is about to stop; use as little as possible.
    Critical,
}

impl ThermalState {
    /// The word for messages and labels: `nominal`, `fair`, `serious`, `critical`.
    pub const fn word(self) -> &'static str {
        match self {
            ThermalState::Nominal => "nominal",
            ThermalState::Fair => "fair",
            ThermalState::Serious => "serious",
            ThermalState::Critical => "critical",
        }
    }
}

/// A source that cannot be read on this machine, in this container or by this user.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} cannot be read from {}: {reason}", path.display())]
pub struct Unavailable {
    /// What was to be read.
    pub what: &'static str,
    /// The file or folder.
    pub path: PathBuf,
    /// Why, as the system says, or what is wrong with what is there.
    pub reason: String,
}

/// Tells how hot the machine is.
pub trait ThermalSource: Send + Sync {
    /// The heat now.
    fn thermal_state(&self) -> Result<ThermalState, Unavailable>;

    /// The zones with their temperatures in degrees Celsius now, for gauges; none where the source
    /// has no numbers.
    fn temperatures(&self) -> Vec<(String, f64)> {
        Vec::new()
    }
}

/// A source that a test sets; clones share the state.
#[derive(Debug, Clone, Default)]
pub struct SimulatedThermal {
    state: Arc<AtomicU8>,
}

const STATES: [ThermalState; 4] =
    [ThermalState::Nominal, ThermalState::Fair, ThermalState::Serious, ThermalState::Critical];

impl SimulatedThermal {
    /// A cool machine.
    pub fn new() -> Self {
        SimulatedThermal::default()
    }

    /// Changes the heat.
    pub fn set(&self, state: ThermalState) {
        self.state.store(state as u8, Ordering::Relaxed);
    }
}

impl ThermalSource for SimulatedThermal {
    fn thermal_state(&self) -> Result<ThermalState, Unavailable> {
        Ok(STATES[usize::from(self.state.load(Ordering::Relaxed)) % STATES.len()])
    }
}

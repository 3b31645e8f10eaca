//! How strained the machine is, by heat and power.
//!
//! Owns [`LoadMonitor`]. Invariant: sources are read at most once a second of the clock, and one that
//! cannot be read is told once and not asked again.

use std::sync::Mutex;
use std::time::Duration;

use anymetal_hal::sync::lock;
use anymetal_policy::adapt::{AdaptivePolicy, PowerSource, ThermalSource, ThermalState};

use super::observe::{ManagerEvent, Observe};

/// How often sources are read at most.
const READ_EVERY: Duration = Duration::from_secs(1);

pub(super) struct LoadMonitor {
    policy: AdaptivePolicy,
    state: Mutex<LoadSources>,
}

struct LoadSources {
    thermal: Option<Box<dyn ThermalSource>>,
    power: Option<Box<dyn PowerSource>>,
    read_at: Option<Duration>,
    last: ThermalState,
}

impl LoadMonitor {
    pub(super) fn new(
        policy: AdaptivePolicy,
        thermal: Option<Box<dyn ThermalSource>>,
        power: Option<Box<dyn PowerSource>>,
    ) -> Self {
        let state = LoadSources { thermal, power, read_at: None, last: ThermalState::Nominal };
        LoadMonitor { policy, state: Mutex::new(state) }
    }

    /// Reads the sources if the time has come; gives the state if it changed.
    pub(super) fn poll(&self, now: Duration, observer: &dyn Observe) -> Option<ThermalState> {
        let mut state = lock(&self.state);
        if state.thermal.is_none() && state.power.is_none() {
            return None;
        }
        if state.read_at.is_some_and(|read| now.saturating_sub(read) < READ_EVERY) {
            return None;
        }
        state.read_at = Some(now);
        let (mut heat, mut power) = (ThermalState::Nominal, None);
        let mut unavailable = Vec::new();
        match state.thermal.as_ref().map(|source| source.thermal_state()) {
            Some(Ok(read)) => heat = read,
            Some(Err(error)) => {
                state.thermal = None;
                unavailable.push(error);
            }
            None => {}
        }
        match state.power.as_ref().map(|source| source.power(now)) {
            Some(Ok(read)) => power = read,
            Some(Err(error)) => {
                state.power = None;
                unavailable.push(error);
            }
            None => {}
        }
        let temperatures = state.thermal.as_ref().map(|source| source.temperatures()).unwrap_or_default();
        let strain = self.policy.strain(heat, power);
        let changed = (strain != state.last).then_some(strain);
        state.last = strain;
        drop(state);
        for (zone, celsius) in &temperatures {
            observer.observe(&ManagerEvent::Temperature { zone, celsius: *celsius });
        }
        if let Some(power) = power {
            observer.observe(&ManagerEvent::Power { watts: power.milliwatts as f64 / 1000.0 });
        }
        for error in unavailable {
            observer.observe(&ManagerEvent::SourceUnavailable { reason: &error.to_string() });
        }
        changed
    }
}

impl std::fmt::Debug for LoadMonitor {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("LoadMonitor").field("policy", &self.policy).finish_non_exhaustive()
    }
}

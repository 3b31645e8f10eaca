//! The number of streams, adapted to load, heat and power (REL-7).
//!
//! Owns [`AdaptivePolicy`] and [`AdaptiveStreams`]: additive increase while work waits,
//! multiplicative decrease when latency or failures say that there is too much at once, and a
//! ceiling that heat lowers. The sources of heat are in `thermal` and `linux_thermal`, of power in
//! `rapl`. Invariant: the number is always within the policy's bounds and not above the ceiling of
//! the heat last told.

mod linux_thermal;
mod power;
mod rapl;
mod thermal;

use std::time::Duration;

use crate::invalid::{InvalidPolicy, require};
use crate::ratio::Ratio;

pub use linux_thermal::LinuxThermal;
pub use power::{Power, PowerSource, SimulatedPower};
pub use rapl::Rapl;
pub use thermal::{SimulatedThermal, ThermalSource, ThermalState, Unavailable};

/// The bounds and the pace. The default: 1 to 16 streams, one more at a time, halved when the
/// latency is more than twice the best, decided once in 100 ms at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AdaptivePolicy {
    minimum: usize,
    maximum: usize,
    tolerance: Ratio,
    decrease: Ratio,
    interval: Duration,
    power_budget: Option<Power>,
}

impl Default for AdaptivePolicy {
    fn default() -> Self {
        AdaptivePolicy {
            minimum: 1,
            maximum: 16,
            tolerance: Ratio::percent(200),
            decrease: Ratio::percent(50),
            interval: Duration::from_millis(100),
            power_budget: None,
        }
    }
}

impl AdaptivePolicy {
    /// A builder with the defaults.
    pub fn builder() -> AdaptivePolicyBuilder {
        AdaptivePolicyBuilder { policy: AdaptivePolicy::default(), minimum: None, maximum: None }
    }

    /// The fewest streams.
    pub fn minimum(&self) -> usize {
        self.minimum
    }

    /// The most streams.
    pub fn maximum(&self) -> usize {
        self.maximum
    }

    /// How strained the machine is: its heat, or its power under the budget, whichever is worse.
    pub fn strain(&self, heat: ThermalState, power: Option<Power>) -> ThermalState {
        let states = power.zip(self.power_budget).map(|(power, budget)| power.state_under(budget));
        states.map_or(heat, |state| state.max(heat))
    }

    /// The most streams in that heat: all, three quarters, half, the fewest.
    pub fn ceiling(&self, heat: ThermalState) -> usize {
        let most = match heat {
            ThermalState::Nominal => self.maximum,
            ThermalState::Fair => self.maximum.saturating_mul(3) / 4,
            ThermalState::Serious => self.maximum / 2,
            ThermalState::Critical => self.minimum,
        };
        most.max(self.minimum)
    }
}

/// Builds an [`AdaptivePolicy`].
#[derive(Debug, Clone, Copy)]
pub struct AdaptivePolicyBuilder {
    policy: AdaptivePolicy,
    minimum: Option<usize>,
    maximum: Option<usize>,
}

impl AdaptivePolicyBuilder {
    /// The fewest streams.
    pub fn minimum(mut self, minimum: usize) -> Self {
        self.minimum = Some(minimum);
        self
    }

    /// The most streams.
    pub fn maximum(mut self, maximum: usize) -> Self {
        self.maximum = Some(maximum);
        self
    }

    /// How many times the best latency is too much; above 1.
    pub fn tolerance(mut self, tolerance: Ratio) -> Self {
        self.policy.tolerance = tolerance;
        self
    }

    /// The share that is left after a decrease; above 0 and below 1.
    pub fn decrease(mut self, decrease: Ratio) -> Self {
        self.policy.decrease = decrease;
        self
    }

    /// The least time between two changes because of load.
    pub fn interval(mut self, interval: Duration) -> Self {
        self.policy.interval = interval;
        self
    }

    /// The power of the machine above which fewer streams are used.
    pub fn power_budget(mut self, budget: Power) -> Self {
        self.policy.power_budget = Some(budget);
        self
    }

    /// The policy, or the value that makes no sense.
    pub fn build(self) -> Result<AdaptivePolicy, InvalidPolicy> {
        let defaults = AdaptivePolicy::default();
        if let Some(minimum) = self.minimum {
            require(minimum > 0, "adapt.minimum", minimum, "without a stream nothing runs")?;
        }
        // A default that does not fit what is set gives way.
        let minimum = self.minimum.unwrap_or(defaults.minimum);
        let maximum = self.maximum.unwrap_or(defaults.maximum.max(minimum));
        require(maximum >= minimum, "adapt.maximum", maximum, "fewer than adapt.minimum")?;
        let AdaptivePolicy { tolerance, decrease, interval, .. } = self.policy;
        let above = tolerance > Ratio::ONE;
        require(
            above,
            "adapt.tolerance",
            format_args!("{tolerance}"),
            "the best latency itself would be too much",
        )?;
        let is_less = decrease > Ratio::percent(0) && decrease < Ratio::ONE;
        require(is_less, "adapt.decrease", format_args!("{decrease}"), "a share above 0 and below 100 %")?;
        require(
            !interval.is_zero(),
            "adapt.interval",
            interval,
            "changes would not show before the next one",
        )?;
        if let Some(Power { milliwatts }) = self.policy.power_budget {
            require(milliwatts > 0, "adapt.power-budget", milliwatts, "no machine runs without power")?;
        }
        Ok(AdaptivePolicy { minimum, maximum, ..self.policy })
    }
}

/// The load since the last time it was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Load {
    /// Work that waits for a stream.
    pub waiting: usize,
    /// Work that runs.
    pub running: usize,
    /// The median time from submission to end; `None`: nothing ended.
    pub latency: Option<Duration>,
    /// Whether something failed because a resource was exhausted.
    pub exhausted: bool,
}

/// The number of streams in use.
#[derive(Debug, Clone)]
pub struct AdaptiveStreams {
    policy: AdaptivePolicy,
    streams: usize,
    heat: ThermalState,
    best: Option<Duration>,
    changed: Option<Duration>,
}

impl AdaptiveStreams {
    /// Starts with the fewest streams.
    pub fn new(policy: AdaptivePolicy) -> Self {
        let (streams, heat) = (policy.minimum, ThermalState::Nominal);
        AdaptiveStreams { policy, streams, heat, best: None, changed: None }
    }

    /// Starts with that number, as a process that knows it from its last run, within the bounds.
    pub fn starting_with(policy: AdaptivePolicy, streams: usize) -> Self {
        let streams = streams.clamp(policy.minimum, policy.maximum);
        AdaptiveStreams { streams, ..AdaptiveStreams::new(policy) }
    }

    /// How many streams to use.
    pub fn streams(&self) -> usize {
        self.streams
    }

    /// The heat last told.
    pub fn heat(&self) -> ThermalState {
        self.heat
    }

    /// Takes the load into account; gives the number of streams to use from now on. One more if
    /// work waits while all are busy; fewer if the latency is above the tolerance or a resource ran
    /// out.
    pub fn observe(&mut self, now: Duration, load: Load) -> usize {
        let AdaptivePolicy { minimum, tolerance, decrease, interval, .. } = self.policy;
        let too_slow = match (load.latency.map(nanoseconds), self.best.map(nanoseconds)) {
            (Some(latency), Some(best)) => latency > tolerance.of(best),
            _ => false,
        };
        self.note_latency(load.latency);
        if self.changed.is_some_and(|changed| now.saturating_sub(changed) < interval) {
            return self.streams;
        }
        let wanted = if too_slow || load.exhausted {
            (decrease.of(self.streams as u64) as usize).max(minimum)
        } else if load.waiting > 0 && load.running >= self.streams {
            (self.streams + 1).min(self.policy.ceiling(self.heat))
        } else {
            self.streams
        };
        if wanted != self.streams {
            (self.streams, self.changed) = (wanted, Some(now));
        }
        self.streams
    }

    /// Takes the heat into account at once; gives the number of streams to use from now on. Cooling
    /// down frees the ceiling only: load decides about more.
    pub fn set_heat(&mut self, heat: ThermalState) -> usize {
        self.heat = heat;
        self.streams = self.streams.min(self.policy.ceiling(heat));
        self.streams
    }

    /// The best latency, which fades by 1/64 each time it is not reached: work changes, and so does
    /// its best.
    fn note_latency(&mut self, latency: Option<Duration>) {
        let Some(latency) = latency else { return };
        self.best = Some(match self.best {
            Some(best) if best < latency => best.saturating_add((latency - best) / 64),
            _ => latency,
        });
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(all(test, not(loom)))]
mod tests;

//! Checks: a number from the metrics, and the state that it means.
//!
//! Owns [`Check`], [`Reading`] and [`Thresholds`]. Invariant: thresholds that could never be right are
//! refused when they are made, with the reason. A reading that there is nothing for, as a rate at the first
//! snapshot, is none, and changes no state.

use std::time::Duration;

use anymetal_telemetry::names::Metric;
use anymetal_telemetry::names::metrics as names;
use anymetal_telemetry_export::snapshot::{Snapshot, Value};

use crate::state::{Health, Hysteresis};

/// Series of a metric.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selector {
    metric: &'static str,
    labels: Vec<(&'static str, String)>,
}

/// What is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reading {
    /// The sum of the series.
    Value(Selector),
    /// The greatest of the series.
    Greatest(Selector),
    /// By how much the sum rises per second.
    Rate(Selector),
    /// The sum of the first over that of the second.
    Ratio(Selector, Selector),
    /// The rise of the first over that of the second.
    ShareOfRise(Selector, Selector),
    /// The mean of a histogram's observations since the last reading.
    Mean(Selector),
}

/// The side on which values are bad.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bad {
    /// Above the thresholds.
    Above,
    /// Below the thresholds.
    Below,
}

/// The values from which on a component is degraded and unhealthy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Thresholds {
    bad: Bad,
    degraded: f64,
    unhealthy: f64,
    margin: f64,
}

/// Thresholds that could never be right.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum BadThresholds {
    /// Not a number.
    #[error("a threshold is not a number")]
    NotANumber,
    /// A component would be unhealthy before it is degraded.
    #[error("unhealthy at {unhealthy} comes before degraded at {degraded}")]
    Order {
        /// Where it is degraded.
        degraded: f64,
        /// Where it is unhealthy.
        unhealthy: f64,
    },
    /// The margin is not from 0 to below 1.
    #[error("a margin of {0} is not from 0 to below 1")]
    Margin(f64),
}

/// A component's check.
#[derive(Debug, Clone)]
pub struct Check {
    /// The component's name.
    pub component: String,
    /// What is read.
    pub reading: Reading,
    /// What it means; `None`: it is watched for anomalies and trends alone.
    pub thresholds: Option<Thresholds>,
    /// How long a reading must last.
    pub hysteresis: Hysteresis,
    /// Whether the system is not ready while it is unhealthy.
    pub needed: bool,
    /// The value at which it is full, for a trend's time to exhaustion.
    pub limit: Option<f64>,
}

impl Selector {
    /// All series of a metric.
    pub fn all(metric: &'static Metric) -> Self {
        Selector { metric: metric.name, labels: Vec::new() }
    }

    /// Those of them with that label.
    pub fn with(mut self, label: &'static str, value: impl Into<String>) -> Self {
        self.labels.push((label, value.into()));
        self
    }

    fn labels(&self) -> Vec<(&str, &str)> {
        self.labels.iter().map(|(name, value)| (*name, value.as_str())).collect()
    }

    fn sum(&self, snapshot: &Snapshot) -> Option<f64> {
        snapshot.sum(self.metric, &self.labels())
    }

    fn greatest(&self, snapshot: &Snapshot) -> Option<f64> {
        let labels = self.labels();
        snapshot.series(self.metric, &labels).map(|series| series.value.number()).max_by(f64::total_cmp)
    }

    /// The sum and the number of a histogram's observations.
    fn observations(&self, snapshot: &Snapshot) -> (f64, f64) {
        let labels = self.labels();
        snapshot.series(self.metric, &labels).fold((0.0, 0.0), |(sum, count), series| match &series.value {
            Value::Histogram(histogram) => (sum + histogram.sum, count + histogram.count() as f64),
            Value::Counter(_) | Value::Gauge(_) => (sum, count),
        })
    }
}

impl Reading {
    /// The number now; `before` is the snapshot before, and how long ago it was.
    pub fn read(&self, now: &Snapshot, before: Option<(&Snapshot, Duration)>) -> Option<f64> {
        match self {
            Reading::Value(of) => of.sum(now),
            Reading::Greatest(of) => of.greatest(now),
            Reading::Rate(of) => {
                let seconds = before?.1.as_secs_f64();
                (seconds > 0.0).then_some(rise(of, now, before?.0) / seconds)
            }
            Reading::Ratio(part, whole) => divided(part.sum(now)?, whole.sum(now)?),
            Reading::ShareOfRise(part, whole) => {
                divided(rise(part, now, before?.0), rise(whole, now, before?.0))
            }
            Reading::Mean(of) => {
                let ((sum, count), (sum_before, count_before)) =
                    (of.observations(now), of.observations(before?.0));
                divided(sum - sum_before, count - count_before)
            }
        }
    }
}

fn rise(of: &Selector, now: &Snapshot, before: &Snapshot) -> f64 {
    let (now, before) = (of.sum(now).unwrap_or_default(), of.sum(before).unwrap_or_default());
    (now - before).max(0.0)
}

fn divided(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

impl Thresholds {
    /// Bad above: degraded from the first on, unhealthy from the second on, which may be infinite.
    ///
    /// # Errors
    /// See [`BadThresholds`].
    pub fn above(degraded: f64, unhealthy: f64) -> Result<Self, BadThresholds> {
        Self::new(Bad::Above, degraded, unhealthy)
    }

    /// Bad below: degraded from the first on, unhealthy from the second on, which may be infinite.
    ///
    /// # Errors
    /// See [`BadThresholds`].
    pub fn below(degraded: f64, unhealthy: f64) -> Result<Self, BadThresholds> {
        Self::new(Bad::Below, degraded, unhealthy)
    }

    fn new(bad: Bad, degraded: f64, unhealthy: f64) -> Result<Self, BadThresholds> {
        if degraded.is_nan() || unhealthy.is_nan() {
            return Err(BadThresholds::NotANumber);
        }
        let in_order = match bad {
            Bad::Above => degraded <= unhealthy,
            Bad::Below => degraded >= unhealthy,
        };
        match in_order {
            true => Ok(Thresholds { bad, degraded, unhealthy, margin: 0.05 }),
            false => Err(BadThresholds::Order { degraded, unhealthy }),
        }
    }

    /// By which share of a threshold a value must come back before the state behind it is left; at first
    /// 0.05.
    ///
    /// # Errors
    /// It is not from 0 to below 1.
    pub fn margin(self, margin: f64) -> Result<Self, BadThresholds> {
        match (0.0..1.0).contains(&margin) {
            true => Ok(Thresholds { margin, ..self }),
            false => Err(BadThresholds::Margin(margin)),
        }
    }

    /// What a value means to a component in that state.
    pub fn judge(&self, value: f64, state: Health) -> Health {
        let reached = |threshold: f64, within: bool| {
            let margin = if within { threshold.abs() * self.margin } else { 0.0 };
            match self.bad {
                // An infinite threshold has no margin.
                _ if threshold.is_infinite() => false,
                Bad::Above => value >= threshold - margin,
                Bad::Below => value <= threshold + margin,
            }
        };
        if reached(self.unhealthy, state >= Health::Unhealthy) {
            Health::Unhealthy
        } else if reached(self.degraded, state >= Health::Degraded) {
            Health::Degraded
        } else {
            Health::Healthy
        }
    }

    /// The thresholds for messages.
    pub fn describe(&self, health: Health) -> String {
        let (word, at) = match (self.bad, health) {
            (Bad::Above, Health::Unhealthy) => ("at or above", self.unhealthy),
            (Bad::Above, _) => ("at or above", self.degraded),
            (Bad::Below, Health::Unhealthy) => ("at or below", self.unhealthy),
            (Bad::Below, _) => ("at or below", self.degraded),
        };
        format!("{word} {at}")
    }
}

impl Check {
    /// A check of a component that the system needs, with the usual hysteresis.
    pub fn new(component: impl Into<String>, reading: Reading, thresholds: Thresholds) -> Self {
        Check {
            component: component.into(),
            reading,
            thresholds: Some(thresholds),
            hysteresis: Hysteresis::default(),
            needed: true,
            limit: None,
        }
    }

    /// A series that is watched for anomalies and trends and has no state.
    pub fn watch(component: impl Into<String>, reading: Reading) -> Self {
        Check {
            component: component.into(),
            reading,
            thresholds: None,
            hysteresis: Hysteresis::default(),
            needed: false,
            limit: None,
        }
    }
}

/// The share of the memory budget that is used.
pub fn memory(thresholds: Thresholds) -> Check {
    let ratio = Reading::Ratio(Selector::all(&names::MEMORY_BYTES), Selector::all(&names::MEMORY_LIMIT));
    Check { limit: Some(1.0), ..Check::new("memory", ratio, thresholds) }
}

/// The share of command buffers that fail.
pub fn failures(thresholds: Thresholds) -> Check {
    let all = Selector::all(&names::SUBMISSIONS);
    let share = Reading::ShareOfRise(all.clone().with("outcome", "failed"), all);
    Check::new("submissions", share, thresholds)
}

/// Circuit breakers: degraded while one is not closed.
pub fn breakers() -> Check {
    let thresholds = Thresholds { bad: Bad::Above, degraded: 1.0, unhealthy: f64::INFINITY, margin: 0.0 };
    Check::new("breakers", Reading::Greatest(Selector::all(&names::BREAKER_STATE)), thresholds)
}

/// Telemetry: degraded while an exporter drops.
pub fn exporters() -> Check {
    let thresholds = Thresholds { bad: Bad::Above, degraded: 1e-3, unhealthy: f64::INFINITY, margin: 0.0 };
    let rate = Reading::Rate(Selector::all(&names::DROPPED));
    Check { needed: false, ..Check::new("telemetry", rate, thresholds) }
}

/// The mean duration of dispatches, watched.
pub fn latency() -> Check {
    Check::watch("latency", Reading::Mean(Selector::all(&names::DISPATCH_DURATION)))
}

/// Command buffers that wait, watched.
pub fn backlog() -> Check {
    Check::watch("backlog", Reading::Value(Selector::all(&names::COMMAND_BUFFERS_WAITING)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_that_could_never_be_right_are_refused() {
        assert_eq!(Thresholds::above(0.9, 0.8), Err(BadThresholds::Order { degraded: 0.9, unhealthy: 0.8 }));
        assert!(Thresholds::below(0.9, 0.8).is_ok());
        assert_eq!(Thresholds::above(f64::NAN, 1.0), Err(BadThresholds::NotANumber));
        assert_eq!(Thresholds::above(0.5, 1.0).unwrap().margin(1.0), Err(BadThresholds::Margin(1.0)));
    }

    #[test]
    fn a_state_is_left_beyond_the_margin_only() {
        let thresholds = Thresholds::above(100.0, 200.0).unwrap();
        assert_eq!(thresholds.judge(99.0, Health::Healthy), Health::Healthy);
        assert_eq!(thresholds.judge(100.0, Health::Healthy), Health::Degraded);
        assert_eq!(thresholds.judge(96.0, Health::Degraded), Health::Degraded);
        assert_eq!(thresholds.judge(94.0, Health::Degraded), Health::Healthy);
        assert_eq!(thresholds.judge(191.0, Health::Unhealthy), Health::Unhealthy);
        let below = Thresholds::below(10.0, f64::NEG_INFINITY).unwrap();
        assert_eq!(below.judge(f64::MIN, Health::Healthy), Health::Degraded);
    }
}

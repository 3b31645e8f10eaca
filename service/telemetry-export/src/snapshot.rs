//! What a store holds at one moment, as values.
//!
//! Owns [`Snapshot`]. Invariant: families are in the order of their names, series in the order of their
//! labels, so that two snapshots of the same state are equal.

use anymetal_telemetry::names::MetricKind;

use crate::histogram::HistogramValue;

/// All metrics.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Snapshot {
    /// By name.
    pub families: Vec<Family>,
}

/// One metric.
#[derive(Debug, Clone, PartialEq)]
pub struct Family {
    /// Its name.
    pub name: String,
    /// How it behaves.
    pub kind: MetricKind,
    /// What it tells; may be empty.
    pub help: String,
    /// Its series.
    pub series: Vec<Series>,
}

/// One series of a metric.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Its labels.
    pub labels: Vec<(String, String)>,
    /// Its value.
    pub value: Value,
}

/// The value of a series.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Of a counter.
    Counter(u64),
    /// Of a gauge.
    Gauge(f64),
    /// Of a histogram.
    Histogram(HistogramValue),
}

impl Value {
    /// The value as one number; of a histogram the number of its observations.
    pub fn number(&self) -> f64 {
        match self {
            Value::Counter(value) => *value as f64,
            Value::Gauge(value) => *value,
            Value::Histogram(histogram) => histogram.count() as f64,
        }
    }
}

impl Series {
    /// Whether it has all of those labels.
    pub fn has(&self, labels: &[(&str, &str)]) -> bool {
        labels.iter().all(|(name, value)| self.labels.iter().any(|(n, v)| n == name && v == value))
    }
}

impl Snapshot {
    /// A metric.
    pub fn family(&self, name: &str) -> Option<&Family> {
        let place = self.families.binary_search_by(|family| family.name.as_str().cmp(name)).ok()?;
        self.families.get(place)
    }

    /// The series of a metric that have all of those labels.
    pub fn series<'s>(
        &'s self,
        name: &str,
        labels: &'s [(&'s str, &'s str)],
    ) -> impl Iterator<Item = &'s Series> + use<'s> {
        let all = self.family(name).into_iter().flat_map(|family| &family.series);
        all.filter(move |series| series.has(labels))
    }

    /// The sum over those series; `None`: there is none.
    pub fn sum(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let all = self.family(name).into_iter().flat_map(|family| &family.series);
        let numbers: Vec<f64> =
            all.filter(|series| series.has(labels)).map(|series| series.value.number()).collect();
        (!numbers.is_empty()).then(|| numbers.iter().sum())
    }
}

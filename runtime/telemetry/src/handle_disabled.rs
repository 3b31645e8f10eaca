//! Handles that record nothing, for builds without the feature `emit`.

use crate::names::Metric;

/// Whether the process has a recorder for the `metrics` facade: never here.
#[inline(always)]
pub fn metrics_on() -> bool {
    false
}

/// Does nothing.
#[inline(always)]
pub fn enable() {}

/// A counter's series.
#[derive(Debug, Clone)]
pub struct Counter;

/// A gauge's series.
#[derive(Debug, Clone)]
pub struct Gauge;

/// A histogram's series.
#[derive(Debug, Clone)]
pub struct Histogram;

impl Counter {
    /// The series of a counter.
    #[inline(always)]
    pub fn new(_metric: &Metric, _labels: &[(&'static str, &str)]) -> Self {
        Counter
    }

    /// Does nothing.
    #[inline(always)]
    pub fn add(&self, _count: u64) {}
}

impl Gauge {
    /// The series of a gauge.
    #[inline(always)]
    pub fn new(_metric: &Metric, _labels: &[(&'static str, &str)]) -> Self {
        Gauge
    }

    /// Does nothing.
    #[inline(always)]
    pub fn set(&self, _value: f64) {}
}

impl Histogram {
    /// The series of a histogram.
    #[inline(always)]
    pub fn new(_metric: &Metric, _labels: &[(&'static str, &str)]) -> Self {
        Histogram
    }

    /// Does nothing.
    #[inline(always)]
    pub fn record(&self, _value: f64) {}
}

//! Handles: a metric bound to the values of its labels.
//!
//! Owns [`Counter`], [`Gauge`], [`Histogram`] and [`metrics_on`]. Invariant: a handle that is made while no
//! recorder is installed records nothing, ever; so whoever keeps handles makes them once [`metrics_on`] says
//! that there is one. A process installs one recorder, and never another: from then on it stays `true`.

use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use metrics::{Key, Label, Level, Metadata};

use crate::names::metrics::METRICS;
use crate::names::spans::TARGET;
use crate::names::{Metric, MetricKind, Unit};

static ON: AtomicBool = AtomicBool::new(false);

/// Whether the process has a recorder for the `metrics` facade. Costs a few nanoseconds while it has none,
/// less when it has.
#[inline]
pub fn metrics_on() -> bool {
    ON.load(Ordering::Relaxed) || look()
}

fn look() -> bool {
    // The facade does not tell whether a recorder is installed; its stand-in for none is the one without
    // size. A recorder of a program's own that has no size either is not seen: see `enable`.
    let found = metrics::with_recorder(|recorder| size_of_val(recorder) != 0);
    if found {
        enable();
    }
    found
}

/// Takes it as said that a recorder is installed: for one that is a type without size.
pub fn enable() {
    static DESCRIBED: Once = Once::new();
    DESCRIBED.call_once(|| METRICS.iter().for_each(|metric| describe(metric)));
    ON.store(true, Ordering::Relaxed);
}

fn describe(metric: &Metric) {
    let unit = match metric.unit {
        Unit::Seconds => Some(metrics::Unit::Seconds),
        Unit::Bytes => Some(metrics::Unit::Bytes),
        Unit::Count => Some(metrics::Unit::Count),
        Unit::State | Unit::Celsius | Unit::Watts => None,
    };
    metrics::with_recorder(|recorder| match metric.kind {
        MetricKind::Counter => recorder.describe_counter(metric.name.into(), unit, metric.help.into()),
        MetricKind::Gauge => recorder.describe_gauge(metric.name.into(), unit, metric.help.into()),
        MetricKind::Histogram => recorder.describe_histogram(metric.name.into(), unit, metric.help.into()),
    });
}

const METADATA: Metadata<'static> = Metadata::new(TARGET, Level::INFO, None);

fn key(metric: &Metric, kind: MetricKind, labels: &[(&'static str, &str)]) -> Key {
    debug_assert!(metric.kind == kind, "{} is no {kind:?}", metric.name);
    debug_assert!(
        labels.iter().map(|(name, _)| *name).eq(metric.labels.iter().copied()),
        "{} has the labels {:?}",
        metric.name,
        metric.labels
    );
    let labels: Vec<Label> =
        labels.iter().map(|(name, value)| Label::new(*name, (*value).to_owned())).collect();
    Key::from_parts(metric.name, labels)
}

/// A counter's series.
#[derive(Debug, Clone)]
pub struct Counter(metrics::Counter);

/// A gauge's series.
#[derive(Debug, Clone)]
pub struct Gauge(metrics::Gauge);

/// A histogram's series.
#[derive(Debug, Clone)]
pub struct Histogram(metrics::Histogram);

impl Counter {
    /// The series of a counter. The labels are the metric's, in its order.
    pub fn new(metric: &Metric, labels: &[(&'static str, &str)]) -> Self {
        let key = key(metric, MetricKind::Counter, labels);
        Counter(metrics::with_recorder(|recorder| recorder.register_counter(&key, &METADATA)))
    }

    /// Adds to the count.
    #[inline]
    pub fn add(&self, count: u64) {
        self.0.increment(count);
    }
}

impl Gauge {
    /// The series of a gauge. The labels are the metric's, in its order.
    pub fn new(metric: &Metric, labels: &[(&'static str, &str)]) -> Self {
        let key = key(metric, MetricKind::Gauge, labels);
        Gauge(metrics::with_recorder(|recorder| recorder.register_gauge(&key, &METADATA)))
    }

    /// The value now.
    #[inline]
    pub fn set(&self, value: f64) {
        self.0.set(value);
    }
}

impl Histogram {
    /// The series of a histogram. The labels are the metric's, in its order.
    pub fn new(metric: &Metric, labels: &[(&'static str, &str)]) -> Self {
        let key = key(metric, MetricKind::Histogram, labels);
        Histogram(metrics::with_recorder(|recorder| recorder.register_histogram(&key, &METADATA)))
    }

    /// One observation.
    #[inline]
    pub fn record(&self, value: f64) {
        self.0.record(value);
    }
}

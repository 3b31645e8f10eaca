//! A recorder that keeps what each series was given.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};

use metrics::{
    Counter, CounterFn, Gauge, GaugeFn, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder,
    SharedString, Unit,
};

/// How often each series was given something, and the last value or the sum.
type Values = Mutex<BTreeMap<String, (u64, f64)>>;

struct Series(&'static Values, String);

impl Series {
    fn change(&self, change: impl FnOnce(f64) -> f64) {
        let mut values = self.0.lock().unwrap();
        let (times, value) = values.entry(self.1.clone()).or_default();
        *times += 1;
        *value = change(*value);
    }
}

impl CounterFn for Series {
    fn increment(&self, value: u64) {
        self.change(|sum| sum + value as f64);
    }

    fn absolute(&self, value: u64) {
        self.change(|_| value as f64);
    }
}

impl GaugeFn for Series {
    fn increment(&self, value: f64) {
        self.change(|sum| sum + value);
    }

    fn decrement(&self, value: f64) {
        self.change(|sum| sum - value);
    }

    fn set(&self, value: f64) {
        self.change(|_| value);
    }
}

impl HistogramFn for Series {
    fn record(&self, value: f64) {
        self.change(|sum| sum + value);
    }
}

struct Keeping(&'static Values);

impl Keeping {
    fn series(&self, key: &Key) -> Arc<Series> {
        let labels = key.labels().map(|label| format!("{}={}", label.key(), label.value()));
        let labels = labels.collect::<Vec<_>>().join(",");
        Arc::new(Series(self.0, format!("{}{{{labels}}}", key.name())))
    }
}

impl Recorder for Keeping {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        Counter::from_arc(self.series(key))
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::from_arc(self.series(key))
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::from_arc(self.series(key))
    }
}

fn values() -> &'static Values {
    static VALUES: OnceLock<&'static Values> = OnceLock::new();
    VALUES.get_or_init(|| Box::leak(Box::default()))
}

/// Installs the recorder, once.
pub(crate) fn install() {
    static INSTALLED: OnceLock<()> = OnceLock::new();
    INSTALLED.get_or_init(|| {
        assert!(metrics::set_global_recorder(Keeping(values())).is_ok(), "no other recorder is installed");
    });
}

/// How often a series was given something, and the last value or the sum; zeros if it does not exist.
pub(crate) fn value(series: &str) -> (u64, f64) {
    values().lock().unwrap().get(series).copied().unwrap_or_default()
}

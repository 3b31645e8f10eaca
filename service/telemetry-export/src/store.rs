//! The store: a recorder whose values can be read.
//!
//! Owns [`Store`]. Invariant: recording is additions to a series' own memory, for each thread its part; the
//! lock is for making series and for reading them. A name has one kind: a second kind, and series beyond
//! [`MAX_SERIES`], are refused and counted, not recorded elsewhere.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anymetal_telemetry::collect;
use anymetal_telemetry::names::MetricKind;
use anymetal_telemetry::names::metrics::DROPPED;
use metrics::{
    Counter, Gauge, Histogram, Key, KeyName, Metadata, Recorder, SetRecorderError, SharedString, Unit,
};

use crate::counter::SummedCounter;
use crate::histogram::{FixedHistogram, bounds_of};
use crate::snapshot::{Family, Series, Snapshot, Value};

/// The most series of all metrics together.
pub const MAX_SERIES: usize = 10_000;

/// The name under which refused series are counted, as a value of the label `exporter`.
const STORE: &str = "store";

/// Keeps the values of all metrics. Clones are the same store.
#[derive(Debug, Clone, Default)]
pub struct Store {
    shared: Arc<StoreShared>,
}

#[derive(Debug, Default)]
struct StoreShared {
    state: Mutex<StoreState>,
    /// Series that were refused.
    refused: AtomicU64,
}

#[derive(Debug, Default)]
struct StoreState {
    families: BTreeMap<String, FamilyState>,
    helps: BTreeMap<String, String>,
    series: usize,
}

#[derive(Debug)]
struct FamilyState {
    kind: MetricKind,
    series: BTreeMap<Vec<(String, String)>, SeriesValue>,
}

#[derive(Debug, Clone)]
enum SeriesValue {
    Counter(Arc<SummedCounter>),
    /// The bits of the value.
    Gauge(Arc<AtomicU64>),
    Histogram(Arc<FixedHistogram>),
}

impl SeriesValue {
    fn new(kind: MetricKind, name: &str) -> Self {
        match kind {
            MetricKind::Counter => SeriesValue::Counter(Arc::default()),
            MetricKind::Gauge => SeriesValue::Gauge(Arc::new(AtomicU64::new(0f64.to_bits()))),
            MetricKind::Histogram => SeriesValue::Histogram(Arc::new(FixedHistogram::new(bounds_of(name)))),
        }
    }

    fn value(&self) -> Value {
        match self {
            SeriesValue::Counter(value) => Value::Counter(value.value()),
            SeriesValue::Gauge(bits) => Value::Gauge(f64::from_bits(bits.load(Ordering::Relaxed))),
            SeriesValue::Histogram(histogram) => Value::Histogram(histogram.value()),
        }
    }
}

impl Store {
    /// An empty store.
    pub fn new() -> Self {
        Store::default()
    }

    /// Makes it the process's recorder. Refused if there is one already.
    pub fn install(&self) -> Result<(), SetRecorderError<Store>> {
        metrics::set_global_recorder(self.clone())
    }

    /// What it holds now, collected gauges brought up to date.
    pub fn snapshot(&self) -> Snapshot {
        collect::collect();
        self.stored()
    }

    /// What it holds now.
    fn stored(&self) -> Snapshot {
        let state = self.lock();
        let families = state.families.iter().map(|(name, family)| Family {
            name: name.clone(),
            kind: family.kind,
            help: state.helps.get(name).cloned().unwrap_or_default(),
            series: family
                .series
                .iter()
                .map(|(labels, slot)| Series { labels: labels.clone(), value: slot.value() })
                .collect(),
        });
        let mut families: Vec<Family> = families.collect();
        drop(state);
        self.add_refused(&mut families);
        Snapshot { families }
    }

    /// Refused series have no series of their own to be counted in.
    fn add_refused(&self, families: &mut Vec<Family>) {
        let refused = self.shared.refused.load(Ordering::Relaxed);
        if refused == 0 {
            return;
        }
        let labels = vec![("exporter".to_owned(), STORE.to_owned())];
        let series = Series { labels, value: Value::Counter(refused) };
        match families.binary_search_by(|family| family.name.as_str().cmp(DROPPED.name)) {
            Ok(place) => families[place].series.push(series),
            Err(place) => families.insert(
                place,
                Family {
                    name: DROPPED.name.to_owned(),
                    kind: DROPPED.kind,
                    help: DROPPED.help.to_owned(),
                    series: vec![series],
                },
            ),
        }
    }

    /// The series, made if there is room for it.
    fn slot(&self, kind: MetricKind, key: &Key) -> Option<SeriesValue> {
        let mut labels: Vec<(String, String)> =
            key.labels().map(|label| (label.key().to_owned(), label.value().to_owned())).collect();
        labels.sort();
        labels.dedup_by(|one, other| one.0 == other.0);
        let found = self.find_or_make(kind, key.name(), labels);
        if found.is_none() {
            self.shared.refused.fetch_add(1, Ordering::Relaxed);
        }
        found
    }

    fn find_or_make(
        &self,
        kind: MetricKind,
        name: &str,
        labels: Vec<(String, String)>,
    ) -> Option<SeriesValue> {
        let mut state = self.lock();
        let full = state.series >= MAX_SERIES;
        let known = state.families.get(name);
        if known.is_some_and(|family| family.kind != kind) {
            return None;
        }
        if let Some(slot) = known.and_then(|family| family.series.get(&labels)) {
            return Some(slot.clone());
        }
        if full {
            return None;
        }
        state.series += 1;
        let family = state.families.entry(name.to_owned());
        let family = family.or_insert_with(|| FamilyState { kind, series: BTreeMap::new() });
        Some(family.series.entry(labels).or_insert_with(|| SeriesValue::new(kind, name)).clone())
    }

    fn describe(&self, name: &KeyName, help: SharedString) {
        self.lock().helps.insert(name.as_str().to_owned(), help.into_owned());
    }

    fn lock(&self) -> MutexGuard<'_, StoreState> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Recorder for Store {
    fn describe_counter(&self, key: KeyName, _unit: Option<Unit>, description: SharedString) {
        self.describe(&key, description);
    }

    fn describe_gauge(&self, key: KeyName, _unit: Option<Unit>, description: SharedString) {
        self.describe(&key, description);
    }

    fn describe_histogram(&self, key: KeyName, _unit: Option<Unit>, description: SharedString) {
        self.describe(&key, description);
    }

    fn register_counter(&self, key: &Key, _metadata: &Metadata<'_>) -> Counter {
        match self.slot(MetricKind::Counter, key) {
            Some(SeriesValue::Counter(value)) => Counter::from_arc(value),
            _ => Counter::noop(),
        }
    }

    fn register_gauge(&self, key: &Key, _metadata: &Metadata<'_>) -> Gauge {
        match self.slot(MetricKind::Gauge, key) {
            Some(SeriesValue::Gauge(bits)) => Gauge::from_arc(bits),
            _ => Gauge::noop(),
        }
    }

    fn register_histogram(&self, key: &Key, _metadata: &Metadata<'_>) -> Histogram {
        match self.slot(MetricKind::Histogram, key) {
            Some(SeriesValue::Histogram(histogram)) => Histogram::from_arc(histogram),
            _ => Histogram::noop(),
        }
    }
}

#[cfg(test)]
mod tests {
    use metrics::with_local_recorder;

    use super::*;

    #[test]
    fn what_is_recorded_is_read_in_the_order_of_names_and_labels() {
        let store = Store::new();
        with_local_recorder(&store, || {
            metrics::describe_counter!("b_total", "Counts.");
            metrics::counter!("b_total", "k" => "2").increment(3);
            metrics::counter!("b_total", "k" => "1").increment(4);
            metrics::counter!("b_total", "k" => "1").increment(1);
            metrics::gauge!("a").set(-0.5);
            metrics::histogram!("c_seconds").record(0.001);
        });
        let snapshot = store.stored();
        let names: Vec<&str> = snapshot.families.iter().map(|family| family.name.as_str()).collect();
        assert_eq!(names, ["a", "b_total", "c_seconds"]);
        assert_eq!(snapshot.family("b_total").unwrap().help, "Counts.");
        assert_eq!(snapshot.sum("b_total", &[]), Some(8.0));
        assert_eq!(snapshot.sum("b_total", &[("k", "1")]), Some(5.0));
        assert_eq!(snapshot.sum("b_total", &[("k", "3")]), None);
        assert_eq!(snapshot.sum("a", &[]), Some(-0.5));
        assert_eq!(snapshot.sum("c_seconds", &[]), Some(1.0));
    }

    #[test]
    fn a_second_kind_and_series_beyond_the_most_are_refused_and_counted() {
        let store = Store::new();
        with_local_recorder(&store, || {
            metrics::counter!("one").increment(1);
            metrics::gauge!("one").set(7.0);
            for number in 0..MAX_SERIES {
                metrics::gauge!("many", "n" => number.to_string()).set(1.0);
            }
        });
        let snapshot = store.stored();
        assert_eq!(snapshot.sum("one", &[]), Some(1.0));
        assert_eq!(snapshot.sum("many", &[]), Some((MAX_SERIES - 1) as f64));
        assert_eq!(snapshot.sum(DROPPED.name, &[("exporter", "store")]), Some(2.0));
    }
}

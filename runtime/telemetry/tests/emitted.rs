//! What is emitted is what the tables say: every function is called, and every span, event and series that
//! comes out is looked up.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use anymetal_telemetry::handle::{Counter, metrics_on};
use anymetal_telemetry::kernel::KernelMetrics;
use anymetal_telemetry::names::metrics::{self as names, METRICS};
use anymetal_telemetry::names::spans::{EVENTS, SPANS};
use anymetal_telemetry::operation::OperationMetrics;
use anymetal_telemetry::record::{self, BreakerState, Cache, Stage};
use anymetal_telemetry::{collect, event, span};
use metrics::{
    CounterFn, GaugeFn, HistogramFn, Key, KeyName, Metadata as MetricMetadata, Recorder, SharedString, Unit,
};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// The sum of what each series was given.
#[derive(Default)]
struct Sums(Mutex<BTreeMap<String, f64>>);

struct Series(Arc<Sums>, String);

impl Series {
    fn add(&self, value: f64) {
        *self.0.0.lock().unwrap().entry(self.1.clone()).or_default() += value;
    }
}

impl CounterFn for Series {
    fn increment(&self, value: u64) {
        self.add(value as f64);
    }

    fn absolute(&self, value: u64) {
        self.add(value as f64);
    }
}

impl GaugeFn for Series {
    fn increment(&self, value: f64) {
        self.add(value);
    }

    fn decrement(&self, value: f64) {
        self.add(-value);
    }

    fn set(&self, value: f64) {
        self.add(value);
    }
}

impl HistogramFn for Series {
    fn record(&self, value: f64) {
        self.add(value);
    }
}

struct Summing(Arc<Sums>, Arc<Mutex<Vec<String>>>);

impl Summing {
    fn series(&self, key: &Key) -> Arc<Series> {
        let labels: Vec<String> =
            key.labels().map(|label| format!("{}={}", label.key(), label.value())).collect();
        Arc::new(Series(Arc::clone(&self.0), format!("{}{{{}}}", key.name(), labels.join(","))))
    }

    fn described(&self, name: &KeyName) {
        self.1.lock().unwrap().push(name.as_str().to_owned());
    }
}

impl Recorder for Summing {
    fn describe_counter(&self, key: KeyName, _: Option<Unit>, _: SharedString) {
        self.described(&key);
    }

    fn describe_gauge(&self, key: KeyName, _: Option<Unit>, _: SharedString) {
        self.described(&key);
    }

    fn describe_histogram(&self, key: KeyName, _: Option<Unit>, _: SharedString) {
        self.described(&key);
    }

    fn register_counter(&self, key: &Key, _: &MetricMetadata<'_>) -> metrics::Counter {
        metrics::Counter::from_arc(self.series(key))
    }

    fn register_gauge(&self, key: &Key, _: &MetricMetadata<'_>) -> metrics::Gauge {
        metrics::Gauge::from_arc(self.series(key))
    }

    fn register_histogram(&self, key: &Key, _: &MetricMetadata<'_>) -> metrics::Histogram {
        metrics::Histogram::from_arc(self.series(key))
    }
}

/// Name, level and fields of every span and event.
#[derive(Default)]
struct Seen(Mutex<Vec<(String, String, Vec<String>)>>);

#[derive(Default)]
struct Names(Vec<String>);

impl Visit for Names {
    fn record_debug(&mut self, field: &Field, _: &dyn std::fmt::Debug) {
        self.0.push(field.name().to_owned());
    }
}

struct Recording(Arc<Seen>);

impl Recording {
    fn note(&self, metadata: &Metadata<'_>, fields: Vec<String>) {
        assert_eq!(metadata.target(), "anymetal");
        let level = metadata.level().to_string().to_lowercase();
        self.0.0.lock().unwrap().push((metadata.name().to_owned(), level, fields));
    }
}

impl Subscriber for Recording {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let declared = span.metadata().fields().iter().map(|field| field.name().to_owned()).collect();
        self.note(span.metadata(), declared);
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        let mut names = Names::default();
        values.record(&mut names);
        assert!(!names.0.is_empty(), "recorded a field that the span does not have");
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut names = Names::default();
        event.record(&mut names);
        self.note(event.metadata(), names.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

static SUMS: OnceLock<(Arc<Sums>, Arc<Mutex<Vec<String>>>)> = OnceLock::new();

fn sums() -> &'static (Arc<Sums>, Arc<Mutex<Vec<String>>>) {
    SUMS.get_or_init(|| {
        let (sums, described) = (Arc::<Sums>::default(), Arc::default());
        assert!(metrics::set_global_recorder(Summing(Arc::clone(&sums), Arc::clone(&described))).is_ok());
        (sums, described)
    })
}

fn all_records() {
    for stage in [Stage::Parse, Stage::Lower, Stage::Prepare, Stage::Generate, Stage::MachineCode] {
        let done: Result<(), ()> = record::stage(stage, "k", || Duration::from_secs(1), || Err(()));
        assert!(done.is_err());
    }
    for cache in [Cache::Memory, Cache::Disk] {
        record::cache(cache, true);
        record::cache(cache, false);
    }
    record::finding("race-threadgroup");
    record::pipeline_created("cpu", "cpu");
    record::pipeline_duration("cpu", Duration::from_secs(2));
    record::graph_replay("cpu", "whole");
    record::copied("cpu", "upload", 64);
    record::allocated("cpu", "own");
    record::allocation_failed("cpu", "exhausted");
    record::retry("transient");
    record::fallback("nvidia:0", "cpu", "lost");
    record::breaker("cpu", "k", BreakerState::Open);
    record::breaker_rejection("cpu");
    record::bulkhead_rejection("cpu");
    record::deadline_exceeded("cpu");
    record::recovery_step("trim", "ok");
    record::device_lost("cpu");
    record::execution("ok", Duration::from_secs(1), 2);
    record::audit_records("ok", 3);
    record::temperature("package", 60.0);
    record::power("package", 15.0);
    record::thermal_state("package", 1);
    record::health("memory", 2, "unhealthy", "full", false);
    record::health("memory", 0, "healthy", "", true);
    record::anomaly("memory");
    record::alert("critical", "memory", "full");
    record::dropped("webhook", 5);
    record::exported("webhook", "ok");
}

#[test]
fn every_name_that_is_emitted_is_in_the_tables() {
    let (sums, described) = sums();
    assert!(metrics_on());
    let seen = Arc::<Seen>::default();
    tracing::subscriber::with_default(Recording(Arc::clone(&seen)), || {
        all_records();
        let kernel = KernelMetrics::new("cpu", "cpu", "saxpy");
        kernel.dispatched(3);
        kernel.took(2_000_000_000);
        let product = OperationMetrics::new("cpu", "matmul", "own");
        product.called(16, 48);
        product.called(4, 2);
        product.took(500_000_000);
        Counter::new(&names::SUBMISSIONS, &[("device", "cpu"), ("outcome", "ok")]).add(7);
        event::notice("interpreted", "why");
        event::compiles_on_caller("why");
        event::submission_failed("cpu", "lost", &"error");
        let submission = span::submission("cpu", "s", "l", 2, Some("k"));
        submission.ran(1, 2);
        submission.failed(&"why");
        span::pipeline("cpu", "k");
        span::graph("cpu", "g", "whole");
        span::transfer("cpu", "upload", 1);
        span::execution("e").executed(1, "ok");
        span::sample_submissions(3);
        let sampled = (0..9).filter(|_| span::submission_sampled()).count();
        assert_eq!(sampled, 3);
    });
    collect::collect();
    let sums = sums.0.lock().unwrap();
    for series in sums.keys() {
        let name = series.split('{').next().unwrap();
        assert!(METRICS.iter().any(|metric| metric.name == name), "{series}");
    }
    let value = |series: &str| sums.get(series).copied();
    assert_eq!(value("anymetal_dispatches_total{device=cpu,backend=cpu,kernel=saxpy}"), Some(3.0));
    assert_eq!(value("anymetal_dispatch_duration_seconds{device=cpu,backend=cpu,kernel=saxpy}"), Some(2.0));
    assert_eq!(value("anymetal_operations_total{device=cpu,operation=matmul,path=own}"), Some(2.0));
    assert_eq!(value("anymetal_operation_flop_total{device=cpu,operation=matmul,path=own}"), Some(20.0));
    assert_eq!(value("anymetal_operation_bytes_total{device=cpu,operation=matmul,path=own}"), Some(50.0));
    assert_eq!(value("anymetal_operation_duration_seconds{device=cpu,operation=matmul,path=own}"), Some(0.5));
    assert_eq!(value("anymetal_retries_total{reason=transient}"), Some(1.0));
    assert_eq!(value("anymetal_fallbacks_total{from=nvidia:0,to=cpu,reason=lost}"), Some(1.0));
    assert_eq!(value("anymetal_breaker_state{device=cpu,kernel=k}"), Some(2.0));
    assert_eq!(value("anymetal_compile_errors_total{stage=parse}"), Some(1.0));
    assert_eq!(described.lock().unwrap().len(), METRICS.len(), "each is described once");
    for (name, level, fields) in seen.0.lock().unwrap().iter() {
        let listed = SPANS.iter().chain(EVENTS).find(|listed| listed.name == name);
        let listed = listed.unwrap_or_else(|| panic!("{name} is in no table"));
        let told_apart = ["anymetal.submission.failed", "anymetal.health"].contains(&listed.name);
        assert!(told_apart || listed.level == level, "{name}: {level}");
        let mut listed: Vec<&str> = listed.fields.to_vec();
        let mut fields: Vec<&str> = fields.iter().map(String::as_str).collect();
        listed.sort_unstable();
        fields.sort_unstable();
        assert_eq!(fields, listed, "{name}");
    }
    let seen_names = seen.0.lock().unwrap();
    for listed in SPANS.iter().chain(EVENTS) {
        assert!(seen_names.iter().any(|(name, ..)| name == listed.name), "{} is never emitted", listed.name);
    }
}

//! The monitor in virtual time: states, alerts, anomalies, trends, and what is answered over HTTP.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use anymetal_hal::clock::ManualClock;
use anymetal_health::alert::{Alert, AlertKind, Severity};
use anymetal_health::capacity::CapacityReport;
use anymetal_health::check::{self, Thresholds};
use anymetal_health::monitor::{Monitor, MonitorOptions};
use anymetal_health::service::HealthService;
use anymetal_health::state::{Health, Hysteresis};
use anymetal_telemetry_export::server::Routes;
use anymetal_telemetry_export::store::Store;
use metrics::with_local_recorder;

/// A monitor, its store, and the alerts so far.
struct Bench {
    store: Store,
    monitor: Monitor,
    alerts: Arc<Mutex<Vec<Alert>>>,
    now: Duration,
}

fn bench(checks: Vec<check::Check>) -> Bench {
    let alerts = Arc::<Mutex<Vec<Alert>>>::default();
    let mut monitor = Monitor::new(MonitorOptions::default(), checks);
    let its = Arc::clone(&alerts);
    monitor.add_sink(Arc::new(move |alert: &Alert| its.lock().unwrap().push(alert.clone())));
    Bench { store: Store::new(), monitor, alerts, now: Duration::ZERO }
}

impl Bench {
    fn record(&self, record: impl FnOnce()) {
        with_local_recorder(&self.store, record);
    }

    fn tick(&mut self) {
        self.now += Duration::from_secs(5);
        self.monitor.tick(self.now, self.store.snapshot());
    }

    fn memory(&mut self, used: f64) {
        self.record(|| {
            metrics::gauge!("anymetal_memory_bytes", "device" => "cpu").set(used);
            metrics::gauge!("anymetal_memory_limit_bytes", "device" => "cpu").set(100.0);
        });
        self.tick();
    }

    fn alerts(&self) -> Vec<(AlertKind, Severity, String)> {
        let alerts = std::mem::take(&mut *self.alerts.lock().unwrap());
        alerts.into_iter().map(|alert| (alert.kind, alert.severity, alert.message)).collect()
    }

    fn state(&self, component: &str) -> Health {
        let components = self.monitor.components();
        components.iter().find(|known| known.component == component).unwrap().state
    }
}

#[test]
fn memory_that_stays_full_is_unhealthy_once_and_recovers_with_a_notice() {
    let mut bench = bench(vec![check::memory(Thresholds::above(0.85, 0.95).unwrap())]);
    (0..3).for_each(|_| bench.memory(50.0));
    bench.memory(99.0);
    assert_eq!(
        (bench.state("memory"), bench.alerts().len()),
        (Health::Healthy, 0),
        "one reading is not enough"
    );
    (0..5).for_each(|_| bench.memory(99.0));
    assert_eq!((bench.state("memory"), bench.monitor.is_ready()), (Health::Unhealthy, false));
    let alerts = bench.alerts();
    assert_eq!(alerts.len(), 1, "{alerts:?}");
    assert_eq!((alerts[0].0, alerts[0].1), (AlertKind::State, Severity::Critical));
    assert_eq!(alerts[0].2, "unhealthy: 0.9900 is at or above 0.95");
    (0..8).for_each(|_| bench.memory(40.0));
    assert_eq!((bench.state("memory"), bench.monitor.is_ready()), (Health::Healthy, true));
    assert_eq!(bench.alerts().iter().map(|alert| alert.1).collect::<Vec<_>>(), [Severity::Info]);
}

#[test]
fn the_share_of_failures_is_of_the_work_since_the_last_tick() {
    let mut bench = bench(vec![check::failures(Thresholds::above(0.1, 0.5).unwrap())]);
    let round = |bench: &mut Bench, ok: u64, failed: u64| {
        bench.record(|| {
            metrics::counter!("anymetal_submissions_total", "device" => "cpu", "outcome" => "ok")
                .increment(ok);
            metrics::counter!("anymetal_submissions_total", "device" => "cpu", "outcome" => "failed")
                .increment(failed);
        });
        bench.tick();
    };
    round(&mut bench, 1000, 900);
    (0..4).for_each(|_| round(&mut bench, 95, 5));
    assert_eq!(bench.state("submissions"), Health::Healthy, "what was before the first tick does not count");
    (0..4).for_each(|_| round(&mut bench, 80, 20));
    assert_eq!(bench.state("submissions"), Health::Degraded);
    (0..4).for_each(|_| round(&mut bench, 0, 0));
    assert_eq!(bench.state("submissions"), Health::Degraded, "no work tells nothing");
}

#[test]
fn a_jump_is_an_anomaly_once_and_a_slow_drift_is_none() {
    let mut bench = bench(vec![check::backlog()]);
    let waiting = |bench: &mut Bench, count: f64| {
        bench.record(|| metrics::gauge!("anymetal_command_buffers_waiting", "device" => "cpu").set(count));
        bench.tick();
    };
    for n in 0..100 {
        waiting(&mut bench, 10.0 + f64::from(n % 7) + f64::from(n) * 0.05);
    }
    assert_eq!(bench.alerts(), []);
    (0..3).for_each(|_| waiting(&mut bench, 900.0));
    let alerts = bench.alerts();
    assert_eq!(alerts.len(), 1, "{alerts:?}");
    assert_eq!((alerts[0].0, alerts[0].1), (AlertKind::Anomaly, Severity::Warning));
}

#[test]
fn memory_that_grows_is_told_before_it_is_full_with_the_time_that_is_left() {
    let mut bench = bench(vec![check::memory(Thresholds::above(0.85, 0.95).unwrap())]);
    for n in 0..40 {
        bench.memory(10.0 + f64::from(n) * 0.5 + f64::from(n % 3) * 0.2);
    }
    let alerts = bench.alerts();
    assert_eq!(alerts.len(), 1, "{alerts:?}");
    assert_eq!(alerts[0].0, AlertKind::Trend);
    let report = CapacityReport::of(&bench.monitor).unwrap();
    // 0.1 a second, and 70 to go.
    let left = report.memory_full_in_seconds.unwrap();
    assert!((left - 700.0).abs() < 30.0, "{left}");
}

#[test]
fn a_component_that_a_policy_reports_counts_and_watched_ones_have_no_state() {
    let mut bench = bench(vec![check::latency(), check::breakers()]);
    let immediately = Hysteresis { worse_for: Duration::ZERO, better_for: Duration::ZERO };
    bench.monitor.report("gpu", Health::Unhealthy, "lost", false, immediately);
    bench.tick();
    assert_eq!(bench.state("gpu"), Health::Unhealthy);
    assert_eq!(bench.monitor.overall(), Health::Degraded, "it is not needed");
    assert_eq!(bench.monitor.components().len(), 2);
    bench.monitor.report("gpu", Health::Healthy, "", false, immediately);
    bench.tick();
    assert_eq!(bench.monitor.overall(), Health::Healthy);
}

#[test]
fn probes_are_answered_by_state_by_draining_and_by_the_time_of_the_last_tick() {
    let (clock, store) = (ManualClock::new(), Store::new());
    let thresholds = Thresholds::above(0.85, 0.95).unwrap();
    let immediately = Hysteresis { worse_for: Duration::ZERO, better_for: Duration::ZERO };
    let memory = check::Check { hysteresis: immediately, ..check::memory(thresholds) };
    let monitor = Monitor::new(MonitorOptions::default(), vec![memory]);
    let hour = Duration::from_secs(3600);
    let service = HealthService::start(monitor, store.clone(), clock.clone(), hour).unwrap();
    let routes = service.routes();
    let status = |path: &str| routes.get(path).map(|response| response.status);
    service.tick();
    assert_eq!(["/livez", "/readyz", "/healthz", "/x"].map(status), [Some(200), Some(200), Some(200), None]);
    with_local_recorder(&store, || {
        metrics::gauge!("anymetal_memory_bytes", "device" => "cpu").set(99.0);
        metrics::gauge!("anymetal_memory_limit_bytes", "device" => "cpu").set(100.0);
    });
    service.tick();
    let body = |path: &str| String::from_utf8(routes.get(path).unwrap().body).unwrap();
    assert_eq!(status("/readyz"), Some(503));
    assert_eq!(body("/readyz"), "not ready\nmemory: 0.9900 is at or above 0.95\n");
    let health: serde_json::Value = serde_json::from_str(&body("/healthz")).unwrap();
    assert_eq!(
        (&health["state"], &health["components"][0]["component"]),
        (&"unhealthy".into(), &"memory".into())
    );
    let capacity: serde_json::Value = serde_json::from_str(&body("/capacity")).unwrap();
    assert_eq!(capacity["devices"][0]["memory_bytes"], 99.0);
    with_local_recorder(&store, || metrics::gauge!("anymetal_memory_bytes", "device" => "cpu").set(1.0));
    service.tick();
    assert_eq!(status("/readyz"), Some(200));
    service.set_draining(true);
    assert_eq!((status("/readyz"), status("/livez")), (Some(503), Some(200)));
}

#[test]
fn the_capacity_report_reads_as_text() {
    let store = Store::new();
    with_local_recorder(&store, || {
        metrics::gauge!("anymetal_memory_limit_bytes", "device" => "cpu").set(4096.0);
        metrics::counter!("anymetal_dispatches_total", "device" => "cpu").increment(12);
        metrics::histogram!("anymetal_dispatch_duration_seconds", "device" => "cpu").record(0.001);
    });
    let text = CapacityReport::of_snapshot(&store.snapshot(), Some(Duration::from_secs(90))).to_string();
    assert!(text.starts_with("memory is full in 90 s by its trend\ncpu\n"), "{text}");
    assert!(text.contains("memory limit, bytes                    4096"), "{text}");
    assert!(text.contains("buffers                           not known"), "{text}");
}

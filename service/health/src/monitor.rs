//! The monitor: all checks at one tick.
//!
//! Owns [`Monitor`]. Invariant: a tick reads one snapshot, so that all checks see the same moment; each state
//! entered, each anomaly that begins and each trend that begins gives one alert, and none until it has ended.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anymetal_telemetry::handle::{Gauge, metrics_on};
use anymetal_telemetry::names::metrics::HEALTH_STATE;
use anymetal_telemetry::record;
use anymetal_telemetry_export::snapshot::Snapshot;
use serde::Serialize;

use crate::alert::{Alert, AlertKind, AlertSink, Severity};
use crate::anomaly::{Ewma, robust_z};
use crate::check::Check;
use crate::series::Ring;
use crate::state::{Damped, Health, Hysteresis};
use crate::trend::Trend;

/// How series are judged.
#[derive(Debug, Clone, Copy)]
pub struct MonitorOptions {
    /// Values of each check that are kept.
    pub kept: usize,
    /// Fewer values are not judged.
    pub fewest: usize,
    /// How many standard deviations away a value is an anomaly, by both measures.
    pub anomaly_sigmas: f64,
    /// A trend is told if its limit is reached within that time.
    pub horizon: Duration,
}

impl Default for MonitorOptions {
    /// 360 values, at least 24 of them, 6 standard deviations, an hour.
    fn default() -> Self {
        MonitorOptions { kept: 360, fewest: 24, anomaly_sigmas: 6.0, horizon: Duration::from_secs(3600) }
    }
}

/// A component's state, for reports.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComponentState {
    /// Its name.
    pub component: String,
    /// How it is.
    pub state: Health,
    /// Why it is in that state; empty while it is healthy.
    pub reason: String,
    /// The last number that was read.
    pub value: Option<f64>,
    /// Whether the system is not ready while it is unhealthy.
    pub needed: bool,
}

/// Judges snapshots.
pub struct Monitor {
    options: MonitorOptions,
    checks: Vec<Watched>,
    reported: BTreeMap<String, Reported>,
    sinks: Vec<Arc<dyn AlertSink>>,
    before: Option<(Duration, Snapshot)>,
}

struct Watched {
    check: Check,
    damped: Damped,
    reason: String,
    ring: Ring,
    ewma: Ewma,
    anomalous: bool,
    filling: bool,
}

/// A component whose state others tell.
struct Reported {
    damped: Damped,
    reading: Health,
    reason: String,
    needed: bool,
}

impl Monitor {
    /// A monitor with those checks.
    pub fn new(options: MonitorOptions, checks: Vec<Check>) -> Self {
        let watched = checks.into_iter().map(|check| Watched {
            damped: Damped::new(check.hysteresis),
            reason: String::new(),
            ring: Ring::new(options.kept),
            ewma: Ewma::new(0.1),
            anomalous: false,
            filling: false,
            check,
        });
        let checks = watched.collect();
        Monitor { options, checks, reported: BTreeMap::new(), sinks: Vec::new(), before: None }
    }

    /// Has alerts sent there too.
    pub fn add_sink(&mut self, sink: Arc<dyn AlertSink>) {
        self.sinks.push(sink);
    }

    /// Tells a component's state from outside, as a policy knows it. It is entered at the next tick, with
    /// that hysteresis the first time.
    pub fn report(
        &mut self,
        component: &str,
        state: Health,
        reason: &str,
        needed: bool,
        hysteresis: Hysteresis,
    ) {
        let new = || Reported {
            damped: Damped::new(hysteresis),
            reading: Health::Healthy,
            reason: String::new(),
            needed,
        };
        let reported = self.reported.entry(component.to_owned()).or_insert_with(new);
        (reported.reading, reported.needed) = (state, needed);
        reason.clone_into(&mut reported.reason);
    }

    /// Judges a snapshot.
    pub fn tick(&mut self, now: Duration, snapshot: Snapshot) {
        let before = self.before.as_ref().map(|(at, before)| (before, now.saturating_sub(*at)));
        let mut alerts = Vec::new();
        for watched in &mut self.checks {
            if let Some(value) = watched.check.reading.read(&snapshot, before) {
                watched.judge(now, value, &self.options, &mut alerts);
            }
        }
        for (component, reported) in &mut self.reported {
            if let Some(entered) = reported.damped.observe(now, reported.reading) {
                alerts.push(entered_state(component, entered, &reported.reason, now));
            }
        }
        if self.before.is_none() {
            self.report_first_states();
        }
        self.before = Some((now, snapshot));
        for alert in &alerts {
            record::alert(alert.severity.word(), &alert.component, &alert.message);
            self.sinks.iter().for_each(|sink| sink.send(alert));
        }
    }

    /// A gauge says that a component is healthy before anything has happened to it.
    fn report_first_states(&self) {
        if metrics_on() {
            for ComponentState { component, state, .. } in self.components() {
                let gauge = Gauge::new(&HEALTH_STATE, &[("component", component.as_str())]);
                gauge.set(f64::from(state.number()));
            }
        }
    }

    /// The components, those with checks first.
    pub fn components(&self) -> Vec<ComponentState> {
        let checked = self.checks.iter().filter(|watched| watched.check.thresholds.is_some());
        let checked = checked.map(|watched| ComponentState {
            component: watched.check.component.clone(),
            state: watched.damped.state(),
            reason: watched.reason.clone(),
            value: watched.ring.last(),
            needed: watched.check.needed,
        });
        let reported = self.reported.iter().map(|(component, reported)| ComponentState {
            component: component.clone(),
            state: reported.damped.state(),
            reason: match reported.damped.state() {
                Health::Healthy => String::new(),
                _ => reported.reason.clone(),
            },
            value: None,
            needed: reported.needed,
        });
        checked.chain(reported).collect()
    }

    /// The state of all together: the worst, where an unhealthy component that is not needed counts as
    /// degraded.
    pub fn overall(&self) -> Health {
        let counted = self.components().into_iter().map(|component| match component.needed {
            true => component.state,
            false => component.state.min(Health::Degraded),
        });
        counted.max().unwrap_or_default()
    }

    /// Whether work should be sent here.
    pub fn is_ready(&self) -> bool {
        self.overall() < Health::Unhealthy
    }

    /// When it judged last.
    pub fn last_tick(&self) -> Option<Duration> {
        self.before.as_ref().map(|(at, _)| *at)
    }

    /// The last snapshot, and the kept values of a component's check.
    pub fn series(&self, component: &str) -> Option<&Ring> {
        self.checks.iter().find(|watched| watched.check.component == component).map(|watched| &watched.ring)
    }

    /// The last snapshot.
    pub fn last_snapshot(&self) -> Option<&Snapshot> {
        self.before.as_ref().map(|(_, snapshot)| snapshot)
    }
}

impl Watched {
    fn judge(&mut self, now: Duration, value: f64, options: &MonitorOptions, alerts: &mut Vec<Alert>) {
        self.judge_state(now, value, alerts);
        self.judge_anomaly(now, value, options, alerts);
        self.ring.push(now, value);
        self.judge_trend(now, options, alerts);
    }

    fn judge_state(&mut self, now: Duration, value: f64, alerts: &mut Vec<Alert>) {
        let Some(thresholds) = &self.check.thresholds else { return };
        let reading = thresholds.judge(value, self.damped.state());
        let Some(entered) = self.damped.observe(now, reading) else { return };
        self.reason = match entered {
            Health::Healthy => String::new(),
            state => format!("{value:.4} is {}", thresholds.describe(state)),
        };
        alerts.push(entered_state(&self.check.component, entered, &self.reason, now));
    }

    fn judge_anomaly(
        &mut self,
        now: Duration,
        value: f64,
        options: &MonitorOptions,
        alerts: &mut Vec<Alert>,
    ) {
        let drift = self.ewma.observe(value);
        if self.ring.len() < options.fewest {
            return;
        }
        let far = |sigmas: Option<f64>| sigmas.is_some_and(|sigmas| sigmas.abs() >= options.anomaly_sigmas);
        let robust = robust_z(&self.ring.values(), value);
        let anomalous = far(robust) && far(drift);
        if anomalous && !self.anomalous {
            let component = &self.check.component;
            record::anomaly(component);
            let sigmas = robust.unwrap_or_default();
            let message = format!("{value:.4e} is {sigmas:.1} standard deviations from what it was");
            alerts.push(Alert::new(AlertKind::Anomaly, Severity::Warning, component, message, now));
        }
        self.anomalous = anomalous;
    }

    fn judge_trend(&mut self, now: Duration, options: &MonitorOptions, alerts: &mut Vec<Alert>) {
        let Some(limit) = self.check.limit else { return };
        let full_in = if self.ring.len() < options.fewest { None } else { time_to(&self.ring, limit) };
        let soon = full_in.filter(|left| *left <= options.horizon);
        if let (Some(left), false) = (soon, self.filling) {
            let message = format!("full in {} s if it goes on like this", left.as_secs());
            let component = &self.check.component;
            alerts.push(Alert::new(AlertKind::Trend, Severity::Warning, component, message, now));
        }
        self.filling = soon.is_some();
    }
}

/// When a series reaches a limit; `None`: not by its trend.
pub(crate) fn time_to(ring: &Ring, limit: f64) -> Option<Duration> {
    let first = ring.points().next()?.0;
    let last = ring.points().last()?.0;
    Trend::of(ring.points())?.time_to(limit, last.saturating_sub(first))
}

/// Records that a component entered a state, and makes the alert.
fn entered_state(component: &str, entered: Health, reason: &str, now: Duration) -> Alert {
    let recovered = entered == Health::Healthy;
    record::health(component, entered.number(), entered.word(), reason, recovered);
    let severity = match entered {
        Health::Healthy => Severity::Info,
        Health::Degraded => Severity::Warning,
        Health::Unhealthy => Severity::Critical,
    };
    let message = match reason {
        "" => entered.word().to_owned(),
        reason => format!("{}: {reason}", entered.word()),
    };
    Alert::new(AlertKind::State, severity, component, message, now)
}

impl std::fmt::Debug for Monitor {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Monitor").field("components", &self.components()).finish_non_exhaustive()
    }
}

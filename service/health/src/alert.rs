//! Alerts: what a person should look at, and where it goes.
//!
//! Owns [`Alert`] and [`AlertSink`]. Invariant: a sink's `send` returns at once; what it cannot take it drops
//! and counts. The log is no sink: every alert is an event of `tracing` besides.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

/// How bad it is. Worse ones are greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// It is over, or worth knowing.
    Info,
    /// It will get worse, or is not as it should be.
    Warning,
    /// Work is not done.
    Critical,
}

impl Severity {
    /// Its name in one lower-case word.
    pub fn word(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Critical => "critical",
        }
    }
}

/// What an alert is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AlertKind {
    /// A component entered a state.
    State,
    /// A value is far from what its series was.
    Anomaly,
    /// A series will reach its limit.
    Trend,
}

/// One alert.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Alert {
    /// What it is about.
    pub kind: AlertKind,
    /// How bad it is.
    pub severity: Severity,
    /// The component.
    pub component: String,
    /// What a person reads, on one line.
    pub message: String,
    /// When, in seconds of the monitor's clock.
    pub at_seconds: f64,
}

impl Alert {
    pub(crate) fn new(
        kind: AlertKind,
        severity: Severity,
        component: &str,
        message: String,
        at: Duration,
    ) -> Self {
        Alert { kind, severity, component: component.to_owned(), message, at_seconds: at.as_secs_f64() }
    }
}

impl fmt::Display for Alert {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}: {}", self.severity.word(), self.component, self.message)
    }
}

/// Where alerts go.
pub trait AlertSink: Send + Sync {
    /// Takes an alert, or drops and counts it; never waits.
    fn send(&self, alert: &Alert);
}

impl<F: Fn(&Alert) + Send + Sync> AlertSink for F {
    fn send(&self, alert: &Alert) {
        self(alert);
    }
}

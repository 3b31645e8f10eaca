//! The process's exporters: store, HTTP server, health, OTLP, started by the settings.
//!
//! Metrics and traces are recorded by `anymetal` ([`anymetal::telemetry`]); this module exports them:
//!
//! - `ANYMETAL_TELEMETRY_PROMETHEUS=127.0.0.1:9464` answers `/metrics`, `/livez`, `/readyz`, `/healthz` and
//!   `/capacity` there;
//! - `ANYMETAL_TELEMETRY_OTLP=http://127.0.0.1:4318` sends metrics and traces to a collector (feature
//!   `otlp`);
//! - `ANYMETAL_HEALTH_WEBHOOK=http://…` gets alerts (feature `webhook`).
//!
//! [`crate::start`] starts them, once per process. Owns [`Telemetry`] and the process's instance of it.
//! Invariant: the first settings that request an exporter count; an exporter that cannot be started is a
//! notice, and the others start.
//!
//! ```
//! # fn main() -> Result<(), anymetal::Error> {
//! use anymetal_service::ServiceLayers;
//!
//! let mut settings = ServiceLayers::default();
//! settings.code.telemetry.prometheus = Some(([127, 0, 0, 1], 0).into());
//! anymetal_service::start_with(&settings)?;
//! let device = anymetal::Device::system_default()?;
//! let telemetry = anymetal_service::telemetry::running().expect("nothing else listens in this process");
//! assert!(telemetry.address().is_some());
//! let families = telemetry.snapshot().families;
//! assert!(families.iter().any(|family| family.name == "anymetal_memory_limit_bytes"));
//! # let _device = device;
//! # Ok(())
//! # }
//! ```

#[cfg_attr(not(feature = "otlp"), path = "otlp_disabled.rs")]
mod otlp;
#[cfg_attr(not(feature = "webhook"), path = "webhook_disabled.rs")]
mod webhook;

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};

use anymetal::notice::{self, NoticeKind};
use anymetal::profile::{Clock, SystemClock};
use anymetal_health::alert::AlertSink;
use anymetal_health::check::{self, BadThresholds, Check, Thresholds};
use anymetal_health::monitor::{Monitor, MonitorOptions};
use anymetal_health::service::HealthService;
use anymetal_health::state::Hysteresis;
use anymetal_telemetry::record;
use anymetal_telemetry_export::exposition;
use anymetal_telemetry_export::server::{Response, Routes, Server};
use anymetal_telemetry_export::snapshot::Snapshot;
use anymetal_telemetry_export::store::Store;

use crate::config::{HealthConfig, ServiceConfig, Share};
use otlp::OtlpExport;

#[cfg(feature = "otlp")]
pub use otlp::layer as otlp_layer;

static RUNNING: OnceLock<Option<Telemetry>> = OnceLock::new();

/// What exports this process's telemetry. Dropping it ends that; the one that settings started lives as long
/// as the process.
#[derive(Debug)]
pub struct Telemetry {
    store: Store,
    // Dropped before what it answers with.
    server: Option<Server>,
    health: Option<HealthService>,
    otlp: Option<OtlpExport>,
}

/// Why something is not exported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TelemetryError {
    /// The program has a recorder of its own, which gets the metrics.
    #[error("the program has a recorder for metrics of its own: it gets them, and nothing else can")]
    OtherRecorder,
    /// The address cannot be listened at.
    #[error("no /metrics at {address}: {reason}")]
    Address {
        /// The address.
        address: SocketAddr,
        /// Why, as the system says.
        reason: String,
    },
    /// A part cannot be started.
    #[error("no {part}: {reason}")]
    Part {
        /// Which.
        part: &'static str,
        /// Why.
        reason: String,
    },
}

/// What the settings of this process started; `None`: nothing so far.
pub fn running() -> Option<&'static Telemetry> {
    RUNNING.get().and_then(Option::as_ref)
}

/// Starts what the settings demand, if nothing was started before.
pub(crate) fn start_once(config: &ServiceConfig) {
    if !is_wanted(config) {
        return;
    }
    RUNNING.get_or_init(|| {
        let (telemetry, errors) = Telemetry::start(config, SystemClock::shared());
        errors.iter().for_each(|error| notice::emit(NoticeKind::Telemetry, error.to_string()));
        telemetry
    });
}

/// Sends what waits to be sent, and waits until that is done or given up. For the end of a program that was
/// started with a collector or a webhook: a process that ends takes what waits with it.
pub fn flush() {
    if let Some(telemetry) = running() {
        telemetry.flush();
    }
}

fn is_wanted(config: &ServiceConfig) -> bool {
    config.telemetry.prometheus.is_some() || config.telemetry.otlp.is_some() || watches_health(&config.health)
}

fn watches_health(config: &HealthConfig) -> bool {
    config.enabled.unwrap_or(config.webhook.is_some())
}

impl Telemetry {
    /// Starts what the settings demand, by that clock, and tells what could not be started. `None`: the
    /// program has a recorder of its own, without which there is nothing to export.
    ///
    /// The recorder stays the process's when this is dropped: a process can export once.
    pub fn start(config: &ServiceConfig, clock: Arc<dyn Clock>) -> (Option<Self>, Vec<TelemetryError>) {
        let store = Store::new();
        if store.install().is_err() {
            return (None, vec![TelemetryError::OtherRecorder]);
        }
        let mut errors = Vec::new();
        let mut telemetry = Telemetry { store, server: None, health: None, otlp: None };
        let probes = config.health.enabled.unwrap_or(config.telemetry.prometheus.is_some());
        if probes || watches_health(&config.health) {
            let started = telemetry.start_health(&config.health, Arc::clone(&clock), &mut errors);
            telemetry.health = kept(started, &mut errors);
        }
        if let Some(address) = config.telemetry.prometheus {
            telemetry.server = kept(telemetry.start_server(address), &mut errors);
        }
        if let Some(endpoint) = &config.telemetry.otlp {
            let store = telemetry.store.clone();
            let started = OtlpExport::start(endpoint, &config.telemetry, store, clock, &mut errors);
            telemetry.otlp = kept(started, &mut errors);
        }
        (Some(telemetry), errors)
    }

    fn start_server(&self, address: SocketAddr) -> Result<Server, TelemetryError> {
        let routes = MetricsRoutes {
            store: self.store.clone(),
            health: self.health.as_ref().map(|health| Box::new(health.routes()) as Box<dyn Routes>),
        };
        Server::start(address, Arc::new(routes))
            .map_err(|error| TelemetryError::Address { address, reason: error.to_string() })
    }

    fn start_health(
        &self,
        config: &HealthConfig,
        clock: Arc<dyn Clock>,
        errors: &mut Vec<TelemetryError>,
    ) -> Result<HealthService, TelemetryError> {
        let part = |reason: String| TelemetryError::Part { part: "health", reason };
        let checks = checks(config).map_err(|error| part(error.to_string()))?;
        let mut monitor = Monitor::new(MonitorOptions::default(), checks);
        if let Some(url) = &config.webhook {
            let sink: Option<Arc<dyn AlertSink>> = kept(webhook::start(url, Arc::clone(&clock)), errors);
            sink.into_iter().for_each(|sink| monitor.add_sink(sink));
        }
        HealthService::start(monitor, self.store.clone(), clock, config.interval)
            .map_err(|error| part(error.to_string()))
    }

    /// Where `/metrics` and the probes of health are answered.
    pub fn address(&self) -> Option<SocketAddr> {
        self.server.as_ref().map(Server::address)
    }

    /// Health, if it is watched.
    pub fn health(&self) -> Option<&HealthService> {
        self.health.as_ref()
    }

    /// All metrics now.
    pub fn snapshot(&self) -> Snapshot {
        self.store.snapshot()
    }

    /// Sends what waits to be sent, and waits until that is done or given up.
    pub fn flush(&self) {
        if let Some(health) = &self.health {
            health.tick();
        }
        if let Some(otlp) = self.otlp() {
            otlp.flush();
        }
    }

    fn otlp(&self) -> Option<&OtlpExport> {
        self.otlp.as_ref()
    }
}

fn kept<T>(started: Result<T, TelemetryError>, errors: &mut Vec<TelemetryError>) -> Option<T> {
    started.map_err(|error| errors.push(error)).ok()
}

/// The checks of every device, with the settings' thresholds.
fn checks(config: &HealthConfig) -> Result<Vec<Check>, BadThresholds> {
    let above =
        |(degraded, unhealthy): (Share, Share)| Thresholds::above(degraded.as_f64(), unhealthy.as_f64());
    let mut checks = vec![
        check::memory(above(config.memory)?),
        check::failures(above(config.failures)?),
        check::breakers(),
        check::exporters(),
        check::latency(),
        check::backlog(),
    ];
    let hysteresis = Hysteresis { worse_for: config.worse_for, better_for: config.better_for };
    checks.iter_mut().for_each(|check| check.hysteresis = hysteresis);
    Ok(checks)
}

/// `/metrics`, and what health answers.
struct MetricsRoutes {
    store: Store,
    health: Option<Box<dyn Routes>>,
}

impl Routes for MetricsRoutes {
    fn get(&self, path: &str) -> Option<Response> {
        if path == "/metrics" {
            record::exported("prometheus", "ok");
            let body = exposition::write(&self.store.snapshot()).into_bytes();
            return Some(Response { status: 200, content_type: exposition::CONTENT_TYPE, body });
        }
        self.health.as_ref()?.get(path)
    }
}

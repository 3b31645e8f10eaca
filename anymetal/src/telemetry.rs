//! Telemetry: what this process tells of itself, and where that goes.
//!
//! All layers record through the facades of the crates `metrics` and `tracing`, by the names in
//! `docs/telemetry.md`. A program that has a recorder or a subscriber gets them there. A program that knows
//! nothing of it is observed from outside:
//!
//! - `ANYMETAL_TELEMETRY_PROMETHEUS=127.0.0.1:9464` answers `/metrics`, `/livez`, `/readyz`, `/healthz` and
//!   `/capacity` there (feature `prometheus`, on by default);
//! - `ANYMETAL_TELEMETRY_OTLP=http://127.0.0.1:4318` sends metrics and traces to a collector (feature
//!   `otlp`);
//! - `ANYMETAL_HEALTH_WEBHOOK=http://…` gets alerts (feature `webhook`).
//!
//! They are started when the first device with such settings is made, once per process. What cannot be
//! started is a [`crate::Notice`], never an error of the device.
//!
//! ```
//! # fn main() -> Result<(), anymetal::Error> {
//! use anymetal::{Device, Layers};
//!
//! let mut settings = Layers::default();
//! settings.code.telemetry.prometheus = Some(([127, 0, 0, 1], 0).into());
//! let device = Device::with_settings(&settings)?;
//! let telemetry = anymetal::telemetry::running().expect("nothing else listens in this process");
//! assert!(telemetry.address().is_some());
//! let families = telemetry.snapshot().families;
//! assert!(families.iter().any(|family| family.name == "anymetal_memory_limit_bytes"));
//! # let _device = device;
//! # Ok(())
//! # }
//! ```

#[cfg_attr(not(feature = "prometheus"), path = "telemetry/exporters_disabled.rs")]
mod exporters;
#[cfg(feature = "prometheus")]
#[cfg_attr(not(feature = "otlp"), path = "telemetry/otlp_disabled.rs")]
mod otlp;
#[cfg(feature = "prometheus")]
#[cfg_attr(not(feature = "webhook"), path = "telemetry/webhook_disabled.rs")]
mod webhook;

#[cfg(feature = "prometheus")]
pub use anymetal_health as health;
/// Brings the gauges of pools, memory and queues up to date; for programs with a recorder of their own,
/// before they read it.
pub use anymetal_telemetry::collect::collect;
/// Says that a recorder is installed, for one that is a type without size, which is not seen.
pub use anymetal_telemetry::handle::enable as enable_metrics;
/// Whether the process has a recorder. Handles that are made before it has one record nothing.
pub use anymetal_telemetry::handle::metrics_on;
/// The names of all metrics, spans and events.
pub use anymetal_telemetry::names;
/// The series of a tensor operation's work, for libraries of them.
pub use anymetal_telemetry::operation::OperationMetrics;
/// Has one command buffer in that number traced; at first all are, where a subscriber is interested.
pub use anymetal_telemetry::span::sample_submissions;
#[cfg(feature = "prometheus")]
pub use anymetal_telemetry_export as export;
#[cfg(feature = "prometheus")]
pub use exporters::{Telemetry, TelemetryError, running};
#[cfg(feature = "otlp")]
pub use otlp::layer as otlp_layer;

pub(crate) use exporters::start_once;

/// Sends what waits to be sent, and waits until that is done or given up. For the end of a program that was
/// started with a collector or a webhook: a process that ends takes what waits with it.
pub fn flush() {
    exporters::flush();
}

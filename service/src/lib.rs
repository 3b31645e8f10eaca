//! The service layer above [`anymetal`]: recovery by policy, an audit log, sessions, and exporters of
//! metrics, traces and health.
//!
//! - [`manager`]: a [`Manager`] runs work on devices that fail, and recovers by the policies of [`policy`].
//!   It records its work in an audit log ([`audit`]) and saves a session for the next start.
//! - [`telemetry`]: `/metrics` and probes of health over HTTP, OTLP, alerts to a webhook.
//! - [`config`]: the settings of both, in the same file and with the same kind of variables as
//!   [`anymetal::config::Layers`].
//!
//! A program that only launches kernels does not need this crate. To export metrics and traces by settings,
//! call [`start`] before the first device is opened:
//!
//! ```
//! # fn main() -> Result<(), anymetal::Error> {
//! anymetal_service::start()?; // ANYMETAL_TELEMETRY_PROMETHEUS=127.0.0.1:9464 answers `/metrics` there
//! let device = anymetal::Device::system_default()?;
//! # let _device = device;
//! anymetal_service::telemetry::flush();
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

pub mod config;
pub mod manager;
pub mod telemetry;

/// The audit log and the session's file, for [`Manager::audit`] and [`Manager::session`].
pub use anymetal_audit as audit;
/// Component states, alerts and capacity, for [`telemetry::Telemetry::health`].
pub use anymetal_health as health;
/// Recovery policies, for [`Manager::builder`] and for programs that recover by themselves.
pub use anymetal_policy as policy;
/// The store of metrics and its exporters, for [`telemetry::Telemetry::snapshot`].
pub use anymetal_telemetry_export as export;
pub use config::{ServiceConfig, ServiceLayer, ServiceLayers};
pub use manager::{
    BreakerStatus, Durability, Execution, ManagedBuffer, ManagedGraph, ManagedKernel, ManagedLaunch,
    ManagedTexture, Manager, ManagerBuilder, ManagerError,
};

use anymetal::config::ConfigError;
use anymetal_core::config::announce_service;

/// Starts the exporters that the environment and the settings file request, once per process. Call it before
/// the first device is opened: objects that are created before a recorder is installed record nothing. An
/// exporter that cannot be started is an [`anymetal::notice::Notice`], not an error.
///
/// # Errors
/// Invalid settings of the service. Exporters that an earlier call started keep running.
pub fn start() -> Result<(), ConfigError> {
    // Even if the settings are invalid: opening a device must not report this call as missing.
    announce_service();
    start_with(&ServiceLayers::load(None)?)
}

/// As [`start`], with these settings.
///
/// # Errors
/// As [`start`].
pub fn start_with(settings: &ServiceLayers) -> Result<(), ConfigError> {
    announce_service();
    telemetry::start_once(&settings.resolve()?);
    Ok(())
}

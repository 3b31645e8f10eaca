//! The sections of the crate `anymetal-service`, of which this crate knows the names only.
//!
//! The service reads and checks its sections. A program that does not start the service would silently ignore
//! settings that request an exporter, so this module refuses them.

use std::sync::atomic::{AtomicBool, Ordering};

use serde::Deserialize;
use toml::{Table, Value};

use super::{ConfigError, Layer, Layers, Setter};

/// Whether this process has started the service.
static IS_STARTED: AtomicBool = AtomicBool::new(false);

/// Records that this process starts the service, which fulfils requests for exporters.
pub fn announce() {
    IS_STARTED.store(true, Ordering::Release);
}

/// A section, unparsed.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(transparent)]
pub(super) struct RawSection(Table);

impl RawSection {
    fn set(&mut self, key: &str, text: &str) -> Result<(), &'static str> {
        self.0.insert(key.to_owned(), Value::String(text.to_owned()));
        Ok(())
    }

    /// Whether the setting requests an exporter; `None` if it is missing.
    fn requests(&self, key: &str) -> Option<bool> {
        Some(match self.0.get(key)? {
            Value::Boolean(flag) => *flag,
            Value::String(text) => !matches!(text.as_str(), "0" | "false"),
            _ => true,
        })
    }
}

/// The variables that request an exporter.
pub(super) const VARIABLES: &[(&str, Setter)] = &[
    ("ANYMETAL_TELEMETRY_PROMETHEUS", |layer, text| layer.telemetry.set("prometheus", text)),
    ("ANYMETAL_TELEMETRY_OTLP", |layer, text| layer.telemetry.set("otlp", text)),
    ("ANYMETAL_HEALTH_WEBHOOK", |layer, text| layer.health.set("webhook", text)),
    ("ANYMETAL_HEALTH_ENABLED", |layer, text| layer.health.set("enabled", text)),
];

/// The settings of [`VARIABLES`].
const REQUESTS: [(&str, &str, fn(&Layer) -> Option<bool>); 4] = [
    ("telemetry.prometheus", "ANYMETAL_TELEMETRY_PROMETHEUS", |layer| layer.telemetry.requests("prometheus")),
    ("telemetry.otlp", "ANYMETAL_TELEMETRY_OTLP", |layer| layer.telemetry.requests("otlp")),
    ("health.webhook", "ANYMETAL_HEALTH_WEBHOOK", |layer| layer.health.requests("webhook")),
    ("health.enabled", "ANYMETAL_HEALTH_ENABLED", |layer| layer.health.requests("enabled")),
];

/// Refuses requests for exporters in a process without the service.
pub(super) fn check(layers: &Layers) -> Result<(), ConfigError> {
    if IS_STARTED.load(Ordering::Acquire) {
        return Ok(());
    }
    for (setting, variable, requests) in REQUESTS {
        if let Some((true, origin)) = layers.find_with(variable, requests) {
            return Err(ConfigError::NeedsService { setting, origin });
        }
    }
    Ok(())
}

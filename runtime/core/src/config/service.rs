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

/// A setting that requests an exporter.
struct Request {
    setting: &'static str,
    variable: &'static str,
    set: Setter,
    /// Whether the layer requests the exporter; `None` if it does not have the setting.
    is_requested: fn(&Layer) -> Option<bool>,
}

macro_rules! request {
    ($variable:literal, $section:ident, $key:literal) => {
        Request {
            setting: concat!(stringify!($section), ".", $key),
            variable: $variable,
            set: |layer, text| layer.$section.set($key, text),
            is_requested: |layer| layer.$section.requests($key),
        }
    };
}

const REQUESTS: [Request; 4] = [
    request!("ANYMETAL_TELEMETRY_PROMETHEUS", telemetry, "prometheus"),
    request!("ANYMETAL_TELEMETRY_OTLP", telemetry, "otlp"),
    request!("ANYMETAL_HEALTH_WEBHOOK", health, "webhook"),
    request!("ANYMETAL_HEALTH_ENABLED", health, "enabled"),
];

/// The variables of the settings that request an exporter.
pub(super) fn variables() -> [(&'static str, Setter); 4] {
    REQUESTS.map(|request| (request.variable, request.set))
}

/// Refuses requests for exporters in a process without the service.
pub(super) fn check(layers: &Layers) -> Result<(), ConfigError> {
    if IS_STARTED.load(Ordering::Acquire) {
        return Ok(());
    }
    for Request { setting, variable, is_requested, .. } in REQUESTS {
        if let Some((true, origin)) = layers.find_with(variable, is_requested) {
            return Err(ConfigError::NeedsService { setting, origin });
        }
    }
    Ok(())
}

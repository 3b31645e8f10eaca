//! No OTLP, for builds without the feature `otlp`.

use std::sync::Arc;

use anymetal::profile::Clock;
use anymetal_telemetry_export::store::Store;

use super::TelemetryError;
use crate::config::TelemetryConfig;

/// Never made.
#[derive(Debug)]
pub(super) enum OtlpExport {}

impl OtlpExport {
    /// Refused.
    pub(super) fn start(
        _endpoint: &str,
        _config: &TelemetryConfig,
        _store: Store,
        _clock: Arc<dyn Clock>,
        _errors: &mut Vec<TelemetryError>,
    ) -> Result<Self, TelemetryError> {
        let reason = "this program is built without the feature `otlp`".to_owned();
        Err(TelemetryError::Part { part: "OTLP", reason })
    }

    pub(super) fn flush(&self) {}
}

//! OTLP, started by the settings, with the process's subscriber if it has none.

use std::sync::Arc;

use anymetal::profile::Clock;
use anymetal_telemetry::span::sample_submissions;
use anymetal_telemetry_export::otlp::layer::OtlpLayer;
use anymetal_telemetry_export::otlp::{Otlp, OtlpOptions};
use anymetal_telemetry_export::store::Store;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};

use super::{TelemetryError, running};
use crate::config::TelemetryConfig;

/// Sends metrics and traces to a collector.
#[derive(Debug)]
pub(super) struct OtlpExport(Otlp);

impl OtlpExport {
    /// Starts it. A subscriber that the program has stays; that is added to the errors.
    pub(super) fn start(
        endpoint: &str,
        config: &TelemetryConfig,
        store: Store,
        clock: Arc<dyn Clock>,
        errors: &mut Vec<TelemetryError>,
    ) -> Result<Self, TelemetryError> {
        let options = OtlpOptions {
            endpoint: endpoint.to_owned(),
            service: config.service.clone(),
            interval: config.interval,
        };
        let part = |reason: String| TelemetryError::Part { part: "OTLP", reason };
        let otlp = Otlp::start(&options, store, clock).map_err(|error| part(error.to_string()))?;
        sample_submissions(config.sample);
        let filter =
            Targets::new().with_target("anymetal", LevelFilter::DEBUG).with_default(LevelFilter::INFO);
        let subscriber = tracing_subscriber::registry().with(otlp.layer().with_filter(filter));
        if tracing::subscriber::set_global_default(subscriber).is_err() {
            let reason = "the program has a subscriber of its own: add `anymetal_service::telemetry::otlp_layer()` to it";
            errors.push(TelemetryError::Part { part: "traces to OTLP", reason: reason.to_owned() });
        }
        Ok(OtlpExport(otlp))
    }

    pub(super) fn flush(&self) {
        self.0.flush();
    }
}

/// A layer for a subscriber of the program's own, that sends its spans to the collector that the settings
/// name; `None`: there is none.
pub fn layer() -> Option<OtlpLayer> {
    Some(running()?.otlp()?.0.layer())
}

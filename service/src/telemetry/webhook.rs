//! Alerts to a URL, started by the settings.

use std::sync::Arc;

use anymetal::profile::Clock;
use anymetal_health::alert::AlertSink;
use anymetal_health::webhook::Webhook;

use super::TelemetryError;

/// Starts sending.
pub(super) fn start(url: &str, clock: Arc<dyn Clock>) -> Result<Arc<dyn AlertSink>, TelemetryError> {
    let webhook = Webhook::start(url, clock);
    let webhook = webhook
        .map_err(|error| TelemetryError::Part { part: "alerts to the webhook", reason: error.to_string() })?;
    Ok(Arc::new(webhook))
}

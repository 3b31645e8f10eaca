//! No alerts to a URL, for builds without the feature `webhook`.

use std::sync::Arc;

use anymetal::profile::Clock;
use anymetal_health::alert::AlertSink;

use super::TelemetryError;

/// Refused.
pub(super) fn start(_url: &str, _clock: Arc<dyn Clock>) -> Result<Arc<dyn AlertSink>, TelemetryError> {
    let reason = "this program is built without the feature `webhook`".to_owned();
    Err(TelemetryError::Part { part: "alerts to the webhook", reason })
}

//! No exporters, for builds without the feature `prometheus`.

use anymetal_core::config::RuntimeConfig;

use crate::notice::{NoticeKind, notify};

/// Tells that the settings demand what this build does not have.
pub(crate) fn start_once(config: &RuntimeConfig) {
    let wanted = [
        ("telemetry.prometheus", config.telemetry.prometheus.is_some()),
        ("telemetry.otlp", config.telemetry.otlp.is_some()),
        ("health.webhook", config.health.webhook.is_some()),
        ("health.enabled", config.health.enabled == Some(true)),
    ];
    for (setting, _) in wanted.into_iter().filter(|(_, wanted)| *wanted) {
        let message = format!("{setting} has no effect: this program is built without telemetry's exporters");
        notify(NoticeKind::Telemetry, message);
    }
}

/// Does nothing.
pub(super) fn flush() {}

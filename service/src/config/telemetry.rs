//! The section `[telemetry]`: where metrics and traces go.

use std::net::SocketAddr;
use std::time::Duration;

use serde::Deserialize;

use super::{ConfigError, ServiceLayers, Setter, Span, check, parse, value};

/// Longer would be no telemetry, shorter would be a load of its own.
const MIN_INTERVAL: Duration = Duration::from_millis(100);

/// The section `[telemetry]` of a layer.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct TelemetryLayer {
    /// Where `/metrics` and the probes of health are answered: `127.0.0.1:9464`.
    pub prometheus: Option<SocketAddr>,
    /// The OTLP collector: `http://127.0.0.1:4318`.
    pub otlp: Option<String>,
    /// Between two requests to the collector.
    pub interval: Option<Span>,
    /// The name of the program for the collector.
    pub service: Option<String>,
    /// One command buffer in this number is traced.
    pub sample: Option<u32>,
}

/// The variables, one for each setting.
pub(super) const VARIABLES: &[(&str, Setter)] = &[
    ("ANYMETAL_TELEMETRY_PROMETHEUS", |layer, text| {
        parse(&mut layer.telemetry.prometheus, text, "an address with a port, such as 127.0.0.1:9464")
    }),
    ("ANYMETAL_TELEMETRY_OTLP", |layer, text| {
        layer.telemetry.otlp = Some(text.to_owned());
        Ok(())
    }),
    ("ANYMETAL_TELEMETRY_INTERVAL", |layer, text| parse(&mut layer.telemetry.interval, text, Span::EXPECTED)),
    ("ANYMETAL_TELEMETRY_SERVICE", |layer, text| {
        layer.telemetry.service = Some(text.to_owned());
        Ok(())
    }),
    ("ANYMETAL_TELEMETRY_SAMPLE", |layer, text| parse(&mut layer.telemetry.sample, text, "a whole number")),
];

/// The section's settings that count, checked.
pub(super) fn resolve(layers: &ServiceLayers) -> Result<TelemetryConfig, ConfigError> {
    let defaults = TelemetryConfig::default();
    let prometheus = layers.find("ANYMETAL_TELEMETRY_PROMETHEUS", |layer| &layer.telemetry.prometheus);
    let otlp = layers.find("ANYMETAL_TELEMETRY_OTLP", |layer| &layer.telemetry.otlp);
    let interval = layers.find("ANYMETAL_TELEMETRY_INTERVAL", |layer| &layer.telemetry.interval);
    let service = layers.find("ANYMETAL_TELEMETRY_SERVICE", |layer| &layer.telemetry.service);
    let sample = layers.find("ANYMETAL_TELEMETRY_SAMPLE", |layer| &layer.telemetry.sample);

    let spoken = "only http://HOST:PORT is spoken; for https put a collector in between";
    check("telemetry.otlp", &otlp, |url| url.len() > 7 && url.starts_with("http://"), spoken)?;
    check("telemetry.interval", &interval, |span| span.0 >= MIN_INTERVAL, "less than 100 ms")?;
    check("telemetry.sample", &sample, |one_in| *one_in > 0, "one in none is nothing")?;
    Ok(TelemetryConfig {
        prometheus: value(prometheus),
        otlp: value(otlp),
        interval: value(interval).map_or(defaults.interval, |span| span.0),
        service: value(service).unwrap_or(defaults.service),
        sample: value(sample).unwrap_or(defaults.sample),
    })
}

/// The settings of telemetry, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TelemetryConfig {
    /// Where `/metrics` and the probes of health are answered; `None`: nowhere.
    pub prometheus: Option<SocketAddr>,
    /// The OTLP collector; `None`: none.
    pub otlp: Option<String>,
    /// Between two requests to the collector.
    pub interval: Duration,
    /// The name of the program for the collector.
    pub service: String,
    /// One command buffer in this number is traced.
    pub sample: u32,
}

impl Default for TelemetryConfig {
    fn default() -> Self {
        TelemetryConfig {
            prometheus: None,
            otlp: None,
            interval: Duration::from_secs(5),
            service: "anymetal".to_owned(),
            sample: 100,
        }
    }
}

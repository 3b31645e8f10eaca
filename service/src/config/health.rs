//! The section `[health]`: when a component is degraded or unhealthy, and who is told.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::Deserialize;
use serde::de::{Deserializer, Error};

use super::{ConfigError, ServiceLayers, Setter, Span, check, flag, parse, value};

/// A share of something, in thousandths: `0.85`, `85 %`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Share(u32);

impl Share {
    const EXPECTED: &'static str = "a share from 0 to 1, such as 0.85 or 85 %";

    /// So many thousandths.
    pub const fn thousandths(thousandths: u32) -> Self {
        Share(thousandths)
    }

    /// From 0 to 1.
    pub fn as_f64(self) -> f64 {
        f64::from(self.0) / 1000.0
    }

    fn of(share: f64) -> Option<Self> {
        (0.0..=1.0).contains(&share).then(|| Share((share * 1000.0).round() as u32))
    }
}

impl fmt::Display for Share {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_f64().fmt(formatter)
    }
}

impl FromStr for Share {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let share = match text.strip_suffix('%') {
            Some(percent) => percent.trim().parse::<f64>().map(|percent| percent / 100.0),
            None => text.parse(),
        };
        share.ok().and_then(Share::of).ok_or(Self::EXPECTED)
    }
}

impl<'de> Deserialize<'de> for Share {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Number(f64),
            Text(String),
        }
        let share = match Form::deserialize(deserializer)? {
            Form::Number(share) => Share::of(share),
            Form::Text(text) => text.trim().parse().ok(),
        };
        share.ok_or_else(|| D::Error::custom(Self::EXPECTED))
    }
}

/// The section `[health]` of a layer.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct HealthLayer {
    /// Whether health is watched; at first, where there is an address for its probes.
    pub enabled: Option<bool>,
    /// Between two looks.
    pub interval: Option<Span>,
    /// Where alerts are sent, as JSON.
    pub webhook: Option<String>,
    /// The share of the memory budget from which on memory is degraded.
    pub memory_degraded: Option<Share>,
    /// The share of the memory budget from which on memory is unhealthy.
    pub memory_unhealthy: Option<Share>,
    /// The share of failed command buffers from which on submissions are degraded.
    pub failures_degraded: Option<Share>,
    /// The share of failed command buffers from which on submissions are unhealthy.
    pub failures_unhealthy: Option<Share>,
    /// How long it must last until a worse state is entered.
    pub worse_for: Option<Span>,
    /// How long it must last until a better state is entered.
    pub better_for: Option<Span>,
}

/// The variables, one for each setting.
pub(super) const VARIABLES: &[(&str, Setter)] = &[
    ("ANYMETAL_HEALTH_ENABLED", |layer, text| flag(&mut layer.health.enabled, text)),
    ("ANYMETAL_HEALTH_INTERVAL", |layer, text| parse(&mut layer.health.interval, text, Span::EXPECTED)),
    ("ANYMETAL_HEALTH_WEBHOOK", |layer, text| {
        layer.health.webhook = Some(text.to_owned());
        Ok(())
    }),
    ("ANYMETAL_HEALTH_MEMORY_DEGRADED", |layer, text| {
        parse(&mut layer.health.memory_degraded, text, Share::EXPECTED)
    }),
    ("ANYMETAL_HEALTH_MEMORY_UNHEALTHY", |layer, text| {
        parse(&mut layer.health.memory_unhealthy, text, Share::EXPECTED)
    }),
    ("ANYMETAL_HEALTH_FAILURES_DEGRADED", |layer, text| {
        parse(&mut layer.health.failures_degraded, text, Share::EXPECTED)
    }),
    ("ANYMETAL_HEALTH_FAILURES_UNHEALTHY", |layer, text| {
        parse(&mut layer.health.failures_unhealthy, text, Share::EXPECTED)
    }),
    ("ANYMETAL_HEALTH_WORSE_FOR", |layer, text| parse(&mut layer.health.worse_for, text, Span::EXPECTED)),
    ("ANYMETAL_HEALTH_BETTER_FOR", |layer, text| parse(&mut layer.health.better_for, text, Span::EXPECTED)),
];

/// The section's settings that count, checked.
pub(super) fn resolve(layers: &ServiceLayers) -> Result<HealthConfig, ConfigError> {
    let defaults = HealthConfig::default();
    let enabled = layers.find("ANYMETAL_HEALTH_ENABLED", |layer| &layer.health.enabled);
    let interval = layers.find("ANYMETAL_HEALTH_INTERVAL", |layer| &layer.health.interval);
    let webhook = layers.find("ANYMETAL_HEALTH_WEBHOOK", |layer| &layer.health.webhook);
    let memory_degraded =
        layers.find("ANYMETAL_HEALTH_MEMORY_DEGRADED", |layer| &layer.health.memory_degraded);
    let memory_unhealthy =
        layers.find("ANYMETAL_HEALTH_MEMORY_UNHEALTHY", |layer| &layer.health.memory_unhealthy);
    let failures_degraded =
        layers.find("ANYMETAL_HEALTH_FAILURES_DEGRADED", |layer| &layer.health.failures_degraded);
    let failures_unhealthy =
        layers.find("ANYMETAL_HEALTH_FAILURES_UNHEALTHY", |layer| &layer.health.failures_unhealthy);
    let worse_for = layers.find("ANYMETAL_HEALTH_WORSE_FOR", |layer| &layer.health.worse_for);
    let better_for = layers.find("ANYMETAL_HEALTH_BETTER_FOR", |layer| &layer.health.better_for);

    let spoken = "only http://HOST[:PORT]/PATH is spoken";
    check("health.interval", &interval, |span| span.0 >= Duration::from_millis(100), "less than 100 ms")?;
    check("health.webhook", &webhook, |url| url.len() > 7 && url.starts_with("http://"), spoken)?;
    let memory = value_or(&memory_degraded, defaults.memory.0);
    let failures = value_or(&failures_degraded, defaults.failures.0);
    let order = "unhealthy must not come before degraded";
    let unhealthy_memory = value_or(&memory_unhealthy, defaults.memory.1.max(memory));
    let unhealthy_failures = value_or(&failures_unhealthy, defaults.failures.1.max(failures));
    check("health.memory-unhealthy", &memory_unhealthy, |share| *share >= memory, order)?;
    check("health.failures-unhealthy", &failures_unhealthy, |share| *share >= failures, order)?;
    Ok(HealthConfig {
        enabled: value(enabled),
        interval: value(interval).map_or(defaults.interval, |span| span.0),
        webhook: value(webhook),
        memory: (memory, unhealthy_memory),
        failures: (failures, unhealthy_failures),
        worse_for: value(worse_for).map_or(defaults.worse_for, |span| span.0),
        better_for: value(better_for).map_or(defaults.better_for, |span| span.0),
    })
}

fn value_or(found: &Option<(Share, super::Origin)>, default: Share) -> Share {
    found.as_ref().map_or(default, |(share, _)| *share)
}

/// The settings of health, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HealthConfig {
    /// Whether health is watched; `None`: where there is an address for its probes.
    pub enabled: Option<bool>,
    /// Between two looks.
    pub interval: Duration,
    /// Where alerts are sent; `None`: to the log alone.
    pub webhook: Option<String>,
    /// The shares of the memory budget from which on memory is degraded and unhealthy.
    pub memory: (Share, Share),
    /// The shares of failed command buffers from which on submissions are degraded and unhealthy.
    pub failures: (Share, Share),
    /// How long it must last until a worse state is entered.
    pub worse_for: Duration,
    /// How long it must last until a better state is entered.
    pub better_for: Duration,
}

impl Default for HealthConfig {
    fn default() -> Self {
        HealthConfig {
            enabled: None,
            interval: Duration::from_secs(5),
            webhook: None,
            memory: (Share::thousandths(850), Share::thousandths(950)),
            failures: (Share::thousandths(50), Share::thousandths(500)),
            worse_for: Duration::from_secs(10),
            better_for: Duration::from_secs(30),
        }
    }
}

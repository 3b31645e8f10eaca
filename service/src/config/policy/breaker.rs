//! The section `[policy.breaker]`: when calls to a device are stopped.

use anymetal_policy::breaker::{BreakerPolicy, BreakerPolicyBuilder};
use anymetal_policy::ratio::Ratio;
use serde::Deserialize;

use super::super::{flag, parse};
use super::{ConfigError, Section, ServiceLayers, Setter, Span, apply};

/// The section `[policy.breaker]` of a layer.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct BreakerLayer {
    /// Whether there are breakers.
    pub enabled: Option<bool>,
    /// Failures in a row that open it.
    pub consecutive_failures: Option<u32>,
    /// The share of failed calls in the window that opens it.
    pub failure_rate: Option<Ratio>,
    /// The length of the window.
    pub window: Option<Span>,
    /// Calls in the window below which the share says nothing.
    pub minimum_calls: Option<u32>,
    /// How long it stays open before probes are let through.
    pub open_for: Option<Span>,
    /// Probes that are let through, and must all succeed, before it closes.
    pub probes: Option<u32>,
    /// Whether one loss of the device opens it.
    pub opens_on_loss: Option<bool>,
    /// Whether a failure counts because a resource was exhausted.
    pub counts_exhausted: Option<bool>,
}

/// The variables, one for each setting.
pub(super) const VARIABLES: &[(&str, Setter)] = &[
    ("ANYMETAL_POLICY_BREAKER_ENABLED", |layer, text| flag(&mut layer.policy.breaker.enabled, text)),
    ("ANYMETAL_POLICY_BREAKER_CONSECUTIVE_FAILURES", |layer, text| {
        parse(&mut layer.policy.breaker.consecutive_failures, text, "a whole number")
    }),
    ("ANYMETAL_POLICY_BREAKER_FAILURE_RATE", |layer, text| {
        parse(&mut layer.policy.breaker.failure_rate, text, Ratio::EXPECTED)
    }),
    ("ANYMETAL_POLICY_BREAKER_WINDOW", |layer, text| {
        parse(&mut layer.policy.breaker.window, text, Span::EXPECTED)
    }),
    ("ANYMETAL_POLICY_BREAKER_MINIMUM_CALLS", |layer, text| {
        parse(&mut layer.policy.breaker.minimum_calls, text, "a whole number")
    }),
    ("ANYMETAL_POLICY_BREAKER_OPEN_FOR", |layer, text| {
        parse(&mut layer.policy.breaker.open_for, text, Span::EXPECTED)
    }),
    ("ANYMETAL_POLICY_BREAKER_PROBES", |layer, text| {
        parse(&mut layer.policy.breaker.probes, text, "a whole number")
    }),
    ("ANYMETAL_POLICY_BREAKER_OPENS_ON_LOSS", |layer, text| {
        flag(&mut layer.policy.breaker.opens_on_loss, text)
    }),
    ("ANYMETAL_POLICY_BREAKER_COUNTS_EXHAUSTED", |layer, text| {
        flag(&mut layer.policy.breaker.counts_exhausted, text)
    }),
];

/// The policy of the settings that count; `None`: there is none.
pub(super) fn resolve(layers: &ServiceLayers) -> Result<Option<BreakerPolicy>, ConfigError> {
    let mut section = Section::new(layers);
    let enabled = section.find("policy.breaker.enabled", "ANYMETAL_POLICY_BREAKER_ENABLED", |layer| {
        &layer.policy.breaker.enabled
    });
    let consecutive_failures = section.find(
        "policy.breaker.consecutive-failures",
        "ANYMETAL_POLICY_BREAKER_CONSECUTIVE_FAILURES",
        |layer| &layer.policy.breaker.consecutive_failures,
    );
    let failure_rate =
        section.find("policy.breaker.failure-rate", "ANYMETAL_POLICY_BREAKER_FAILURE_RATE", |layer| {
            &layer.policy.breaker.failure_rate
        });
    let window = section.find_span("policy.breaker.window", "ANYMETAL_POLICY_BREAKER_WINDOW", |layer| {
        &layer.policy.breaker.window
    });
    let minimum_calls =
        section.find("policy.breaker.minimum-calls", "ANYMETAL_POLICY_BREAKER_MINIMUM_CALLS", |layer| {
            &layer.policy.breaker.minimum_calls
        });
    let open_for =
        section.find_span("policy.breaker.open-for", "ANYMETAL_POLICY_BREAKER_OPEN_FOR", |layer| {
            &layer.policy.breaker.open_for
        });
    let probes = section.find("policy.breaker.probes", "ANYMETAL_POLICY_BREAKER_PROBES", |layer| {
        &layer.policy.breaker.probes
    });
    let opens_on_loss =
        section.find("policy.breaker.opens-on-loss", "ANYMETAL_POLICY_BREAKER_OPENS_ON_LOSS", |layer| {
            &layer.policy.breaker.opens_on_loss
        });
    let counts_exhausted = section.find(
        "policy.breaker.counts-exhausted",
        "ANYMETAL_POLICY_BREAKER_COUNTS_EXHAUSTED",
        |layer| &layer.policy.breaker.counts_exhausted,
    );
    let builder = BreakerPolicy::builder();
    let builder = apply(builder, consecutive_failures, BreakerPolicyBuilder::consecutive_failures);
    let builder = apply(builder, failure_rate, BreakerPolicyBuilder::failure_rate);
    let builder = apply(builder, window, BreakerPolicyBuilder::window);
    let builder = apply(builder, minimum_calls, BreakerPolicyBuilder::minimum_calls);
    let builder = apply(builder, open_for, BreakerPolicyBuilder::open_for);
    let builder = apply(builder, probes, BreakerPolicyBuilder::probes);
    let builder = apply(builder, opens_on_loss, BreakerPolicyBuilder::opens_on_loss);
    let builder = apply(builder, counts_exhausted, BreakerPolicyBuilder::counts_exhausted);
    let policy = builder.build().map_err(|invalid| section.refuse(invalid))?;
    Ok(enabled.unwrap_or(true).then_some(policy))
}

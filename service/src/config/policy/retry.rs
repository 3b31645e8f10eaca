//! The section `[policy.retry]`: how often the same work is tried again, after which delays.

use anymetal_policy::ratio::Ratio;
use anymetal_policy::retry::{Jitter, RetryPolicy, RetryPolicyBuilder};
use serde::Deserialize;

use super::super::parse;
use super::{ConfigError, Section, ServiceLayers, Setter, Span, apply};

/// The section `[policy.retry]` of a layer.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct RetryLayer {
    /// Attempts in all, the first one included.
    pub attempts: Option<u32>,
    /// The first delay.
    pub base: Option<Span>,
    /// What each delay is multiplied by for the next.
    pub factor: Option<Ratio>,
    /// The longest delay.
    pub cap: Option<Span>,
    /// How delays are spread: `none`, `full` or `equal`.
    pub jitter: Option<Jitter>,
    /// The seed of the jitter.
    pub seed: Option<u64>,
    /// The longest sum of a call's delays; missing everywhere: no limit.
    pub total_delay: Option<Span>,
}

/// The variables, one for each setting.
pub(super) const VARIABLES: &[(&str, Setter)] = &[
    ("ANYMETAL_POLICY_RETRY_ATTEMPTS", |layer, text| {
        parse(&mut layer.policy.retry.attempts, text, "a whole number")
    }),
    ("ANYMETAL_POLICY_RETRY_BASE", |layer, text| parse(&mut layer.policy.retry.base, text, Span::EXPECTED)),
    ("ANYMETAL_POLICY_RETRY_FACTOR", |layer, text| {
        parse(&mut layer.policy.retry.factor, text, Ratio::EXPECTED)
    }),
    ("ANYMETAL_POLICY_RETRY_CAP", |layer, text| parse(&mut layer.policy.retry.cap, text, Span::EXPECTED)),
    ("ANYMETAL_POLICY_RETRY_JITTER", |layer, text| {
        parse(&mut layer.policy.retry.jitter, text, "`none`, `full` or `equal`")
    }),
    ("ANYMETAL_POLICY_RETRY_SEED", |layer, text| parse(&mut layer.policy.retry.seed, text, "a whole number")),
    ("ANYMETAL_POLICY_RETRY_TOTAL_DELAY", |layer, text| {
        parse(&mut layer.policy.retry.total_delay, text, Span::EXPECTED)
    }),
];

/// The policy of the settings that count.
pub(super) fn resolve(layers: &ServiceLayers) -> Result<RetryPolicy, ConfigError> {
    let mut section = Section::new(layers);
    let attempts = section.find("policy.retry.attempts", "ANYMETAL_POLICY_RETRY_ATTEMPTS", |layer| {
        &layer.policy.retry.attempts
    });
    let base = section
        .find_span("policy.retry.base", "ANYMETAL_POLICY_RETRY_BASE", |layer| &layer.policy.retry.base);
    let factor = section
        .find("policy.retry.factor", "ANYMETAL_POLICY_RETRY_FACTOR", |layer| &layer.policy.retry.factor);
    let cap =
        section.find_span("policy.retry.cap", "ANYMETAL_POLICY_RETRY_CAP", |layer| &layer.policy.retry.cap);
    let jitter = section
        .find("policy.retry.jitter", "ANYMETAL_POLICY_RETRY_JITTER", |layer| &layer.policy.retry.jitter);
    let seed =
        section.find("policy.retry.seed", "ANYMETAL_POLICY_RETRY_SEED", |layer| &layer.policy.retry.seed);
    let total_delay =
        section.find_span("policy.retry.total-delay", "ANYMETAL_POLICY_RETRY_TOTAL_DELAY", |layer| {
            &layer.policy.retry.total_delay
        });
    let builder = RetryPolicy::builder();
    let builder = apply(builder, attempts, RetryPolicyBuilder::attempts);
    let builder = apply(builder, base, RetryPolicyBuilder::base);
    let builder = apply(builder, factor, RetryPolicyBuilder::factor);
    let builder = apply(builder, cap, RetryPolicyBuilder::cap);
    let builder = apply(builder, jitter, RetryPolicyBuilder::jitter);
    let builder = apply(builder, seed, RetryPolicyBuilder::seed);
    let builder = apply(builder, total_delay, RetryPolicyBuilder::total_delay);
    builder.build().map_err(|invalid| section.refuse(invalid))
}

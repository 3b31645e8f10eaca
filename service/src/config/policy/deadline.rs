//! The section `[policy.deadline]`: how long calls and attempts may take.

use anymetal_policy::deadline::{DeadlinePolicy, DeadlinePolicyBuilder};
use serde::Deserialize;

use super::super::parse;
use super::{ConfigError, Section, ServiceLayers, Setter, Span, apply};

/// The section `[policy.deadline]` of a layer.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct DeadlineLayer {
    /// How long all attempts with their delays may take together; missing everywhere: no limit.
    pub total: Option<Span>,
    /// How long one attempt may take; missing everywhere: no limit.
    pub attempt: Option<Span>,
}

/// The variables, one for each setting.
pub(super) const VARIABLES: &[(&str, Setter)] = &[
    ("ANYMETAL_POLICY_DEADLINE_TOTAL", |layer, text| {
        parse(&mut layer.policy.deadline.total, text, Span::EXPECTED)
    }),
    ("ANYMETAL_POLICY_DEADLINE_ATTEMPT", |layer, text| {
        parse(&mut layer.policy.deadline.attempt, text, Span::EXPECTED)
    }),
];

/// The policy of the settings that count.
pub(super) fn resolve(layers: &ServiceLayers) -> Result<DeadlinePolicy, ConfigError> {
    let mut section = Section::new(layers);
    let total = section.find_span("policy.deadline.total", "ANYMETAL_POLICY_DEADLINE_TOTAL", |layer| {
        &layer.policy.deadline.total
    });
    let attempt = section.find_span("policy.deadline.attempt", "ANYMETAL_POLICY_DEADLINE_ATTEMPT", |layer| {
        &layer.policy.deadline.attempt
    });
    let builder = DeadlinePolicy::builder();
    let builder = apply(builder, total, DeadlinePolicyBuilder::total);
    let builder = apply(builder, attempt, DeadlinePolicyBuilder::attempt);
    builder.build().map_err(|invalid| section.refuse(invalid))
}

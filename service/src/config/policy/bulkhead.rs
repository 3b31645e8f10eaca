//! The section `[policy.bulkhead]`: how many calls of a device run and wait at once.

use anymetal_policy::bulkhead::{BulkheadPolicy, BulkheadPolicyBuilder};
use serde::Deserialize;

use super::super::{flag, parse};
use super::{ConfigError, Section, ServiceLayers, Setter, Span, apply};

/// The section `[policy.bulkhead]` of a layer.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct BulkheadLayer {
    /// Whether there are bulkheads.
    pub enabled: Option<bool>,
    /// Calls at once.
    pub concurrency: Option<usize>,
    /// Callers that may wait.
    pub queue: Option<usize>,
    /// How long a caller waits at most.
    pub wait: Option<Span>,
}

/// The variables, one for each setting.
pub(super) const VARIABLES: &[(&str, Setter)] = &[
    ("ANYMETAL_POLICY_BULKHEAD_ENABLED", |layer, text| flag(&mut layer.policy.bulkhead.enabled, text)),
    ("ANYMETAL_POLICY_BULKHEAD_CONCURRENCY", |layer, text| {
        parse(&mut layer.policy.bulkhead.concurrency, text, "a whole number")
    }),
    ("ANYMETAL_POLICY_BULKHEAD_QUEUE", |layer, text| {
        parse(&mut layer.policy.bulkhead.queue, text, "a whole number")
    }),
    ("ANYMETAL_POLICY_BULKHEAD_WAIT", |layer, text| {
        parse(&mut layer.policy.bulkhead.wait, text, Span::EXPECTED)
    }),
];

/// The policy of the settings that count; `None`: there is none.
pub(super) fn resolve(layers: &ServiceLayers) -> Result<Option<BulkheadPolicy>, ConfigError> {
    let mut section = Section::new(layers);
    let enabled = section.find("policy.bulkhead.enabled", "ANYMETAL_POLICY_BULKHEAD_ENABLED", |layer| {
        &layer.policy.bulkhead.enabled
    });
    let concurrency =
        section.find("policy.bulkhead.concurrency", "ANYMETAL_POLICY_BULKHEAD_CONCURRENCY", |layer| {
            &layer.policy.bulkhead.concurrency
        });
    let queue = section.find("policy.bulkhead.queue", "ANYMETAL_POLICY_BULKHEAD_QUEUE", |layer| {
        &layer.policy.bulkhead.queue
    });
    let wait = section.find_span("policy.bulkhead.wait", "ANYMETAL_POLICY_BULKHEAD_WAIT", |layer| {
        &layer.policy.bulkhead.wait
    });
    let builder = BulkheadPolicy::builder();
    let builder = apply(builder, concurrency, BulkheadPolicyBuilder::concurrency);
    let builder = apply(builder, queue, BulkheadPolicyBuilder::queue);
    let builder = apply(builder, wait, BulkheadPolicyBuilder::wait);
    let policy = builder.build().map_err(|invalid| section.refuse(invalid))?;
    Ok(enabled.unwrap_or(false).then_some(policy))
}

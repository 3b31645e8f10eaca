//! The section `[policy.adapt]`: how the number of streams follows the load.

use anymetal_policy::adapt::{AdaptivePolicy, AdaptivePolicyBuilder, Power};
use anymetal_policy::ratio::Ratio;
use serde::Deserialize;

use super::super::parse;
use super::{ConfigError, Section, ServiceLayers, Setter, Span, apply};

/// The section `[policy.adapt]` of a layer.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct AdaptLayer {
    /// The fewest streams.
    pub minimum: Option<usize>,
    /// The most streams.
    pub maximum: Option<usize>,
    /// How many times the best latency is too much.
    pub tolerance: Option<Ratio>,
    /// The share of streams that is left after a decrease.
    pub decrease: Option<Ratio>,
    /// The least time between two changes because of load.
    pub interval: Option<Span>,
    /// The watts of the machine above which fewer streams are used; missing everywhere: no limit.
    pub power_budget: Option<u32>,
}

/// The variables, one for each setting.
pub(super) const VARIABLES: &[(&str, Setter)] = &[
    ("ANYMETAL_POLICY_ADAPT_MINIMUM", |layer, text| {
        parse(&mut layer.policy.adapt.minimum, text, "a whole number")
    }),
    ("ANYMETAL_POLICY_ADAPT_MAXIMUM", |layer, text| {
        parse(&mut layer.policy.adapt.maximum, text, "a whole number")
    }),
    ("ANYMETAL_POLICY_ADAPT_TOLERANCE", |layer, text| {
        parse(&mut layer.policy.adapt.tolerance, text, Ratio::EXPECTED)
    }),
    ("ANYMETAL_POLICY_ADAPT_DECREASE", |layer, text| {
        parse(&mut layer.policy.adapt.decrease, text, Ratio::EXPECTED)
    }),
    ("ANYMETAL_POLICY_ADAPT_INTERVAL", |layer, text| {
        parse(&mut layer.policy.adapt.interval, text, Span::EXPECTED)
    }),
    ("ANYMETAL_POLICY_ADAPT_POWER_BUDGET", |layer, text| {
        parse(&mut layer.policy.adapt.power_budget, text, "a whole number of watts")
    }),
];

/// The policy of the settings that count.
pub(super) fn resolve(layers: &ServiceLayers) -> Result<AdaptivePolicy, ConfigError> {
    let mut section = Section::new(layers);
    let minimum = section
        .find("policy.adapt.minimum", "ANYMETAL_POLICY_ADAPT_MINIMUM", |layer| &layer.policy.adapt.minimum);
    let maximum = section
        .find("policy.adapt.maximum", "ANYMETAL_POLICY_ADAPT_MAXIMUM", |layer| &layer.policy.adapt.maximum);
    let tolerance = section.find("policy.adapt.tolerance", "ANYMETAL_POLICY_ADAPT_TOLERANCE", |layer| {
        &layer.policy.adapt.tolerance
    });
    let decrease = section.find("policy.adapt.decrease", "ANYMETAL_POLICY_ADAPT_DECREASE", |layer| {
        &layer.policy.adapt.decrease
    });
    let interval = section.find_span("policy.adapt.interval", "ANYMETAL_POLICY_ADAPT_INTERVAL", |layer| {
        &layer.policy.adapt.interval
    });
    let budget = section.find("policy.adapt.power-budget", "ANYMETAL_POLICY_ADAPT_POWER_BUDGET", |layer| {
        &layer.policy.adapt.power_budget
    });
    let builder = AdaptivePolicy::builder();
    let builder = apply(builder, minimum, AdaptivePolicyBuilder::minimum);
    let builder = apply(builder, maximum, AdaptivePolicyBuilder::maximum);
    let builder = apply(builder, tolerance, AdaptivePolicyBuilder::tolerance);
    let builder = apply(builder, decrease, AdaptivePolicyBuilder::decrease);
    let builder = apply(builder, interval, AdaptivePolicyBuilder::interval);
    let builder = apply(builder, budget.map(Power::watts), AdaptivePolicyBuilder::power_budget);
    builder.build().map_err(|invalid| section.refuse(invalid))
}

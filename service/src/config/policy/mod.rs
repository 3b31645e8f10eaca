//! The section `[policy]`: what is done when work fails.
//!
//! Each policy is a section of its own, such as `[policy.retry]`, in a file of its own here.
//! Invariant: the builders of `anymetal-policy` alone know which values make sense; [`Section`]
//! adds to their refusals where the value came from.

mod adapt;
mod breaker;
mod bulkhead;
mod deadline;
mod ladder;
mod retry;

use anymetal_policy::invalid::InvalidPolicy;
use anymetal_policy::policies::Policies;
use serde::Deserialize;

use super::{ConfigError, Origin, ServiceLayer, ServiceLayers, Setter, Size, Span, parse, value};

pub use adapt::AdaptLayer;
pub use breaker::BreakerLayer;
pub use bulkhead::BulkheadLayer;
pub use deadline::DeadlineLayer;
pub use ladder::LadderLayer;
pub use retry::RetryLayer;

/// The section `[policy]` of a layer.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct PolicyLayer {
    /// The most bytes that are copied so that work which changes them can run again.
    pub snapshot_limit: Option<Size>,
    /// The section `[policy.retry]`.
    pub retry: RetryLayer,
    /// The section `[policy.breaker]`.
    pub breaker: BreakerLayer,
    /// The section `[policy.bulkhead]`.
    pub bulkhead: BulkheadLayer,
    /// The section `[policy.deadline]`.
    pub deadline: DeadlineLayer,
    /// The section `[policy.ladder]`.
    pub ladder: LadderLayer,
    /// The section `[policy.adapt]`.
    pub adapt: AdaptLayer,
}

/// The variables, one for each setting.
pub(super) const VARIABLES: [&[(&str, Setter)]; 7] = [
    &[("ANYMETAL_POLICY_SNAPSHOT_LIMIT", |layer, text| {
        parse(&mut layer.policy.snapshot_limit, text, Size::EXPECTED)
    })],
    retry::VARIABLES,
    breaker::VARIABLES,
    bulkhead::VARIABLES,
    deadline::VARIABLES,
    ladder::VARIABLES,
    adapt::VARIABLES,
];

/// The section's settings that count, checked.
pub(super) fn resolve(layers: &ServiceLayers) -> Result<Policies, ConfigError> {
    let limit = layers.find("ANYMETAL_POLICY_SNAPSHOT_LIMIT", |layer| &layer.policy.snapshot_limit);
    Ok(Policies {
        retry: retry::resolve(layers)?,
        breaker: breaker::resolve(layers)?,
        bulkhead: bulkhead::resolve(layers)?,
        deadline: deadline::resolve(layers)?,
        ladder: ladder::resolve(layers)?,
        adapt: adapt::resolve(layers)?,
        snapshot_limit: value(limit).map_or(Policies::default().snapshot_limit, |size| size.0),
    })
}

/// The settings of one policy, and where those that are set come from.
struct Section<'a> {
    layers: &'a ServiceLayers,
    origins: Vec<(&'static str, Origin)>,
}

impl<'a> Section<'a> {
    fn new(layers: &'a ServiceLayers) -> Self {
        Section { layers, origins: Vec::new() }
    }

    /// The uppermost value of a setting.
    fn find<T: Clone>(
        &mut self,
        setting: &'static str,
        variable: &'static str,
        field: impl Fn(&ServiceLayer) -> &Option<T>,
    ) -> Option<T> {
        let (value, origin) = self.layers.find(variable, field)?;
        self.origins.push((setting, origin));
        Some(value)
    }

    /// The same for a length of time.
    fn find_span(
        &mut self,
        setting: &'static str,
        variable: &'static str,
        field: impl Fn(&ServiceLayer) -> &Option<Span>,
    ) -> Option<std::time::Duration> {
        self.find(setting, variable, field).map(|span| span.0)
    }

    /// A builder's refusal in the words of the settings. Builders refuse explicit values only, so
    /// the setting is among those found.
    fn refuse(&self, invalid: InvalidPolicy) -> ConfigError {
        let is_refused = |setting: &str| setting.strip_prefix("policy.") == Some(invalid.field());
        let found = self.origins.iter().find(|(setting, _)| is_refused(setting));
        let (setting, origin) = found.cloned().unwrap_or((invalid.field(), Origin::Code));
        ConfigError::Invalid { setting, value: invalid.value().to_owned(), origin, reason: invalid.rule() }
    }
}

/// Applies a value to a builder if there is one.
fn apply<B, T>(builder: B, value: Option<T>, setter: impl FnOnce(B, T) -> B) -> B {
    match value {
        Some(value) => setter(builder, value),
        None => builder,
    }
}

#[cfg(test)]
mod tests;

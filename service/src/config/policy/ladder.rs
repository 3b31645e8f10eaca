//! The section `[policy.ladder]`: what is tried after a failure.

use anymetal_policy::ladder::{LadderPolicy, LadderPolicyBuilder, Rung};
use serde::Deserialize;

use super::super::parse;
use super::{ConfigError, Section, ServiceLayers, Setter, apply};

const RUNGS: &str =
    "`none` or a list of `retry`, `release-memory`, `degrade`, `fallback` and `wait` with commas";

/// The section `[policy.ladder]` of a layer.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct LadderLayer {
    /// What is tried, in this order: `retry`, `release-memory`, `degrade`, `fallback`, `wait`.
    pub rungs: Option<Vec<Rung>>,
    /// How many levels of degradation there are.
    pub levels: Option<u8>,
}

/// The variables, one for each setting.
pub(super) const VARIABLES: &[(&str, Setter)] = &[
    ("ANYMETAL_POLICY_LADDER_RUNGS", |layer, text| {
        layer.policy.ladder.rungs = Some(rungs(text)?);
        Ok(())
    }),
    ("ANYMETAL_POLICY_LADDER_LEVELS", |layer, text| {
        parse(&mut layer.policy.ladder.levels, text, "a whole number")
    }),
];

/// The rungs of a variable. An empty variable counts as missing, so that none has a word.
fn rungs(text: &str) -> Result<Vec<Rung>, &'static str> {
    match text {
        "none" => Ok(Vec::new()),
        _ => text.split(',').map(|word| word.trim().parse().map_err(|()| RUNGS)).collect(),
    }
}

/// The policy of the settings that count.
pub(super) fn resolve(layers: &ServiceLayers) -> Result<LadderPolicy, ConfigError> {
    let mut section = Section::new(layers);
    let rungs = section
        .find("policy.ladder.rungs", "ANYMETAL_POLICY_LADDER_RUNGS", |layer| &layer.policy.ladder.rungs);
    let levels = section
        .find("policy.ladder.levels", "ANYMETAL_POLICY_LADDER_LEVELS", |layer| &layer.policy.ladder.levels);
    let builder = LadderPolicy::builder();
    let builder = apply(builder, rungs, LadderPolicyBuilder::rungs);
    let builder = apply(builder, levels, LadderPolicyBuilder::levels);
    builder.build().map_err(|invalid| section.refuse(invalid))
}

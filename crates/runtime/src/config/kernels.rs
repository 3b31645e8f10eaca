//! The section `[kernels]`: what kernels may run as.

use serde::Deserialize;

use super::{ConfigError, Layers, Setter, flag, value};

/// The section `[kernels]` of a layer.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct KernelsLayer {
    /// Whether kernels that would be interpreted are refused.
    pub require_machine_code: Option<bool>,
}

/// The variables, one for each setting.
pub(super) const VARIABLES: &[(&str, Setter)] =
    &[("ANYMETAL_KERNELS_REQUIRE_MACHINE_CODE", |layer, text| {
        flag(&mut layer.kernels.require_machine_code, text)
    })];

/// The section's settings that count.
pub(super) fn resolve(layers: &Layers) -> Result<KernelsConfig, ConfigError> {
    let require =
        layers.find("ANYMETAL_KERNELS_REQUIRE_MACHINE_CODE", |layer| &layer.kernels.require_machine_code);
    Ok(KernelsConfig { require_machine_code: value(require).unwrap_or_default() })
}

/// The settings of kernels.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KernelsConfig {
    /// Whether kernels that would be interpreted, because there is no compiler for this machine's code, are
    /// refused.
    pub require_machine_code: bool,
}

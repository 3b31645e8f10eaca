//! The section `[kernels]`: what kernels may run as.

use std::path::PathBuf;
use std::str::FromStr;

use serde::Deserialize;

use super::{ConfigError, Layers, Setter, flag, parse, value};

/// How kernels are checked while they run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckSetting {
    /// As each library says.
    #[default]
    Library,
    /// Each variable, argument and buffer is checked for itself, also in programs that use Metal's own
    /// API, where buffers end with their last page by default.
    Bounds,
    /// Every kernel that is compiled from source runs under the sanitizer, in the interpreter.
    Sanitize,
    /// No kernel that is compiled from source has its accesses checked: for trusted code only.
    Off,
}

impl FromStr for CheckSetting {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "library" => Ok(Self::Library),
            "bounds" => Ok(Self::Bounds),
            "sanitize" => Ok(Self::Sanitize),
            "off" => Ok(Self::Off),
            _ => Err(()),
        }
    }
}

/// The words that a [`CheckSetting`] is.
const CHECK_EXPECTED: &str = "`library`, `bounds`, `sanitize` or `off`";

/// The section `[kernels]` of a layer.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct KernelsLayer {
    /// Whether kernels that would be interpreted are refused.
    pub require_machine_code: Option<bool>,
    /// How kernels are checked: `library`, `bounds`, `sanitize` or `off`.
    pub check: Option<CheckSetting>,
    /// The file that holds what the sanitizer found.
    pub check_report: Option<PathBuf>,
    /// What the sanitizer detects and where, in words.
    pub check_options: Option<String>,
}

/// The variables, one for each setting.
pub(super) const VARIABLES: &[(&str, Setter)] = &[
    ("ANYMETAL_KERNELS_REQUIRE_MACHINE_CODE", |layer, text| {
        flag(&mut layer.kernels.require_machine_code, text)
    }),
    ("ANYMETAL_CHECK", |layer, text| parse(&mut layer.kernels.check, text, CHECK_EXPECTED)),
    ("ANYMETAL_CHECK_REPORT", |layer, text| parse(&mut layer.kernels.check_report, text, "a path")),
    ("ANYMETAL_CHECK_OPTIONS", |layer, text| parse(&mut layer.kernels.check_options, text, "words")),
];

/// The section's settings that count.
pub(super) fn resolve(layers: &Layers) -> Result<KernelsConfig, ConfigError> {
    let require =
        layers.find("ANYMETAL_KERNELS_REQUIRE_MACHINE_CODE", |layer| &layer.kernels.require_machine_code);
    let check = layers.find("ANYMETAL_CHECK", |layer| &layer.kernels.check);
    let report = layers.find("ANYMETAL_CHECK_REPORT", |layer| &layer.kernels.check_report);
    let options = layers.find("ANYMETAL_CHECK_OPTIONS", |layer| &layer.kernels.check_options);
    Ok(KernelsConfig {
        require_machine_code: value(require).unwrap_or_default(),
        check: value(check).unwrap_or_default(),
        check_report: value(report),
        check_options: value(options),
    })
}

/// The settings of kernels.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct KernelsConfig {
    /// Whether kernels that would be interpreted, because there is no compiler for this machine's code, are
    /// refused.
    pub require_machine_code: bool,
    /// How kernels are checked.
    pub check: CheckSetting,
    /// The file that holds what the sanitizer found, as JSON.
    pub check_report: Option<PathBuf>,
    /// What the sanitizer detects and where, in words that it defines.
    pub check_options: Option<String>,
}

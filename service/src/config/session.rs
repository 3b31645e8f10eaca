//! The section `[session]`: what a process keeps for its next start.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{ConfigError, Origin, ServiceLayers, Setter, check, parse, value};

/// The section `[session]` of a layer.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct SessionLayer {
    /// The file, which ends in `.toml` or `.json`; without one nothing is kept.
    pub file: Option<PathBuf>,
}

/// The variables, one for each setting.
pub(super) const VARIABLES: &[(&str, Setter)] =
    &[("ANYMETAL_SESSION_FILE", |layer, text| parse(&mut layer.session.file, text, "a path"))];

/// A path, for messages.
struct Shown<'a>(&'a Path);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.display().fmt(formatter)
    }
}

/// The section's settings that count, checked.
pub(super) fn resolve(layers: &ServiceLayers) -> Result<SessionConfig, ConfigError> {
    let file = layers.find("ANYMETAL_SESSION_FILE", |layer| &layer.session.file);
    let shown: Option<(Shown<'_>, Origin)> =
        file.as_ref().map(|(path, origin)| (Shown(path), origin.clone()));
    let has_format =
        |shown: &Shown<'_>| shown.0.extension().is_some_and(|end| end == "toml" || end == "json");
    check("session.file", &shown, has_format, "its name must end in .toml or .json")?;
    Ok(SessionConfig { file: value(file) })
}

/// The settings of the session, checked.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionConfig {
    /// The file; `None`: nothing is kept.
    pub file: Option<PathBuf>,
}

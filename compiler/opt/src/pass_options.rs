//! Which passes run: the level, passes and features that are switched off, and a limit for bisection.
//!
//! Owns [`PassOptions`]. They are part of what a kernel's code depends on, so caches have them in their keys.

use std::fmt;
use std::str::FromStr;

use anymetal_diagnostics::suggest;
use serde::{Deserialize, Serialize};

use crate::feature::Feature;
use crate::manager::Pass;
use crate::pipeline::{ALL, pass_names};

/// How much the passes do, as clang's `-O`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub enum Level {
    /// Only the passes that the code generators require.
    O0,
    /// Those that simplify, too.
    O1,
    /// All, with the target's.
    #[default]
    O2,
}

impl Level {
    /// All levels.
    pub const ALL: [Level; 3] = [Level::O0, Level::O1, Level::O2];
}

impl fmt::Display for Level {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", *self as u8)
    }
}

impl FromStr for Level {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Level::ALL.into_iter().find(|level| level.to_string() == text);
        found.ok_or_else(|| format!("there is no level `{text}`; levels: 0, 1, 2"))
    }
}

/// Which passes run, and which special cases code generators have.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PassOptions {
    /// The level.
    pub level: Level,
    /// The names of passes and features that are switched off, in order, each once.
    disabled: Vec<String>,
    /// How many executions of passes that are not required run; `None`: all. As LLVM's `-opt-bisect-limit`.
    pub bisect_limit: Option<u64>,
}

impl PassOptions {
    /// All passes.
    pub fn new() -> Self {
        PassOptions::default()
    }

    /// With a level.
    pub fn level(mut self, level: Level) -> Self {
        self.level = level;
        self
    }

    /// Without a pass, or without a [`Feature`] of the code generator.
    ///
    /// # Errors
    /// A message for an unknown name, and for a pass that is required.
    pub fn disable(mut self, pass: &str) -> Result<Self, String> {
        check_optional(pass)?;
        if let Err(at) = self.disabled.binary_search_by(|known| known.as_str().cmp(pass)) {
            self.disabled.insert(at, pass.to_owned());
        }
        Ok(self)
    }

    /// With at most that many executions of passes.
    pub fn bisect_limit(mut self, limit: impl Into<Option<u64>>) -> Self {
        self.bisect_limit = limit.into();
        self
    }

    /// What is left for passes that run after others were executed that many times.
    #[must_use]
    pub fn after(&self, executions: u64) -> Self {
        let bisect_limit = self.bisect_limit.map(|limit| limit.saturating_sub(executions));
        PassOptions { bisect_limit, ..self.clone() }
    }

    /// The passes and features that are switched off.
    pub fn disabled(&self) -> &[String] {
        &self.disabled
    }

    /// Whether the code generator has a special case. The level and the limit do not matter.
    pub fn has(&self, feature: Feature) -> bool {
        !self.is_disabled(feature.name())
    }

    fn is_disabled(&self, name: &str) -> bool {
        self.disabled.iter().any(|disabled| disabled == name)
    }

    /// Whether the level and the names let a pass run.
    pub(crate) fn includes(&self, pass: &Pass) -> bool {
        pass.is_required() || (self.level >= pass.level && !self.is_disabled(pass.name))
    }
}

/// The text of all that they say, for keys of caches and messages: `-O2`.
impl fmt::Display for PassOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "-O{}", self.level)?;
        self.disabled.iter().try_for_each(|pass| write!(formatter, " --disable-pass {pass}"))?;
        self.bisect_limit.map_or(Ok(()), |limit| write!(formatter, " --opt-bisect-limit {limit}"))
    }
}

/// Checks that a name is that of a pass that can be switched off, or of a [`Feature`].
///
/// # Errors
/// A message that says why it cannot.
pub fn check_optional(name: &str) -> Result<(), String> {
    match ALL.iter().find(|pass| pass.name == name) {
        Some(pass) if pass.is_required() => {
            Err(format!("the pass `{name}` is required: the code generators rely on what it does"))
        }
        Some(_) => Ok(()),
        None if pass_names().any(|known| known == name) => {
            Err(format!("`{name}` works on the whole module, and is required"))
        }
        None if Feature::by_name(name).is_some() => Ok(()),
        None => Err(unknown_pass(name, optional_names())),
    }
}

/// The message for a name that is not among the `known` names of passes: the nearest name, and all names.
pub fn unknown_pass<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.collect();
    let hint = suggest(name, known.iter().copied()).map(|name| format!(", did you mean `{name}`?"));
    format!("there is no pass `{name}`{}; passes: {}", hint.unwrap_or_default(), known.join(", "))
}

/// The passes that can be switched off.
pub fn optional_passes() -> impl Iterator<Item = &'static Pass> {
    ALL.iter().copied().filter(|pass| !pass.is_required())
}

/// The names that [`PassOptions::disable`] takes: of passes, then of features.
pub fn optional_names() -> impl Iterator<Item = &'static str> {
    let features = Feature::ALL.iter().map(|feature| feature.name());
    optional_passes().map(|pass| pass.name).chain(features)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_names_all_that_differs() {
        let options = PassOptions::new().level(Level::O1).disable("licm").unwrap().disable("dce").unwrap();
        let options = options.disable("dce").unwrap().bisect_limit(7);
        assert_eq!(options.to_string(), "-O1 --disable-pass dce --disable-pass licm --opt-bisect-limit 7");
        assert_eq!(PassOptions::new().to_string(), "-O2");
    }

    #[test]
    fn required_and_unknown_passes_cannot_be_disabled() {
        for name in ["hoist_divergent_barriers", "inline", "no_such_pass", ""] {
            assert!(PassOptions::new().disable(name).is_err(), "{name}");
        }
        assert!(optional_names().all(|name| PassOptions::new().disable(name).is_ok()));
    }

    #[test]
    fn a_disabled_feature_is_off_alone() {
        let options = PassOptions::new().disable("codegen:bundles").unwrap();
        assert_eq!(options.to_string(), "-O2 --disable-pass codegen:bundles");
        assert!(Feature::ALL.iter().all(|&feature| options.has(feature) == (feature != Feature::Bundles)));
        assert!(PassOptions::new().disable("bundles").is_err(), "it is no pass");
    }

    #[test]
    fn an_unknown_pass_is_refused_with_the_nearest_name() {
        for (wrong, nearest) in [("lcim", Some("licm")), ("early_ces", Some("early_cse")), ("x", None)] {
            let refused = PassOptions::new().disable(wrong).unwrap_err();
            let hint = nearest.map(|name| format!("`{name}`?"));
            assert_eq!(hint.map(|hint| refused.contains(&hint)), nearest.map(|_| true), "{refused}");
            assert_eq!(refused.contains("did you mean"), nearest.is_some(), "{refused}");
        }
    }

    #[test]
    fn levels_come_back_from_their_text() {
        for level in Level::ALL {
            assert_eq!(level.to_string().parse(), Ok(level));
        }
        assert!("3".parse::<Level>().is_err());
    }
}

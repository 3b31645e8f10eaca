//! Reads settings from code, the environment and a file, each of which is a layer.
//!
//! Owns [`LayersOf`], the layers of a reader, and [`Sections`], the settings that a reader knows. Two crates
//! read the same file: this one and `anymetal-service`. Invariant: the uppermost layer that has a setting
//! counts, and each error names the origin of the value.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

/// Names a file of settings.
const FILE_VARIABLE: &str = "ANYMETAL_CONFIG";

/// Where a setting comes from, for messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The program.
    Code,
    /// An environment variable.
    Variable(&'static str),
    /// A file.
    File(PathBuf),
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Code => formatter.write_str("the program"),
            Origin::Variable(name) => formatter.write_str(name),
            Origin::File(path) => write!(formatter, "{}", path.display()),
        }
    }
}

/// Why settings were refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A file that cannot be read.
    #[error("{}: {reason}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why, as the system says.
        reason: String,
    },
    /// A file that is no valid TOML, or has a setting that does not exist or has the wrong form.
    #[error("{}: {reason}", path.display())]
    InvalidFile {
        /// The file.
        path: PathBuf,
        /// Why, with line and column.
        reason: String,
    },
    /// A variable's value of the wrong form.
    #[error("{variable}: `{value}` is not {expected}")]
    InvalidVariable {
        /// The variable.
        variable: &'static str,
        /// Its value.
        value: String,
        /// What it should be.
        expected: &'static str,
    },
    /// A value that makes no sense, or not with another.
    #[error("{setting} = {value} (from {origin}): {reason}")]
    Invalid {
        /// The setting.
        setting: &'static str,
        /// Its value.
        value: String,
        /// Where it comes from.
        origin: Origin,
        /// What is wrong.
        reason: &'static str,
    },
    /// A setting that only the crate `anymetal-service` fulfils, in a program that does not start it.
    #[error(
        "{setting} (from {origin}): metrics, traces and alerts are exported by the crate `anymetal-service`, which \
         this program does not start"
    )]
    NeedsService {
        /// The setting.
        setting: &'static str,
        /// Where it comes from.
        origin: Origin,
    },
}

/// Sets a variable's value in a layer, or returns what the value should look like.
pub type Setter<L> = fn(&mut L, &str) -> Result<(), &'static str>;

/// The sections that a reader knows, as a source sets them. The layer below supplies missing settings.
pub trait Sections: Default + DeserializeOwned {
    /// All settings of these sections, checked.
    type Config;

    /// All variables, and the function that sets each.
    fn variables() -> Vec<(&'static str, Setter<Self>)>;

    /// The settings that count, checked.
    fn resolve(layers: &LayersOf<Self>) -> Result<Self::Config, ConfigError>;
}

/// The layers of a program's settings.
#[derive(Debug, Clone, Default)]
pub struct LayersOf<L> {
    /// What the program sets.
    pub code: L,
    /// What the environment sets.
    pub environment: L,
    /// What a file sets, and the file.
    pub file: Option<(PathBuf, L)>,
}

impl<L: Sections> LayersOf<L> {
    /// The environment, and a file: the one given, or else the one that `ANYMETAL_CONFIG` names.
    pub fn load(file: Option<&Path>) -> Result<Self, ConfigError> {
        let named = || anymetal_environment::value(FILE_VARIABLE).map(PathBuf::from);
        let file = match file.map(Path::to_owned).or_else(named) {
            Some(path) => Some((path.clone(), from_file(&path)?)),
            None => None,
        };
        Ok(LayersOf { code: L::default(), environment: from_environment()?, file })
    }

    /// The uppermost value of a setting and where it comes from.
    pub fn find<T: Clone>(
        &self,
        variable: &'static str,
        field: impl Fn(&L) -> &Option<T>,
    ) -> Option<(T, Origin)> {
        self.find_with(variable, |layer| field(layer).clone())
    }

    /// As [`LayersOf::find`], for a value that is not stored as a field.
    pub(super) fn find_with<T>(
        &self,
        variable: &'static str,
        field: impl Fn(&L) -> Option<T>,
    ) -> Option<(T, Origin)> {
        let code = field(&self.code).map(|value| (value, Origin::Code));
        let environment = || field(&self.environment).map(|value| (value, Origin::Variable(variable)));
        let file = || {
            let (path, layer) = self.file.as_ref()?;
            Some((field(layer)?, Origin::File(path.clone())))
        };
        code.or_else(environment).or_else(file)
    }

    /// The settings that count, checked.
    pub fn resolve(&self) -> Result<L::Config, ConfigError> {
        L::resolve(self)
    }
}

/// A file's settings.
pub fn from_file<L: Sections>(path: &Path) -> Result<L, ConfigError> {
    /// A file with every setting has a few KiB.
    const MAX_BYTES: u64 = 1 << 20;
    let text = anymetal_files::read_text(path, MAX_BYTES)
        .map_err(|error| ConfigError::Unreadable { path: path.to_owned(), reason: error.reason() })?;
    from_toml(&text, path)
}

/// The settings of a file's text.
pub fn from_toml<L: Sections>(text: &str, path: &Path) -> Result<L, ConfigError> {
    toml::from_str(text).map_err(|error| ConfigError::InvalidFile {
        path: path.to_owned(),
        reason: error.to_string().trim_end().to_owned(),
    })
}

/// The settings of the environment. Empty variables count as missing.
pub fn from_environment<L: Sections>() -> Result<L, ConfigError> {
    from_variables(anymetal_environment::text)
}

/// The settings of variables with these values.
pub fn from_variables<L: Sections>(variable: impl Fn(&str) -> Option<String>) -> Result<L, ConfigError> {
    let mut layer = L::default();
    for (name, set) in L::variables() {
        let Some(value) = variable(name).filter(|value| !value.trim().is_empty()) else { continue };
        if let Err(expected) = set(&mut layer, value.trim()) {
            return Err(ConfigError::InvalidVariable { variable: name, value, expected });
        }
    }
    Ok(layer)
}

/// Sets a field from a variable's text.
pub fn parse<T: std::str::FromStr>(
    field: &mut Option<T>,
    text: &str,
    expected: &'static str,
) -> Result<(), &'static str> {
    *field = Some(text.parse().map_err(|_| expected)?);
    Ok(())
}

/// Sets a flag from a variable's text.
pub fn flag(field: &mut Option<bool>, text: &str) -> Result<(), &'static str> {
    *field = Some(match text {
        "0" | "false" => false,
        "1" | "true" => true,
        _ => return Err("0, 1, true or false"),
    });
    Ok(())
}

/// The value that [`LayersOf::find`] found.
pub fn value<T>(found: Option<(T, Origin)>) -> Option<T> {
    found.map(|(value, _)| value)
}

/// Refuses a value for which the condition does not hold.
pub fn check<T: fmt::Display>(
    setting: &'static str,
    found: &Option<(T, Origin)>,
    holds: impl Fn(&T) -> bool,
    reason: &'static str,
) -> Result<(), ConfigError> {
    match found {
        Some((value, origin)) if !holds(value) => {
            let (value, origin) = (value.to_string(), origin.clone());
            Err(ConfigError::Invalid { setting, value, origin, reason })
        }
        _ => Ok(()),
    }
}

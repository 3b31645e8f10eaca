//! Settings in layers: what code sets counts over `ANYMETAL_*`, that over a file, that over the defaults.
//!
//! Owns [`Layer`], one source's settings, each of which may be missing, and [`RuntimeConfig`], the checked
//! result. A section of the file is one struct; a setting is one field there and one row in [`VARIABLES`].
//!
//! Invariant: a [`RuntimeConfig`] that exists is valid; each error names the place the value came from, the
//! setting, the value and what it should look like. This module reads the environment, no other does.

mod quantity;

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;

use crate::memory::budget::Budget;
use crate::memory::pool::{PoolLimits, PoolOptions};

pub use quantity::{Size, Span};

/// One source's settings. What is missing is left to the layer below.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Layer {
    /// The section `[memory]`.
    pub memory: MemoryLayer,
}

/// The section `[memory]` of a layer.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct MemoryLayer {
    /// Bytes of all blocks of a pool.
    pub pool_bytes: Option<Size>,
    /// All blocks of a pool.
    pub pool_buffers: Option<usize>,
    /// Bytes of a pool's idle blocks.
    pub pool_idle_bytes: Option<Size>,
    /// How long a block may be idle.
    pub pool_idle_age: Option<Span>,
    /// The working set; missing everywhere: what the device recommends.
    pub budget: Option<Size>,
    /// Bytes of the staging ring.
    pub staging_bytes: Option<Size>,
    /// Whether live resources keep their backtraces.
    pub backtraces: Option<bool>,
}

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
}

/// Takes a variable's value over, or says what it should look like.
type Setter = fn(&mut Layer, &str) -> Result<(), &'static str>;

/// The variables, one for each setting.
const VARIABLES: &[(&str, Setter)] = &[
    ("ANYMETAL_MEMORY_POOL_BYTES", |layer, text| parse(&mut layer.memory.pool_bytes, text, Size::EXPECTED)),
    ("ANYMETAL_MEMORY_POOL_BUFFERS", |layer, text| {
        parse(&mut layer.memory.pool_buffers, text, "a whole number")
    }),
    ("ANYMETAL_MEMORY_POOL_IDLE_BYTES", |layer, text| {
        parse(&mut layer.memory.pool_idle_bytes, text, Size::EXPECTED)
    }),
    ("ANYMETAL_MEMORY_POOL_IDLE_AGE", |layer, text| {
        parse(&mut layer.memory.pool_idle_age, text, Span::EXPECTED)
    }),
    ("ANYMETAL_MEMORY_BUDGET", |layer, text| parse(&mut layer.memory.budget, text, Size::EXPECTED)),
    ("ANYMETAL_MEMORY_STAGING_BYTES", |layer, text| {
        parse(&mut layer.memory.staging_bytes, text, Size::EXPECTED)
    }),
    ("ANYMETAL_MEMORY_BACKTRACES", |layer, text| {
        let value = match text {
            "0" | "false" => false,
            "1" | "true" => true,
            _ => return Err("0, 1, true or false"),
        };
        layer.memory.backtraces = Some(value);
        Ok(())
    }),
];

fn parse<T: std::str::FromStr>(
    field: &mut Option<T>,
    text: &str,
    expected: &'static str,
) -> Result<(), &'static str> {
    *field = Some(text.parse().map_err(|_| expected)?);
    Ok(())
}

impl Layer {
    /// A file's settings.
    pub fn from_file(path: &Path) -> Result<Self, ConfigError> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| ConfigError::Unreadable { path: path.to_owned(), reason: error.to_string() })?;
        Self::from_toml(&text, path)
    }

    /// The settings of a file's text.
    pub fn from_toml(text: &str, path: &Path) -> Result<Self, ConfigError> {
        toml::from_str(text).map_err(|error| ConfigError::InvalidFile {
            path: path.to_owned(),
            reason: error.to_string().trim_end().to_owned(),
        })
    }

    /// The settings of the environment. Empty variables count as missing.
    pub fn from_environment() -> Result<Self, ConfigError> {
        Self::from_variables(|name| std::env::var(name).ok())
    }

    fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        let mut layer = Layer::default();
        for (name, set) in VARIABLES {
            let Some(value) = variable(name).filter(|value| !value.trim().is_empty()) else { continue };
            if let Err(expected) = set(&mut layer, value.trim()) {
                return Err(ConfigError::InvalidVariable { variable: name, value, expected });
            }
        }
        Ok(layer)
    }
}

/// The layers of a program's settings.
#[derive(Debug, Clone, Default)]
pub struct Layers {
    /// What the program sets.
    pub code: Layer,
    /// What the environment sets.
    pub environment: Layer,
    /// What a file sets, and the file.
    pub file: Option<(PathBuf, Layer)>,
}

impl Layers {
    /// The environment, and a file if one is given.
    pub fn load(file: Option<&Path>) -> Result<Self, ConfigError> {
        let file = match file {
            Some(path) => Some((path.to_owned(), Layer::from_file(path)?)),
            None => None,
        };
        Ok(Layers { code: Layer::default(), environment: Layer::from_environment()?, file })
    }

    /// The uppermost value of a setting and where it comes from.
    fn find<T: Clone>(
        &self,
        variable: &'static str,
        field: impl Fn(&Layer) -> &Option<T>,
    ) -> Option<(T, Origin)> {
        let code = field(&self.code).clone().map(|value| (value, Origin::Code));
        let environment =
            || field(&self.environment).clone().map(|value| (value, Origin::Variable(variable)));
        let file = || {
            let (path, layer) = self.file.as_ref()?;
            Some((field(layer).clone()?, Origin::File(path.clone())))
        };
        code.or_else(environment).or_else(file)
    }

    /// The settings that count, checked.
    pub fn resolve(&self) -> Result<RuntimeConfig, ConfigError> {
        let defaults = MemoryConfig::default();
        let pool_bytes = self.find("ANYMETAL_MEMORY_POOL_BYTES", |layer| &layer.memory.pool_bytes);
        let buffers = self.find("ANYMETAL_MEMORY_POOL_BUFFERS", |layer| &layer.memory.pool_buffers);
        let idle_bytes = self.find("ANYMETAL_MEMORY_POOL_IDLE_BYTES", |layer| &layer.memory.pool_idle_bytes);
        let idle_age = self.find("ANYMETAL_MEMORY_POOL_IDLE_AGE", |layer| &layer.memory.pool_idle_age);
        let budget = self.find("ANYMETAL_MEMORY_BUDGET", |layer| &layer.memory.budget);
        let staging = self.find("ANYMETAL_MEMORY_STAGING_BYTES", |layer| &layer.memory.staging_bytes);
        let backtraces = self.find("ANYMETAL_MEMORY_BACKTRACES", |layer| &layer.memory.backtraces);

        let no_pool = "a pool without room refuses every request";
        check("memory.pool-bytes", &pool_bytes, |size| size.0 > 0, no_pool)?;
        check("memory.pool-buffers", &buffers, |count| *count > 0, no_pool)?;
        check("memory.budget", &budget, |size| size.0 > 0, "a budget of nothing refuses every request")?;
        check("memory.staging-bytes", &staging, |size| size.0 > 0, "a ring without room takes no upload")?;
        let pool_limit = pool_bytes.as_ref().map_or(Size(u64::MAX), |(size, _)| *size);
        let above = "more idle bytes than memory.pool-bytes allows in all";
        check("memory.pool-idle-bytes", &idle_bytes, |idle| *idle <= pool_limit, above)?;
        Ok(RuntimeConfig {
            memory: MemoryConfig {
                pool_bytes: value(pool_bytes).map_or(defaults.pool_bytes, |size| size.0),
                pool_buffers: value(buffers).unwrap_or(defaults.pool_buffers),
                pool_idle_bytes: value(idle_bytes).map_or(defaults.pool_idle_bytes, |size| size.0),
                pool_idle_age: value(idle_age).map_or(defaults.pool_idle_age, |span| span.0),
                budget: value(budget).map(|size| size.0),
                staging_bytes: value(staging).map_or(defaults.staging_bytes, |size| size.0),
                backtraces: value(backtraces).unwrap_or(defaults.backtraces),
            },
        })
    }
}

fn value<T>(found: Option<(T, Origin)>) -> Option<T> {
    found.map(|(value, _)| value)
}

fn check<T: fmt::Display>(
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

/// All settings, checked.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RuntimeConfig {
    /// Memory.
    pub memory: MemoryConfig,
}

/// The settings of memory, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryConfig {
    /// Bytes of all blocks of a pool.
    pub pool_bytes: u64,
    /// All blocks of a pool.
    pub pool_buffers: usize,
    /// Bytes of a pool's idle blocks.
    pub pool_idle_bytes: u64,
    /// How long a block may be idle.
    pub pool_idle_age: Duration,
    /// The working set; `None`: what the device recommends.
    pub budget: Option<u64>,
    /// Bytes of the staging ring.
    pub staging_bytes: u64,
    /// Whether live resources keep their backtraces.
    pub backtraces: bool,
}

impl Default for MemoryConfig {
    fn default() -> Self {
        let limits = PoolLimits::default();
        MemoryConfig {
            pool_bytes: limits.max_bytes,
            pool_buffers: limits.max_buffers,
            pool_idle_bytes: limits.max_idle_bytes,
            pool_idle_age: Duration::from_secs(60),
            budget: None,
            staging_bytes: 32 << 20,
            backtraces: false,
        }
    }
}

impl MemoryConfig {
    /// The options of a pool under that budget.
    pub fn pool_options(&self, budget: Budget) -> PoolOptions {
        PoolOptions {
            limits: PoolLimits {
                max_bytes: self.pool_bytes,
                max_buffers: self.pool_buffers,
                max_idle_bytes: self.pool_idle_bytes,
            },
            backtraces: self.backtraces,
            budget: Some(budget),
            ..PoolOptions::default()
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn file(text: &str) -> Result<Layers, ConfigError> {
        let path = Path::new("anymetal.toml");
        let layer = Layer::from_toml(text, path)?;
        Ok(Layers { file: Some((path.to_owned(), layer)), ..Layers::default() })
    }

    fn environment(variables: &'static [(&str, &str)]) -> Result<Layer, ConfigError> {
        let value =
            |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).into());
        Layer::from_variables(value)
    }

    #[test]
    fn upper_layers_count_setting_by_setting() {
        let mut layers = file(
            "[memory]\npool-bytes = '1 GiB'\npool-buffers = 100\npool-idle-age = '500 ms'\nstaging-bytes = 4096\n",
        )
        .unwrap();
        layers.environment =
            environment(&[("ANYMETAL_MEMORY_POOL_BUFFERS", " 200 "), ("ANYMETAL_MEMORY_BUDGET", "")])
                .unwrap();
        layers.code.memory.staging_bytes = Some(Size(8192));
        let memory = layers.resolve().unwrap().memory;
        let expected = MemoryConfig {
            pool_bytes: 1 << 30,
            pool_buffers: 200,
            pool_idle_age: Duration::from_millis(500),
            staging_bytes: 8192,
            ..MemoryConfig::default()
        };
        assert_eq!(memory, expected);
        assert_eq!(memory.pool_options(Budget::new(1)).limits.max_buffers, 200);
        assert_eq!(Layers::default().resolve(), Ok(RuntimeConfig::default()));
    }

    #[test]
    fn errors_name_place_setting_value_and_form() {
        let unknown = file("[memory]\npool-byte = 1\n").unwrap_err().to_string();
        assert!(unknown.starts_with("anymetal.toml: ") && unknown.contains("line 2"), "{unknown}");
        assert!(unknown.contains("pool-byte") && unknown.contains("`pool-bytes`"), "{unknown}");
        let size = file("[memory]\nbudget = 'much'\n").unwrap_err().to_string();
        assert!(size.contains("`much` is not a size, such as 4096 or 512 MiB"), "{size}");
        let variable = environment(&[("ANYMETAL_MEMORY_POOL_BUFFERS", "-1")]).unwrap_err();
        assert_eq!(variable.to_string(), "ANYMETAL_MEMORY_POOL_BUFFERS: `-1` is not a whole number");
        let flag = environment(&[("ANYMETAL_MEMORY_BACKTRACES", "yes")]).unwrap_err();
        assert_eq!(flag.to_string(), "ANYMETAL_MEMORY_BACKTRACES: `yes` is not 0, 1, true or false");
        let mut layers = file("[memory]\npool-bytes = 1000\n").unwrap();
        layers.environment = environment(&[("ANYMETAL_MEMORY_POOL_IDLE_BYTES", "1 KiB")]).unwrap();
        assert_eq!(
            layers.resolve().unwrap_err().to_string(),
            "memory.pool-idle-bytes = 1024 (from ANYMETAL_MEMORY_POOL_IDLE_BYTES): more idle bytes than \
             memory.pool-bytes allows in all"
        );
        let none = file("[memory]\npool-buffers = 0\n").unwrap().resolve().unwrap_err();
        assert!(none.to_string().starts_with("memory.pool-buffers = 0 (from anymetal.toml): "), "{none}");
        let missing = Layer::from_file(Path::new("no/such/file.toml")).unwrap_err();
        assert!(matches!(missing, ConfigError::Unreadable { .. }));
    }
}

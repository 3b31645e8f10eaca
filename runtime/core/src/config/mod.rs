//! Settings in layers: what code sets counts over `ANYMETAL_*`, that over a file, that over the defaults.
//!
//! Owns [`Layer`], one source's settings, each of which may be missing, and [`RuntimeConfig`], the checked
//! result. A section of the file is one file here, with its layer, its variables, its checks and its
//! defaults; a setting is one field and one row there.
//!
//! Invariant: a [`RuntimeConfig`] that exists is valid; each error names the place the value came from, the
//! setting, the value and what it should look like. Variables are read through `anymetal_environment`.

mod audit;
mod health;
mod history;
mod kernels;
mod memory;
mod policy;
mod quantity;
mod session;
mod streams;
mod telemetry;

use std::fmt;
use std::path::{Path, PathBuf};

use anymetal_policy::policies::Policies;
use anymetal_types::family::Family;
use serde::Deserialize;

pub use audit::{AuditConfig, AuditDurability, AuditFailing, AuditLayer};
pub use health::{HealthConfig, HealthLayer, Share};
pub use history::{HistoryConfig, HistoryLayer};
pub use kernels::{CheckSetting, KernelsConfig, KernelsLayer};
pub use memory::{MemoryConfig, MemoryLayer};
pub use policy::{
    AdaptLayer, BreakerLayer, BulkheadLayer, DeadlineLayer, LadderLayer, PolicyLayer, RetryLayer,
};
pub use quantity::{Size, Span};
pub use session::{SessionConfig, SessionLayer};
pub use streams::{StreamsConfig, StreamsLayer};
pub use telemetry::{TelemetryConfig, TelemetryLayer};

/// Names a file of settings.
const FILE_VARIABLE: &str = "ANYMETAL_CONFIG";

/// One source's settings. What is missing is left to the layer below.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Layer {
    /// The name of the device that is used where the program asks for none.
    pub device: Option<String>,
    /// The family of GPUs whose refusals the device is to have.
    pub family: Option<Family>,
    /// The section `[kernels]`.
    pub kernels: KernelsLayer,
    /// The section `[memory]`.
    pub memory: MemoryLayer,
    /// The section `[streams]`.
    pub streams: StreamsLayer,
    /// The section `[history]`.
    pub history: HistoryLayer,
    /// The section `[policy]`.
    pub policy: PolicyLayer,
    /// The section `[telemetry]`.
    pub telemetry: TelemetryLayer,
    /// The section `[health]`.
    pub health: HealthLayer,
    /// The section `[audit]`.
    pub audit: AuditLayer,
    /// The section `[session]`.
    pub session: SessionLayer,
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
}

/// Takes a variable's value over, or says what it should look like.
type Setter = fn(&mut Layer, &str) -> Result<(), &'static str>;

/// The variables of no section.
const VARIABLES: &[(&str, Setter)] = &[
    ("ANYMETAL_DEVICE", |layer, text| {
        layer.device = Some(text.to_owned());
        Ok(())
    }),
    ("ANYMETAL_FAMILY", |layer, text| parse(&mut layer.family, text, Family::EXPECTED)),
];

/// The variables of all sections.
fn variables() -> impl Iterator<Item = &'static (&'static str, Setter)> {
    let sections = [
        VARIABLES,
        kernels::VARIABLES,
        memory::VARIABLES,
        streams::VARIABLES,
        history::VARIABLES,
        telemetry::VARIABLES,
        health::VARIABLES,
        audit::VARIABLES,
        session::VARIABLES,
    ];
    sections.into_iter().chain(policy::VARIABLES).flatten()
}

fn parse<T: std::str::FromStr>(
    field: &mut Option<T>,
    text: &str,
    expected: &'static str,
) -> Result<(), &'static str> {
    *field = Some(text.parse().map_err(|_| expected)?);
    Ok(())
}

fn flag(field: &mut Option<bool>, text: &str) -> Result<(), &'static str> {
    *field = Some(match text {
        "0" | "false" => false,
        "1" | "true" => true,
        _ => return Err("0, 1, true or false"),
    });
    Ok(())
}

impl Layer {
    /// A file's settings.
    pub fn from_file(path: &Path) -> Result<Self, ConfigError> {
        /// A file with every setting has a few KiB.
        const MAX_BYTES: u64 = 1 << 20;
        let text = anymetal_files::read_text(path, MAX_BYTES)
            .map_err(|error| ConfigError::Unreadable { path: path.to_owned(), reason: error.reason() })?;
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
        Self::from_variables(anymetal_environment::text)
    }

    fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        let mut layer = Layer::default();
        for (name, set) in variables() {
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
    /// The environment, and a file: the one given, or else the one that `ANYMETAL_CONFIG` names.
    pub fn load(file: Option<&Path>) -> Result<Self, ConfigError> {
        let named = || anymetal_environment::value(FILE_VARIABLE).map(PathBuf::from);
        let file = match file.map(Path::to_owned).or_else(named) {
            Some(path) => Some((path.clone(), Layer::from_file(&path)?)),
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
        Ok(RuntimeConfig {
            device: value(self.find("ANYMETAL_DEVICE", |layer| &layer.device)),
            family: value(self.find("ANYMETAL_FAMILY", |layer| &layer.family)),
            kernels: kernels::resolve(self)?,
            memory: memory::resolve(self)?,
            streams: streams::resolve(self)?,
            history: history::resolve(self)?,
            policy: policy::resolve(self)?,
            telemetry: telemetry::resolve(self)?,
            health: health::resolve(self)?,
            audit: audit::resolve(self)?,
            session: session::resolve(self)?,
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
    /// The device to use; `None`: the machine's best.
    pub device: Option<String>,
    /// The family of GPUs whose refusals the device has; `None`: only its own.
    pub family: Option<Family>,
    /// Kernels.
    pub kernels: KernelsConfig,
    /// Memory.
    pub memory: MemoryConfig,
    /// Streams.
    pub streams: StreamsConfig,
    /// The command history.
    pub history: HistoryConfig,
    /// What is done when work fails.
    pub policy: Policies,
    /// Where metrics and traces go.
    pub telemetry: TelemetryConfig,
    /// When a component is degraded or unhealthy, and who is told.
    pub health: HealthConfig,
    /// The audit log.
    pub audit: AuditConfig,
    /// What is kept for the next start.
    pub session: SessionConfig,
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::time::Duration;

    use anymetal_hal::command::Deadline;

    use super::*;
    use crate::memory::budget::Budget;
    use crate::stream::StreamOptions;

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
        let settings = "device = 'cpu'\n[kernels]\nrequire-machine-code = true\n[streams]\ncommand-buffers = 7\nwait = '0 s'\ndeadline = '5 min'\n[history]\nentries = 5\nreplayable = true\n";
        let mut layers = file(settings).unwrap();
        layers.environment = environment(&[("ANYMETAL_STREAMS_IN_FLIGHT", "3")]).unwrap();
        let config = layers.resolve().unwrap();
        assert!(
            config.kernels.require_machine_code && !RuntimeConfig::default().kernels.require_machine_code
        );
        let options = config.streams.options(StreamOptions::default());
        assert_eq!((options.max_command_buffers, options.max_in_flight), (7, 3));
        assert_eq!(options.when_exhausted, anymetal_hal::queue::WhenFull::Refuse, "waiting for no time");
        assert_eq!(options.deadline, Deadline::After(Duration::from_secs(300)));
        layers.environment = environment(&[("ANYMETAL_STREAMS_DEADLINE", "0 s")]).unwrap();
        assert_eq!(layers.resolve().unwrap().streams.deadline, Deadline::Never);
        assert_eq!((config.history.entries, config.history.replayable), (5, true));
        assert_eq!(config.device.as_deref(), Some("cpu"));
    }

    #[test]
    fn audit_and_session_are_set_by_file_and_environment_and_checked() {
        let mut layers =
            file("[audit]\nfolder = 'log'\nwhen-failing = 'go-on'\nrotate-bytes = '1 MiB'\n").unwrap();
        layers.environment = environment(&[
            ("ANYMETAL_AUDIT_KEEP_FILES", "3"),
            ("ANYMETAL_AUDIT_DURABILITY", "system"),
            ("ANYMETAL_SESSION_FILE", "warm.toml"),
        ])
        .unwrap();
        let config = layers.resolve().unwrap();
        let expected = AuditConfig {
            folder: Some("log".into()),
            when_failing: AuditFailing::GoOn,
            durability: AuditDurability::System,
            rotate_bytes: 1 << 20,
            keep_files: std::num::NonZeroU32::new(3),
        };
        assert_eq!((config.audit, config.session.file), (expected, Some("warm.toml".into())));

        let refused = |text: &str| file(text).unwrap().resolve().unwrap_err().to_string();
        assert!(refused("[audit]\nrotate-bytes = 100").contains("less than 4 KiB"));
        assert!(refused("[audit]\nkeep-files = 0").contains("at least one file"));
        assert!(refused("[session]\nfile = 'warm.bin'").contains(".toml or .json"));
        assert!(environment(&[("ANYMETAL_AUDIT_WHEN_FAILING", "ignore")]).is_err());
    }

    #[test]
    fn telemetry_and_health_are_set_by_file_and_environment_and_checked() {
        let mut layers = file(
            "[telemetry]\nprometheus = '127.0.0.1:9464'\nsample = 7\n[health]\nmemory-degraded = 0.5\nbetter-for = '1 s'\n",
        )
        .unwrap();
        layers.environment = environment(&[
            ("ANYMETAL_TELEMETRY_OTLP", "http://127.0.0.1:4318"),
            ("ANYMETAL_HEALTH_FAILURES_DEGRADED", "75 %"),
        ])
        .unwrap();
        let config = layers.resolve().unwrap();
        assert_eq!(config.telemetry.prometheus, Some(([127, 0, 0, 1], 9464).into()));
        assert_eq!(
            (config.telemetry.otlp.as_deref(), config.telemetry.sample),
            (Some("http://127.0.0.1:4318"), 7)
        );
        assert_eq!(config.health.memory, (Share::thousandths(500), Share::thousandths(950)));
        assert_eq!(
            config.health.failures,
            (Share::thousandths(750), Share::thousandths(750)),
            "never before"
        );
        assert_eq!(config.health.better_for, Duration::from_secs(1));
        let port = environment(&[("ANYMETAL_TELEMETRY_PROMETHEUS", "9464")]).unwrap_err().to_string();
        assert!(port.ends_with("`9464` is not an address with a port, such as 127.0.0.1:9464"), "{port}");
        let https = file("[telemetry]\notlp = 'https://a'\n").unwrap().resolve().unwrap_err().to_string();
        assert!(https.contains("telemetry.otlp = https://a") && https.contains("only http://"), "{https}");
        let order = file("[health]\nmemory-unhealthy = '10 %'\n").unwrap().resolve().unwrap_err().to_string();
        assert!(order.starts_with("health.memory-unhealthy = 0.1 "), "{order}");
        let share = file("[health]\nmemory-degraded = 2\n").unwrap_err().to_string();
        assert!(share.contains("a share from 0 to 1"), "{share}");
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
        let wait = environment(&[("ANYMETAL_STREAMS_WAIT", "10")]).unwrap_err();
        assert_eq!(wait.to_string(), "ANYMETAL_STREAMS_WAIT: `10` is not a time, such as 30 s or 250 ms");
        let more = file("[streams]\ncommand-buffers = 4\nin-flight = 5\n").unwrap().resolve().unwrap_err();
        assert!(more.to_string().contains("more than streams.command-buffers allows in all"), "{more}");
        let none = file("[memory]\npool-buffers = 0\n").unwrap().resolve().unwrap_err();
        assert!(none.to_string().starts_with("memory.pool-buffers = 0 (from anymetal.toml): "), "{none}");
        let missing = Layer::from_file(Path::new("no/such/file.toml")).unwrap_err();
        assert!(matches!(missing, ConfigError::Unreadable { .. }));
    }
}

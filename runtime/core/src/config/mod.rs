//! Settings in layers: what code sets counts over `ANYMETAL_*`, that over a file, that over the defaults.
//!
//! Owns [`Layer`], one source's settings, each of which may be missing, and [`RuntimeConfig`], the checked
//! result. A section of the file is one file here, with its layer, its variables, its checks and its
//! defaults; a setting is one field and one row there. [`layers`] reads them. The crate `anymetal-service`
//! uses it for its own sections of the same file, which are raw tables here ([`service`]).
//!
//! Invariant: a [`RuntimeConfig`] that exists is valid; each error names the place the value came from, the
//! setting, the value and what it should look like. Variables are read through `anymetal_environment`.

mod history;
mod kernels;
pub mod layers;
mod memory;
mod quantity;
mod service;
mod streams;

use std::path::Path;

use anymetal_types::family::Family;
use serde::Deserialize;

pub use history::{HistoryConfig, HistoryLayer};
pub use kernels::{CheckSetting, KernelsConfig, KernelsLayer};
pub use layers::{ConfigError, Origin};
pub use memory::{MemoryConfig, MemoryLayer};
pub use quantity::{Size, Span};
pub use service::announce as announce_service;
pub use streams::{StreamsConfig, StreamsLayer};

use layers::{LayersOf, Sections, check, flag, parse, value};
use service::RawSection;

/// Takes a variable's value over, or says what it should look like.
type Setter = layers::Setter<Layer>;

/// The layers of a program's settings.
pub type Layers = LayersOf<Layer>;

/// One source's settings. What is missing is left to the layer below.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
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
    policy: RawSection,
    telemetry: RawSection,
    health: RawSection,
    audit: RawSection,
    session: RawSection,
}

/// The variables of no section.
const VARIABLES: &[(&str, Setter)] = &[
    ("ANYMETAL_DEVICE", |layer, text| {
        layer.device = Some(text.to_owned());
        Ok(())
    }),
    ("ANYMETAL_FAMILY", |layer, text| parse(&mut layer.family, text, Family::EXPECTED)),
];

impl Sections for Layer {
    type Config = RuntimeConfig;

    fn variables() -> Vec<(&'static str, Setter)> {
        let sections = [
            VARIABLES,
            kernels::VARIABLES,
            memory::VARIABLES,
            streams::VARIABLES,
            history::VARIABLES,
            &service::variables(),
        ];
        sections.concat()
    }

    fn resolve(layers: &Layers) -> Result<RuntimeConfig, ConfigError> {
        service::check(layers)?;
        Ok(RuntimeConfig {
            device: value(layers.find("ANYMETAL_DEVICE", |layer| &layer.device)),
            family: value(layers.find("ANYMETAL_FAMILY", |layer| &layer.family)),
            kernels: kernels::resolve(layers)?,
            memory: memory::resolve(layers)?,
            streams: streams::resolve(layers)?,
            history: history::resolve(layers)?,
        })
    }
}

impl Layer {
    /// A file's settings.
    pub fn from_file(path: &Path) -> Result<Self, ConfigError> {
        layers::from_file(path)
    }

    /// The settings of a file's text.
    pub fn from_toml(text: &str, path: &Path) -> Result<Self, ConfigError> {
        layers::from_toml(text, path)
    }

    /// The settings of the environment. Empty variables count as missing.
    pub fn from_environment() -> Result<Self, ConfigError> {
        layers::from_environment()
    }
}

/// All settings, checked.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
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
        layers::from_variables(value)
    }

    #[test]
    fn upper_layers_count_setting_by_setting() {
        let mut layers = file(
            "[memory]\npool-bytes = '1 GiB'\npool-buffers = 100\npool-idle-age = '500 ms'\nstaging-bytes = 4096\ncode-bytes = '1 MiB'\n",
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
            code_bytes: 1 << 20,
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

    #[test]
    fn sections_of_the_service_are_known_by_name_only() {
        let other =
            "[policy.retry]\nattempts = 'many'\n[audit]\nfolder = 1\n[session]\n[health]\nenabled = false\n";
        assert_eq!(file(other).unwrap().resolve(), Ok(RuntimeConfig::default()));
        let unknown = file("[polici]\n").unwrap_err().to_string();
        assert!(unknown.contains("line 1") && unknown.contains("`policy`"), "{unknown}");
        assert!(file("policy = 3\n").is_err(), "no section");
    }

    #[test]
    fn a_request_for_an_exporter_needs_the_service() {
        let needs = |layers: Layers| match layers.resolve() {
            Err(ConfigError::NeedsService { setting, origin }) => (setting, origin),
            other => panic!("{other:?}"),
        };
        let in_file = |text: &str| needs(file(text).unwrap());
        let path = || Origin::File("anymetal.toml".into());
        assert_eq!(in_file("[telemetry]\nprometheus = '127.0.0.1:1'\n"), ("telemetry.prometheus", path()));
        assert_eq!(in_file("[telemetry]\notlp = 'http://a'\n"), ("telemetry.otlp", path()));
        assert_eq!(in_file("[health]\nwebhook = 'http://a'\n"), ("health.webhook", path()));
        assert_eq!(in_file("[health]\nenabled = true\n"), ("health.enabled", path()));
        let environment_only =
            |variables| Layers { environment: environment(variables).unwrap(), ..Layers::default() };
        let variable = environment_only(&[("ANYMETAL_HEALTH_ENABLED", "1")]);
        assert_eq!(needs(variable), ("health.enabled", Origin::Variable("ANYMETAL_HEALTH_ENABLED")));
        let message = file("[telemetry]\notlp = 'http://a'\n").unwrap().resolve().unwrap_err().to_string();
        assert!(
            message.contains("telemetry.otlp (from anymetal.toml)") && message.contains("`anymetal-service`")
        );

        let mut overruled = file("[health]\nenabled = true\n").unwrap();
        overruled.environment = environment(&[("ANYMETAL_HEALTH_ENABLED", "0")]).unwrap();
        assert_eq!(overruled.resolve(), Ok(RuntimeConfig::default()), "the uppermost layer counts");
    }
}

//! The settings of the service: its sections of the settings file and its `ANYMETAL_*` variables.
//!
//! Owns [`ServiceLayer`], the settings of a source, and [`ServiceConfig`], the checked result. Each section
//! of the settings file has a module here, with its layer, variables, checks and defaults.
//! [`anymetal::config::Layer`] has the other sections; its reader also refuses unknown sections.

mod audit;
mod health;
mod policy;
mod session;
mod telemetry;

use std::path::Path;

use anymetal::config::ConfigError;
use anymetal_core::config::Origin;
use anymetal_core::config::layers::{self, LayersOf, Sections, check, flag, parse, value};
use anymetal_policy::policies::Policies;
use serde::Deserialize;

/// Quantities with units, as settings have them.
pub use anymetal::config::{Size, Span};
pub use audit::{AuditBegin, AuditConfig, AuditDurability, AuditFailing, AuditLayer};
pub use health::{HealthConfig, HealthLayer, Share};
pub use policy::{
    AdaptLayer, BreakerLayer, BulkheadLayer, DeadlineLayer, LadderLayer, PolicyLayer, RetryLayer,
};
pub use session::{SessionConfig, SessionLayer};
pub use telemetry::{TelemetryConfig, TelemetryLayer};

/// Sets a variable's value in a layer, or returns what the value should look like.
type Setter = layers::Setter<ServiceLayer>;

/// The layers of the service's settings.
pub type ServiceLayers = LayersOf<ServiceLayer>;

/// The service's settings of a source. The layer below supplies missing settings.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct ServiceLayer {
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

/// All settings of the service, checked.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServiceConfig {
    /// Recovery policies.
    pub policy: Policies,
    /// Where metrics and traces go.
    pub telemetry: TelemetryConfig,
    /// Health thresholds and alerts.
    pub health: HealthConfig,
    /// The audit log.
    pub audit: AuditConfig,
    /// The session file.
    pub session: SessionConfig,
}

fn variables() -> Vec<(&'static str, Setter)> {
    let sections = [telemetry::VARIABLES, health::VARIABLES, audit::VARIABLES, session::VARIABLES];
    [sections.concat(), policy::VARIABLES.concat()].concat()
}

impl Sections for ServiceLayer {
    type Config = ServiceConfig;

    fn variables() -> Vec<(&'static str, Setter)> {
        variables()
    }

    fn resolve(layers: &ServiceLayers) -> Result<ServiceConfig, ConfigError> {
        Ok(ServiceConfig {
            policy: policy::resolve(layers)?,
            telemetry: telemetry::resolve(layers)?,
            health: health::resolve(layers)?,
            audit: audit::resolve(layers)?,
            session: session::resolve(layers)?,
        })
    }
}

impl ServiceLayer {
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn file(text: &str) -> Result<ServiceLayers, ConfigError> {
        let path = Path::new("anymetal.toml");
        let layer = ServiceLayer::from_toml(text, path)?;
        Ok(ServiceLayers { file: Some((path.to_owned(), layer)), ..ServiceLayers::default() })
    }

    fn environment(variables: &'static [(&str, &str)]) -> Result<ServiceLayer, ConfigError> {
        let value =
            |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).into());
        layers::from_variables(value)
    }

    #[test]
    fn one_file_has_the_settings_of_both_readers() {
        let text = "device = 'cpu'\n[memory]\npool-buffers = 3\n[policy.retry]\nattempts = 7\n";
        assert_eq!(file(text).unwrap().resolve().unwrap().policy.retry.attempts(), 7);
        let other = anymetal::config::Layer::from_toml(text, Path::new("anymetal.toml")).unwrap();
        assert_eq!((other.device.as_deref(), other.memory.pool_buffers), (Some("cpu"), Some(3)));
    }

    #[test]
    fn audit_and_session_are_set_by_file_and_environment_and_checked() {
        let mut layers =
            file("[audit]\nfolder = 'log'\nwhen-failing = 'go-on'\nrotate-bytes = '1 MiB'\n").unwrap();
        layers.environment = environment(&[
            ("ANYMETAL_AUDIT_KEEP_FILES", "3"),
            ("ANYMETAL_AUDIT_DURABILITY", "system"),
            ("ANYMETAL_AUDIT_BEGIN", "queued"),
            ("ANYMETAL_SESSION_FILE", "warm.toml"),
        ])
        .unwrap();
        let config = layers.resolve().unwrap();
        let expected = AuditConfig {
            folder: Some("log".into()),
            when_failing: AuditFailing::GoOn,
            begin: AuditBegin::Queued,
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
}

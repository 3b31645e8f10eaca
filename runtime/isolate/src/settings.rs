//! The settings of isolation and their environment variables.

use std::path::PathBuf;
use std::time::Duration;

use crate::error::IsolationError;

/// What is isolated: `off`, `compile` or `run`.
pub(crate) const ISOLATE_VARIABLE: &str = "ANYMETAL_ISOLATE";
/// The executable that is the worker.
pub(crate) const WORKER_VARIABLE: &str = "ANYMETAL_ISOLATE_WORKER";
/// Memory of a worker in MiB.
pub(crate) const MEMORY_VARIABLE: &str = "ANYMETAL_ISOLATE_MEMORY";
/// Time of a request in seconds.
pub(crate) const TIME_VARIABLE: &str = "ANYMETAL_ISOLATE_TIME";
/// `allow`: a system without Landlock or seccomp is used without it.
pub(crate) const INCOMPLETE_VARIABLE: &str = "ANYMETAL_ISOLATE_INCOMPLETE";

/// How work is isolated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The executable that is the worker; `None`: an `anymetal` next to the program or the library, or on the
    /// path.
    pub worker: Option<PathBuf>,
    /// Memory in bytes that a worker may take after it started, besides one stack.
    pub memory_bytes: u64,
    /// Longest duration of a request.
    pub time: Duration,
    /// Whether a system that lacks Landlock or seccomp is used without it.
    pub allow_incomplete: bool,
    /// Most worker processes at a time; further requests wait.
    pub workers: usize,
}

impl Default for Settings {
    fn default() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self {
            worker: None,
            memory_bytes: 4 << 30,
            time: Duration::from_secs(60),
            allow_incomplete: false,
            workers: processors.min(Self::MAX_WORKERS),
        }
    }
}

/// What is isolated.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Isolate {
    /// Nothing.
    #[default]
    Off,
    /// Compiles.
    Compile(Settings),
    /// Compiles, and the runs of kernels on this machine's processor.
    Run(Settings),
    /// The settings cannot be followed: everything that they would isolate is refused.
    Refused(IsolationError),
}

impl Isolate {
    /// What the environment variables request.
    pub fn from_environment() -> Self {
        Self::from_variables(anymetal_environment::text)
    }

    fn from_variables(variable: impl Fn(&'static str) -> Option<String>) -> Self {
        let given = |name| variable(name).filter(|value| !value.trim().is_empty());
        let isolate: fn(Settings) -> Self = match given(ISOLATE_VARIABLE).as_deref().map(str::trim) {
            None | Some("off" | "0") => return Self::Off,
            Some("compile") => Self::Compile,
            Some("run") => Self::Run,
            Some(value) => {
                let (value, expected) = (value.to_owned(), "`off`, `compile` or `run`");
                return Self::Refused(IsolationError::Setting {
                    variable: ISOLATE_VARIABLE,
                    value,
                    expected,
                });
            }
        };
        Settings::from_variables(&given).map_or_else(Self::Refused, isolate)
    }
}

impl Settings {
    /// Compiles beyond that at a time are rare, and each worker has its own LLVM.
    const MAX_WORKERS: usize = 4;

    fn from_variables(given: &impl Fn(&'static str) -> Option<String>) -> Result<Self, IsolationError> {
        let refused = |variable, value: &str, expected| {
            Err(IsolationError::Setting { variable, value: value.to_owned(), expected })
        };
        let mut settings = Self { worker: given(WORKER_VARIABLE).map(PathBuf::from), ..Self::default() };
        if let Some(text) = given(MEMORY_VARIABLE) {
            let bytes = text.trim().parse::<u64>().ok().and_then(|mib| mib.checked_mul(1 << 20));
            match bytes.filter(|bytes| *bytes > 0) {
                Some(bytes) => settings.memory_bytes = bytes,
                None => return refused(MEMORY_VARIABLE, &text, "a number of MiB"),
            }
        }
        if let Some(text) = given(TIME_VARIABLE) {
            let time =
                text.trim().parse::<f64>().ok().and_then(|time| Duration::try_from_secs_f64(time).ok());
            match time.filter(|time| !time.is_zero()) {
                Some(time) => settings.time = time,
                None => return refused(TIME_VARIABLE, &text, "a number of seconds"),
            }
        }
        match given(INCOMPLETE_VARIABLE).as_deref().map(str::trim) {
            None | Some("refuse") => {}
            Some("allow") => settings.allow_incomplete = true,
            Some(other) => return refused(INCOMPLETE_VARIABLE, other, "`refuse` or `allow`"),
        }
        Ok(settings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Isolate {
        let value = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        Isolate::from_variables(value)
    }

    #[test]
    fn variables_are_read_or_refused() {
        assert_eq!(read(&[]), Isolate::Off);
        assert_eq!(read(&[(ISOLATE_VARIABLE, "off"), (MEMORY_VARIABLE, "x")]), Isolate::Off);
        assert_eq!(read(&[(ISOLATE_VARIABLE, "compile")]), Isolate::Compile(Settings::default()));
        assert_eq!(read(&[(ISOLATE_VARIABLE, "run")]), Isolate::Run(Settings::default()));
        let all = [
            (ISOLATE_VARIABLE, "compile"),
            (WORKER_VARIABLE, "/opt/anymetal"),
            (MEMORY_VARIABLE, "256"),
            (TIME_VARIABLE, "1.5"),
            (INCOMPLETE_VARIABLE, "allow"),
        ];
        let expected = Settings {
            worker: Some("/opt/anymetal".into()),
            memory_bytes: 256 << 20,
            time: Duration::from_millis(1500),
            allow_incomplete: true,
            ..Settings::default()
        };
        assert_eq!(read(&all), Isolate::Compile(expected));
        for (name, value, id) in [
            (ISOLATE_VARIABLE, "Compile", "isolation-setting"),
            (MEMORY_VARIABLE, "0", "isolation-setting"),
            (MEMORY_VARIABLE, "99999999999999999", "isolation-setting"),
            (TIME_VARIABLE, "-1", "isolation-setting"),
            (TIME_VARIABLE, "NaN", "isolation-setting"),
            (INCOMPLETE_VARIABLE, "yes", "isolation-setting"),
        ] {
            let Isolate::Refused(error) = read(&[(name, value), (ISOLATE_VARIABLE, "compile")]) else {
                panic!("{name}={value} is accepted")
            };
            assert_eq!(error.id(), id, "{name}={value}");
        }
    }
}

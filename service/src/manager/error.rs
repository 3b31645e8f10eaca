//! Why an execution, or another call of the manager, failed.
//!
//! Owns [`ManagerError`] with [`Failed`] and [`AttemptError`]. Invariant: a failed execution tells
//! its whole path, why nothing more was tried, and which buffers have unspecified contents because
//! of it.

use std::fmt;
use std::time::Duration;

use anymetal::Error;
use anymetal::config::ConfigError;
use anymetal::error::{DeviceError, ErrorClass, ExecError};
use anymetal::memory::MemoryError;
use anymetal_audit::AuditError;
use anymetal_audit::session::SessionError;
use anymetal_policy::bulkhead::BulkheadFull;
use anymetal_policy::invalid::InvalidPolicy;
use anymetal_policy::ladder::{Effects, Failure, GiveUp, Path, Resource};

/// Why a call of the manager failed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ManagerError {
    /// A mistake in the call, or a failure before anything was attempted.
    #[error(transparent)]
    Call(#[from] Error),
    /// The execution failed for good.
    #[error(transparent)]
    Failed(Box<Failed>),
    /// The only copy of a buffer's contents was on a device that is lost.
    #[error(
        "the contents of buffer `{label}` were lost with {device}; write it anew, or keep a copy with \
         `Durability::HostCopy`"
    )]
    ContentsLost {
        /// The buffer's label; may be empty.
        label: String,
        /// The device.
        device: String,
    },
    /// A graph, or a piece of split work, uses a buffer that the whole does not declare.
    #[error("`{work}` uses buffer `{label}`, which it does not declare")]
    Undeclared {
        /// The graph or kernel.
        work: String,
        /// The buffer's label; may be empty.
        label: String,
    },
    /// A buffer or kernel of another manager.
    #[error("a {what} of another manager was used")]
    Foreign {
        /// "buffer" or "kernel".
        what: &'static str,
    },
    /// The kernel for degraded modes takes other arguments than the launch's.
    #[error("`{reduced}` cannot run in place of `{kernel}`: its arguments differ")]
    ReducedDiffers {
        /// The kernel.
        kernel: String,
        /// The one for degraded modes.
        reduced: String,
    },
    /// Two devices of one name.
    #[error("there are two devices `{name}`")]
    DuplicateDevice {
        /// The name.
        name: String,
    },
    /// A manager without a device.
    #[error("a manager needs at least one device")]
    NoDevice,
    /// Settings of the service were refused.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A policy that makes no sense.
    #[error(transparent)]
    Policy(#[from] InvalidPolicy),
    /// The audit log cannot be opened, or cannot be written and the choice is that nothing new runs
    /// then.
    #[error(transparent)]
    Audit(#[from] AuditError),
    /// The session's file cannot be read or renamed.
    #[error(transparent)]
    Session(#[from] SessionError),
}

impl ManagerError {
    /// The attempts of an execution that failed for good.
    pub(super) fn path(&self) -> Option<&Path> {
        match self {
            ManagerError::Failed(failed) => Some(&failed.path),
            _ => None,
        }
    }

    /// The class, by which policies decide.
    pub fn class(&self) -> ErrorClass {
        match self {
            ManagerError::Call(error) => error.class(),
            ManagerError::Failed(failed) => failed.class(),
            ManagerError::ContentsLost { .. } => ErrorClass::Lost,
            ManagerError::Audit(error) => error.class(),
            ManagerError::Undeclared { .. }
            | ManagerError::ReducedDiffers { .. }
            | ManagerError::Foreign { .. }
            | ManagerError::DuplicateDevice { .. }
            | ManagerError::NoDevice
            | ManagerError::Config(_)
            | ManagerError::Session(_)
            | ManagerError::Policy(_) => ErrorClass::Caller,
        }
    }
}

/// An execution that failed for good.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Failed {
    /// The kernel or graph.
    pub work: String,
    /// Every attempt.
    pub path: Path,
    /// Why nothing more was tried.
    pub why: GiveUp,
    /// How the last attempt failed that got as far as its device; `None`: none did.
    pub cause: Option<AttemptError>,
    /// The labels of buffers that a failed attempt may have written in part and that could not be
    /// restored: their contents are unspecified.
    pub unspecified: Vec<String>,
}

impl Failed {
    /// The class of its cause. Without one it is transient: breakers close, and time passes.
    pub fn class(&self) -> ErrorClass {
        self.cause.as_ref().map_or(ErrorClass::Transient, AttemptError::class)
    }
}

impl std::error::Error for Failed {}

impl fmt::Display for Failed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Failed { work, path, why, cause, unspecified } = self;
        write!(formatter, "`{work}` failed")?;
        if let Some(cause) = cause {
            write!(formatter, ": {cause}")?;
        }
        write!(formatter, "; {why}")?;
        if !path.attempts().is_empty() {
            write!(formatter, "; attempts: {path}")?;
        }
        if !unspecified.is_empty() {
            write!(formatter, "; unspecified contents: {}", unspecified.join(", "))?;
        }
        Ok(())
    }
}

/// How one attempt failed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AttemptError {
    /// The device, or a layer above it, refused or failed.
    #[error(transparent)]
    Work(Box<Error>),
    /// A mistake in how the work uses the manager, such as a buffer that a graph does not declare.
    #[error(transparent)]
    Manager(Box<ManagerError>),
    /// The check of [`crate::ManagedLaunch::verify`] rejected the result.
    #[error("the result was rejected by its check")]
    WrongResult,
    /// It did not end in its time, and counts its device as lost.
    #[error("it did not end within {after:?}")]
    Hang {
        /// The time that it had.
        after: Duration,
    },
    /// Its time was over before it started.
    #[error("it did not start before its deadline")]
    NotStarted,
    /// The device's bulkhead had no place.
    #[error(transparent)]
    Bulkhead(#[from] BulkheadFull),
}

impl From<Error> for AttemptError {
    fn from(error: Error) -> Self {
        AttemptError::Work(Box::new(error))
    }
}

impl From<ManagerError> for AttemptError {
    fn from(error: ManagerError) -> Self {
        match error {
            ManagerError::Call(error) => error.into(),
            other => AttemptError::Manager(Box::new(other)),
        }
    }
}

impl AttemptError {
    /// The class, by which policies decide.
    pub fn class(&self) -> ErrorClass {
        match self {
            AttemptError::Work(error) => error.class(),
            AttemptError::Manager(error) => error.class(),
            AttemptError::WrongResult | AttemptError::NotStarted => ErrorClass::Transient,
            AttemptError::Hang { .. } => ErrorClass::Lost,
            AttemptError::Bulkhead(_) => ErrorClass::Exhausted,
        }
    }

    /// Whether its device is lost, rather than only this result.
    pub(super) fn loses_device(&self) -> bool {
        match self {
            AttemptError::Work(error) => matches!(**error, Error::Device(DeviceError::DeviceLost { .. })),
            AttemptError::Hang { .. } => true,
            AttemptError::Manager(_)
            | AttemptError::WrongResult
            | AttemptError::NotStarted
            | AttemptError::Bulkhead(_) => false,
        }
    }

    /// Whether its time was over.
    pub(super) fn is_deadline(&self) -> bool {
        match self {
            AttemptError::Hang { .. } | AttemptError::NotStarted => true,
            AttemptError::Work(error) => match &**error {
                Error::Device(error) => matches!(error, DeviceError::DeadlineExceeded { .. }),
                Error::Exec(error) => {
                    matches!(**error, ExecError::Device(DeviceError::DeadlineExceeded { .. }))
                }
                _ => false,
            },
            AttemptError::Manager(_) | AttemptError::WrongResult | AttemptError::Bulkhead(_) => false,
        }
    }

    /// What the ladder is told.
    pub(super) fn failure(&self, effects: Effects) -> Failure {
        let class = self.class();
        let resource = match (class, self) {
            (ErrorClass::Exhausted, AttemptError::Work(error)) => Some(exhausted(error)),
            (ErrorClass::Exhausted, _) => Some(Resource::Queue),
            (ErrorClass::Transient | ErrorClass::Lost | ErrorClass::Caller, _) => None,
        };
        Failure { class, resource, effects }
    }
}

fn exhausted(error: &Error) -> Resource {
    let is_memory = match error {
        Error::Device(error) => Failure::refused(error).resource == Some(Resource::Memory),
        Error::Memory(error) => !matches!(**error, MemoryError::RingFull { .. }),
        Error::Exec(error) => matches!(**error, ExecError::Device(DeviceError::OutOfMemory { .. })),
        _ => false,
    };
    if is_memory { Resource::Memory } else { Resource::Queue }
}

//! Why the log refuses.

use std::path::PathBuf;

use anymetal_hal::error::ErrorClass;

use crate::verify::Broken;

/// Why a record was not taken, or a log not opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AuditError {
    /// A file or folder that cannot be used.
    #[error("the audit log cannot use {}: {reason}", path.display())]
    Unusable {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        reason: String,
    },
    /// Another process or log writes there.
    #[error("{} is written by another audit log; give each its own folder", path.display())]
    InUse {
        /// The folder.
        path: PathBuf,
    },
    /// The log that is to be continued is damaged. It is left as it is.
    #[error("the audit log is not continued: {0}; move it away to start a new one")]
    Broken(Broken),
    /// Records cannot be written, and the options say that work stops then. The records taken before wait in
    /// memory; [`crate::AuditLog::retry`] tries again.
    #[error("the audit log cannot be written ({reason}), and work without it is not allowed")]
    Stopped {
        /// What the system says.
        reason: String,
    },
    /// The log is closed.
    #[error("the audit log is closed")]
    Closed,
    /// Options that make no sense.
    #[error("audit.{setting} = {value}: {rule}")]
    Invalid {
        /// The option.
        setting: &'static str,
        /// Its value.
        value: u64,
        /// What must hold.
        rule: &'static str,
    },
}

impl AuditError {
    /// The class, by which retry policies decide: a full disk may have room later.
    pub fn class(&self) -> ErrorClass {
        match self {
            AuditError::Stopped { .. } => ErrorClass::Exhausted,
            AuditError::Unusable { .. }
            | AuditError::InUse { .. }
            | AuditError::Broken(_)
            | AuditError::Closed
            | AuditError::Invalid { .. } => ErrorClass::Caller,
        }
    }
}

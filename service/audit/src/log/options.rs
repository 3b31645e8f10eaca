//! How a log is written.

use std::num::NonZeroU32;
use std::time::Duration;

use crate::error::AuditError;
use crate::record::MAX_LINE_BYTES;

/// What happens when records cannot be written, such as on a full disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum WhenFailing {
    /// Work stops: [`crate::AuditLog::record`] refuses, and a full queue makes callers wait.
    #[default]
    Stop,
    /// Work goes on: records are given up and counted, and the next record that can be written says how many.
    GoOn,
}

/// When records count as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Durability {
    /// When they are on the disk: survives a loss of power.
    #[default]
    Disk,
    /// When the system has them: survives the end of the process.
    System,
}

/// The options of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditOptions {
    /// Bytes after which a new file begins, at least 4 KiB. A file may be one record longer.
    pub rotate_bytes: u64,
    /// How many files are kept; `None`: all.
    pub keep_files: Option<NonZeroU32>,
    /// Records that may wait to be written.
    pub queue: usize,
    /// What happens when records cannot be written.
    pub when_failing: WhenFailing,
    /// When records count as written.
    pub durability: Durability,
    /// Unix time at the clock's zero, to be written when the log is opened, so that readers can tell the time
    /// of day of each record.
    pub unix_time_at_zero: Option<Duration>,
}

impl Default for AuditOptions {
    fn default() -> Self {
        AuditOptions {
            rotate_bytes: 16 << 20,
            keep_files: None,
            queue: 4096,
            when_failing: WhenFailing::default(),
            durability: Durability::default(),
            unix_time_at_zero: None,
        }
    }
}

impl AuditOptions {
    /// The least size of a file.
    const MIN_ROTATE_BYTES: u64 = 4096;

    pub(super) fn check(&self) -> Result<(), AuditError> {
        if self.rotate_bytes < Self::MIN_ROTATE_BYTES {
            let rule = "files have at least 4096 bytes";
            return Err(AuditError::Invalid { setting: "rotate-bytes", value: self.rotate_bytes, rule });
        }
        if self.queue == 0 {
            let rule = "at least one record can wait";
            return Err(AuditError::Invalid { setting: "queue", value: 0, rule });
        }
        Ok(())
    }
}

/// Longer texts in events are cut, so that every line can be read again: of 6 bytes at most for each byte, as
/// JSON writes control characters, a line with five texts stays below the limit of readers.
pub(super) const MAX_TEXT_BYTES: usize = (MAX_LINE_BYTES / 32) as usize;

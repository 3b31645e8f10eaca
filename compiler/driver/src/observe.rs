//! What the compiler tells telemetry.
//!
//! Owns [`stage`], by which a stage has its span and its duration. Invariant: time is read only where there
//! is a recorder.

use anymetal_hal::clock::{Clock, SystemClock};
use anymetal_telemetry::record::{self, Stage};

use crate::error::CompileError;

/// Does a stage of compiling; the subject is a source's or a kernel's name.
pub(crate) fn stage<T>(
    of: Stage,
    subject: &str,
    work: impl FnOnce() -> Result<T, CompileError>,
) -> Result<T, CompileError> {
    record::stage(of, subject, || SystemClock::shared().now(), work)
}

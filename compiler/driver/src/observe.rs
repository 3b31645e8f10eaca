//! What the compiler tells telemetry.
//!
//! Owns [`stage`], by which a stage has its span and its duration, and [`kernel_stage`], which begins only
//! while somebody waits. Invariant: time is read only where there is a recorder.

use anymetal_hal::clock::{Clock, SystemClock};
use anymetal_telemetry::record::{self, Stage};

use crate::cancellation;
use crate::error::CompileError;

/// Does a stage of compiling one kernel, unless the compilation was cancelled. Nobody keeps its error.
pub(crate) fn kernel_stage<T>(
    of: Stage,
    kernel: &str,
    work: impl FnOnce() -> Result<T, CompileError>,
) -> Result<T, CompileError> {
    cancellation::check()?;
    stage(of, kernel, work)
}

/// Does a stage of compiling; the subject is a source's or a kernel's name.
pub(crate) fn stage<T>(
    of: Stage,
    subject: &str,
    work: impl FnOnce() -> Result<T, CompileError>,
) -> Result<T, CompileError> {
    record::stage(of, subject, || SystemClock::shared().now(), work)
}

//! Bugs that show while a kernel is interpreted.
//!
//! Owns [`RunBoundary`]. Invariant: a panic of the interpreter ends the dispatch with a report and nothing
//! else, as a panic of a stage ends a compile.

use std::sync::Arc;

use anymetal_hal::launch::InterpreterFault;

use super::{Reproducers, Request, catch, caught};
use crate::error::CompileError;
use crate::injected_bug::panic_if_requested;
use crate::library::{Specialisation, Target};
use crate::source::Source;

/// The stage in reports.
pub(super) const STAGE: &str = "interpreted run";

/// What the report of a bug in a run needs.
#[derive(Debug)]
pub(crate) struct RunBoundary {
    /// `None`: fused kernels, and those of another process.
    pub(crate) source: Option<RunSource>,
}

/// The source of an interpreted kernel, and where a reproducer is written.
#[derive(Debug)]
pub(crate) struct RunSource {
    pub(crate) reproducers: Arc<Reproducers>,
    pub(crate) source: Arc<Source>,
    pub(crate) specialisation: Specialisation,
}

impl RunBoundary {
    /// Does the work of a dispatch; a panic in it is [`InterpreterFault::Bug`].
    pub(crate) fn run(
        &self,
        kernel: &str,
        work: impl FnOnce() -> Result<(), InterpreterFault>,
    ) -> Result<(), InterpreterFault> {
        let work = || {
            catch(STAGE, || {
                panic_if_requested(STAGE);
                Ok(work())
            })
        };
        let ran: Result<Result<(), InterpreterFault>, CompileError> = match &self.source {
            None => work(),
            Some(RunSource { reproducers, source, specialisation }) => {
                let (specialisation, target) = (Some(specialisation), Some(Target::Interpreter));
                let request = Request { source, kernel: Some(kernel), specialisation, target };
                caught(reproducers, &request, work)
            }
        };
        ran.unwrap_or_else(|error| Err(InterpreterFault::Bug { report: error.to_string() }))
    }
}

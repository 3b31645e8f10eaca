//! Compiler bugs: panics and broken invariants as errors that can be reported and replayed.
//!
//! Owns [`CompilerBug`] and [`caught`], which every entry of the compiler runs its work by. Invariant: the
//! first entry that knows the source writes one reproducer for a bug; entries above it pass the error on.

mod panics;
mod reproducer;
mod run;

use std::fmt;
use std::path::PathBuf;

pub(crate) use panics::catch;
pub(crate) use reproducer::{Reproducers, Request};
pub(crate) use run::{RunBoundary, RunSource};

use crate::error::CompileError;

/// Longest part of a message that is shown; the reproducer has all of it. Verifier messages print whole
/// functions.
const SHOWN_BYTES: usize = 2000;

/// A bug of the compiler.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompilerBug {
    /// The stage that failed.
    pub stage: &'static str,
    /// The pass that ran, if the stage was running passes.
    pub pass: Option<&'static str>,
    /// The kernel that was compiled, if it was one.
    pub kernel: Option<String>,
    /// The message of the panic or the rule that is broken.
    pub message: String,
    /// Where in the compiler's source the panic is, as `FILE:LINE`.
    pub place: Option<String>,
    /// The file from which the bug can be reproduced, or why there is none.
    pub reproducer: Option<Result<PathBuf, String>>,
}

impl CompilerBug {
    pub(crate) fn new(stage: &'static str, message: String) -> Self {
        CompilerBug { stage, pass: None, kernel: None, message, place: None, reproducer: None }
    }
}

impl fmt::Display for CompilerBug {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "compiler bug in stage `{}`", self.stage)?;
        if let Some(pass) = self.pass {
            write!(formatter, ", pass `{pass}`")?;
        }
        if let Some(kernel) = &self.kernel {
            write!(formatter, ", kernel `{kernel}`")?;
        }
        let end = self.message.floor_char_boundary(SHOWN_BYTES);
        let cut = if end < self.message.len() { " …" } else { "" };
        write!(formatter, ": {}{cut}", &self.message[..end])?;
        if let Some(place) = &self.place {
            write!(formatter, " ({place})")?;
        }
        match &self.reproducer {
            Some(Ok(path)) => write!(formatter, "; please report it with the reproducer {}", path.display()),
            Some(Err(reason)) => {
                write!(formatter, "; please report it with the source (no reproducer was written: {reason})")
            }
            None => formatter.write_str("; please report it with the source"),
        }
    }
}

/// Does work for a request. Panics on this thread become [`CompileError::Internal`]; the error of a bug gets
/// the kernel and a reproducer unless it has them.
pub(crate) fn caught<T>(
    reproducers: &Reproducers,
    request: &Request<'_>,
    work: impl FnOnce() -> Result<T, CompileError>,
) -> Result<T, CompileError> {
    catch("compiler", work).map_err(|error| match error {
        CompileError::Internal(mut bug) if bug.reproducer.is_none() => {
            if bug.kernel.is_none() {
                bug.kernel = request.kernel.map(str::to_owned);
            }
            bug.reproducer = Some(reproducers.write(request, &bug));
            CompileError::Internal(bug)
        }
        other => other,
    })
}

//! The check of a whole library before a kernel of it is compiled, as Metal's compiler makes it.

use std::sync::Arc;

use anymetal_diagnostics::Severity;
use anymetal_msl::Diagnostics;
use anymetal_telemetry::record::Stage;

use super::Library;
use crate::big_stack;
use crate::bug::{Request, caught};
use crate::cache::disk::Kind;
use crate::cache::manifest::Manifest;
use crate::error::CompileError;
use crate::isolated;
use crate::observe::stage;

/// Diagnostics about parts of the language that this compiler lacks, and about limits that all kernels
/// together may reach although each alone does not. Such a source may be right, and other errors may follow
/// from them.
const LIMITATIONS: [&str; 7] = [
    "array-designator",
    "instantiation-limit",
    "nested-designator",
    "overload-limit",
    // A library that the pipeline links may define it.
    "undefined-function",
    "unsupported-attribute",
    "unsupported-feature",
];

impl Library {
    /// Checks all kernels of the source and the functions that they reach. A source that was found right is
    /// not checked again, in any process with the same cache.
    ///
    /// # Errors
    ///
    /// [`CompileError::Source`] with all diagnostics. A source that uses parts of the language that this
    /// compiler lacks is not refused: its kernels are checked when they are compiled.
    pub fn check(&self) -> Result<(), CompileError> {
        self.state.checked.get_or_init(|| self.check_once()).clone()
    }

    fn check_once(&self) -> Result<(), CompileError> {
        if self.state.current_manifest().is_checked {
            return Ok(());
        }
        match self.shared().isolation()? {
            Some(pool) => isolated::check(pool, self)?,
            None => self.check_here()?,
        }
        if let Some(disk) = &self.shared().disk {
            let manifest = Manifest { is_checked: true, ..self.state.current_manifest().clone() };
            if let Some(bytes) = manifest.to_bytes() {
                disk.write(Kind::Manifest, self.state.source_key(), &bytes);
            }
        }
        Ok(())
    }

    fn check_here(&self) -> Result<(), CompileError> {
        let source = &self.state.source;
        let request = Request { source, kernel: None, specialisation: None, target: None };
        let check = || {
            let front = self.state.front()?;
            Ok(front.library().check_kernels())
        };
        let found = caught(&self.shared().reproducers, &request, || {
            stage(Stage::Lower, &source.name, || big_stack::run("front end", check))
        })?;
        match is_refused(&found) {
            true => Err(CompileError::Source(Arc::new(found))),
            false => Ok(()),
        }
    }
}

/// Whether there are errors, and all of them are mistakes of the source.
fn is_refused(found: &Diagnostics) -> bool {
    let mut errors = found.list.iter().filter(|diagnostic| diagnostic.severity == Severity::Error).peekable();
    errors.peek().is_some() && errors.all(|error| !LIMITATIONS.contains(&error.id))
}

//! Reporting: diagnostics with the instantiations around them, now, never or later.
//!
//! While errors are kept back ([`Checker::quietly`]), what is checked only once keeps its errors for whoever
//! asks again ([`Checker::once`]). Invariant: a check that made poison has reported something in the end.

use super::{Checker, Deferred};
use anymetal_diagnostics::{Diagnostic, Severity, Span};

impl Checker<'_> {
    /// Reports an error with the instantiation trace.
    pub(in crate::sema) fn error(&mut self, id: &'static str, span: Span, message: impl Into<String>) {
        self.report(Diagnostic::error(id, span, message));
    }

    /// Reports a diagnostic; the instantiation trace is added.
    pub(in crate::sema) fn report(&mut self, diagnostic: Diagnostic) {
        self.report_limit();
        if self.gave_up && diagnostic.severity == Severity::Error && self.sink.has_errors() {
            return;
        }
        let diagnostic = self.with_trace(diagnostic);
        self.sink.push(diagnostic);
    }

    /// Reports an error of a program that is found in the Metal library's text, where the program calls it.
    pub(in crate::sema) fn error_of_caller(&mut self, id: &'static str, span: Span, message: String) {
        let entries = std::iter::successors(self.trace.as_ref(), |trace| trace.outer.as_ref());
        match entries.map(|trace| trace.span).find(|span| !self.table.is_below(*span)) {
            Some(caller) if self.table.is_below(span) => {
                let trace = self.trace.take();
                self.error(id, caller, message);
                self.trace = trace;
            }
            _ => self.error(id, span, message),
        }
    }

    /// Where the innermost instantiation was requested.
    pub(in crate::sema) fn requested_at(&self) -> Option<Span> {
        self.trace.as_ref().map(|trace| trace.span)
    }

    pub(super) fn with_trace(&self, mut diagnostic: Diagnostic) -> Diagnostic {
        const SHOWN: usize = 8;
        let mut at = self.trace.as_ref();
        for _ in 0..SHOWN {
            let Some(entry) = at else { break };
            diagnostic = diagnostic.with_note(entry.span, entry.text.clone());
            at = entry.outer.as_ref();
        }
        if let Some(rest) = at {
            let more = rest.entries;
            diagnostic =
                diagnostic.with_note(Span::NONE, format!("… and {more} more instantiations around it"));
        }
        diagnostic
    }

    /// Runs `f`, keeping its errors back: `None` if there were any (substitution failure).
    pub(in crate::sema) fn quietly<R>(
        &mut self,
        f: impl FnOnce(&mut Self) -> R,
    ) -> Result<R, Vec<Diagnostic>> {
        let outer = std::mem::take(&mut self.sink);
        self.quiet += 1;
        let result = f(self);
        self.quiet -= 1;
        let inner = std::mem::replace(&mut self.sink, outer);
        if inner.has_errors() { Err(inner.into_diagnostics()) } else { Ok(result) }
    }

    /// Runs a check that happens only once. Should errors be kept back just now, they are kept for whoever
    /// asks again.
    pub(in crate::sema) fn once<R>(&mut self, what: Deferred, f: impl FnOnce(&mut Self) -> R) -> R {
        let outer = std::mem::take(&mut self.sink);
        let result = f(self);
        let inner = std::mem::replace(&mut self.sink, outer);
        if self.quiet > 0 && inner.has_errors() {
            self.deferred.insert(what, inner.diagnostics().to_vec());
        }
        for diagnostic in inner.into_diagnostics() {
            self.sink.push(diagnostic);
        }
        result
    }

    /// Reports the diagnostics of a check that ran with reporting suppressed.
    pub(in crate::sema) fn report_deferred(&mut self, what: Deferred) {
        if self.quiet == 0
            && let Some(found) = self.deferred.remove(&what)
        {
            for diagnostic in found {
                self.sink.push(diagnostic);
            }
        }
    }

    /// Notes that poison was made.
    pub(in crate::sema) fn note_poison(&mut self, span: Span) {
        if self.quiet == 0 && self.unexplained.is_none() && !self.sink.has_errors() {
            self.unexplained = Some(span);
        }
    }

    /// Reports what could not be checked for no reason given.
    pub(in crate::sema) fn report_unexplained(&mut self) {
        if let Some(span) = self.unexplained.take()
            && !self.sink.has_errors()
        {
            self.error("not-understood", span, "this could not be checked");
        }
    }
}

//! Diagnostics of one check: the instantiations around them, and whether they are reported now, later or
//! never.
//!
//! While reporting is suppressed ([`Diagnostics::begin_quiet`]), the errors of things that are checked only
//! once are deferred to the next use ([`Diagnostics::finish_once`]). Invariants: a check that creates
//! poison reports an error before it ends; the first limit that is hit ends the check and is reported
//! exactly once, even if reporting is suppressed at that time.

use super::entities::GlobalVarId;
use super::table::Layer;
use crate::hir::{Expr, ExprKind, FuncId, RecordId, Ty};
use anymetal_diagnostics::{Diagnostic, EnabledWarnings, Severity, Sink, Span};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// How messages show what depends on template arguments that are not known: such a message says nothing.
pub(super) const DEPENDENT: &str = "<error>";

/// The most entries of a trace that goes through bodies of member functions.
const MAX_TRACE: usize = 64;

/// Something that is checked only once.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Deferred {
    Body(FuncId),
    Record(RecordId),
    Global(GlobalVarId),
}

/// Why something is being instantiated, innermost first.
#[derive(Debug)]
pub(super) struct Trace {
    text: String,
    span: Span,
    /// The number of entries up to this one that the limit of nested instantiations counts.
    depth: usize,
    /// The number of entries of the chain, including this one.
    entries: usize,
    outer: Option<Rc<Trace>>,
}

/// See the module's documentation.
#[derive(Debug, Default)]
pub(super) struct Diagnostics {
    sink: Sink,
    warnings: EnabledWarnings,
    /// The instantiations around the code that is being checked.
    trace: Option<Rc<Trace>>,
    /// The number of callers that suppress reporting.
    quiet: u32,
    /// Errors of things that are checked only once, found while reporting was suppressed.
    deferred: FxHashMap<Deferred, Vec<Diagnostic>>,
    /// Where something failed although nothing was reported: a fault of this compiler, but code that was not
    /// understood must not be compiled.
    unexplained: Option<Span>,
    /// The limit that was hit and is not reported yet.
    limit_hit: Option<Diagnostic>,
    /// Set when a limit was hit: nothing more is worth doing.
    gave_up: bool,
    /// Whether the code of a template is checked without arguments (see `sema::uninstantiated`).
    in_template: bool,
}

impl Diagnostics {
    pub(super) fn new(warnings: EnabledWarnings) -> Self {
        Self { warnings, ..Self::default() }
    }

    /// Whether a warning is reported anywhere in the program. None is about templates without arguments,
    /// whose dependent code is not known.
    pub(super) fn wants(&self, warning: &str) -> bool {
        !self.in_template && self.warnings.contains(warning)
    }

    /// Whether nothing is warned about at a place, because it is in the Metal library.
    pub(super) fn is_of_library(&self, place: Span) -> bool {
        self.warnings.is_of_library(place)
    }

    /// Reports an error with the instantiation trace.
    pub(super) fn error(&mut self, id: &'static str, span: Span, message: impl Into<String>) {
        self.report(Diagnostic::error(id, span, message));
    }

    /// Reports a diagnostic; the instantiation trace is added.
    pub(super) fn report(&mut self, diagnostic: Diagnostic) {
        if self.in_template && diagnostic.message.contains(DEPENDENT) {
            return;
        }
        self.report_limit();
        if diagnostic.severity == Severity::Warning && !self.wants(diagnostic.id) {
            return;
        }
        if self.gave_up && diagnostic.severity == Severity::Error && self.sink.has_errors() {
            return;
        }
        let diagnostic = self.with_trace(diagnostic);
        self.sink.push(diagnostic);
    }

    /// Reports an error of a program that is found in the Metal library's text, where the program calls it.
    pub(super) fn error_of_caller(&mut self, table: &Layer, id: &'static str, span: Span, message: String) {
        let entries = std::iter::successors(self.trace.as_ref(), |trace| trace.outer.as_ref());
        match entries.map(|trace| trace.span).find(|span| !table.is_below(*span)) {
            Some(caller) if table.is_below(span) => {
                let trace = self.trace.take();
                self.error(id, caller, message);
                self.trace = trace;
            }
            _ => self.error(id, span, message),
        }
    }

    /// The number of errors so far, to see later whether there are more.
    pub(super) fn error_count(&self) -> usize {
        self.sink.error_count()
    }

    pub(super) fn has_errors(&self) -> bool {
        self.sink.has_errors()
    }

    /// Takes everything that was reported.
    pub(super) fn take(&mut self) -> Sink {
        std::mem::take(&mut self.sink)
    }

    // --- the trace

    /// Replaces the trace; returns the previous trace, which the caller restores.
    pub(super) fn replace_trace(&mut self, trace: Option<Rc<Trace>>) -> Option<Rc<Trace>> {
        std::mem::replace(&mut self.trace, trace)
    }

    pub(super) fn trace(&self) -> Option<Rc<Trace>> {
        self.trace.clone()
    }

    /// The current trace with an additional entry.
    pub(super) fn trace_with(&self, text: String, span: Span) -> Option<Rc<Trace>> {
        let outer = self.trace.clone();
        let (depth, entries) = outer.as_ref().map_or((0, 0), |trace| (trace.depth, trace.entries));
        Some(Rc::new(Trace { text, span, depth: depth + 1, entries: entries + 1, outer }))
    }

    /// The trace of a body that is checked after its caller, so that its depth starts at 0: at most
    /// [`MAX_TRACE`] entries of the current trace and the new one.
    pub(super) fn trace_of_later(&self, text: String, span: Span) -> Option<Rc<Trace>> {
        let outer = self.trace.clone().filter(|trace| trace.entries < MAX_TRACE);
        let entries = outer.as_ref().map_or(0, |trace| trace.entries) + 1;
        Some(Rc::new(Trace { text, span, depth: 0, entries, outer }))
    }

    /// The number of nested instantiations around the code that is being checked.
    pub(super) fn trace_depth(&self) -> usize {
        self.trace.as_ref().map_or(0, |trace| trace.depth)
    }

    /// Where the innermost instantiation was requested.
    pub(super) fn requested_at(&self) -> Option<Span> {
        self.trace.as_ref().map(|trace| trace.span)
    }

    fn with_trace(&self, mut diagnostic: Diagnostic) -> Diagnostic {
        const SHOWN: usize = 8;
        let mut at = self.trace.as_ref();
        for _ in 0..SHOWN {
            let Some(entry) = at else { break };
            if self.in_template && entry.text.contains(DEPENDENT) {
                at = entry.outer.as_ref();
                continue;
            }
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

    // --- suppressing

    pub(super) fn is_quiet(&self) -> bool {
        self.quiet > 0
    }

    /// Suppresses reporting until [`Diagnostics::end_quiet`], which takes what is returned.
    pub(super) fn begin_quiet(&mut self) -> Sink {
        self.quiet += 1;
        std::mem::take(&mut self.sink)
    }

    /// Ends suppressing: errors if something was reported meanwhile (substitution failure).
    pub(super) fn end_quiet(&mut self, outer: Sink) -> Result<(), Vec<Diagnostic>> {
        assert!(self.quiet > 0, "reporting is suppressed");
        self.quiet -= 1;
        let inner = std::mem::replace(&mut self.sink, outer);
        if inner.has_errors() { Err(inner.into_diagnostics()) } else { Ok(()) }
    }

    /// Begins a check that happens only once; [`Diagnostics::finish_once`] takes what is returned.
    pub(super) fn begin_once(&mut self) -> Sink {
        std::mem::take(&mut self.sink)
    }

    /// Ends a check that happens only once. If reporting is suppressed, its errors are kept for
    /// [`Diagnostics::report_deferred`].
    pub(super) fn finish_once(&mut self, what: Deferred, outer: Sink) {
        let inner = std::mem::replace(&mut self.sink, outer);
        if self.quiet > 0 && inner.has_errors() {
            self.deferred.insert(what, inner.diagnostics().to_vec());
        }
        for diagnostic in inner.into_diagnostics() {
            self.sink.push(diagnostic);
        }
    }

    /// Whether [`Diagnostics::report_deferred`] would report something.
    pub(super) fn has_deferred(&self, what: Deferred) -> bool {
        self.quiet == 0 && self.deferred.contains_key(&what)
    }

    /// Reports the diagnostics of a check that ran with reporting suppressed.
    pub(super) fn report_deferred(&mut self, what: Deferred) {
        if self.quiet == 0
            && let Some(found) = self.deferred.remove(&what)
        {
            for diagnostic in found {
                self.sink.push(diagnostic);
            }
        }
    }

    // --- templates without arguments

    /// Whether the code of a template is checked without arguments.
    pub(super) fn in_template(&self) -> bool {
        self.in_template
    }

    /// Begins or ends that; returns what was the case before.
    pub(super) fn set_in_template(&mut self, in_template: bool) -> bool {
        std::mem::replace(&mut self.in_template, in_template)
    }

    // --- failures without a report

    /// Returns poison, and records that it was created.
    pub(super) fn poison(&mut self, span: Span) -> Expr {
        if self.quiet == 0 && !self.in_template && self.unexplained.is_none() && !self.sink.has_errors() {
            self.unexplained = Some(span);
        }
        Expr::value(ExprKind::Error, Ty::ERROR, span)
    }

    /// Ends the check: reports the limit that was hit, and a failure for which nothing was reported.
    pub(super) fn finish(&mut self) {
        self.report_limit();
        if let Some(span) = self.unexplained.take()
            && !self.sink.has_errors()
        {
            self.error("not-understood", span, "this could not be checked");
        }
    }

    // --- limits

    /// Whether a limit was hit.
    pub(super) fn gave_up(&self) -> bool {
        self.gave_up
    }

    /// Reports the limit that was hit, once reporting is not suppressed.
    fn report_limit(&mut self) {
        if self.quiet == 0
            && let Some(limit) = self.limit_hit.take()
        {
            self.sink.push(limit);
        }
    }

    /// Ends the check because of a limit.
    pub(super) fn give_up(&mut self, id: &'static str, span: Span, message: String) {
        if !self.gave_up {
            self.gave_up = true;
            self.limit_hit = Some(self.with_trace(Diagnostic::error(id, span, message)));
        }
        // Callers that suppress reporting must see that it failed.
        if self.quiet > 0 {
            self.sink.push(Diagnostic::error(id, span, "a limit was hit"));
        }
        self.report_limit();
    }
}

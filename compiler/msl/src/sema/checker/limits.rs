//! Limits: nesting, instantiations, and giving up beyond them.
//!
//! Invariant: the first limit that is hit ends the check, and is reported once, even if errors are kept back
//! when it is hit.

use super::{Checker, Trace};
use anymetal_diagnostics::{Diagnostic, Span};
use std::rc::Rc;

/// The deepest nesting of instantiations.
const MAX_INSTANTIATION_DEPTH: usize = 512;

/// The most functions and records one check instantiates.
const MAX_INSTANTIATIONS: usize = 100_000;

/// The most entries of a trace that goes through bodies of member functions.
const MAX_TRACE: usize = 64;

/// The most elements of parameter packs one check expands: nested expansions multiply.
const MAX_PACK_ELEMENTS: usize = 250_000;

/// The deepest nesting of expressions and statements, instantiations included.
const MAX_DEPTH: u32 = 6_000;

impl Checker<'_> {
    /// Reports the limit that was hit, once somebody listens.
    pub(in crate::sema) fn report_limit(&mut self) {
        if self.quiet == 0
            && let Some(limit) = self.limit_hit.take()
        {
            self.sink.push(limit);
        }
    }

    /// Ends the check because of a limit.
    fn give_up(&mut self, id: &'static str, span: Span, message: String) {
        if !self.gave_up {
            self.gave_up = true;
            self.limit_hit = Some(self.with_trace(Diagnostic::error(id, span, message)));
        }
        // Whoever keeps errors back must see that it failed.
        let quiet = Diagnostic::error(id, span, "a limit was hit");
        if self.quiet > 0 {
            self.sink.push(quiet);
        }
        self.report_limit();
    }

    /// Counts one more element of an expanded pack; ends the check at the limit.
    pub(in crate::sema) fn count_pack_element(&mut self) {
        self.pack_elements += 1;
        if self.pack_elements > MAX_PACK_ELEMENTS {
            let message = format!("more than {MAX_PACK_ELEMENTS} elements of parameter packs are expanded");
            self.give_up("instantiation-limit", Span::NONE, message);
        }
    }

    /// Goes one level deeper by hand; false at the limit. The caller comes back up.
    pub(in crate::sema) fn depth_guard(&mut self, span: Span) -> bool {
        let entered = self.deeper(span, |_| ()).is_some();
        self.depth += u32::from(entered);
        entered
    }

    /// Runs `f` one level deeper; reports and gives `None` at the limit.
    pub(in crate::sema) fn deeper<R>(&mut self, span: Span, f: impl FnOnce(&mut Self) -> R) -> Option<R> {
        if self.depth >= MAX_DEPTH {
            self.give_up("too-deep", span, "the program nests too deeply to be checked".to_owned());
            return None;
        }
        self.depth += 1;
        let result = f(self);
        self.depth -= 1;
        Some(result)
    }

    /// The current trace with one more entry.
    pub(in crate::sema) fn trace_with(&self, text: String, span: Span) -> Option<Rc<Trace>> {
        let outer = self.trace.clone();
        let (depth, entries) = outer.as_ref().map_or((0, 0), |trace| (trace.depth, trace.entries));
        Some(Rc::new(Trace { text, span, depth: depth + 1, entries: entries + 1, outer }))
    }

    /// The trace of a body that is checked later than what calls it, and so begins to count depth anew: it
    /// keeps so much of the current one as messages show.
    pub(in crate::sema) fn trace_of_later(&self, text: String, span: Span) -> Option<Rc<Trace>> {
        let outer = self.trace.clone().filter(|trace| trace.entries < MAX_TRACE);
        let entries = outer.as_ref().map_or(0, |trace| trace.entries) + 1;
        Some(Rc::new(Trace { text, span, depth: 0, entries, outer }))
    }

    /// Counts one more instantiation; false at the limit, which ends the check.
    pub(in crate::sema) fn count_instantiation(&mut self, span: Span) -> bool {
        if self.gave_up {
            return false;
        }
        if self.instantiations >= MAX_INSTANTIATIONS {
            let what = format!("more than {MAX_INSTANTIATIONS} templates are instantiated");
            self.give_up("instantiation-limit", span, what);
            return false;
        }
        self.instantiations += 1;
        true
    }

    /// Runs `f` as an instantiation that was caused at `span`; `None` at a limit.
    pub(in crate::sema) fn instantiating<R>(
        &mut self,
        text: impl FnOnce(&Self) -> String,
        span: Span,
        f: impl FnOnce(&mut Self) -> R,
    ) -> Option<R> {
        if self.gave_up {
            return None;
        }
        let depth = self.trace.as_ref().map_or(0, |trace| trace.depth);
        if depth >= MAX_INSTANTIATION_DEPTH {
            let what = format!("templates are instantiated more than {MAX_INSTANTIATION_DEPTH} deep");
            self.give_up("instantiation-limit", span, what);
            return None;
        }
        if !self.count_instantiation(span) {
            return None;
        }
        let text = text(self);
        let inner = self.trace_with(text, span);
        let outer = std::mem::replace(&mut self.trace, inner);
        let pack = self.pack_index.take();
        let auto = self.auto_ty.take();
        let result = self.deeper(span, f);
        self.auto_ty = auto;
        self.pack_index = pack;
        self.trace = outer;
        result
    }
}

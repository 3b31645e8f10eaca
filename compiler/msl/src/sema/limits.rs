//! Limits of one check: nesting, instantiations, packs and constant evaluation.
//!
//! Invariant: each of these counts is bounded, and the check ends at the first bound that is reached
//! ([`Diagnostics::give_up`]).

use super::diagnostics::Diagnostics;
use anymetal_diagnostics::Span;

/// The deepest nesting of instantiations.
const MAX_INSTANTIATION_DEPTH: usize = 512;

/// The most functions and records one check instantiates.
const MAX_INSTANTIATIONS: usize = 100_000;

/// The most elements of parameter packs one check expands: nested expansions multiply.
const MAX_PACK_ELEMENTS: usize = 250_000;

/// The most functions that all overload resolutions of one check try.
const MAX_CANDIDATES: usize = 2_000_000;

/// The deepest nesting of expressions and statements, instantiations included.
const MAX_DEPTH: u32 = 6_000;

/// The most colour attachments of a render pass.
pub(super) const MAX_COLOR_ATTACHMENTS: u32 = 8;

/// The deepest list that is tried. Trying a list checks it, and so for each list around it: beyond a few
/// levels it is taken to fit.
const MAX_TRIED_LISTS: u32 = 6;

/// The counts of one check.
#[derive(Debug, Default)]
pub(super) struct Limits {
    instantiations: usize,
    /// Elements of parameter packs expanded so far.
    pack_elements: usize,
    candidates: usize,
    depth: u32,
    /// The steps of all constant evaluations so far.
    pub(super) constant_steps: u64,
    /// The number of lists around the current one that are only tried.
    tried_lists: u32,
}

impl Limits {
    /// Counts an element of an expanded pack; ends the check at the limit.
    pub(super) fn count_pack_element(&mut self, diagnostics: &mut Diagnostics) {
        self.pack_elements += 1;
        if self.pack_elements > MAX_PACK_ELEMENTS {
            let message = format!("more than {MAX_PACK_ELEMENTS} elements of parameter packs are expanded");
            diagnostics.give_up("instantiation-limit", Span::NONE, message);
        }
    }

    /// Counts a function that overload resolution tries; ends the check at the limit.
    pub(super) fn count_candidate(&mut self, span: Span, diagnostics: &mut Diagnostics) {
        self.candidates += 1;
        if self.candidates > MAX_CANDIDATES {
            let message = format!("overload resolution tries more than {MAX_CANDIDATES} functions");
            diagnostics.give_up("overload-limit", span, message);
        }
    }

    /// Enters a level of nesting; false at the limit, which ends the check. The caller leaves it.
    pub(super) fn enter(&mut self, span: Span, diagnostics: &mut Diagnostics) -> bool {
        let entered = self.try_enter();
        if !entered {
            self.report_too_deep(span, diagnostics);
        }
        entered
    }

    /// As [`Limits::enter`], but the caller reports the limit.
    pub(super) fn try_enter(&mut self) -> bool {
        let may_enter = self.depth < MAX_DEPTH;
        self.depth += u32::from(may_enter);
        may_enter
    }

    pub(super) fn report_too_deep(&self, span: Span, diagnostics: &mut Diagnostics) {
        let message = "the program nests too deeply to be checked".to_owned();
        diagnostics.give_up("too-deep", span, message);
    }

    pub(super) fn leave(&mut self) {
        assert!(self.depth > 0, "a level was entered");
        self.depth -= 1;
    }

    /// Counts an instantiation; false at the limit, which ends the check.
    pub(super) fn count_instantiation(&mut self, span: Span, diagnostics: &mut Diagnostics) -> bool {
        if diagnostics.gave_up() {
            return false;
        }
        if self.instantiations >= MAX_INSTANTIATIONS {
            let what = format!("more than {MAX_INSTANTIATIONS} templates are instantiated");
            diagnostics.give_up("instantiation-limit", span, what);
            return false;
        }
        self.instantiations += 1;
        true
    }

    /// Counts an instantiation that is checked immediately, nested in the current trace; false at a
    /// limit, which ends the check.
    pub(super) fn count_nested_instantiation(&mut self, span: Span, diagnostics: &mut Diagnostics) -> bool {
        if diagnostics.gave_up() {
            return false;
        }
        if diagnostics.trace_depth() >= MAX_INSTANTIATION_DEPTH {
            let what = format!("templates are instantiated more than {MAX_INSTANTIATION_DEPTH} deep");
            diagnostics.give_up("instantiation-limit", span, what);
            return false;
        }
        self.count_instantiation(span, diagnostics)
    }

    /// Begins to try a list; false if too many lists around it are being tried.
    pub(super) fn enter_tried_list(&mut self) -> bool {
        let entered = self.tried_lists < MAX_TRIED_LISTS;
        self.tried_lists += u32::from(entered);
        entered
    }

    pub(super) fn leave_tried_list(&mut self) {
        assert!(self.tried_lists > 0, "a list is being tried");
        self.tried_lists -= 1;
    }
}

//! Running a closure in a changed state: quietly, once, deeper, in an instantiation, a scope or a function.
//!
//! Invariant: the state is restored after the closure, whatever it reports.

use super::Checker;
use crate::sema::diagnostics::Deferred;
use crate::sema::fn_context::{FnContext, Returns};
use crate::sema::scopes::ScopeId;
use anymetal_diagnostics::{Diagnostic, Span};

impl Checker<'_> {
    /// Runs `f` with reporting suppressed: its errors if there were any (substitution failure).
    pub(in crate::sema) fn quietly<R>(
        &mut self,
        f: impl FnOnce(&mut Self) -> R,
    ) -> Result<R, Vec<Diagnostic>> {
        let outer = self.diagnostics.begin_quiet();
        let result = f(self);
        self.diagnostics.end_quiet(outer).map(|()| result)
    }

    /// Runs a check that happens only once. If reporting is suppressed, its errors are kept for the next
    /// request.
    pub(in crate::sema) fn once<R>(&mut self, what: Deferred, f: impl FnOnce(&mut Self) -> R) -> R {
        let outer = self.diagnostics.begin_once();
        let ignores_access = std::mem::replace(&mut self.records.ignores_access, false);
        let result = f(self);
        self.records.ignores_access = ignores_access;
        self.diagnostics.finish_once(what, outer);
        result
    }

    /// Runs `f` one level deeper; reports and returns `None` at the limit.
    pub(in crate::sema) fn deeper<R>(&mut self, span: Span, f: impl FnOnce(&mut Self) -> R) -> Option<R> {
        if !self.limits.enter(span, &mut self.diagnostics) {
            return None;
        }
        let result = f(self);
        self.limits.leave();
        Some(result)
    }

    /// Runs `f` with another current scope.
    pub(in crate::sema) fn in_scope<R>(&mut self, scope: ScopeId, f: impl FnOnce(&mut Self) -> R) -> R {
        let outer = self.scopes.enter(scope);
        let result = f(self);
        self.scopes.enter(outer);
        result
    }

    /// Runs `f` in a new block scope.
    pub(in crate::sema) fn in_block<R>(&mut self, f: impl FnOnce(&mut Self) -> R) -> R {
        let scope = self.scopes.add_block();
        self.in_scope(scope, f)
    }

    /// Runs `f` in the body of another function, or in an initialiser outside of functions.
    pub(in crate::sema) fn in_function<R>(&mut self, returns: Returns, f: impl FnOnce(&mut Self) -> R) -> R {
        let function = FnContext::new(self.local_constants.new_function(), returns);
        let outer = std::mem::replace(&mut self.function, function);
        let result = f(self);
        self.function = outer;
        result
    }

    /// Runs `f` as an instantiation that was caused at `span`; `None` at a limit.
    pub(in crate::sema) fn instantiating<R>(
        &mut self,
        text: impl FnOnce(&Self) -> String,
        span: Span,
        f: impl FnOnce(&mut Self) -> R,
    ) -> Option<R> {
        if !self.limits.count_nested_instantiation(span, &mut self.diagnostics) {
            return None;
        }
        let inner = self.diagnostics.trace_with(text(self), span);
        let outer = self.diagnostics.replace_trace(inner);
        let placeholders = std::mem::take(&mut self.placeholders);
        let result = self.deeper(span, f);
        self.placeholders = placeholders;
        self.diagnostics.replace_trace(outer);
        result
    }

    /// Runs `f` for the n-th element of the packs that an expansion names. The caller stops when the check
    /// has given up: nested expansions multiply.
    pub(in crate::sema) fn with_pack_index<R>(&mut self, n: usize, f: impl FnOnce(&mut Self) -> R) -> R {
        self.limits.count_pack_element(&mut self.diagnostics);
        let outer = self.placeholders.pack_index.replace(n);
        let result = f(self);
        self.placeholders.pack_index = outer;
        result
    }

    /// Runs `f` with access control inside a region without it.
    pub(in crate::sema) fn with_access<R>(&mut self, f: impl FnOnce(&mut Self) -> R) -> R {
        let outer = std::mem::replace(&mut self.records.ignores_access, false);
        let result = f(self);
        self.records.ignores_access = outer;
        result
    }

    /// Runs `f` without access control, for names that only lead to a declaration.
    pub(in crate::sema) fn without_access<R>(&mut self, f: impl FnOnce(&mut Self) -> R) -> R {
        let outer = std::mem::replace(&mut self.records.ignores_access, true);
        let result = f(self);
        self.records.ignores_access = outer;
        result
    }
}

//! Scopes: making them, entering them, declaring names in blocks, entering functions.
//!
//! Invariant: [`Checker::scope`] is the scope that names are looked up in; whoever changes it restores it
//! ([`Checker::in_scope`]).

use super::{Checker, LocalDecl, Scope, ScopeId, ScopeKind};
use crate::sema::fn_context::{FnContext, Returns};
use crate::sema::table::{ItemId, NsId};
use crate::token::Name;
use anymetal_diagnostics::Span;
use rustc_hash::FxHashMap;

impl Checker<'_> {
    pub(in crate::sema) fn add_scope(&mut self, parent: Option<ScopeId>, kind: ScopeKind) -> ScopeId {
        self.scopes.push(Scope { parent, kind });
        ScopeId(self.scopes.len() as u32 - 1)
    }

    pub(in crate::sema) fn namespace_scope(&mut self, ns: NsId) -> ScopeId {
        if let Some(&scope) = self.ns_scopes.get(&ns) {
            return scope;
        }
        let parent = self.table.parent(ns).map(|parent| self.namespace_scope(parent));
        let scope = self.add_scope(parent, ScopeKind::Namespace(ns));
        self.ns_scopes.insert(ns, scope);
        scope
    }

    pub(in crate::sema) fn scope_of_item(&mut self, id: ItemId) -> ScopeId {
        let ns = self.entry(id).ns;
        self.namespace_scope(ns)
    }

    /// Runs `f` with another current scope.
    pub(in crate::sema) fn in_scope<R>(&mut self, scope: ScopeId, f: impl FnOnce(&mut Self) -> R) -> R {
        let outer = std::mem::replace(&mut self.scope, scope);
        let result = f(self);
        self.scope = outer;
        result
    }

    /// Runs `f` in a new block scope.
    pub(in crate::sema) fn in_block<R>(&mut self, f: impl FnOnce(&mut Self) -> R) -> R {
        let scope = self.add_scope(Some(self.scope), ScopeKind::Block(FxHashMap::default()));
        self.in_scope(scope, f)
    }

    /// The namespace that encloses a scope.
    pub(in crate::sema) fn enclosing_namespace(&self, mut scope: ScopeId) -> NsId {
        loop {
            let data = &self.scopes[scope.0 as usize];
            match (&data.kind, data.parent) {
                (ScopeKind::Namespace(ns), _) => return *ns,
                (_, Some(parent)) => scope = parent,
                (_, None) => return NsId::GLOBAL,
            }
        }
    }

    /// Declares a name in the innermost block scope.
    pub(in crate::sema) fn declare_local(&mut self, name: Name, decl: LocalDecl, span: Span) {
        if name == Name::EMPTY {
            return;
        }
        let scope = self.scope.0 as usize;
        if let ScopeKind::Block(names) = &mut self.scopes[scope].kind
            && names.insert(name, decl).is_some()
        {
            self.error("redefinition", span, format!("redefinition of `{name}`"));
        }
    }

    /// Runs `f` in the body of another function, or in an initialiser outside of functions.
    pub(in crate::sema) fn in_function<R>(&mut self, returns: Returns, f: impl FnOnce(&mut Self) -> R) -> R {
        let function = FnContext::new(self.local_constants.new_function(), returns);
        let outer = std::mem::replace(&mut self.function, function);
        let result = f(self);
        self.function = outer;
        result
    }
}

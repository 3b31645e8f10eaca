//! Which names are types, templates, namespaces or values, as far as parsing needs to know.
//!
//! Scopes form a tree; those inside of functions are dropped at the end of the function. Every user's file
//! starts from a clone of the library's scopes.

use crate::token::Name;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// The most using-directives of a unit: each lookup may follow all of them.
pub(crate) const MAX_DIRECTIVES: usize = 10_000;

/// What a name is to the grammar.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NameKind {
    /// Not declared (yet).
    Unknown,
    /// A type.
    Type,
    /// A class or alias template.
    TypeTemplate,
    /// A function or variable template (also when plain functions of that name exist).
    ValueTemplate,
    /// A namespace.
    Namespace,
    /// Anything else.
    Value,
}

/// A scope of the table.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct ScopeId(u32);

/// What is known of a name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) kind: NameKind,
    /// The scope of a namespace or class.
    pub(super) scope: Option<ScopeId>,
}

#[derive(Clone, Debug, Default)]
struct Scope {
    parent: Option<ScopeId>,
    names: FxHashMap<Name, Entry>,
    using: Vec<ScopeId>,
    is_class: bool,
    is_template: bool,
}

/// The names of a unit. Cloning shares the scopes; a scope is copied when the clone first changes it.
#[derive(Clone, Debug)]
pub struct Scopes {
    scopes: Vec<Arc<Scope>>,
    current: ScopeId,
    /// The class whose members are being parsed, to recognise its constructors.
    pub(super) class_name: Option<Name>,
    /// The number of units that were parsed completely.
    units: u32,
    /// The number of scopes that these scopes use, each counted for each.
    directives: usize,
}

impl Default for Scopes {
    fn default() -> Self {
        Self {
            scopes: vec![Arc::new(Scope::default())],
            current: ScopeId(0),
            class_name: None,
            units: 0,
            directives: 0,
        }
    }
}

impl Scopes {
    /// The number of units whose names these are.
    pub(super) fn units(&self) -> u32 {
        self.units
    }

    /// The names for the next unit.
    pub(super) fn after_unit(self) -> Self {
        Self { units: self.units + 1, ..self }
    }

    pub(super) fn current(&self) -> ScopeId {
        self.current
    }

    pub(super) fn set_current(&mut self, scope: ScopeId) {
        self.current = scope;
    }

    fn get(&self, id: ScopeId) -> &Scope {
        &self.scopes[id.0 as usize]
    }

    fn get_mut(&mut self, id: ScopeId) -> &mut Scope {
        Arc::make_mut(&mut self.scopes[id.0 as usize])
    }

    /// Adds a scope inside the current one, without entering it.
    pub(super) fn add(&mut self, is_class: bool) -> ScopeId {
        let scope = Scope { parent: Some(self.current), is_class, ..Scope::default() };
        self.scopes.push(Arc::new(scope));
        ScopeId(self.scopes.len() as u32 - 1)
    }

    /// Enters a fresh scope; returns the one before, to be set again.
    pub(super) fn enter(&mut self) -> ScopeId {
        let inner = self.add(false);
        std::mem::replace(&mut self.current, inner)
    }

    /// How many scopes there are: those made from now on can be dropped together.
    pub(super) fn len(&self) -> usize {
        self.scopes.len()
    }

    /// Truncates the list of scopes to `len`. Nothing may be named in the dropped ones any more.
    pub(super) fn truncate(&mut self, len: usize) {
        let dropped = self.scopes.iter().skip(len);
        self.directives -= dropped.map(|scope| scope.using.len()).sum::<usize>();
        self.scopes.truncate(len);
    }

    /// Whether the current scope is a class's, or template parameters directly inside one.
    pub(super) fn in_class_body(&self) -> bool {
        let mut scope = self.get(self.current);
        while scope.is_template {
            let Some(parent) = scope.parent else { break };
            scope = self.get(parent);
        }
        scope.is_class
    }

    /// Enters a fresh scope for template parameters; returns the one before.
    pub(super) fn enter_template(&mut self) -> ScopeId {
        let outer = self.enter();
        let current = self.current;
        self.get_mut(current).is_template = true;
        outer
    }

    /// The nearest enclosing scope that is not of template parameters.
    pub(super) fn outside_template(&self) -> ScopeId {
        let mut id = self.current;
        while self.get(id).is_template {
            let Some(parent) = self.get(id).parent else { break };
            id = parent;
        }
        id
    }

    /// Names not found in `scope` are looked up in `parent`.
    pub(super) fn set_parent(&mut self, scope: ScopeId, parent: ScopeId) {
        if scope != parent {
            self.get_mut(scope).parent = Some(parent);
        }
    }

    /// The outermost scope.
    pub(super) fn root(&self) -> ScopeId {
        ScopeId(0)
    }

    /// Declares a name in the current scope. A type stays a type and a template a template when a
    /// value of that name comes along (`struct stat` beside `stat()` does not occur in MSL, but
    /// overloads beside a template do).
    pub(super) fn declare(&mut self, name: Name, kind: NameKind) {
        self.declare_with(name, Entry { kind, scope: None });
    }

    pub(super) fn declare_with(&mut self, name: Name, entry: Entry) {
        let scope = self.get_mut(self.current);
        let slot = scope.names.entry(name).or_insert(entry);
        match (slot.kind, entry.kind) {
            (NameKind::ValueTemplate | NameKind::TypeTemplate, NameKind::Value) => {}
            _ => *slot = Entry { kind: entry.kind, scope: entry.scope.or(slot.scope) },
        }
    }

    /// Names of another scope become visible in the current one.
    pub(super) fn use_namespace(&mut self, used: ScopeId) {
        let current = self.current;
        if !self.get(current).using.contains(&used) {
            self.directives += 1;
            self.get_mut(current).using.push(used);
        }
    }

    /// Whether lookups have more scopes to follow than they may.
    pub(super) fn has_too_many_directives(&self) -> bool {
        self.directives > MAX_DIRECTIVES
    }

    /// Looks a name up from the current scope outwards.
    pub(super) fn lookup(&self, name: Name) -> Option<Entry> {
        let mut scope = Some(self.current);
        while let Some(id) = scope {
            if let Some(entry) = self.lookup_in(id, name) {
                return Some(entry);
            }
            scope = self.get(id).parent;
        }
        None
    }

    /// Looks a name up in one scope and the namespaces it uses.
    pub(super) fn lookup_in(&self, id: ScopeId, name: Name) -> Option<Entry> {
        if let Some(&entry) = self.get(id).names.get(&name) {
            return Some(entry);
        }
        // The nearest first. Rarely do these use others.
        let direct = &self.get(id).using;
        let found = direct.iter().find_map(|&used| self.get(used).names.get(&name).copied());
        if found.is_some() || direct.iter().all(|&used| self.get(used).using.is_empty()) {
            return found;
        }
        let mut pending = direct.clone();
        let mut seen: FxHashSet<ScopeId> = pending.iter().copied().collect();
        let mut next = 0;
        while next < pending.len() {
            let used = self.get(pending[next]);
            if let Some(&entry) = used.names.get(&name) {
                return Some(entry);
            }
            for &further in &used.using {
                if seen.insert(further) {
                    pending.push(further);
                }
            }
            next += 1;
        }
        None
    }

    /// The entry of exactly this scope.
    pub(super) fn own(&self, name: Name) -> Option<Entry> {
        self.get(self.current).names.get(&name).copied()
    }
}

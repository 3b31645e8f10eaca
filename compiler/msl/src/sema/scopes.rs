//! Scopes: what each declares, the current one, and the walk outwards that looks a name up.
//!
//! Scopes know names, not their meaning. A lookup walks outwards ([`Scopes::next`]) and stops at each scope
//! that may declare the name. At a class, and at the namespaces, which end the walk, the checker answers,
//! because the answer may need an instantiation.
//!
//! Invariant: [`Scopes::current`] is the scope that names are looked up in; a caller that enters another one
//! restores it ([`super::checker::Checker::in_scope`]).

use super::entities::{Found, LocalDecl, TArg};
use super::table::{Decl, ItemId, Layer, Level, NsId};
use crate::ast::{TemplateParam, TemplateParamKind, TemplateParams};
use crate::hir::RecordId;
use crate::token::Name;
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// A scope of this check.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct ScopeId(u32);

/// The declarations of a scope.
#[derive(Debug)]
pub(super) enum ScopeKind {
    Namespace(NsId),
    /// The arguments of one template's parameters.
    Template(Rc<[(Name, TArg)]>),
    Record(RecordId),
    Block(FxHashMap<Name, LocalDecl>),
}

/// A scope and its parent.
#[derive(Debug)]
struct Scope {
    parent: Option<ScopeId>,
    kind: ScopeKind,
    /// Whether it cannot declare the names of its parent again: the body of a loop, an `if` or a `switch`.
    continues_parent: bool,
}

/// Where a name is looked up among namespaces.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Reach {
    /// In a namespace and its inline namespaces.
    Direct(NsId),
    /// After `n::`.
    Qualified(NsId),
    /// On its own, through the levels of that index in [`Views`].
    Unqualified(usize),
}

/// The namespaces that names on their own are looked up in, by the innermost one and the namespaces that
/// directives of the blocks in it nominate.
#[derive(Debug, Default)]
struct Views {
    known: FxHashMap<(NsId, Vec<NsId>), usize>,
    levels: Vec<Rc<[Level]>>,
}

/// A lookup under way.
#[derive(Debug)]
pub(super) struct Walk {
    at: Option<ScopeId>,
    /// The namespaces that directives of the blocks so far nominate.
    nominated: Vec<NsId>,
}

/// A scope's answer to a lookup.
#[derive(Debug)]
pub(super) enum Hit<'a> {
    /// A declaration of a block.
    Local(LocalDecl),
    /// `using a::b` of a block.
    Using(Found<'a>),
    /// The argument of a template's parameter.
    Argument(TArg),
    /// A class, which may have a member of that name.
    Record(RecordId),
    /// The namespaces around: the end of the walk.
    Namespaces(Reach),
}

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct Scopes<'a> {
    table: &'a Layer,
    scopes: Vec<Scope>,
    current: ScopeId,
    namespaces: FxHashMap<NsId, ScopeId>,
    /// `using namespace` inside of blocks.
    directives: Vec<(ScopeId, NsId)>,
    /// `using a::b` inside of blocks.
    usings: Vec<(ScopeId, Name, Found<'a>)>,
    /// The lists of template template parameters that have default arguments, by the scope of the argument.
    lists: Vec<(ScopeId, Name, &'a TemplateParams)>,
    views: Views,
}

impl<'a> Scopes<'a> {
    /// The global namespace's scope alone.
    pub(super) fn new(table: &'a Layer) -> Self {
        let mut scopes = Self {
            table,
            scopes: Vec::new(),
            current: ScopeId(0),
            namespaces: FxHashMap::default(),
            directives: Vec::new(),
            usings: Vec::new(),
            lists: Vec::new(),
            views: Views::default(),
        };
        scopes.current = scopes.namespace(NsId::GLOBAL);
        scopes
    }

    pub(super) fn current(&self) -> ScopeId {
        self.current
    }

    /// Makes another scope the current one; returns the previous scope, which the caller restores.
    pub(super) fn enter(&mut self, scope: ScopeId) -> ScopeId {
        std::mem::replace(&mut self.current, scope)
    }

    fn get(&self, id: ScopeId) -> &Scope {
        &self.scopes[id.0 as usize]
    }

    // --- making scopes

    fn push(&mut self, parent: Option<ScopeId>, kind: ScopeKind) -> ScopeId {
        self.scopes.push(Scope { parent, kind, continues_parent: false });
        ScopeId(self.scopes.len() as u32 - 1)
    }

    /// Adds a scope inside of another one.
    pub(super) fn add(&mut self, parent: ScopeId, kind: ScopeKind) -> ScopeId {
        self.push(Some(parent), kind)
    }

    /// Adds an empty block in the current scope.
    pub(super) fn add_block(&mut self) -> ScopeId {
        self.add(self.current, ScopeKind::Block(FxHashMap::default()))
    }

    /// Adds an empty block in the current scope, whose names it cannot declare again.
    pub(super) fn add_body(&mut self) -> ScopeId {
        let scope = self.add_block();
        self.scopes[scope.0 as usize].continues_parent = true;
        scope
    }

    /// A scope with these arguments bound to the parameters' names.
    pub(super) fn template_scope(
        &mut self,
        params: &'a [TemplateParam],
        args: &[TArg],
        parent: ScopeId,
    ) -> ScopeId {
        let bound: Vec<(Name, TArg)> =
            params.iter().zip(args).filter_map(|(param, arg)| Some((param.name?, arg.clone()))).collect();
        let scope = self.add(parent, ScopeKind::Template(bound.into()));
        for param in &params[..args.len().min(params.len())] {
            if let (TemplateParamKind::Template(list, _), Some(name)) = (&param.kind, param.name)
                && list.params.iter().any(TemplateParam::has_default)
            {
                self.lists.push((scope, name, list));
            }
        }
        scope
    }

    /// The parameters of the template template parameter of that name, if some have default arguments, and
    /// the scope of the argument.
    pub(super) fn parameter_list(&self, name: Name) -> Option<(&'a TemplateParams, ScopeId)> {
        if self.lists.is_empty() {
            return None;
        }
        let scope = self.around().find(|&scope| match &self.get(scope).kind {
            ScopeKind::Template(bindings) => bindings.iter().any(|(bound, _)| *bound == name),
            _ => false,
        })?;
        let known = self.lists.iter().find(|(at, bound, _)| *at == scope && *bound == name);
        known.map(|(.., list)| (*list, scope))
    }

    pub(super) fn namespace(&mut self, ns: NsId) -> ScopeId {
        if let Some(&scope) = self.namespaces.get(&ns) {
            return scope;
        }
        let parent = self.table.parent(ns).map(|parent| self.namespace(parent));
        let scope = self.push(parent, ScopeKind::Namespace(ns));
        self.namespaces.insert(ns, scope);
        scope
    }

    /// The scope of the namespace that a declaration is in.
    pub(super) fn of_item(&mut self, id: ItemId) -> ScopeId {
        self.namespace(self.table.entry(id).ns)
    }

    // --- facts about scopes

    /// The class whose members a scope has.
    pub(super) fn record(&self, scope: ScopeId) -> Option<RecordId> {
        match self.get(scope).kind {
            ScopeKind::Record(record) => Some(record),
            _ => None,
        }
    }

    /// The class whose members a scope has, past the template parameters that are in between.
    pub(super) fn class_of_scope(&self, scope: ScopeId) -> Option<RecordId> {
        let mut scopes = self.outwards(scope);
        match &scopes.find(|scope| !matches!(scope.kind, ScopeKind::Template(_)))?.kind {
            ScopeKind::Record(record) => Some(*record),
            _ => None,
        }
    }

    /// A scope and those around it, innermost first.
    fn outwards(&self, scope: ScopeId) -> impl Iterator<Item = &Scope> {
        std::iter::successors(Some(self.get(scope)), |scope| scope.parent.map(|parent| self.get(parent)))
    }

    /// The current scope and those around it, innermost first.
    pub(super) fn around(&self) -> impl Iterator<Item = ScopeId> {
        std::iter::successors(Some(self.current), |&scope| self.get(scope).parent)
    }

    /// The classes around the current code, innermost first.
    pub(super) fn classes_around(&self) -> Vec<RecordId> {
        self.around().filter_map(|scope| self.record(scope)).collect()
    }

    /// The classes around the current code that end after it: no function is between.
    pub(super) fn unfinished_classes(&self) -> Vec<RecordId> {
        let is_open =
            |scope: &ScopeId| matches!(self.get(*scope).kind, ScopeKind::Record(_) | ScopeKind::Template(_));
        self.around().take_while(is_open).filter_map(|scope| self.record(scope)).collect()
    }

    /// The namespace that encloses a scope.
    pub(super) fn enclosing_namespace(&self, scope: ScopeId) -> NsId {
        let namespace = |scope: &Scope| match scope.kind {
            ScopeKind::Namespace(ns) => Some(ns),
            _ => None,
        };
        self.outwards(scope).find_map(namespace).expect("the outermost scope is a namespace's")
    }

    /// Whether a scope is within a template whose arguments are not known.
    pub(super) fn is_in_template(&self, scope: ScopeId) -> bool {
        self.outwards(scope).any(|scope| match &scope.kind {
            ScopeKind::Template(bindings) => bindings.iter().any(|(_, arg)| arg.is_unknown()),
            _ => false,
        })
    }

    /// Whether the current code is of a template, with or without arguments.
    pub(super) fn is_in_instance(&self) -> bool {
        self.outwards(self.current).any(|scope| matches!(scope.kind, ScopeKind::Template(_)))
    }

    /// Whether the name is bound to a template argument.
    pub(super) fn is_template_argument(&self, name: Name) -> bool {
        for scope in self.outwards(self.current) {
            match &scope.kind {
                ScopeKind::Template(bindings) if bindings.iter().any(|(bound, _)| *bound == name) => {
                    return true;
                }
                ScopeKind::Block(names) if names.contains_key(&name) => return false,
                _ => {}
            }
        }
        false
    }

    /// The length of the pack of that name, if it names one.
    pub(super) fn pack_length(&self, name: Name) -> Option<usize> {
        for scope in self.outwards(self.current) {
            match &scope.kind {
                ScopeKind::Block(names) => match names.get(&name) {
                    Some(LocalDecl::Pack(elements)) => return Some(elements.len()),
                    Some(_) => return None,
                    None => {}
                },
                ScopeKind::Template(bindings) => match bindings.iter().find(|(n, _)| *n == name) {
                    Some((_, TArg::Pack(elements))) => return Some(elements.len()),
                    Some(_) => return None,
                    None => {}
                },
                ScopeKind::Record(_) | ScopeKind::Namespace(_) => {}
            }
        }
        None
    }

    /// Whether the name is bound to a template parameter pack with unknown arguments.
    pub(super) fn is_unknown_pack(&self, name: Name) -> bool {
        let bindings = self.outwards(self.current).filter_map(|scope| match &scope.kind {
            ScopeKind::Template(bindings) => Some(bindings),
            _ => None,
        });
        let mut args = bindings.flat_map(|bindings| bindings.iter()).filter(|(bound, _)| *bound == name);
        args.next().is_some_and(|(_, arg)| matches!(arg, TArg::Pack(_)) && arg.is_unknown())
    }

    /// All names that are visible, those of classes by `members`.
    pub(super) fn visible_names(&self, members: impl Fn(RecordId) -> Vec<Name>) -> Vec<Name> {
        let mut known = Vec::new();
        for scope in self.outwards(self.current) {
            match &scope.kind {
                ScopeKind::Block(names) => {
                    let mut own: Vec<Name> = names.keys().copied().collect();
                    own.sort_by_key(|name| name.as_str());
                    known.extend(own);
                }
                ScopeKind::Template(bindings) => known.extend(bindings.iter().map(|(name, _)| *name)),
                ScopeKind::Record(record) => known.extend(members(*record)),
                &ScopeKind::Namespace(ns) => {
                    for level in self.table.levels(ns, &[]) {
                        level.names(self.table, &mut known);
                    }
                    break;
                }
            }
        }
        known
    }

    // --- declaring names in blocks

    /// Declares a name in the current scope, if that is a block; returns what the name meant there before.
    pub(super) fn declare(&mut self, name: Name, decl: LocalDecl) -> Option<LocalDecl> {
        let scope = self.current.0 as usize;
        let around = self.scopes[scope].parent.filter(|_| self.scopes[scope].continues_parent);
        let of_parent = around.and_then(|parent| match &self.get(parent).kind {
            ScopeKind::Block(names) => names.get(&name).cloned(),
            _ => None,
        });
        match &mut self.scopes[scope].kind {
            ScopeKind::Block(names) => names.insert(name, decl).or(of_parent),
            // Variables of initialisers outside of functions have no names to declare.
            _ => None,
        }
    }

    /// Gives a name in the current scope back what it meant before [`Scopes::declare`].
    pub(super) fn restore(&mut self, name: Name, before: Option<LocalDecl>) {
        if let ScopeKind::Block(names) = &mut self.scopes[self.current.0 as usize].kind {
            match before {
                Some(before) => names.insert(name, before),
                None => names.remove(&name),
            };
        }
    }

    /// `using namespace` in the current block.
    pub(super) fn add_directive(&mut self, ns: NsId) {
        self.directives.push((self.current, ns));
    }

    /// `using a::b` in the current block.
    pub(super) fn add_using(&mut self, name: Name, found: Found<'a>) {
        self.usings.push((self.current, name, found));
    }

    // --- looking names up

    /// Begins a lookup at the current scope.
    pub(super) fn walk(&self) -> Walk {
        Walk { at: Some(self.current), nominated: Vec::new() }
    }

    /// The next scope outwards that knows the name or may know it.
    pub(super) fn next(&mut self, walk: &mut Walk, name: Name) -> Option<Hit<'a>> {
        while let Some(id) = walk.at {
            let scope = self.get(id);
            walk.at = scope.parent;
            match &scope.kind {
                ScopeKind::Block(names) => {
                    if let Some(decl) = names.get(&name) {
                        return Some(Hit::Local(decl.clone()));
                    }
                    if let Some(found) = self.block_using(id, name) {
                        return Some(Hit::Using(found));
                    }
                    walk.nominated.extend(self.nominated_in_block(id));
                }
                ScopeKind::Template(bindings) => {
                    if let Some((_, arg)) = bindings.iter().find(|(n, _)| *n == name) {
                        return Some(Hit::Argument(arg.clone()));
                    }
                }
                &ScopeKind::Record(record) => return Some(Hit::Record(record)),
                &ScopeKind::Namespace(ns) => {
                    walk.at = None;
                    return Some(Hit::Namespaces(self.unqualified(ns, std::mem::take(&mut walk.nominated))));
                }
            }
        }
        None
    }

    /// What a using-declaration or a function's declaration in the current block makes of a name.
    pub(super) fn using_of_block(&self, name: Name) -> Option<Found<'a>> {
        self.block_using(self.current, name)
    }

    /// Whether a block around the current code has a using-declaration of that name.
    pub(super) fn has_block_using(&self, name: Name) -> bool {
        self.usings.iter().any(|(at, known, _)| *known == name && self.around().any(|scope| scope == *at))
    }

    fn block_using(&self, scope: ScopeId, name: Name) -> Option<Found<'a>> {
        let known = self.usings.iter().find(|(at, known, _)| *at == scope && *known == name);
        known.map(|(.., found)| found.clone())
    }

    fn nominated_in_block(&self, scope: ScopeId) -> impl Iterator<Item = NsId> {
        self.directives.iter().filter(move |(at, _)| *at == scope).map(|&(_, ns)| ns)
    }

    /// The namespaces around the current scope, past blocks and classes.
    pub(super) fn namespaces_around(&mut self) -> Reach {
        let mut nominated = Vec::new();
        let mut id = self.current;
        loop {
            let scope = self.get(id);
            if let ScopeKind::Namespace(ns) = scope.kind {
                return self.unqualified(ns, nominated);
            }
            let parent = scope.parent.expect("the outermost scope is a namespace's");
            nominated.extend(self.nominated_in_block(id));
            id = parent;
        }
    }

    /// A namespace and those around it, for names on their own.
    pub(super) fn unqualified(&mut self, ns: NsId, nominated: Vec<NsId>) -> Reach {
        let table = self.table;
        let Views { known, levels } = &mut self.views;
        Reach::Unqualified(*known.entry((ns, nominated)).or_insert_with_key(|(ns, nominated)| {
            levels.push(table.levels(*ns, nominated).into());
            levels.len() - 1
        }))
    }

    /// The namespaces in search order, and the declarations that are visible in each.
    pub(super) fn visible_decls(&self, reach: Reach, name: Name) -> Vec<(NsId, Vec<(Decl, NsId)>)> {
        match reach {
            Reach::Direct(ns) => vec![(ns, self.table.direct_decls(ns, name))],
            Reach::Qualified(ns) => vec![(ns, self.table.qualified_decls(ns, name))],
            Reach::Unqualified(view) => {
                let levels = &self.views.levels[view];
                levels.iter().map(|level| (level.ns, level.decls(self.table, name))).collect()
            }
        }
    }
}

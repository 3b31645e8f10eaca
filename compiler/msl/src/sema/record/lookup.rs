//! Names in a class and its bases, and the way from a class to a base.

use super::{Member, RecordState};
use crate::ast;
use crate::hir::{QualTy, RecordId};
use crate::sema::checker::{Checker, FnDeclId};
use crate::sema::lookup::{Found, VarDecl};
use crate::token::Name;
use anymetal_diagnostics::Span;
use rustc_hash::FxHashSet;
use std::rc::Rc;

impl<'a> Checker<'a> {
    /// Looks a name up in a class and its bases.
    pub(in crate::sema) fn lookup_in_record(&mut self, id: RecordId, name: Name) -> Option<Found<'a>> {
        if let Some(found) = self.lookup_in_class(id, name) {
            return Some(found);
        }
        self.lookup_in_bases(id, name)
    }

    /// Looks a name up in a class alone.
    pub(in crate::sema) fn lookup_in_class(&mut self, id: RecordId, name: Name) -> Option<Found<'a>> {
        self.declare_members(id);
        if let Some(found) = self.own_member(id, name) {
            return Some(found);
        }
        if self.records.get(id).state == RecordState::Declared && self.records.has_more_members(id, name) {
            // Data members and bases are only known of a complete class.
            let span = self.records.get(id).ast.map_or(Span::NONE, |ast| ast.span);
            self.complete_record(id, span);
            if let Some(found) = self.own_member(id, name) {
                return Some(found);
            }
        }
        (self.records.get(id).name == Some(name)).then_some(Found::Injected(id))
    }

    fn own_member(&mut self, id: RecordId, name: Name) -> Option<Found<'a>> {
        let members = self.records.get(id).members.get(&name)?;
        let scope = self.records.get(id).scope;
        let mut methods: Vec<FnDeclId> = members
            .iter()
            .filter_map(|m| if let Member::Method(decl) = m { Some(*decl) } else { None })
            .collect();
        let first = members.iter().find(|member| !matches!(member, Member::Using(_))).cloned();
        let usings: Vec<&'a ast::UsingDeclaration> = members
            .iter()
            .filter_map(|m| if let Member::Using(using) = m { Some(*using) } else { None })
            .collect();
        for using in usings {
            match self.used_member(id, using) {
                Some(Found::Functions(decls)) => {
                    let known: FxHashSet<FnDeclId> = methods.iter().copied().collect();
                    methods.extend(decls.iter().filter(|decl| !known.contains(decl)));
                }
                Some(found) if methods.is_empty() && first.is_none() => return Some(found),
                // Another declaration hides it, or it leads nowhere, which is reported where the class is
                // completed.
                _ => {}
            }
        }
        if !methods.is_empty() {
            return Some(Found::Functions(methods.into()));
        }
        Some(match first? {
            Member::Field(path) => Found::Field(id, path),
            Member::Method(_) | Member::Using(_) => return None,
            Member::Variable(variable, template) => Found::Variable(VarDecl { variable, template, scope }),
            Member::Alias(alias, template) => self.alias_found(alias, template, scope),
            Member::Record(record, template) => self.record_found(record, template, Vec::new(), scope),
            Member::Enum(enumeration) => Found::Type(QualTy::plain(self.enum_ty(enumeration, scope))),
            Member::Enumerator(enumeration, n) => self.enumerator(enumeration, scope, n),
        })
    }

    /// What a using-declaration of a class stands for.
    fn used_member(&mut self, id: RecordId, using: &'a ast::UsingDeclaration) -> Option<Found<'a>> {
        if self.records.usings.is_cycle(using.id) {
            return None;
        }
        if let Some(known) = self.records.usings.functions(id, using.id) {
            return Some(Found::Functions(known));
        }
        let cycles = self.records.usings.enter(using.id);
        let scope = self.records.get(id).scope;
        let found = self.in_scope(scope, |s| s.used_by(using));
        let is_whole = self.records.usings.leave(cycles);
        let found = found?;
        if let Found::Functions(decls) = &found {
            let introduced = &mut self.records.get_mut(id).introduced;
            introduced.extend(decls.iter().filter(|decl| !introduced.contains(decl)).collect::<Vec<_>>());
            // What a cycle cut short, and what may still get declarations, is looked up again.
            if is_whole && self.records.get(id).state == RecordState::Complete {
                self.records.usings.set_functions(id, using.id, Rc::clone(decls));
            }
        }
        Some(found)
    }

    /// What a using-declaration names: of a pack, the functions of all elements.
    fn used_by(&mut self, using: &'a ast::UsingDeclaration) -> Option<Found<'a>> {
        let resolve = |s: &mut Self| s.quietly(|s| s.resolve_path(&using.path)).ok()?.ok();
        if !using.is_pack {
            return Some(resolve(self)?.found);
        }
        let mut all: Vec<FnDeclId> = Vec::new();
        let mut other = None;
        for n in 0..self.scopes.pack_length_of_path(&using.path)? {
            match self.with_pack_index(n, resolve)?.found {
                Found::Functions(decls) => {
                    all.extend(decls.iter().filter(|decl| !all.contains(decl)).collect::<Vec<_>>())
                }
                found => other = Some(found),
            }
        }
        if all.is_empty() { other } else { Some(Found::Functions(all.into())) }
    }

    /// The assignment operators that a class declares or takes over: those of bases are hidden.
    pub(in crate::sema) fn assignment_operators(&mut self, id: RecordId) -> Vec<FnDeclId> {
        self.declare_members(id);
        match self.own_member(id, self.names.assign_operator) {
            Some(Found::Functions(decls)) => decls.to_vec(),
            _ => Vec::new(),
        }
    }

    /// The offset path from a class to one of its bases, as field indices; `None` if it is no base.
    /// An empty base has no field: then `Some(vec![])` stands for the object itself.
    pub(in crate::sema) fn base_path(&mut self, derived: RecordId, base: RecordId) -> Option<Vec<u32>> {
        if derived == base {
            return Some(Vec::new());
        }
        self.declare_members(derived);
        if self.records.get(derived).ast.is_none_or(|ast| ast.bases.is_empty()) {
            return None;
        }
        let span = self.records.get(derived).ast.map_or(Span::NONE, |ast| ast.span);
        if self.records.get(derived).state < RecordState::Completing {
            self.complete_record(derived, span);
        }
        let mut path = Vec::new();
        self.records.find_base(derived, base, &mut path, &mut FxHashSet::default()).then_some(path)
    }
}

/// `B::B`, where `B` may be an alias, and have template arguments in front.
pub(super) fn names_constructors(path: &ast::Path) -> bool {
    matches!(path.segments.as_slice(), [.., class, last] if class.name == last.name && last.operator.is_none())
}

//! Names in a class and its bases, and the way from a class to a base.

use super::{Member, RecordState};
use crate::ast::{self, ItemKind};
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
        self.bases_of(id).into_iter().find_map(|base| self.lookup_in_class(base, name))
    }

    /// Looks a name up in a class alone.
    fn lookup_in_class(&mut self, id: RecordId, name: Name) -> Option<Found<'a>> {
        self.declare_members(id);
        if let Some(found) = self.own_member(id, name) {
            return Some(found);
        }
        if self.record_inst(id).state == RecordState::Declared && self.has_more_members(id, name) {
            // Data members and bases are only known of a complete class.
            let span = self.record_inst(id).ast.map_or(Span::NONE, |ast| ast.span);
            self.complete_record(id, span);
            if let Some(found) = self.own_member(id, name) {
                return Some(found);
            }
        }
        (self.record_inst(id).name == Some(name)).then_some(Found::Injected(id))
    }

    /// The bases of a class and theirs, each once: of classes that are bases of two bases there are
    /// exponentially many paths.
    pub(in crate::sema) fn bases_of(&self, id: RecordId) -> Vec<RecordId> {
        let mut found = Vec::new();
        let mut seen = FxHashSet::default();
        let direct = |id: RecordId| self.record_inst(id).bases.iter().rev().map(|&(base, _)| base);
        let mut pending: Vec<RecordId> = direct(id).collect();
        while let Some(base) = pending.pop() {
            if seen.insert(base) {
                found.push(base);
                pending.extend(direct(base));
            }
        }
        found
    }

    /// Whether completing the class may bring a member of that name.
    fn has_more_members(&self, id: RecordId, name: Name) -> bool {
        let ast = self.record_inst(id).ast;
        ast.and_then(|ast| ast.members.as_ref()).is_some_and(|items| {
            let declares = |item: &ast::Item| match &item.kind {
                ItemKind::Field(field) => field.name.is_none_or(|field| field == name),
                _ => false,
            };
            items.iter().any(declares) || ast.is_some_and(|ast| !ast.bases.is_empty())
        })
    }

    fn own_member(&mut self, id: RecordId, name: Name) -> Option<Found<'a>> {
        let members = self.record_inst(id).members.get(&name)?;
        let scope = self.record_inst(id).scope;
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
        // `using f::f;` leads to itself.
        let key = using.id;
        if self.using_stack.contains(&key) {
            self.using_cycles += 1;
            return None;
        }
        // Classes with two bases that use the same name have exponentially many paths to it.
        if let Some(known) = self.used_functions.get(&(id, key)) {
            return Some(Found::Functions(Rc::clone(known)));
        }
        let cycles = self.using_cycles;
        self.using_stack.push(key);
        let scope = self.record_inst(id).scope;
        let target = self.quietly(|s| s.in_scope(scope, |s| s.resolve_path(&using.path)));
        self.using_stack.pop();
        let found = target.ok()?.ok()?.found;
        if let Found::Functions(decls) = &found {
            let introduced = &mut self.records[id.0 as usize].introduced;
            introduced.extend(decls.iter().filter(|decl| !introduced.contains(decl)).collect::<Vec<_>>());
            // What a cycle cut short, and what may still get declarations, is looked up again.
            if self.using_cycles == cycles && self.record_inst(id).state == RecordState::Complete {
                self.used_functions.insert((id, key), Rc::clone(decls));
            }
        }
        Some(found)
    }

    /// The assignment operators that a class declares or takes over: those of bases are hidden.
    pub(in crate::sema) fn assignment_operators(&mut self, id: RecordId) -> Vec<FnDeclId> {
        self.declare_members(id);
        match self.own_member(id, self.names.assign_operator) {
            Some(Found::Functions(decls)) => decls.to_vec(),
            _ => Vec::new(),
        }
    }

    /// Whether a using-declaration of the class names constructors of a base.
    pub(in crate::sema) fn inherits_constructors(&self, id: RecordId) -> bool {
        let members = self.record_inst(id).ast.and_then(|ast| ast.members.as_ref());
        members.into_iter().flatten().any(
            |item| matches!(&item.kind, ItemKind::UsingDeclaration(using) if names_constructors(&using.path)),
        )
    }

    /// The offset path from a class to one of its bases, as field indices; `None` if it is no base.
    /// An empty base has no field: then `Some(vec![])` stands for the object itself.
    pub(in crate::sema) fn base_path(&mut self, derived: RecordId, base: RecordId) -> Option<Vec<u32>> {
        if derived == base {
            return Some(Vec::new());
        }
        self.declare_members(derived);
        if self.record_inst(derived).ast.is_none_or(|ast| ast.bases.is_empty()) {
            return None;
        }
        let span = self.record_inst(derived).ast.map_or(Span::NONE, |ast| ast.span);
        if self.record_inst(derived).state < RecordState::Completing {
            self.complete_record(derived, span);
        }
        let mut path = Vec::new();
        self.find_base(derived, base, &mut path, &mut FxHashSet::default()).then_some(path)
    }

    /// Extends the path to the base; `seen` are the classes that do not lead there.
    fn find_base(
        &self,
        derived: RecordId,
        base: RecordId,
        path: &mut Vec<u32>,
        seen: &mut FxHashSet<RecordId>,
    ) -> bool {
        for &(direct, field) in &self.record_inst(derived).bases {
            if !seen.insert(direct) {
                continue;
            }
            path.extend(field);
            if direct == base || self.find_base(direct, base, path, seen) {
                return true;
            }
            path.truncate(path.len() - usize::from(field.is_some()));
        }
        false
    }
}

/// `B::B`, where `B` may be an alias, and have template arguments in front.
pub(super) fn names_constructors(path: &ast::Path) -> bool {
    matches!(path.segments.as_slice(), [.., class, last] if class.name == last.name && last.operator.is_none())
}

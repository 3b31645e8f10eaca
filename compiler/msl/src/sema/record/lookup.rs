//! Names in a class and its bases, and the way from a class to a base.

use super::{Member, RecordState};
use crate::ast::{self, ItemKind};
use crate::hir::{QualTy, RecordId};
use crate::sema::checker::{Checker, FnDeclId};
use crate::sema::lookup::{Found, VarDecl};
use crate::token::Name;
use anymetal_diagnostics::Span;

impl<'a> Checker<'a> {
    /// Looks a name up in a class and its bases.
    pub(in crate::sema) fn lookup_in_record(&mut self, id: RecordId, name: Name) -> Option<Found<'a>> {
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
        if self.record_inst(id).name == Some(name) {
            return Some(Found::Injected(id));
        }
        for (base, _) in self.record_inst(id).bases.clone() {
            if let Some(found) = self.lookup_in_record(base, name) {
                return Some(found);
            }
        }
        None
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
        let methods: Vec<FnDeclId> = members
            .iter()
            .filter_map(|m| if let Member::Method(decl) = m { Some(*decl) } else { None })
            .collect();
        if !methods.is_empty() {
            return Some(Found::Functions(methods.into()));
        }
        Some(match members.first()?.clone() {
            Member::Field(path) => Found::Field(id, path),
            Member::Method(_) => return None,
            Member::Variable(variable, template) => Found::Variable(VarDecl { variable, template, scope }),
            Member::Alias(alias, template) => self.alias_found(alias, template, scope),
            Member::Record(record, template) => self.record_found(record, template, Vec::new(), scope),
            Member::Enum(enumeration) => Found::Type(QualTy::plain(self.enum_ty(enumeration, scope))),
            Member::Enumerator(enumeration, n) => self.enumerator(enumeration, scope, n),
        })
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
        for (id, field) in self.record_inst(derived).bases.clone() {
            if let Some(mut path) = self.base_path(id, base) {
                if let Some(field) = field {
                    path.insert(0, field);
                }
                return Some(path);
            }
        }
        None
    }
}

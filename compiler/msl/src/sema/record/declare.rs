//! Declaring a class: its specialisation and the names of its members.
//!
//! Data members have no names yet after this, since those of anonymous members need types: `complete` adds
//! them.

use super::lookup::names_constructors;
use super::{Member, RecordState};
use crate::ast::{self, FunctionBody, FunctionName, ItemKind, OperatorName};
use crate::hir::RecordId;
use crate::sema::checker::Checker;
use crate::sema::path::segment_key;
use crate::sema::scopes::{ScopeId, ScopeKind};
use crate::sema::table::{Tag, function_key, tag_of};
use crate::token::Name;

impl<'a> Checker<'a> {
    /// Chooses the specialisation and makes the member names known.
    pub(in crate::sema) fn declare_members(&mut self, id: RecordId) {
        if self.record_inst(id).state > RecordState::Named {
            return;
        }
        self.records[id.0 as usize].state = RecordState::Declaring;
        if let Some(template) = self.record_inst(id).template.clone() {
            let args = self.record_inst(id).args.clone();
            let (ast, scope) = self.select_specialisation(&template, &args);
            let record = &mut self.records[id.0 as usize];
            record.ast = Some(ast);
            record.scope = scope;
        }
        let outer = self.record_inst(id).scope;
        let scope = self.scopes.add(outer, ScopeKind::Record(id));
        self.records[id.0 as usize].scope = scope;
        self.records[id.0 as usize].state = RecordState::Declared;
        if let Some(ast) = self.record_inst(id).ast {
            for item in ast.members.iter().flatten() {
                self.declare_member(id, scope, item);
            }
        }
    }

    pub(super) fn add_member(&mut self, id: RecordId, name: Name, member: Member<'a>) {
        self.records[id.0 as usize].members.entry(name).or_default().push(member);
    }

    fn declare_member(&mut self, id: RecordId, scope: ScopeId, item: &'a ast::Item) {
        let template = item.template.as_ref();
        match &item.kind {
            ItemKind::Function(function) => {
                let Some(key) = function_key(&function.name) else { return };
                if function.specifiers.is_friend {
                    // A friend that is only declared here is found where it is defined.
                    if !matches!(function.body, FunctionBody::None) {
                        let decl = self.functions.declare(function, template, scope, None);
                        self.records[id.0 as usize].friends.push((key, decl));
                    }
                    return;
                }
                // Full specialisations are found through their primary template.
                if template.is_some_and(|template| template.params.is_empty()) {
                    return;
                }
                let decl = self.functions.declare(function, template, scope, Some(id));
                match &function.name {
                    FunctionName::Constructor(_) => self.records[id.0 as usize].constructors.push(decl),
                    FunctionName::Operator(OperatorName::Conversion(_)) => {
                        self.records[id.0 as usize].conversions.push(decl);
                        self.add_member(id, key, Member::Method(decl));
                    }
                    _ => self.add_member(id, key, Member::Method(decl)),
                }
            }
            ItemKind::Variable(variable)
                if variable.declarator.scope.is_none() && variable.declarator.specialisation.is_none() =>
            {
                self.add_member(id, variable.declarator.name, Member::Variable(variable, template));
            }
            ItemKind::Alias(alias) => {
                self.add_member(id, alias.name, Member::Alias(alias, template));
                self.declare_tag(id, &alias.ty, Some(alias.name));
            }
            ItemKind::Record(record) => {
                if let Some(name) = record.name
                    && record.specialisation.is_none()
                {
                    self.add_member(id, name, Member::Record(record, template));
                }
            }
            ItemKind::Enum(enumeration) => self.declare_enum(id, enumeration),
            ItemKind::Field(field) => self.declare_tag(id, &field.ty, None),
            ItemKind::UsingDeclaration(using) if !names_constructors(&using.path) => {
                if let Some(last) = using.path.segments.last() {
                    self.add_member(id, segment_key(last), Member::Using(using));
                }
            }
            _ => {}
        }
    }

    fn declare_enum(&mut self, id: RecordId, enumeration: &'a ast::Enum) {
        if let Some(name) = enumeration.name {
            self.add_member(id, name, Member::Enum(enumeration));
        }
        if enumeration.is_scoped {
            return;
        }
        for (n, enumerator) in enumeration.enumerators.iter().flatten().enumerate() {
            self.add_member(id, enumerator.name, Member::Enumerator(enumeration, n as u32));
        }
    }

    fn declare_tag(&mut self, id: RecordId, ty: &'a ast::Type, alias: Option<Name>) {
        match tag_of(ty) {
            Some(Tag::Record(record)) => {
                if let Some(name) = record.name
                    && Some(name) != alias
                {
                    self.add_member(id, name, Member::Record(record, None));
                }
            }
            Some(Tag::Enum(enumeration)) => self.declare_enum(id, enumeration),
            None => {}
        }
    }
}

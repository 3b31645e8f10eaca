//! Declaring a class: its specialisation and the names of its members.
//!
//! Data members have no names yet after this, since those of anonymous members need types: `complete` adds
//! them.

use super::lookup::names_constructors;
use super::{Member, RecordState};
use crate::ast::{self, FunctionName, ItemKind, OperatorName};
use crate::hir::RecordId;
use crate::sema::checker::Checker;
use crate::sema::function::Functions;
use crate::sema::path::segment_key;
use crate::sema::record::Records;
use crate::sema::scopes::{ScopeId, ScopeKind};
use crate::sema::table::function_key;
use crate::sema::{out_of_line, specialise};

/// Chooses the specialisation and makes the member names known.
pub(in crate::sema) fn declare_members(cx: &mut Checker<'_>, id: RecordId) {
    if cx.records.get(id).state > RecordState::Named {
        return;
    }
    cx.records.get_mut(id).state = RecordState::Declaring;
    if let Some(template) = cx.records.get(id).template.clone() {
        let args = cx.records.get(id).args.clone();
        let (ast, scope) = specialise::select(cx, &template, &args);
        let record = cx.records.get_mut(id);
        record.ast = Some(ast);
        record.scope = scope;
    } else if let Some(ast) = cx.records.get(id).ast
        && let Some(owner) = cx.scopes.record(cx.records.get(id).decl_scope)
        && let Some((definition, position)) = out_of_line::class_definition(cx, ast, None, owner)
    {
        let record = cx.records.get_mut(id);
        record.ast = Some(definition);
        record.scope = position.scope;
    }
    let outer = cx.records.get(id).scope;
    let scope = cx.scopes.add(outer, ScopeKind::Record(id));
    cx.records.get_mut(id).scope = scope;
    cx.records.get_mut(id).state = RecordState::Declared;
    if let Some(ast) = cx.records.get(id).ast {
        for item in ast.members.iter().flatten() {
            declare_member(&mut cx.records, &mut cx.functions, id, scope, item);
        }
    }
}

fn declare_member<'a>(
    records: &mut Records<'a>,
    functions: &mut Functions<'a>,
    id: RecordId,
    scope: ScopeId,
    item: &'a ast::Item,
) {
    let (template, access) = (item.template.as_ref(), item.access);
    match &item.kind {
        ItemKind::Function(function) => {
            let Some(key) = function_key(&function.name) else { return };
            if function.specifiers.is_friend {
                records.get_mut(id).access.befriended.push(item);
                let specialises = template.is_some_and(|template| template.params.is_empty());
                if function.scope.is_none() && !specialises {
                    let decl = functions.declare(function, template, scope, None);
                    records.get_mut(id).friends.push((key, decl));
                }
                return;
            }
            // Full specialisations are found through their primary template.
            if template.is_some_and(|template| template.params.is_empty()) {
                return;
            }
            let decl = functions.declare(function, template, scope, Some(id));
            functions.set_access(decl, access);
            match &function.name {
                FunctionName::Constructor(_) => records.get_mut(id).constructors.push(decl),
                FunctionName::Operator(OperatorName::Conversion(_)) => {
                    records.get_mut(id).conversions.push(decl);
                    records.add_member(id, key, Member::Method(decl), access);
                }
                _ => records.add_member(id, key, Member::Method(decl), access),
            }
        }
        ItemKind::Variable(variable)
            if variable.declarator.scope.is_none() && variable.declarator.specialisation.is_none() =>
        {
            records.add_member(id, variable.declarator.name, Member::Variable(variable, template), access);
        }
        ItemKind::Alias(alias) => {
            records.add_member(id, alias.name, Member::Alias(alias, template), access);
            records.declare_tag(id, &alias.ty, Some(alias.name), access);
        }
        ItemKind::Record(record) => {
            if let Some(name) = record.name
                && record.specialisation.is_none()
            {
                records.add_member(id, name, Member::Record(record, template), access);
            }
        }
        ItemKind::Enum(enumeration) => records.declare_enum(id, enumeration, access),
        ItemKind::Field(field) => records.declare_tag(id, &field.ty, None, access),
        ItemKind::UsingDeclaration(using) if !names_constructors(&using.path) => {
            if let Some(last) = using.path.segments.last() {
                records.add_member(id, segment_key(last), Member::Using(using), access);
            }
        }
        ItemKind::Friend(_) => records.get_mut(id).access.befriended.push(item),
        _ => {}
    }
}

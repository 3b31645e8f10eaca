//! Name lookup: what a name means in a scope, a namespace or a class.
//!
//! All declarations of a namespace are visible everywhere in it, wherever they stand; that is more than C++
//! shows to code above them, and never less. A check of everything refuses the rest (`declaration_order`).
//! Lookup ends
//! at the first scope that knows the name. `table::visible` decides which namespaces are searched.

use super::checker::Checker;
use super::diagnostics::Diagnostics;
use super::entities::{AliasTemplate, BuiltinTemplate, ClassTemplate, FnDeclId, Found, TArg, VarDecl};
use super::names::KnownNames;
use super::path::segment_key;
use super::record::Records;
use super::scopes::{Hit, Reach, ScopeId, Scopes};
use super::table::{Decl, ItemId, Layer, NsId, Tag};
use super::{ambiguity, enumeration, record, resolve_type};
use crate::ast::{self, ItemKind, NodeId, TemplateParams};
use crate::hir::{QualTy, RecordId, TyKind, Types};
use crate::token::Name;
use rustc_hash::FxHashMap;

/// Results of lookups that are found once, and the aliases that are being resolved.
#[derive(Debug, Default)]
pub(super) struct Lookups<'a> {
    namespaces: FxHashMap<(Reach, Name), Option<Found<'a>>>,
    /// The types of aliases that are not templates, by declaration and scope.
    aliases: FxHashMap<(NodeId, ScopeId), QualTy>,
    alias_stack: Vec<(NodeId, ScopeId)>,
}

/// Looks a name up from the current scope outwards.
pub(super) fn unqualified<'a>(cx: &mut Checker<'a>, name: Name) -> Option<Found<'a>> {
    unqualified_with_class(cx, name).map(|(found, _)| found)
}

/// Looks a name up from the current scope outwards; with the class in which it was found.
pub(super) fn unqualified_with_class<'a>(
    cx: &mut Checker<'a>,
    name: Name,
) -> Option<(Found<'a>, Option<RecordId>)> {
    let mut walk = cx.scopes.walk();
    while let Some(hit) = cx.scopes.next(&mut walk, name) {
        match hit {
            Hit::Local(decl) => return Some((Found::Local(cx.placeholders.local(decl)), None)),
            Hit::Using(found) => return Some((found, None)),
            Hit::Argument(arg) => {
                let found = match cx.placeholders.arg(arg) {
                    TArg::Template(template) => cx.templates.get(template).clone(),
                    arg => Found::TArg(arg),
                };
                return Some((found, None));
            }
            Hit::Record(record) => {
                if let Some(found) = record::lookup(cx, record, name) {
                    return Some((found, Some(record)));
                }
            }
            Hit::Namespaces(reach) => {
                return within(cx, reach, name).map(|found| (found, None));
            }
        }
    }
    None
}

/// Looks an operator up from the current scope outwards, past blocks and classes.
pub(super) fn operator<'a>(cx: &mut Checker<'a>, name: Name) -> Option<Found<'a>> {
    let reach = cx.scopes.namespaces_around();
    within(cx, reach, name)
}

/// Looks up `ns::name`.
pub(super) fn in_namespace<'a>(cx: &mut Checker<'a>, ns: NsId, name: Name) -> Option<Found<'a>> {
    within(cx, Reach::Qualified(ns), name)
}

/// Looks a name up in a namespace without its directives.
pub(super) fn directly<'a>(cx: &mut Checker<'a>, ns: NsId, name: Name) -> Option<Found<'a>> {
    within(cx, Reach::Direct(ns), name)
}

fn within<'a>(cx: &mut Checker<'a>, reach: Reach, name: Name) -> Option<Found<'a>> {
    if let Some(found) = cx.lookups.namespaces.get(&(reach, name)) {
        return found.clone();
    }
    // First of all, as the enumerators after this one may be made from it.
    complete_enumerations(cx, reach, name);
    // Using-declarations may lead back here (`namespace n { using ::f; } using namespace n;`): the
    // second time adds nothing.
    cx.lookups.namespaces.insert((reach, name), None);
    let candidates = cx.scopes.visible_decls(reach, name);
    let found = candidates.into_iter().find_map(|(ns, decls)| {
        builtin_name(cx.table, &mut cx.types, &cx.names, ns, name)
            .or_else(|| ambiguity::of_namespaces(cx, &decls, name))
            .or_else(|| found_in_decls(cx, &decls, name))
    });
    if is_unfinished_enumerator(&cx.types, found.as_ref()) {
        cx.lookups.namespaces.remove(&(reach, name));
    } else {
        cx.lookups.namespaces.insert((reach, name), found.clone());
    }
    found
}

/// Evaluates the enumerations that have an enumerator of that name.
fn complete_enumerations(cx: &mut Checker<'_>, reach: Reach, name: Name) {
    for (decl, _) in cx.scopes.visible_decls(reach, name).into_iter().flat_map(|(_, decls)| decls) {
        let Decl::Enumerator(id, _) = decl else { continue };
        if let Some(enumeration) = cx.table.enum_of_item(id) {
            let scope = cx.scopes.of_item(id);
            enumeration::type_of(cx, enumeration, scope);
        }
    }
}

/// Whether this is an enumerator of an enumeration that is being evaluated: its type is to change.
fn is_unfinished_enumerator<'a>(types: &Types, found: Option<&Found<'a>>) -> bool {
    matches!(found, Some(Found::Enumerator(ty, _)) if !matches!(types.kind(*ty), TyKind::Enum(_)))
}

/// The class or enumeration that a path names if functions and variables do not hide it.
pub(super) fn tag_of_path(cx: &mut Checker<'_>, path: &ast::Path) -> Option<QualTy> {
    let (last, front) = path.segments.split_last()?;
    let from = cx.scopes.enclosing_namespace(cx.scopes.current());
    let reach = if !front.is_empty() {
        let scope = ast::Path {
            global: path.global,
            segments: front.to_vec(),
            tag: None,
            is_typename: false,
            span: path.span,
        };
        Reach::Qualified(cx.table.find_namespace(from, &scope)?)
    } else if path.global {
        Reach::Qualified(NsId::GLOBAL)
    } else {
        cx.scopes.unqualified(from, Vec::new())
    };
    cx.scopes.visible_decls(reach, last.name).into_iter().find_map(|(_, mut decls)| {
        decls.retain(|(decl, _)| cx.table.is_tag(*decl));
        match found_in_decls(cx, &decls, last.name)? {
            Found::Type(ty) => Some(ty),
            _ => None,
        }
    })
}

/// A name that the language declares in the global namespace and in `metal`.
fn builtin_name<'a>(
    table: &'a Layer,
    types: &mut Types,
    names: &KnownNames,
    ns: NsId,
    name: Name,
) -> Option<Found<'a>> {
    if ns != NsId::GLOBAL && table.prefix(ns) != "metal::" {
        return None;
    }
    let ty = super::type_names::builtin_type(types, name.as_str());
    ty.map(|ty| Found::Type(QualTy::plain(ty)))
        .or_else(|| BuiltinTemplate::named(name, names).map(Found::BuiltinTemplate))
}

pub(super) fn found_in_decls<'a>(
    cx: &mut Checker<'a>,
    decls: &[(Decl, NsId)],
    name: Name,
) -> Option<Found<'a>> {
    let mut functions: Vec<FnDeclId> = Vec::new();
    for &(decl, _) in decls {
        match decl {
            Decl::Item(id) => {
                if let ItemKind::Function(function) = &cx.table.entry(id).item.kind {
                    // Full specialisations are found through their primary template.
                    let entry = cx.table.entry(id);
                    let specialises = entry.item.template.as_ref().is_some_and(|t| t.params.is_empty());
                    if !specialises {
                        let scope = cx.scopes.of_item(id);
                        functions.push(cx.functions.declare(
                            function,
                            entry.item.template.as_ref(),
                            scope,
                            None,
                        ));
                    }
                }
            }
            Decl::Using(id) => {
                if let Some(Found::Functions(more)) = follow_using(cx, id) {
                    functions.extend(more.iter());
                }
            }
            _ => {}
        }
    }
    if !functions.is_empty() {
        let mut unique = Vec::with_capacity(functions.len());
        for id in functions {
            if !unique.contains(&id) {
                unique.push(id);
            }
        }
        return Some(Found::Functions(unique.into()));
    }
    // A variable hides the class of its name, and a program's own the library's (`bias`, `level`).
    let variable = decls.iter().find(|(decl, at)| {
        let is_variable =
            matches!(*decl, Decl::Item(id) if matches!(cx.table.entry(id).item.kind, ItemKind::Variable(_)));
        is_variable && *at == decls[0].1
    });
    if let Some(&(decl, _)) = variable {
        return found_in_decl(cx, decl, name);
    }
    found_record(cx, decls).or_else(|| decls.iter().find_map(|&(decl, _)| found_in_decl(cx, decl, name)))
}

fn follow_using<'a>(cx: &mut Checker<'a>, id: ItemId) -> Option<Found<'a>> {
    let ItemKind::UsingDeclaration(ast::UsingDeclaration { path, .. }) = &cx.table.entry(id).item.kind else {
        unreachable!("`Decl::Using` names a using-declaration");
    };
    let scope = cx.scopes.of_item(id);
    let (last, front) = path.segments.split_last()?;
    if front.is_empty() {
        return in_namespace(cx, NsId::GLOBAL, segment_key(last));
    }
    let scope_path = ast::Path {
        global: path.global,
        segments: front.to_vec(),
        tag: None,
        is_typename: false,
        span: path.span,
    };
    let from = cx.scopes.enclosing_namespace(scope);
    let ns = cx.table.find_namespace(from, &scope_path)?;
    in_namespace(cx, ns, segment_key(last))
}

/// A record declared several times is the one that is defined.
fn found_record<'a>(cx: &mut Checker<'a>, decls: &[(Decl, NsId)]) -> Option<Found<'a>> {
    let mut best: Option<(ItemId, &'a ast::Record)> = None;
    let mut others = Vec::new();
    for &(decl, _) in decls {
        let Decl::Item(id) = decl else { continue };
        let entry = cx.table.entry(id);
        let ItemKind::Record(record) = &entry.item.kind else { continue };
        others.extend(entry.item.template.as_ref());
        if best.is_none_or(|(_, known)| known.members.is_none() && record.members.is_some()) {
            best = Some((id, record));
        }
    }
    let (id, record) = best?;
    let scope = cx.scopes.of_item(id);
    Some(record_found(
        &mut cx.types,
        &mut cx.records,
        record,
        cx.table.entry(id).item.template.as_ref(),
        others,
        scope,
    ))
}

pub(super) fn record_found<'a>(
    types: &mut Types,
    records: &mut Records<'a>,
    record: &'a ast::Record,
    template: Option<&'a TemplateParams>,
    others: Vec<&'a TemplateParams>,
    scope: ScopeId,
) -> Found<'a> {
    match template {
        Some(params) => {
            Found::ClassTemplate(ClassTemplate { primary: record, params, others: others.into(), scope })
        }
        None => Found::Type(QualTy::plain(record::plain(types, records, record, scope))),
    }
}

fn found_in_decl<'a>(cx: &mut Checker<'a>, decl: Decl, name: Name) -> Option<Found<'a>> {
    match decl {
        Decl::Namespace(ns) => Some(Found::Namespace(ns)),
        Decl::Using(id) => follow_using(cx, id),
        Decl::Enumerator(id, n) => {
            let scope = cx.scopes.of_item(id);
            let enumeration = cx.table.enum_of_item(id)?;
            Some(enumeration::enumerator(cx, enumeration, scope, n))
        }
        Decl::Tag(id) => {
            let scope = cx.scopes.of_item(id);
            match cx.table.tag_of_item(id)? {
                Tag::Record(record) => Some(Found::Type(QualTy::plain(record::plain(
                    &mut cx.types,
                    &mut cx.records,
                    record,
                    scope,
                )))),
                Tag::Enum(enumeration) => {
                    Some(Found::Type(QualTy::plain(enumeration::type_of(cx, enumeration, scope))))
                }
            }
        }
        Decl::Item(id) => {
            let scope = cx.scopes.of_item(id);
            let entry = cx.table.entry(id);
            let template = entry.item.template.as_ref();
            match &entry.item.kind {
                ItemKind::Enum(enumeration) => {
                    Some(Found::Type(QualTy::plain(enumeration::type_of(cx, enumeration, scope))))
                }
                ItemKind::Alias(alias) => Some(alias_found(cx, alias, template, scope)),
                ItemKind::Variable(variable) => Some(Found::Variable(VarDecl { variable, template, scope })),
                _ => {
                    let _ = name;
                    None
                }
            }
        }
    }
}

pub(super) fn alias_found<'a>(
    cx: &mut Checker<'a>,
    alias: &'a ast::TypeAlias,
    template: Option<&'a TemplateParams>,
    scope: ScopeId,
) -> Found<'a> {
    if let Some(params) = template {
        return Found::AliasTemplate(AliasTemplate { alias, params, scope });
    }
    let key = (alias.id, scope);
    if let Some(&known) = cx.lookups.aliases.get(&key) {
        return Found::Type(known);
    }
    if cx.lookups.alias_stack.contains(&key) {
        cx.error("recursive-alias", alias.ty.span, format!("`{}` is defined in terms of itself", alias.name));
        return Found::Error;
    }
    cx.lookups.alias_stack.push(key);
    let placeholders = std::mem::take(&mut cx.placeholders);
    let errors = cx.diagnostics.error_count();
    let ty = cx.in_scope(scope, |cx| resolve_type::resolve(cx, &alias.ty));
    cx.placeholders = placeholders;
    cx.lookups.alias_stack.pop();
    if cx.diagnostics.error_count() == errors && !ty.ty.is_error() {
        cx.lookups.aliases.insert(key, ty);
    }
    Found::Type(ty)
}

/// The nearest known name, for "did you mean".
pub(super) fn suggestion(
    scopes: &Scopes<'_>,
    records: &Records<'_>,
    diagnostics: &Diagnostics,
    name: Name,
) -> Option<String> {
    if diagnostics.is_quiet() {
        return None;
    }
    let known = scopes.visible_names(|record| records.get(record).member_names());
    let texts = known.iter().map(|name| name.as_str()).filter(|text| !text.starts_with("__"));
    let texts = texts.chain(super::type_names::COMMON.iter().copied());
    anymetal_diagnostics::suggest(name.as_str(), texts).map(str::to_owned)
}

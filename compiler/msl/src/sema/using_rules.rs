//! Rules for the names in using-declarations, by scope (C++14 [namespace.udecl]).

use super::ast_names::{self, Visitor};
use super::checker::Checker;
use super::entities::{FnDeclId, Found};
use super::scopes::Scopes;
use super::table::{Decl, Layer, NsId};
use super::{convert, function, lookup, path, pattern};
use crate::ast::{Item, ItemKind, Path};
use crate::hir::{RecordId, TyKind};
use crate::token::Name;
use anymetal_diagnostics::Span;
use std::rc::Rc;

/// A using-declaration of a namespace or a block names no member of a class or an enumeration.
pub(super) fn outside_of_classes<'a>(cx: &mut Checker<'a>, path: &'a Path) {
    let found = cx.without_access(|cx| cx.quietly(|cx| path::resolve(cx, path)));
    if let Ok(Ok(target)) = found
        && matches!(target.found, Found::Namespace(_))
    {
        cx.error("using-declaration", path.span, "using declaration cannot refer to a namespace");
    }
    let Some(Found::Type(ty)) = prefix(cx, path) else { return };
    if matches!(cx.types.kind(ty.ty), TyKind::Record(_) | TyKind::Enum(_)) {
        let message = "a using-declaration outside of a class cannot name a member";
        cx.error("using-declaration", path.span, message);
    }
}

/// A using-declaration of a class names a member of a base.
pub(super) fn inside_of_class<'a>(cx: &mut Checker<'a>, class: RecordId, path: &'a Path) {
    let message = match prefix(cx, path) {
        Some(Found::Namespace(_)) => {
            "a using-declaration of a class cannot name a member of a namespace".to_owned()
        }
        None if path.segments.len() == 1 => {
            "a using-declaration of a class names a member of a base".to_owned()
        }
        Some(Found::Type(ty)) if cx.types.as_record(ty.ty).is_some() => {
            let own = cx.records.get(class).ty;
            if own == ty.ty {
                "using declaration refers to its own class".to_owned()
            } else if convert::is_derived(cx, own, ty.ty)
                || cx.records.get(class).has_unknown_base
                || cx.is_dependent(ty.ty)
            {
                return;
            } else {
                format!("`{}` is not a base of the class", cx.show(ty))
            }
        }
        _ => return,
    };
    cx.error("using-declaration", path.span, message);
}

/// Whether the scope that a using-declaration names is written with template parameters.
pub(super) fn has_dependent_scope(scopes: &Scopes<'_>, path: &Path) -> bool {
    let mut depends = false;
    ast_names::in_path(path, &mut Visitor::all(&mut |name| depends |= scopes.is_template_argument(name)));
    path.segments.len() > 1 && depends
}

/// Reports using-declarations of an instance that name the same functions, or different types by one name.
pub(super) fn check_instance<'a>(cx: &mut Checker<'a>, items: &'a [Item]) {
    let mut known: Vec<(Name, Found<'a>)> = Vec::new();
    for item in items {
        let ItemKind::UsingDeclaration(using) = &item.kind else { continue };
        let Some(name) = using.path.segments.last().map(path::segment_key) else { continue };
        let found = cx.without_access(|cx| cx.quietly(|cx| path::resolve(cx, &using.path)));
        let (Ok(Ok(target)), false) = (found, using.is_pack) else { continue };
        let found = target.found;
        let mut others = known.iter().filter(|(other, _)| *other == name).map(|(_, other)| other);
        let excludes = |other: &Found<'a>| match (other, &found) {
            (Found::Functions(a), Found::Functions(b)) => a == b,
            (Found::Type(a), Found::Type(b)) => a.ty != b.ty,
            _ => false,
        };
        if others.any(excludes) {
            report_conflict(cx, name, using.path.span);
        }
        known.push((name, found));
    }
}

/// Reports conflicts between a using-declaration and the declarations of its namespace, such as different
/// functions with the same parameters (C++14 [namespace.udecl.13]).
pub(super) fn check_namespaces<'a>(cx: &mut Checker<'a>, layer: &'a Layer) {
    for (name, decls) in layer.own_names() {
        let has_using = decls.iter().any(|decl| matches!(decl, Decl::Using(_)));
        if decls.len() < 2 || !has_using {
            continue;
        }
        let mut known: Vec<(Found<'a>, bool)> = Vec::new();
        for &decl in decls {
            let ns = match decl {
                Decl::Item(id) | Decl::Using(id) => layer.entry(id).ns,
                Decl::Enumerator(..) | Decl::Tag(_) | Decl::Namespace(_) => continue,
            };
            let Some(found) = lookup::found_in_decls(cx, &[(decl, ns)], name) else { continue };
            let (span, is_using) = (cx.table.span(decl), matches!(decl, Decl::Using(_)));
            if is_using && leads_back(cx, &found, ns) {
                // The contents of the other namespace depend on the order of declarations.
                continue;
            }
            let mut others = known.iter().filter(|(_, other_using)| is_using != *other_using);
            if others.any(|(other, _)| excludes(cx, other, &found)) {
                report_conflict(cx, name, span);
            }
            known.push((found, is_using));
        }
    }
}

/// Whether any of the functions belongs to that namespace.
fn leads_back<'a>(cx: &Checker<'a>, found: &Found<'a>, ns: NsId) -> bool {
    let is_of = |&decl: &FnDeclId| cx.scopes.enclosing_namespace(cx.functions.decl(decl).scope) == ns;
    matches!(found, Found::Functions(decls) if decls.iter().any(is_of))
}

/// The same for a name that a using-declaration or a function's declaration adds to a block.
pub(super) fn check_block<'a>(cx: &mut Checker<'a>, name: Name, found: &Found<'a>, span: Span) {
    if !cx.checks_everything {
        return;
    }
    if let Some(other) = cx.scopes.using_of_block(name)
        && excludes(cx, &other, found)
    {
        report_conflict(cx, name, span);
    }
}

fn report_conflict(cx: &mut Checker<'_>, name: Name, span: Span) {
    let message = format!("`{name}` conflicts with another declaration of this scope by a using-declaration");
    cx.error("using-declaration", span, message);
}

/// Whether two entities cannot have one name in a scope.
fn excludes<'a>(cx: &mut Checker<'a>, a: &Found<'a>, b: &Found<'a>) -> bool {
    match (a, b) {
        (Found::Functions(a), Found::Functions(b)) => {
            a.iter().any(|&a| b.iter().any(|&b| are_other_functions(cx, a, b)))
        }
        (Found::Functions(_), Found::Variable(_)) | (Found::Variable(_), Found::Functions(_)) => true,
        (Found::Variable(a), Found::Variable(b)) => a.variable.id != b.variable.id && a.scope != b.scope,
        (Found::Type(a), Found::Type(b)) => a.ty != b.ty && !cx.is_dependent(a.ty) && !cx.is_dependent(b.ty),
        (Found::ClassTemplate(a), Found::ClassTemplate(b)) => !pattern::same_template(a, b),
        (Found::Variable(_), Found::AliasTemplate(_) | Found::ClassTemplate(_))
        | (Found::AliasTemplate(_) | Found::ClassTemplate(_), Found::Variable(_) | Found::Functions(_))
        | (Found::Functions(_), Found::AliasTemplate(_) | Found::ClassTemplate(_)) => true,
        _ => false,
    }
}

/// Whether two functions, both templates or both not, have the same parameters but are different functions.
fn are_other_functions(cx: &mut Checker<'_>, a: FnDeclId, b: FnDeclId) -> bool {
    let namespace =
        |cx: &Checker<'_>, decl: FnDeclId| cx.scopes.enclosing_namespace(cx.functions.decl(decl).scope);
    if a == b || namespace(cx, a) == namespace(cx, b) {
        return false;
    }
    let [first, second] = [a, b].map(|decl| cx.functions.decl(decl).template);
    if let (Some(first), Some(second)) = (first, second) {
        let patterns = (function::patterns_of(cx, a), function::patterns_of(cx, b));
        return first.params.len() == second.params.len() && patterns.0 == patterns.1;
    }
    let mut params = Vec::new();
    for decl in [a, b] {
        let data = cx.functions.decl(decl);
        if data.template.is_some() || data.owner.is_some() {
            return false;
        }
        let span = data.ast.span;
        let func = cx.quietly(|cx| function::instantiate(cx, decl, Rc::from([]), span));
        let Ok(Some(func)) = func else { return false };
        params.push(cx.functions.inst(func).params.clone());
    }
    let is_open = params[0].iter().any(|param| cx.is_dependent(param.ty));
    !is_open && function::are_same_params(&params[0], &params[1])
}

/// The entity that the path without its last name refers to.
fn prefix<'a>(cx: &mut Checker<'a>, path: &'a Path) -> Option<Found<'a>> {
    let count = path.segments.len() - 1;
    if count == 0 {
        return None;
    }
    let found = cx.without_access(|cx| cx.quietly(|cx| path::resolve_prefix(cx, path, count)));
    let found = found.ok()?.ok()?.found;
    match path::type_of_found(&cx.records, &found) {
        Some(ty) => Some(Found::Type(ty)),
        None => Some(found),
    }
}

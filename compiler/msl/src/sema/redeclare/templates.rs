//! Templates that are declared twice: function templates, member templates, alias templates, partial
//! specialisations and definitions outside of classes (C++14 [temp.over.link], [temp.class.spec]).

use crate::ast::{self, FunctionBody, ItemKind, TemplateParams};
use crate::hir::RecordId;
use crate::sema::checker::Checker;
use crate::sema::entities::FnDeclId;
use crate::sema::equivalence::{self, Signature};
use crate::sema::scopes::ScopeId;
use crate::sema::spelling;
use crate::sema::table::{Decl, Layer, function_key};
use crate::token::Name;
use anymetal_diagnostics::{Diagnostic, Span};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// Reports function templates of one name in one scope that are declared like an earlier one, in a namespace
/// if both are defined.
pub(super) fn check_overloads(cx: &mut Checker<'_>, decls: &[FnDeclId]) {
    let mut known: Vec<(Rc<Signature>, FnDeclId)> = Vec::new();
    for &decl in decls {
        let data = cx.functions.decl(decl);
        let (is_member, is_static) = (data.owner.is_some(), data.ast.specifiers.is_static);
        let is_definition = matches!(data.ast.body, FunctionBody::Block(_) | FunctionBody::Delete);
        if (!is_member && !is_definition) || data.ast.specifiers.names_unmodelled_space {
            continue;
        }
        let signature = equivalence::signature(cx, decl);
        let earlier = known.iter().find(|(known, _)| *known == signature).map(|&(_, earlier)| earlier);
        if let Some(earlier) = earlier {
            let (old, new) = (cx.functions.decl(earlier).ast, cx.functions.decl(decl).ast);
            let name = spelling::function(&new.name);
            let message = match (is_member, is_static == old.specifiers.is_static) {
                (true, true) => format!("class member `{name}` cannot be redeclared"),
                (true, false) => format!("static and non-static `{name}` cannot be overloaded"),
                (false, _) => format!("redefinition of `{name}`"),
            };
            report(cx, message, new.span, old.span);
        }
        known.push((signature, decl));
    }
}

fn report(cx: &mut Checker<'_>, message: String, at: Span, earlier: Span) {
    let diagnostic = Diagnostic::error("redefinition", at, message);
    cx.report(diagnostic.with_note(earlier, "previously declared here"));
}

/// Reports alias templates of the same name for different types.
pub(in crate::sema) fn check_aliases<'a>(cx: &mut Checker<'a>, layer: &'a Layer) {
    for (name, decls) in layer.own_names() {
        if decls.len() < 2 {
            continue;
        }
        let mut known = None;
        for &decl in decls {
            let Decl::Item(id) = decl else { continue };
            let item = &layer.entry(id).item;
            let (ItemKind::Alias(alias), Some(template)) = (&item.kind, &item.template) else { continue };
            let scope = cx.scopes.of_item(id);
            let form = equivalence::of_alias(cx, template, &alias.ty, scope);
            match &known {
                None => known = Some((form, alias.ty.span)),
                Some((other, _)) if *other == form => {}
                Some((_, earlier)) => {
                    let message = format!("`{name}` is a template of aliases for other types before");
                    report(cx, message, alias.ty.span, *earlier);
                }
            }
        }
    }
}

/// A partial specialisation of a class template.
struct Partial<'a> {
    name: Name,
    ast: &'a ast::Record,
    head: &'a TemplateParams,
    scope: ScopeId,
}

fn partial<'a>(item: &'a ast::Item, scope: ScopeId) -> Option<Partial<'a>> {
    let (ItemKind::Record(ast), Some(head)) = (&item.kind, &item.template) else { return None };
    let is_partial = !head.params.is_empty() && ast.specialisation.is_some() && ast.scope.is_none();
    is_partial.then_some(Partial { name: ast.name?, ast, head, scope })
}

/// Reports partial specialisations in namespaces that are defined twice.
pub(in crate::sema) fn check_partials<'a>(cx: &mut Checker<'a>, layer: &'a Layer) {
    let mut all = Vec::new();
    for (id, entry) in layer.own_items() {
        all.extend(partial(&entry.item, cx.scopes.of_item(id)).filter(|found| found.ast.members.is_some()));
    }
    compare_partials(cx, &all);
}

/// Reports partial specialisations of a class's templates that are declared twice, perhaps with the arguments
/// of the class only.
pub(in crate::sema) fn check_member_partials(cx: &mut Checker<'_>, class: RecordId) {
    let Some(ast) = cx.records.get(class).ast else { return };
    let scope = cx.records.get(class).scope;
    let found: Vec<Partial<'_>> =
        ast.members.iter().flatten().filter_map(|item| partial(item, scope)).collect();
    compare_partials(cx, &found);
}

fn compare_partials<'a>(cx: &mut Checker<'a>, all: &[Partial<'a>]) {
    let mut known: Vec<(Vec<_>, &Partial<'a>)> = Vec::new();
    for later in all {
        let is_single = all.iter().filter(|other| other.name == later.name).count() < 2;
        let Some(written) = later.ast.specialisation.as_ref().filter(|_| !is_single) else { continue };
        let form = equivalence::of_specialisation(cx, later.head, written, later.scope);
        let mut earlier = known.iter().filter(|(_, other)| other.name == later.name);
        let same = earlier.find(|(other, known)| known.scope == later.scope && *other == form);
        if let Some((_, same)) = same {
            let message = format!("partial specialization of `{}` cannot be redeclared", later.name);
            report(cx, message, later.ast.span, same.ast.span);
        }
        known.push((form, later));
    }
}

/// Reports member functions of class templates that are defined twice outside of their class.
pub(in crate::sema) fn check_definitions<'a>(cx: &mut Checker<'a>, layer: &'a Layer) {
    let mut known: FxHashMap<Name, Vec<(Vec<_>, Span)>> = FxHashMap::default();
    for (id, entry) in layer.own_items() {
        let (ItemKind::Function(ast), Some(head)) = (&entry.item.kind, &entry.item.template) else {
            continue;
        };
        let (Some(path), Some(key)) = (&ast.scope, function_key(&ast.name)) else { continue };
        let is_of_template = head.heads().iter().all(|head| !head.params.is_empty());
        if !is_of_template || !matches!(ast.body, FunctionBody::Block(_) | FunctionBody::Delete) {
            continue;
        }
        let scope = cx.scopes.of_item(id);
        if cx.table.find_namespace(entry.ns, path).is_some() {
            continue;
        }
        let form = equivalence::of_definition(cx, ast, head, path, scope);
        let others = known.entry(key).or_default();
        if let Some(&(_, earlier)) = others.iter().find(|(other, _)| *other == form) {
            let message = format!("redefinition of `{}`", spelling::function(&ast.name));
            report(cx, message, ast.span, earlier);
            // It fits a declaration, if not as its definition.
            cx.functions.served.insert(ast.id);
        }
        others.push((form, ast.span));
    }
}

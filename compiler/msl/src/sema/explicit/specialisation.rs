//! `template <> void f(int) { … }`, `template <> struct S<int> { … };`, and the same for members.

use super::history::{Entity, Event, History};
use super::{place, uses};
use crate::ast::{self, FunctionBody, ItemKind};
use crate::hir::{FuncId, RecordId, Ty};
use crate::sema::checker::Checker;
use crate::sema::entities::{ClassTemplate, FnDeclId, Found};
use crate::sema::scopes::ScopeId;
use crate::sema::table::{ItemId, NsId, function_key};
use crate::sema::{
    function, kernel, lookup, noexcept, out_of_line, overload, path, record, resolve_type, spelling,
    template_args, whole_program,
};
use crate::token::Name;
use anymetal_diagnostics::{Diagnostic, Span};
use std::rc::Rc;

/// Checks a declaration that begins with `template<>`.
pub(in crate::sema) fn check<'a>(cx: &mut Checker<'a>, history: &mut History, id: ItemId) {
    let entry = cx.table.entry(id);
    let scope = cx.scopes.of_item(id);
    match &entry.item.kind {
        ItemKind::Record(ast) => match (&ast.specialisation, &ast.scope) {
            (Some(args), _) => check_class(cx, history, ast, args, id),
            (None, Some(path)) => check_member_class(cx, history, ast, path, scope),
            (None, None) => {}
        },
        ItemKind::Function(ast) => {
            if let Some(param) = ast.params.iter().find(|param| param.default.is_some()) {
                let message = "default argument not permitted on an explicit specialization";
                cx.error("default-argument", param.span, message);
            }
            if let Some(func) = specialised_function(cx, ast, id, scope) {
                check_again(cx, history, ast, func);
                noexcept::check_specialisation(cx, func, ast);
                let is_definition = !matches!(ast.body, FunctionBody::None);
                let name = cx.functions.inst(func).name.clone();
                let event = Event::Specialisation { is_definition };
                history.add(&mut cx.diagnostics, Entity::Function(func), event, &name, ast.span);
                if function::has_code(cx, func) {
                    function::ensure_body(cx, func);
                }
            }
        }
        ItemKind::Variable(variable) => check_variable(cx, history, variable, id, scope),
        _ => {}
    }
}

/// Reports a further declaration of a specialisation that does not agree with the first.
fn check_again(cx: &mut Checker<'_>, history: &mut History, ast: &ast::Function, func: FuncId) {
    let is_constexpr = ast.specifiers.is_constexpr;
    let Some((first, was_constexpr)) = history.first_of(func, ast.span, is_constexpr) else { return };
    let name = &cx.functions.inst(func).name;
    let message = if matches!(ast.body, FunctionBody::Delete) {
        format!("the deleted definition of `{name}` must be its first declaration")
    } else if is_constexpr != was_constexpr {
        format!("`{name}` is declared with and without `constexpr`")
    } else {
        return;
    };
    let diagnostic = Diagnostic::error("redefinition", ast.span, message);
    cx.report(diagnostic.with_note(first, "previously declared here"));
}

/// The template that a class specialisation names.
pub(super) fn template_of<'a>(
    cx: &mut Checker<'a>,
    scope: Option<&'a ast::Path>,
    name: Name,
    around: ScopeId,
) -> Option<ClassTemplate<'a>> {
    let found = match scope {
        None => cx.in_scope(around, |cx| lookup::unqualified(cx, name)),
        Some(path) => {
            let from = cx.scopes.enclosing_namespace(around);
            match cx.table.find_namespace(from, path) {
                Some(ns) => lookup::in_namespace(cx, ns, name),
                None => {
                    let class = path::class_of_path(cx, path, around)?;
                    record::lookup_in_class(cx, class, name)
                }
            }
        }
    };
    match found? {
        Found::ClassTemplate(template) => Some(template),
        _ => None,
    }
}

fn check_class<'a>(
    cx: &mut Checker<'a>,
    history: &mut History,
    ast: &'a ast::Record,
    args: &'a [ast::TemplateArg],
    id: ItemId,
) {
    let around = cx.scopes.of_item(id);
    let Some(name) = ast.name else { return };
    let Some(template) = template_of(cx, ast.scope.as_ref(), name, around) else { return };
    let from = cx.table.entry(id).ns;
    place::check_specialised(cx, from, template.scope, name.as_str(), ast.span);
    let ty = cx.in_scope(around, |cx| class_of(cx, &template, args, ast.span));
    let Some(class) = ty.and_then(|ty| cx.types.as_record(ty)) else { return };
    let shown = cx.types.record(class).name.clone();
    let event = Event::Specialisation { is_definition: ast.members.is_some() };
    if history.is_new(&Entity::Class(class)) {
        uses::check_class(cx, class, ast.span);
    }
    history.add(&mut cx.diagnostics, Entity::Class(class), event, &shown, ast.span);
    if ast.members.is_some() {
        whole_program::check_record(cx, cx.records.get(class).ty, ast.span);
    }
}

fn class_of<'a>(
    cx: &mut Checker<'a>,
    template: &ClassTemplate<'a>,
    args: &'a [ast::TemplateArg],
    span: Span,
) -> Option<Ty> {
    let explicit = template_args::explicit(cx, args);
    template_args::class_from_args(cx, template, explicit, span)
}

/// `template <> struct S<int>::Inner { … };`
fn check_member_class<'a>(
    cx: &mut Checker<'a>,
    history: &mut History,
    ast: &'a ast::Record,
    path: &'a ast::Path,
    around: ScopeId,
) {
    let (Some(owner), Some(name)) = (path::class_of_path(cx, path, around), ast.name) else { return };
    let Some(Found::Type(ty)) = record::lookup_in_class(cx, owner, name) else { return };
    let Some(class) = cx.types.as_record(ty.ty) else { return };
    let event = Event::Specialisation { is_definition: ast.members.is_some() };
    if history.is_new(&Entity::Class(class)) {
        uses::check_class(cx, class, ast.span);
    }
    history.add(&mut cx.diagnostics, Entity::Class(class), event, name.as_str(), ast.span);
    if ast.members.is_some() {
        whole_program::check_record(cx, ty.ty, ast.span);
    }
}

/// The function that a full specialisation is of; reports one that fits no template.
fn specialised_function<'a>(
    cx: &mut Checker<'a>,
    ast: &'a ast::Function,
    id: ItemId,
    around: ScopeId,
) -> Option<FuncId> {
    if matches!(ast.name, ast::FunctionName::Destructor | ast::FunctionName::Constructor(_)) {
        return None;
    }
    let key = function_key(&ast.name)?;
    let signature = kernel::Signature::of(ast);
    let from = cx.scopes.enclosing_namespace(around);
    let Some(path) = &ast.scope else {
        let found = cx.in_scope(around, |cx| lookup::unqualified(cx, key));
        let decls = match found {
            Some(Found::Functions(decls)) => decls,
            _ => Rc::from([]),
        };
        let func = kernel::instantiated_by_signature(cx, &decls, signature, around, ast.span)?;
        let is_placed = check_place(cx, func, id, ast);
        return (is_placed && is_member_of(cx, func, from, ast)).then_some(func);
    };
    if let Some(ns) = cx.table.find_namespace(from, path) {
        let Some(Found::Functions(decls)) = lookup::in_namespace(cx, ns, key) else {
            return None;
        };
        let inside = cx.scopes.namespace(ns);
        let func = kernel::instantiated_by_signature(cx, &decls, signature, inside, ast.span)?;
        return is_member_of(cx, func, ns, ast).then_some(func);
    }
    let class = path::class_of_path(cx, path, around)?;
    specialised_member(cx, ast, id, class, key)
}

/// Whether a specialised function is in a namespace that the namespace of the declaration encloses; reported
/// if not.
fn check_place(cx: &mut Checker<'_>, func: FuncId, id: ItemId, ast: &ast::Function) -> bool {
    let Some(decl) = cx.functions.inst(func).origin.decl() else { return true };
    let (entity, name) = (cx.functions.decl(decl).scope, spelling::function(&ast.name));
    let from = cx.table.entry(id).ns;
    place::check_specialised(cx, from, entity, &name, ast.span)
}

/// Whether a specialised function belongs to the namespace that the declaration names, inline namespaces
/// included; reported if only a using-directive or using-declaration leads to it (C++14 [dcl.meaning.1]).
fn is_member_of(cx: &mut Checker<'_>, func: FuncId, ns: NsId, ast: &ast::Function) -> bool {
    let Some(decl) = cx.functions.inst(func).origin.decl() else { return true };
    let target = cx.scopes.enclosing_namespace(cx.functions.decl(decl).scope);
    let is_member = cx.table.enclosing_set(target).contains(&ns);
    if !is_member {
        let name = spelling::function(&ast.name);
        let message = format!("no function template matches function template specialization `{name}`");
        cx.error("no-matching-template", ast.span, message);
    }
    is_member
}

/// The member function of a class made from a template that a full specialisation is of.
fn specialised_member<'a>(
    cx: &mut Checker<'a>,
    ast: &'a ast::Function,
    id: ItemId,
    class: RecordId,
    key: Name,
) -> Option<FuncId> {
    let span = ast.span;
    if !record::complete(cx, class, span) {
        return None;
    }
    let decls: Rc<[FnDeclId]> = match record::lookup_in_class(cx, class, key) {
        Some(Found::Functions(decls)) => decls,
        _ => Rc::from([]),
    };
    let heads = cx.table.entry(id).item.template.as_ref().map_or(0, |template| template.heads().len());
    let needed = place::heads_needed(cx, class, span);
    let scope = cx.records.get(class).scope;
    let params = cx.quietly(|cx| cx.in_scope(scope, |cx| function::signature(cx, ast)));
    let (params, _) = params.ok().flatten()?;
    for &decl in decls.iter() {
        let is_template = cx.functions.decl(decl).template.is_some();
        let declared = cx.functions.decl(decl).ast;
        if declared.method != ast.method {
            continue;
        }
        // That a template has too many is reported where they are parsed.
        let fits = match is_template {
            true => heads > needed,
            false => heads == needed,
        };
        if !fits {
            continue;
        }
        if is_template {
            let signature = kernel::Signature::of(ast);
            let found =
                cx.quietly(|cx| kernel::instantiated_by_signature(cx, &[decl], signature, scope, span));
            if let Ok(Some(func)) = found {
                return Some(func);
            }
        } else if let Some(func) = function::instantiate(cx, decl, Rc::from([]), span)
            && function::are_same_params(&cx.functions.inst(func).params, &params)
        {
            // Templates may be specialised with or without it.
            if declared.specifiers.is_constexpr != ast.specifiers.is_constexpr {
                let name = spelling::function(&ast.name);
                let message = format!("`{name}` is declared with and without `constexpr`");
                let diagnostic = Diagnostic::error("redefinition", span, message);
                cx.report(diagnostic.with_note(declared.span, "previously declared here"));
            }
            return Some(func);
        }
    }
    // Packs of values whose types are a pack are not deduced.
    let has_pack = |decl: &FnDeclId| cx.functions.decl(*decl).ast.params.iter().any(overload::is_pack);
    if decls.iter().any(has_pack) {
        return None;
    }
    let name = spelling::function(&ast.name);
    let message = format!("no function template matches function template specialization `{name}`");
    cx.error("no-matching-template", span, message);
    None
}

fn check_variable<'a>(
    cx: &mut Checker<'a>,
    history: &mut History,
    variable: &'a ast::Variable,
    id: ItemId,
    around: ScopeId,
) {
    let (declarator, span) = (&variable.declarator, variable.span);
    let name = declarator.name;
    let from = cx.table.entry(id).ns;
    let found = match &declarator.scope {
        None => cx.in_scope(around, |cx| lookup::unqualified(cx, name)),
        Some(path) => match cx.table.find_namespace(from, path) {
            Some(ns) => lookup::in_namespace(cx, ns, name),
            None => {
                let Some(class) = path::class_of_path(cx, path, around) else { return };
                return check_static_member(cx, variable, id, class);
            }
        },
    };
    let Some(Found::Variable(decl)) = found.filter(|_| declarator.specialisation.is_some()) else {
        let message = format!("no variable template `{name}` for this specialisation");
        return cx.error("no-matching-template", span, message);
    };
    let Some(template) = decl.template else {
        let message = format!("no variable template `{name}` for this specialisation");
        return cx.error("no-matching-template", span, message);
    };
    place::check_specialised(cx, from, decl.scope, name.as_str(), span);
    let written = declarator.specialisation.as_deref().unwrap_or_default();
    let bound = cx.in_scope(around, |cx| {
        let explicit = template_args::explicit(cx, written);
        template_args::bind(cx, &template.params, &[], explicit, decl.scope, span)
    });
    if let Some(bound) = bound {
        let event = Event::Specialisation { is_definition: variable.init.is_some() || !variable.is_extern };
        let entity = Entity::Variable(decl.variable.id, decl.scope, bound);
        history.add(&mut cx.diagnostics, entity, event, name.as_str(), span);
    }
    cx.in_scope(around, |cx| resolve_type::resolve(cx, &variable.ty));
}

/// `template <> int S<int>::x = 1;`
fn check_static_member<'a>(cx: &mut Checker<'a>, variable: &'a ast::Variable, id: ItemId, class: RecordId) {
    if variable.declarator.specialisation.is_some() {
        return;
    }
    let heads = cx.table.entry(id).item.template.as_ref().map_or_else(Vec::new, |head| head.heads());
    let name = variable.declarator.name;
    if let Some(extra) = heads.get(place::heads_needed(cx, class, variable.span)) {
        let message = format!("extraneous `template<>` in declaration of variable `{name}`");
        cx.error("bad-template", extra.span, message);
    }
}

/// Whether a class is a member class that has an explicit specialisation outside of the class around it.
pub(super) fn is_specialised_member(cx: &mut Checker<'_>, class: RecordId) -> bool {
    let record = cx.records.get(class);
    let (Some(name), None) = (record.name, &record.template) else { return false };
    let Some(owner) = cx.scopes.class_of_scope(record.decl_scope) else { return false };
    let Some(owner_name) = cx.records.get(owner).name else { return false };
    cx.table.out_of_line(owner_name).into_iter().any(|item| {
        let entry = cx.table.entry(item);
        let ItemKind::Record(ast) = &entry.item.kind else { return false };
        let is_specialisation = entry.item.template.as_ref().is_some_and(|head| head.params.is_empty());
        ast.name == Some(name)
            && ast.specialisation.is_none()
            && is_specialisation
            && out_of_line::position(cx, item, ast.scope.as_ref(), owner).is_some()
    })
}

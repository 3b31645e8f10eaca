//! Declarations inside of blocks, variables apart: types, aliases, `using`, assertions.

use crate::ast::{self, FunctionBody, ItemKind};
use crate::hir::{QualTy, Stmt, Ty};
use crate::sema::checker::Checker;
use crate::sema::diagnostics::Diagnostics;
use crate::sema::entities::{FnDeclId, Found, LocalDecl};
use crate::sema::fn_context::Returns;
use crate::sema::scopes::Scopes;
use crate::sema::table::{Layer, Tag, tag_of};
use crate::sema::{
    bindings, call, default_arguments, enumeration, evaluate, function, lookup, path, record, redeclare,
    resolve_type, static_members, using_rules, variable, whole_program,
};
use crate::token::Name;
use anymetal_diagnostics::{Diagnostic, Span};
use std::rc::Rc;

pub(super) fn check<'a>(cx: &mut Checker<'a>, item: &'a ast::Item, out: &mut Vec<Stmt>) {
    let span = item.span;
    match &item.kind {
        ItemKind::Alias(alias) => {
            declare_block_tag(cx, &alias.ty);
            let ty = resolve_type::resolve(cx, &alias.ty);
            // A tag of the same name as the alias is the same type.
            let before = cx.scopes.declare(alias.name, LocalDecl::Type(ty));
            let is_other =
                |other: QualTy| other.ty != ty.ty && !cx.is_dependent(other.ty) && !cx.is_dependent(ty.ty);
            match before {
                Some(LocalDecl::Type(other)) if is_other(other) => {
                    let message = format!("`{}` is already another type", alias.name);
                    cx.error("redefinition", alias.ty.span, message);
                }
                None | Some(LocalDecl::Type(_)) => {}
                Some(_) => {
                    let message = format!("redefinition of `{}` as different kind of symbol", alias.name);
                    cx.error("redefinition", alias.ty.span, message);
                }
            }
        }
        ItemKind::Record(record) => {
            // The parser cannot look `struct S` up in base classes: it may name a member class. An implied
            // declaration has the span of the name.
            let is_implied = span == record.span && record.members.is_none();
            if is_implied && record.name.is_some_and(|name| names_member(cx, name)) {
                return;
            }
            let ty = declare_block_record(cx, record);
            if record.members.is_none() {
                return;
            }
            record::complete_type(cx, ty, span);
            if cx.checks_everything {
                refuse_member_templates(cx, record);
                refuse_local_friends(cx, record, &mut Vec::new());
                static_members::refuse(cx, record, "a local class");
                whole_program::check_record(cx, ty, span);
            }
        }
        ItemKind::Enum(enumeration) => declare_block_enum(cx, enumeration),
        ItemKind::StaticAssert(cond, message) => evaluate::static_assert(cx, cond, *message, span),
        ItemKind::Variable(variable) => variable::check_local(cx, variable, out),
        ItemKind::Bindings(bindings) => bindings::check(cx, bindings, out),
        ItemKind::UsingNamespace(path) => {
            block_using_namespace(cx.table, &mut cx.scopes, &mut cx.diagnostics, path, span)
        }
        ItemKind::UsingDeclaration(using) => block_using(cx, &using.path),
        ItemKind::Function(function) if matches!(function.body, FunctionBody::None) => {
            declare_block_function(cx, function);
        }
        ItemKind::Function(_) => {
            let message = "functions cannot be defined inside of functions";
            let hint = "define it outside of this function, or use a lambda";
            cx.report(Diagnostic::error("local-function", span, message).with_hint(hint));
        }
        _ => {}
    }
}

/// Whether the classes around have a class or an enumeration of that name.
fn names_member(cx: &mut Checker<'_>, name: Name) -> bool {
    cx.scopes.classes_around().into_iter().any(|class| record::member_tag(cx, class, name).is_some())
}

/// A friend of a class of a function is declared in the blocks around the class and not defined
/// (C++14 [class.friend.6], [class.friend.11]).
fn refuse_local_friends<'a>(
    cx: &mut Checker<'a>,
    record: &'a ast::Record,
    around: &mut Vec<&'a ast::Record>,
) {
    for item in record.members.iter().flatten() {
        match &item.kind {
            ItemKind::Record(inner) if inner.members.is_some() => {
                around.push(record);
                refuse_local_friends(cx, inner, around);
                around.pop();
            }
            ItemKind::Function(function) if function.specifiers.is_friend && function.scope.is_none() => {
                let Some(name) = function.name.ordinary().filter(|_| item.template.is_none()) else {
                    continue;
                };
                if !matches!(function.body, FunctionBody::None) {
                    let message = "friend function cannot be defined in a local class";
                    cx.error("bad-friend", function.span, message);
                } else if !matches!(cx.scopes.using_of_block(name), Some(Found::Functions(_)))
                    && !around.iter().any(|outer| declares_function(outer, name))
                {
                    let message = format!("no matching function `{name}` found in local scope");
                    cx.error("bad-friend", function.span, message);
                }
            }
            _ => {}
        }
    }
}

fn declares_function(record: &ast::Record, name: Name) -> bool {
    let mut members = record.members.iter().flatten();
    members.any(|item| matches!(&item.kind, ItemKind::Function(other) if other.name.ordinary() == Some(name)))
}

/// A class of a function has no templates (C++14 [temp.mem]).
fn refuse_member_templates<'a>(cx: &mut Checker<'a>, record: &'a ast::Record) {
    for item in record.members.iter().flatten() {
        let is_friend = matches!(&item.kind, ItemKind::Friend(_))
            || matches!(&item.kind, ItemKind::Function(function) if function.specifiers.is_friend);
        if item.template.as_ref().is_some_and(|template| !template.params.is_empty()) && !is_friend {
            cx.error("bad-template", item.span, "a class of a function cannot have templates");
        }
    }
}

/// Makes a function of the namespace around known in the block.
fn declare_block_function<'a>(cx: &mut Checker<'a>, function: &'a ast::Function) {
    let Some(name) = function.name.ordinary() else { return };
    let ns = cx.scopes.enclosing_namespace(cx.scopes.current());
    // In an instance of a template its types may name the template's parameters.
    let scope = if cx.scopes.is_in_instance() { cx.scopes.current() } else { cx.scopes.namespace(ns) };
    let decl = cx.functions.declare(function, None, scope, None);
    check_block_function(cx, decl, function);
    let mut others = cx.functions.declare_in_block(ns, name, decl);
    if cx.checks_everything {
        if let Some(Found::Functions(of_namespace)) = lookup::directly(cx, ns, name) {
            others.extend(of_namespace.iter());
        }
        redeclare::check_another(cx, &others, decl);
        if let Some(Found::Functions(earlier)) = cx.scopes.using_of_block(name) {
            default_arguments::check_block(cx, &earlier, decl);
        }
    }
    let found = Found::Functions(Rc::from([decl]));
    using_rules::check_block(cx, name, &found, function.span);
    cx.scopes.add_using(name, found);
}

/// The default arguments of a function that is declared in a block, which cannot use the block's variables.
fn check_block_function<'a>(cx: &mut Checker<'a>, decl: FnDeclId, function: &'a ast::Function) {
    if !cx.checks_everything {
        return;
    }
    let func = cx.quietly(|cx| function::instantiate(cx, decl, Rc::from([]), function.span));
    if let Ok(Some(func)) = func {
        let scope = cx.scopes.current();
        cx.in_function(Returns::Type(QualTy::plain(Ty::VOID)), |cx| {
            call::check_default_arguments(cx, func, scope);
        });
    }
}

/// Declares the record or enumeration written inside a type, and its enumerators.
pub(in crate::sema) fn declare_block_tag<'a>(cx: &mut Checker<'a>, ty: &'a ast::Type) {
    match tag_of(ty) {
        Some(Tag::Record(record)) if record.name.is_some() => {
            declare_block_record(cx, record);
        }
        Some(Tag::Enum(enumeration)) => declare_block_enum(cx, enumeration),
        _ => {}
    }
}

fn declare_block_record<'a>(cx: &mut Checker<'a>, record: &'a ast::Record) -> Ty {
    let ty = record::plain(&mut cx.types, &mut cx.records, record, cx.scopes.current());
    if let Some(name) = record.name {
        cx.declare_local(name, LocalDecl::Type(QualTy::plain(ty)), record.span);
    }
    ty
}

fn declare_block_enum<'a>(cx: &mut Checker<'a>, enumeration: &'a ast::Enum) {
    let scope = cx.scopes.current();
    let ty = enumeration::type_of(cx, enumeration, scope);
    if let Some(name) = enumeration.name {
        cx.declare_local(name, LocalDecl::Type(QualTy::plain(ty)), enumeration.span);
    }
    if enumeration.is_scoped {
        return;
    }
    for (n, enumerator) in enumeration.enumerators.iter().flatten().enumerate() {
        if let Found::Enumerator(ty, value) = enumeration::enumerator(cx, enumeration, scope, n as u32) {
            cx.declare_local(enumerator.name, LocalDecl::Enumerator(ty, value), enumerator.span);
        }
    }
}

/// Names of the namespace become visible in the block.
fn block_using_namespace<'a>(
    table: &'a Layer,
    scopes: &mut Scopes<'a>,
    diagnostics: &mut Diagnostics,
    path: &'a ast::Path,
    span: Span,
) {
    let from = scopes.enclosing_namespace(scopes.current());
    match table.find_namespace(from, path) {
        Some(ns) => scopes.add_directive(ns),
        None => diagnostics.report(path::unknown_namespace(path, span)),
    }
}

fn block_using<'a>(cx: &mut Checker<'a>, path: &'a ast::Path) {
    match path::resolve(cx, path) {
        Ok(target) => {
            using_rules::outside_of_classes(cx, path);
            if let Some(last) = path.segments.last() {
                using_rules::check_block(cx, last.name, &target.found, path.span);
                cx.scopes.add_using(last.name, target.found);
            }
        }
        Err(miss) => path::report_miss(&cx.scopes, &cx.records, &mut cx.diagnostics, miss, "name"),
    }
}

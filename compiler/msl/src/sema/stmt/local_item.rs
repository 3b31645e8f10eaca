//! Declarations inside of blocks, variables apart: types, aliases, `using`, assertions.

use crate::ast::{self, FunctionBody, ItemKind};
use crate::hir::{QualTy, Stmt, Ty};
use crate::sema::checker::Checker;
use crate::sema::diagnostics::Diagnostics;
use crate::sema::entities::{Found, LocalDecl};
use crate::sema::scopes::Scopes;
use crate::sema::table::{Layer, Tag, tag_of};
use crate::sema::{
    bindings, enumeration, evaluate, path, record, resolve_type, using_rules, variable, whole_program,
};
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
            if matches!(before, Some(LocalDecl::Type(other)) if is_other(other)) {
                let message = format!("`{}` is already another type", alias.name);
                cx.error("redefinition", alias.ty.span, message);
            }
        }
        ItemKind::Record(record) => {
            let ty = declare_block_record(cx, record);
            record::complete_type(cx, ty, span);
            if cx.checks_everything {
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

/// Makes a function of the namespace around known in the block.
fn declare_block_function<'a>(cx: &mut Checker<'a>, function: &'a ast::Function) {
    let Some(name) = function.name.ordinary() else { return };
    let ns = cx.scopes.enclosing_namespace(cx.scopes.current());
    let scope = cx.scopes.namespace(ns);
    let decl = cx.functions.declare(function, None, scope, None);
    cx.scopes.add_using(name, Found::Functions(Rc::from([decl])));
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
                cx.scopes.add_using(last.name, target.found);
            }
        }
        Err(miss) => path::report_miss(&cx.scopes, &cx.records, &mut cx.diagnostics, miss, "name"),
    }
}

//! Uniform variables, which get no value of a variable that is not uniform (MSL 2.14.2).
//!
//! `uniform<T>` is the type `T` here, so that a variable is uniform by its declaration. Only what certainly
//! reads another variable is reported: `make_uniform` and other calls, memory and `auto` may be uniform.

use crate::ast::{self, TypeKind};
use crate::hir::{Expr, ExprKind, FuncId, LocalId};
use crate::sema::checker::Checker;
use crate::sema::entities::Found;
use crate::sema::fn_context::Uniformity;
use crate::sema::function::Origin;
use crate::sema::{call, function, lookup};
use crate::token::Name;
use anymetal_diagnostics::{Diagnostic, Span};

/// Notes whether a variable is uniform, and reports an initialiser that is not.
pub(in crate::sema) fn declared<'a>(
    cx: &mut Checker<'a>,
    ty: &'a ast::Type,
    local: LocalId,
    value: Option<&Expr>,
) {
    let uniformity = match is_uniform(cx, ty) {
        true => Uniformity::Declared,
        false if function::mentions_auto(ty) => Uniformity::Deduced,
        // Other variables are not noted.
        false => return,
    };
    cx.function.uniform.insert(local, uniformity);
    if let Some(value) = value.filter(|_| uniformity == Uniformity::Declared) {
        check(cx, value, "a uniform variable cannot be initialised by");
    }
}

/// Reports a value that is not uniform and is stored in a variable that is.
pub(in crate::sema) fn assigned(cx: &mut Checker<'_>, place: &Expr, value: &Expr) {
    let ExprKind::Local(local) = place.kind else {
        // Only variables are uniform by their declarations.
        return;
    };
    if cx.function.uniform.get(&local) == Some(&Uniformity::Declared) {
        check(cx, value, "a uniform variable cannot be assigned the value of");
    }
}

/// Reports the result of a function that returns `uniform<T>`.
pub(in crate::sema) fn returned(cx: &mut Checker<'_>, value: &Expr) {
    if cx.function.returns_uniform {
        check(cx, value, "a function with a uniform result cannot return");
    }
}

/// Reports arguments of parameters that are uniform.
pub(in crate::sema) fn passed(cx: &mut Checker<'_>, func: FuncId, values: &[Expr]) {
    // Functions that no source declares have no uniform parameters.
    let Origin::Decl(decl) = cx.functions.inst(func).origin else { return };
    let (ast, scope) = (cx.functions.decl(decl).ast, cx.functions.decl(decl).scope);
    // The elements of a pack share one declaration.
    let params = ast.params.iter().take_while(|param| !matches!(param.ty.kind, TypeKind::Pack(_)));
    for (param, value) in params.zip(values) {
        if is_named_uniform(cx, &param.ty) && cx.in_scope(scope, |cx| is_uniform(cx, &param.ty)) {
            check(cx, value, "a uniform parameter cannot take the value of");
        }
    }
}

fn check(cx: &mut Checker<'_>, value: &Expr, what: &str) {
    let Some((name, span)) = varying(cx, value) else {
        // The value is uniform, as far as its expression shows.
        return;
    };
    let message = format!("{what} `{name}`, which is not uniform");
    let hint = "if it has the same value in all threads, `make_uniform` says so";
    cx.report(Diagnostic::error("uniform-value", span, message).with_hint(hint));
}

/// Whether the last name of a type is `uniform`.
fn is_named_uniform(cx: &Checker<'_>, ty: &ast::Type) -> bool {
    let TypeKind::Path(written) = &ty.kind else { return false };
    written.segments.last().is_some_and(|last| last.name == cx.names.uniform)
}

/// Whether a type is written as the library's `uniform<T>`.
pub(in crate::sema) fn is_uniform<'a>(cx: &mut Checker<'a>, ty: &'a ast::Type) -> bool {
    let TypeKind::Path(written) = &ty.kind else { return false };
    let Some(last) = written.segments.last().filter(|last| last.name == cx.names.uniform) else {
        return false;
    };
    let found = match written.segments.as_slice() {
        [_] => lookup::unqualified(cx, last.name),
        [metal, _] if metal.name == cx.names.metal => {
            call::metal_namespace(cx).and_then(|metal| lookup::in_namespace(cx, metal, last.name))
        }
        _ => None,
    };
    matches!(found, Some(Found::AliasTemplate(found)) if cx.diagnostics.is_of_library(found.alias.ty.span))
}

/// A variable that is not uniform and that an expression computes its value from.
fn varying(cx: &Checker<'_>, value: &Expr) -> Option<(Name, Span)> {
    match &value.kind {
        ExprKind::Load(place) => {
            let ExprKind::Local(local) = place.kind else { return None };
            let name = cx.function.locals[local.0 as usize].name;
            let is_open = cx.function.uniform.contains_key(&local) || name.as_str().is_empty();
            (!is_open).then_some((name, value.span))
        }
        ExprKind::Cast(_, a) | ExprKind::Unary(_, a) => varying(cx, a),
        ExprKind::Binary(_, a, b) | ExprKind::Compare(_, a, b) => varying(cx, a).or_else(|| varying(cx, b)),
        _ => None,
    }
}

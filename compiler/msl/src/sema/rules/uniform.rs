//! Uniform variables, which get no value of a variable that is not uniform (MSL 2.14.2).
//!
//! `uniform<T>` is the type `T` here, so that a variable is uniform by its declaration. Only what certainly
//! reads another variable is reported: `make_uniform` and other calls, memory and `auto` may be uniform.

use crate::ast::{self, TypeKind};
use crate::hir::{Expr, ExprKind, LocalId};
use crate::sema::checker::Checker;
use crate::sema::entities::Found;
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
    let is_uniform = is_uniform(cx, ty);
    if is_uniform || function::mentions_auto(ty) {
        cx.function.uniform.insert(local);
    }
    let Some((name, span)) = value.filter(|_| is_uniform).and_then(|value| varying(cx, value)) else {
        return;
    };
    let message = format!("a uniform variable cannot be initialised by `{name}`, which is not uniform");
    let hint = "if it has the same value in all threads, `make_uniform` says so";
    cx.report(Diagnostic::error("uniform-value", span, message).with_hint(hint));
}

/// Whether a type is written as the library's `uniform<T>`.
fn is_uniform<'a>(cx: &mut Checker<'a>, ty: &'a ast::Type) -> bool {
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
            let is_open = cx.function.uniform.contains(&local) || name.as_str().is_empty();
            (!is_open).then_some((name, value.span))
        }
        ExprKind::Cast(_, a) | ExprKind::Unary(_, a) => varying(cx, a),
        ExprKind::Binary(_, a, b) | ExprKind::Compare(_, a, b) => varying(cx, a).or_else(|| varying(cx, b)),
        _ => None,
    }
}

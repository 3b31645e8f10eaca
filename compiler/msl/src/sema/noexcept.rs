//! `noexcept(e)`: whether all calls in an expression are of functions that are declared not to throw.

use super::checker::Checker;
use super::entities::FnDeclId;
use super::function::Origin;
use super::{evaluate, expr, function, walk};
use crate::ast::{self, Noexcept};
use crate::hir::{Expr, ExprKind, FuncId};
use anymetal_diagnostics::Span;

pub(super) fn check<'a>(cx: &mut Checker<'a>, operand: &'a ast::Expr, span: Span) -> Expr {
    cx.function.unevaluated += 1;
    let value = expr::check(cx, operand);
    cx.function.unevaluated -= 1;
    if value.ty.ty.is_error() {
        return cx.poison(span);
    }
    let mut called = Vec::new();
    walk::each_expr(&value, &mut |expr| called.extend(callee(expr)));
    let holds = called.into_iter().all(|func| is_noexcept(cx, func));
    expr::bool_const(holds, span)
}

fn is_noexcept(cx: &mut Checker<'_>, func: FuncId) -> bool {
    match cx.functions.inst(func).origin {
        Origin::Decl(decl) => declares_noexcept(cx, decl, func),
        Origin::Synthesised(_) => {
            function::ensure_body(cx, func);
            let mut called = Vec::new();
            if let Some(function) = cx.functions.inst(func).hir.clone() {
                walk::each_in_block(&function.body, &mut |expr| called.extend(callee(expr)));
            }
            called.into_iter().all(|func| is_noexcept(cx, func))
        }
        Origin::Dispatch | Origin::Linked => false,
    }
}

/// Whether a declaration of a function says that it does not throw.
pub(super) fn declares_noexcept(cx: &mut Checker<'_>, decl: FnDeclId, func: FuncId) -> bool {
    let ast = cx.functions.decl(decl).ast;
    let condition = match &ast.noexcept {
        Noexcept::Absent => return false,
        Noexcept::Always => return true,
        Noexcept::If(condition) => condition,
    };
    let (scope, params) = (cx.functions.inst(func).scope, cx.functions.inst(func).params.clone());
    let holds = cx.quietly(|cx| {
        cx.in_scope(scope, |cx| {
            function::with_signature_names(cx, ast, &params, |cx| {
                cx.function.unevaluated += 1;
                let value = expr::check(cx, condition);
                cx.function.unevaluated -= 1;
                evaluate::constant_condition(cx, value)
            })
        })
    });
    holds.ok().flatten().unwrap_or(false)
}

/// Checks the condition of a function's `noexcept(…)`.
pub(super) fn check_specifier(cx: &mut Checker<'_>, decl: FnDeclId, func: FuncId) {
    let ast = cx.functions.decl(decl).ast;
    let Noexcept::If(condition) = &ast.noexcept else { return };
    let (scope, params) = (cx.functions.inst(func).scope, cx.functions.inst(func).params.clone());
    cx.in_scope(scope, |cx| {
        function::with_signature_names(cx, ast, &params, |cx| {
            cx.function.unevaluated += 1;
            let value = expr::check(cx, condition);
            cx.function.unevaluated -= 1;
            if !value.ty.ty.is_error() {
                evaluate::constant_condition(cx, value);
            }
        });
    });
}

/// Checks that an explicit specialisation has the exception specification of its template
/// (C++14 [except.spec.4]).
pub(super) fn check_specialisation(cx: &mut Checker<'_>, func: FuncId, ast: &ast::Function) {
    let own = match ast.noexcept {
        Noexcept::Absent => false,
        Noexcept::Always => true,
        Noexcept::If(_) => return,
    };
    let Some(decl) = cx.functions.inst(func).origin.decl() else { return };
    // The library's functions have fewer specifications than Metal's may have.
    if cx.table.is_below(cx.functions.decl(decl).ast.span) {
        return;
    }
    check_used(cx, func, ast.span);
    if declares_noexcept(cx, decl, func) != own {
        report_mismatch(cx, func, own, ast.span);
    }
}

/// Reports a declaration whose exception specification is not that of another declaration.
pub(super) fn report_mismatch(cx: &mut Checker<'_>, func: FuncId, is_noexcept: bool, span: Span) {
    cx.error("redefinition", span, mismatch(&cx.functions.inst(func).name, is_noexcept));
}

/// What is wrong with a later declaration that is `noexcept`, or is not, unlike the first.
pub(super) fn mismatch(name: &str, is_noexcept: bool) -> String {
    match is_noexcept {
        true => format!("exception specification of `{name}` does not match the previous declaration"),
        false => format!("`{name}` is missing the exception specification `noexcept` of its declaration"),
    }
}

/// Checks the condition of an instance's `noexcept(…)` where the function is first used
/// (C++17 [temp.inst.14]).
pub(super) fn check_used(cx: &mut Checker<'_>, func: FuncId, span: Span) {
    let Some(decl) = cx.functions.inst(func).origin.decl() else { return };
    let data = cx.functions.decl(decl);
    let is_instance =
        data.template.is_some() || data.owner.is_some_and(|owner| cx.records.get(owner).template.is_some());
    let has_condition = matches!(data.ast.noexcept, Noexcept::If(_));
    let is_needed = cx.checks_everything && cx.function.unevaluated == 0 && !cx.diagnostics.is_quiet();
    if is_instance && has_condition && is_needed && cx.functions.noexcept_checked.insert(func) {
        cx.instantiating(
            |cx| format!("in the exception specification of `{}`, used here", cx.functions.inst(func).name),
            span,
            |cx| check_specifier(cx, decl, func),
        );
    }
}

fn callee(expr: &Expr) -> Option<FuncId> {
    match expr.kind {
        ExprKind::Call(func, _) | ExprKind::Construct(func, _) => Some(func),
        _ => None,
    }
}

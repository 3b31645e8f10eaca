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

fn declares_noexcept(cx: &mut Checker<'_>, decl: FnDeclId, func: FuncId) -> bool {
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

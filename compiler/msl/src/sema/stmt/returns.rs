//! `return`, and deducing the type of a result from it.

use crate::ast::{self, ExprKind as Ast};
use crate::hir::{Expr, ExprKind, QualTy, Stmt, StmtKind, Ty, Types};
use crate::sema::checker::Checker;
use crate::sema::fn_context::{AutoReturn, Returns};
use crate::sema::init::{ListForm, Memberwise};
use crate::sema::{call, convert, deduce, expr, init, lint, resolve_type, rules, special, stmt};
use anymetal_diagnostics::Span;

pub(super) fn check<'a>(cx: &mut Checker<'a>, value: Option<&'a ast::Expr>, span: Span, out: &mut Vec<Stmt>) {
    let Some(value) = value else {
        if let Returns::Type(ty) = cx.function.returns
            && ty.ty != Ty::VOID
        {
            let shown = cx.show(ty);
            cx.error("missing-result", span, format!("`return` needs a value of type `{shown}` here"));
        }
        deduced_as_void(cx, span);
        stmt::push(out, StmtKind::Return(None), span);
        return;
    };
    let result = match cx.function.returns {
        Returns::Auto(Some(ty)) if ty.ty.is_error() => {
            expr::check(cx, value);
            None
        }
        Returns::Type(ty) => returned(cx, value, ty),
        Returns::Auto(Some(ty)) => deduced_again(cx, value, ty),
        Returns::Auto(None) => deduced_return(cx, value),
    };
    let Some(result) = result else { return };
    if result.ty.ty == Ty::VOID {
        stmt::push(out, StmtKind::Expr(result), span);
        stmt::push(out, StmtKind::Return(None), span);
    } else {
        stmt::push(out, StmtKind::Return(Some(result)), span);
    }
}

fn returned<'a>(cx: &mut Checker<'a>, value: &'a ast::Expr, ty: QualTy) -> Option<Expr> {
    if let Ast::InitList(clauses) = &value.kind {
        let result = init::list_value(cx, clauses, ty, ListForm::Copy, value.span);
        return (!result.ty.ty.is_error()).then_some(result);
    }
    if let Some(function) = call::function_for(cx, value, ty) {
        return (!function.ty.ty.is_error()).then_some(function);
    }
    let checked = expr::check(cx, value);
    if checked.ty.ty.is_error() {
        return None;
    }
    if ty.ty == Ty::VOID {
        if checked.ty.ty != Ty::VOID {
            cx.error("excess-result", value.span, "a `void` function cannot return a value");
            return None;
        }
        return Some(checked);
    }
    lint::conversion(cx, value, &checked, ty.ty);
    let result = converted_result(cx, checked, ty)?;
    rules::uniform::returned(cx, &result);
    Some(result)
}

fn converted_result(cx: &mut Checker<'_>, value: Expr, ty: QualTy) -> Option<Expr> {
    let value = match value.kind {
        ExprKind::Local(local) if value.ty.ty == ty.ty => {
            if local.0 < cx.function.params {
                // A parameter is moved, or copied if its class moves no objects.
                let moves = init::copies_by_code(cx, Memberwise::Construct, ty.ty);
                if moves { cx.values().as_xvalue(value) } else { value }
            } else if !check_returned_copy(cx, &value) {
                return None;
            } else {
                // Clang makes the variable where the result is wanted, without a copy.
                cx.values().rvalue(value)
            }
        }
        _ => value,
    };
    let result = convert::to_type(cx, value, ty, "for the function's result");
    (!result.ty.ty.is_error()).then_some(result)
}

/// C++ wants a constructor that moves or copies the variable even where neither is done.
fn check_returned_copy(cx: &mut Checker<'_>, variable: &Expr) -> bool {
    let moved = cx.values().as_xvalue(variable.clone());
    special::check_copying(cx, Memberwise::Construct, &moved)
}

/// `return;` in a function whose result type is deduced.
fn deduced_as_void(cx: &mut Checker<'_>, span: Span) {
    match cx.function.returns {
        Returns::Auto(None) => {
            refuse_void(cx, span);
            cx.function.returns = Returns::Auto(Some(QualTy::plain(Ty::VOID)));
        }
        Returns::Auto(Some(ty)) => report_other_result(cx, ty, QualTy::plain(Ty::VOID), span),
        Returns::Type(_) => {}
    }
}

/// `auto*` and `auto&` are never `void`.
pub(in crate::sema) fn refuse_void(cx: &mut Checker<'_>, span: Span) {
    if let Some(AutoReturn::Reference { .. } | AutoReturn::Pointer) = cx.function.auto_return {
        cx.error(
            "deduced-result",
            span,
            "the result type `auto*` or `auto&` cannot be deduced without a value",
        );
    }
}

fn report_other_result(cx: &mut Checker<'_>, known: QualTy, ty: QualTy, span: Span) {
    if known != ty && !cx.is_dependent(known.ty) && !cx.is_dependent(ty.ty) {
        let (known, shown) = (cx.show(known), cx.show(ty));
        let message = format!("the result type is deduced as `{shown}` here, but as `{known}` before");
        cx.error("deduced-result", span, message);
    }
}

/// A further `return` of a function whose result type was deduced from the first one.
fn deduced_again<'a>(cx: &mut Checker<'a>, value: &'a ast::Expr, ty: QualTy) -> Option<Expr> {
    if matches!(value.kind, Ast::InitList(_)) {
        return returned(cx, value, ty);
    }
    let checked = expr::check(cx, value);
    if checked.ty.ty.is_error() {
        return None;
    }
    let own = match checked.ty.ty {
        Ty::VOID => QualTy::plain(Ty::VOID),
        _ => deduced_result_type(cx, value, &checked),
    };
    if own != ty {
        report_other_result(cx, ty, own, value.span);
        return None;
    }
    if ty.ty == Ty::VOID { Some(checked) } else { converted_result(cx, checked, ty) }
}

fn deduced_return<'a>(cx: &mut Checker<'a>, value: &'a ast::Expr) -> Option<Expr> {
    let checked = expr::check(cx, value);
    if checked.ty.ty.is_error() {
        // Not `void`, as without `return`: uses of the result are not in error themselves.
        cx.function.returns = Returns::Auto(Some(QualTy::plain(Ty::ERROR)));
        return None;
    }
    let ty = if checked.ty.ty == Ty::VOID {
        // Of a reference the declaration is at fault, which no value of this type fits.
        let is_reference = matches!(cx.function.auto_return, Some(AutoReturn::Reference { .. }));
        let at = if is_reference { cx.function.result_at } else { value.span };
        refuse_void(cx, at);
        QualTy::plain(Ty::VOID)
    } else {
        deduced_result_type(cx, value, &checked)
    };
    cx.function.returns = Returns::Auto(Some(ty));
    if ty.ty == Ty::VOID {
        return Some(checked);
    }
    converted_result(cx, checked, ty)
}

fn deduced_result_type<'a>(cx: &mut Checker<'a>, written: &'a ast::Expr, value: &Expr) -> QualTy {
    if cx.function.auto_return == Some(AutoReturn::Decltype) {
        let ty = resolve_type::decltype_of_value(cx, written, value);
        return init::initialised_type(&cx.types, ty);
    }
    if let Some(written) = cx.function.auto_return
        && let Some(pointer) = auto_return_type(&mut cx.types, &written, value)
    {
        return pointer;
    }
    deduce::decayed_value(&mut cx.types, value.ty).unqualified()
}

/// `auto&` and `auto*` as result types.
fn auto_return_type(types: &mut Types, written: &AutoReturn, value: &Expr) -> Option<QualTy> {
    match written {
        AutoReturn::Reference { is_const, .. } if value.is_place => {
            let mut to = value.ty;
            to.is_const |= is_const;
            Some(QualTy::plain(types.reference(to, false)))
        }
        // No value binds to it, which the conversion reports.
        AutoReturn::Reference { is_const: false, is_rvalue: false } => {
            Some(QualTy::plain(types.reference(value.ty, false)))
        }
        _ => None,
    }
}

//! The conditional operator `?:`, on values, places and vectors.
//!
//! Invariant: of a conditional that is a place only the chosen side is evaluated, and only for its address.

use crate::ast;
use crate::hir::{CastKind, ConstValue, Expr, ExprKind, QualTy, ScalarTy, Ty, TyKind};
use crate::sema::checker::Checker;
use crate::sema::{convert, expr, lint, operator};
use anymetal_diagnostics::Span;

pub(in crate::sema) fn check_conditional<'a>(
    cx: &mut Checker<'a>,
    cond: &'a ast::Expr,
    a: &'a ast::Expr,
    b: &'a ast::Expr,
    span: Span,
) -> Expr {
    let cond = expr::check(cx, cond);
    let known = lint::known_condition(&cond);
    let a = lint::in_code(cx, known != Some(false), |cx| expr::check(cx, a));
    let b = lint::in_code(cx, known != Some(true), |cx| expr::check(cx, b));
    if cond.ty.ty.is_error() || a.ty.ty.is_error() || b.ty.ty.is_error() {
        return cx.poison(span);
    }
    if let Some((_, len)) = cx.types.as_vector(cond.ty.ty) {
        return vector_select(cx, cond, a, b, len, span);
    }
    let cond = expr::condition(cx, cond);
    if cond.ty.ty.is_error() {
        return cond;
    }
    let (a, b) = match conditional_operands(cx, a, b, span) {
        Some(pair) => pair,
        None => return cx.poison(span),
    };
    if let ExprKind::Const(ConstValue::Scalar(bits)) = cond.kind {
        return if bits != 0 { a } else { b };
    }
    if a.is_place {
        return cx.values().chosen_place(cond, a, b, span);
    }
    let ty = a.ty.ty;
    Expr::value(ExprKind::Conditional(Box::new(cond), Box::new(a), Box::new(b)), ty, span)
}

/// Both sides brought to one type; as places only when both are alike and hold more than a value.
fn conditional_operands(cx: &mut Checker<'_>, a: Expr, b: Expr, span: Span) -> Option<(Expr, Expr)> {
    let (left, right) = (a.ty.ty, b.ty.ty);
    if left == right {
        let is_wide = matches!(cx.types.kind(left), TyKind::Record(_) | TyKind::Array(..));
        if a.is_place && b.is_place && is_wide && a.ty == b.ty {
            return Some((a, b));
        }
        return Some((convert::copied(cx, a), convert::copied(cx, b)));
    }
    let is_class = |ty| matches!(cx.types.kind(ty), TyKind::Record(_) | TyKind::Matrix { .. });
    if is_class(left) || is_class(right) {
        if convert::conversion_of(cx, &b, QualTy::plain(left), true).is_some() {
            let b = convert::perform(cx, b, QualTy::plain(left));
            return Some((convert::copied(cx, a), b));
        }
        if convert::conversion_of(cx, &a, QualTy::plain(right), true).is_some() {
            let a = convert::perform(cx, a, QualTy::plain(right));
            return Some((a, convert::copied(cx, b)));
        }
    }
    // What converts to no class converts for the builtin operator (C++14 [expr.cond.6]).
    let (a, b) = (convert::builtin_operand(cx, a), convert::builtin_operand(cx, b));
    // Loaded, a bit-field would be one no more.
    let (a, b) = (cx.values().promoted(a), cx.values().promoted(b));
    let (a, b) = (cx.values().rvalue(a), cx.values().rvalue(b));
    let (left, right) = (a.ty.ty, b.ty.ty);
    if left == right {
        return Some((a, b));
    }
    if let Some(pair) = common_pointers(cx, &a, &b) {
        return Some(pair);
    }
    if (left == Ty::VOID) != (right == Ty::VOID) {
        let (a, b) = (
            cx.values().cast_value(CastKind::ToVoid, a, Ty::VOID, span),
            cx.values().cast_value(CastKind::ToVoid, b, Ty::VOID, span),
        );
        return Some((a, b));
    }
    let result = cx.values().common_operands(a, b);
    if result.is_none() {
        operator::bad_operands(
            &cx.types,
            &mut cx.diagnostics,
            "?:",
            QualTy::plain(left),
            Some(QualTy::plain(right)),
            span,
        );
    }
    result
}

fn common_pointers(cx: &mut Checker<'_>, a: &Expr, b: &Expr) -> Option<(Expr, Expr)> {
    for (from, to, swapped) in [(b, a, false), (a, b, true)] {
        if cx.types.pointee(to.ty.ty).is_some() && convert::conversion_of(cx, from, to.ty, false).is_some() {
            let converted = convert::perform(cx, from.clone(), to.ty);
            return Some(if swapped { (converted, to.clone()) } else { (to.clone(), converted) });
        }
    }
    let (left, right) = (cx.types.pointee(a.ty.ty)?, cx.types.pointee(b.ty.ty)?);
    let pointee = convert::composite_pointee(cx, left, right)?;
    let to = QualTy::plain(cx.types.pointer(pointee));
    Some((convert::perform(cx, a.clone(), to), convert::perform(cx, b.clone(), to)))
}

fn vector_select(cx: &mut Checker<'_>, cond: Expr, a: Expr, b: Expr, len: u8, span: Span) -> Expr {
    let cond = cx.values().rvalue(cond);
    let flags = cx.types.vector(ScalarTy::Bool, len);
    let cond = cx.values().splat_or_convert(cond, flags);
    let (a, b) = (cx.values().rvalue(a), cx.values().rvalue(b));
    let (left, right) = (a.ty, b.ty);
    let Some((a, b)) = cx.values().common_operands(a, b) else {
        return operator::bad_operands(&cx.types, &mut cx.diagnostics, "?:", left, Some(right), span);
    };
    let to = match cx.types.as_vector(a.ty.ty) {
        Some((_, n)) if n == len => a.ty.ty,
        Some(_) => {
            return operator::bad_operands(&cx.types, &mut cx.diagnostics, "?:", cond.ty, Some(a.ty), span);
        }
        None => {
            let Some(elem) = cx.types.as_scalar(a.ty.ty) else { return cx.poison(span) };
            cx.types.vector(elem, len)
        }
    };
    let (a, b) = (cx.values().splat_or_convert(a, to), cx.values().splat_or_convert(b, to));
    Expr::value(ExprKind::Select(Box::new(cond), Box::new(a), Box::new(b)), to, span)
}

//! Fold expressions: the operator between all elements of a pack.
//!
//! Invariant: the expansion is no higher than an expression may be written ([`MAX_HEIGHT`]).

use super::checker::Checker;
use super::diagnostics::Diagnostics;
use super::{assign, expr, operator};
use crate::ast::{BinaryOp, Expr as AstExpr, Fold, FoldOp};
use crate::hir::{Expr, ExprKind, Ty};
use crate::parser::MAX_HEIGHT;
use anymetal_diagnostics::Span;

pub(super) fn check<'a>(cx: &mut Checker<'a>, fold: &'a Fold, span: Span) -> Expr {
    let of_left = fold.left.as_ref().and_then(|left| cx.scopes.pack_length_of_expr(left));
    let of_right = fold.right.as_ref().and_then(|right| cx.scopes.pack_length_of_expr(right));
    let (pack, count, init, is_right) = match (&fold.left, &fold.right, of_left, of_right) {
        (_, _, Some(_), Some(_)) => {
            cx.error("fold-operand", span, "only one operand of a fold expression may be a pack");
            return cx.poison(span);
        }
        (Some(pack), init, Some(count), None) => (pack, count, init.as_ref(), true),
        (init, Some(pack), None, Some(count)) => (pack, count, init.as_ref(), false),
        _ => {
            cx.error("fold-operand", span, "the operand of a fold expression names no parameter pack");
            return cx.poison(span);
        }
    };
    if count >= MAX_HEIGHT as usize {
        cx.error("too-deep", span, format!("a fold over {count} elements is too large"));
        return cx.poison(span);
    }
    let mut operands: Vec<Expr> = fold_operands(cx, pack, count);
    if is_right {
        operands.extend(init.map(|init| expr::check(cx, init)));
    } else if let Some(init) = init {
        operands.insert(0, expr::check(cx, init));
    }
    if cx.diagnostics.gave_up() {
        return cx.poison(span);
    }
    combine(cx, fold.op, operands, is_right, span)
}

fn fold_operands<'a>(cx: &mut Checker<'a>, pack: &'a AstExpr, count: usize) -> Vec<Expr> {
    let mut operands = Vec::with_capacity(count);
    for n in 0..count {
        operands.push(cx.with_pack_index(n, |cx| expr::check(cx, pack)));
        if cx.diagnostics.gave_up() {
            break;
        }
    }
    operands
}

fn combine(cx: &mut Checker<'_>, op: FoldOp, operands: Vec<Expr>, is_right: bool, span: Span) -> Expr {
    if operands.iter().any(|operand| operand.ty.ty.is_error()) {
        return cx.poison(span);
    }
    let combined = if is_right {
        operands.into_iter().rev().reduce(|right, left| step(cx, op, left, right, span))
    } else {
        operands.into_iter().reduce(|left, right| step(cx, op, left, right, span))
    };
    match combined {
        Some(value) => Expr { span, ..value },
        None => empty(&mut cx.diagnostics, op, span),
    }
}

fn step(cx: &mut Checker<'_>, op: FoldOp, left: Expr, right: Expr, span: Span) -> Expr {
    if left.ty.ty.is_error() || right.ty.ty.is_error() {
        return cx.poison(span);
    }
    match op {
        FoldOp::Binary(op) => operator::binary(cx, op, left, right, span),
        FoldOp::Assign(op) => match op.0 {
            Some(op) => assign::compound(cx, op, left, right, span),
            None => assign::store_value(cx, left, right, span),
        },
    }
}

/// What a fold over no elements gives: only three operators have a value for that.
fn empty(diagnostics: &mut Diagnostics, op: FoldOp, span: Span) -> Expr {
    match op {
        FoldOp::Binary(BinaryOp::LogicalAnd) => expr::bool_const(true, span),
        FoldOp::Binary(BinaryOp::LogicalOr) => expr::bool_const(false, span),
        FoldOp::Binary(BinaryOp::Comma) => Expr::value(ExprKind::Zero, Ty::VOID, span),
        _ => {
            diagnostics.error(
                "empty-fold",
                span,
                "a fold over an empty pack has no value with this operator",
            );
            diagnostics.poison(span)
        }
    }
}

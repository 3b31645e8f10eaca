//! Builtin comparisons and logic: `== < && || !`, on numbers, vectors and pointers.

use crate::ast::BinaryOp as Op;
use crate::hir::{
    BinaryOp, CastKind, CompareOp, ConstValue, Expr, ExprKind, LogicalOp, QualTy, ScalarTy, Ty, TyKind,
    UnaryOp,
};
use crate::sema::checker::Checker;
use crate::sema::convert::is_zero_literal;
use crate::sema::expr::{after, known_constant};
use crate::sema::values::{involves_pointer, is_pointer};
use crate::sema::{convert, evaluate, expr};
use anymetal_diagnostics::Span;
use anymetal_ir::eval;

pub(super) fn comparison(
    cx: &mut Checker<'_>,
    op: CompareOp,
    lhs: Expr,
    rhs: Expr,
    span: Span,
) -> Option<Expr> {
    if involves_pointer(&cx.types, &lhs, &rhs) {
        return pointer_comparison(cx, op, &lhs, &rhs, span);
    }
    // Unscoped ones are promoted by now.
    let same_enum = lhs.ty.ty == rhs.ty.ty && matches!(cx.types.kind(lhs.ty.ty), TyKind::Enum(_));
    let (a, b) = if same_enum {
        let repr = Ty::scalar(cx.types.scalar_repr(lhs.ty.ty)?);
        (
            cx.values().cast_value(CastKind::Convert, lhs, repr, span),
            cx.values().cast_value(CastKind::Convert, rhs, repr, span),
        )
    } else {
        cx.values().common_operands(lhs, rhs)?
    };
    let ty = match cx.types.as_vector(a.ty.ty) {
        Some((_, len)) => cx.types.vector(ScalarTy::Bool, len),
        None => Ty::BOOL,
    };
    if let (ExprKind::Const(ConstValue::Scalar(x)), ExprKind::Const(ConstValue::Scalar(y))) =
        (&a.kind, &b.kind)
        && let Some(scalar) = cx.types.as_scalar(a.ty.ty)
    {
        let ir = evaluate::ir_compare(op, scalar);
        let result = eval::eval_compare(ir, scalar.into(), *x, *y);
        return Some(expr::bool_const(result, span));
    }
    Some(Expr::value(ExprKind::Compare(op, Box::new(a), Box::new(b)), ty, span))
}

fn pointer_comparison(
    cx: &mut Checker<'_>,
    op: CompareOp,
    lhs: &Expr,
    rhs: &Expr,
    span: Span,
) -> Option<Expr> {
    // The enumerator 0 is no null pointer.
    let is_zero = |e: &Expr| is_zero_literal(e) && cx.types.as_scalar(e.ty.ty).is_some();
    let is_null = |e: &Expr| e.ty.ty == Ty::NULLPTR || is_zero(e);
    if (is_null(lhs) || is_null(rhs)) && !matches!(op, CompareOp::Eq | CompareOp::Ne) {
        return None;
    }
    let (a, b) = match (is_pointer(&cx.types, lhs), is_pointer(&cx.types, rhs)) {
        (false, false) => return None,
        (true, _) if is_null(rhs) && cx.types.pointee(lhs.ty.ty).is_some() => {
            (lhs.clone(), known_constant(rhs.clone(), ConstValue::Null, lhs.ty.ty))
        }
        (_, true) if is_null(lhs) && cx.types.pointee(rhs.ty.ty).is_some() => {
            (known_constant(lhs.clone(), ConstValue::Null, rhs.ty.ty), rhs.clone())
        }
        (true, true) => {
            if lhs.ty.ty == Ty::NULLPTR && rhs.ty.ty == Ty::NULLPTR {
                let result = ConstValue::Scalar(u64::from(op == CompareOp::Eq));
                let result = known_constant(rhs.clone(), result, Ty::BOOL);
                return Some(Expr { span, ..after(lhs.clone(), result) });
            }
            let (x, y) = (cx.types.pointee(lhs.ty.ty)?, cx.types.pointee(rhs.ty.ty)?);
            let pointee = convert::composite_pointee(cx, x, y)?;
            let to = QualTy::plain(cx.types.pointer(pointee));
            (convert::perform(cx, lhs.clone(), to), convert::perform(cx, rhs.clone(), to))
        }
        _ => return None,
    };
    Some(Expr::value(ExprKind::Compare(op, Box::new(a), Box::new(b)), Ty::BOOL, span))
}

pub(super) fn logical(cx: &mut Checker<'_>, op: Op, lhs: Expr, rhs: Expr, span: Span) -> Option<Expr> {
    let (a, b) = (cx.types.as_vector(lhs.ty.ty), cx.types.as_vector(rhs.ty.ty));
    if let Some((_, len)) = a.or(b) {
        // Elementwise; both sides are evaluated.
        if a.zip(b).is_some_and(|((_, n), (_, m))| n != m) {
            return None;
        }
        let to = cx.types.vector(ScalarTy::Bool, len);
        let (x, y) = (cx.values().splat_or_convert(lhs, to), cx.values().splat_or_convert(rhs, to));
        let op = if op == Op::LogicalAnd { BinaryOp::And } else { BinaryOp::Or };
        return Some(Expr::value(ExprKind::Binary(op, Box::new(x), Box::new(y)), to, span));
    }
    let (x, y) = (expr::condition(cx, lhs), expr::condition(cx, rhs));
    if x.ty.ty.is_error() || y.ty.ty.is_error() {
        return Some(cx.poison(span));
    }
    let op = if op == Op::LogicalAnd { LogicalOp::And } else { LogicalOp::Or };
    if let ExprKind::Const(ConstValue::Scalar(bits)) = x.kind {
        let decides = (bits != 0) == (op == LogicalOp::Or);
        return Some(if decides { Expr { span, ..x } } else { Expr { span, ..y } });
    }
    Some(Expr::value(ExprKind::Logical(op, Box::new(x), Box::new(y)), Ty::BOOL, span))
}

pub(super) fn logical_not(cx: &mut Checker<'_>, operand: Expr, span: Span) -> Expr {
    if let Some((_, len)) = cx.types.as_vector(operand.ty.ty) {
        let value = cx.values().rvalue(operand);
        let to = cx.types.vector(ScalarTy::Bool, len);
        let value = cx.values().splat_or_convert(value, to);
        return Expr::value(ExprKind::Unary(UnaryOp::Not, Box::new(value)), to, span);
    }
    let value = expr::condition(cx, operand);
    if let ExprKind::Const(ConstValue::Scalar(bits)) = value.kind {
        return expr::bool_const(bits == 0, span);
    }
    if value.ty.ty.is_error() {
        return value;
    }
    Expr::value(ExprKind::Unary(UnaryOp::Not, Box::new(value)), Ty::BOOL, span)
}

pub(super) fn compare_op(op: Op) -> CompareOp {
    match op {
        Op::Ne => CompareOp::Ne,
        Op::Lt => CompareOp::Lt,
        Op::Gt => CompareOp::Gt,
        Op::Le => CompareOp::Le,
        Op::Ge => CompareOp::Ge,
        _ => CompareOp::Eq,
    }
}

//! Builtin arithmetic: `+ - * / % << >> & | ^ ~`, on numbers and pointers.

use crate::ast::{BinaryOp as Op, UnaryOp as Unary};
use crate::hir::{BinaryOp, CastKind, Expr, ExprKind, QualTy, Ty, UnaryOp};
use crate::sema::checker::Checker;
use crate::sema::convert::promote;
use crate::sema::values::{arithmetic_scalar, involves_pointer};
use crate::sema::{convert, operator, record, spelling};
use anymetal_diagnostics::Span;

pub(super) fn arithmetic(cx: &mut Checker<'_>, op: Op, lhs: Expr, rhs: Expr, span: Span) -> Option<Expr> {
    if involves_pointer(&cx.types, &lhs, &rhs) {
        return pointer_arithmetic(cx, op, &lhs, &rhs, span);
    }
    let (a, b) = cx.values().common_operands(lhs, rhs)?;
    let elem = cx.types.element(a.ty.ty)?;
    let hir_op = match op {
        Op::Add => BinaryOp::Add,
        Op::Sub => BinaryOp::Sub,
        Op::Mul => BinaryOp::Mul,
        Op::Div => BinaryOp::Div,
        Op::Rem => BinaryOp::Rem,
        Op::BitAnd => BinaryOp::And,
        Op::BitOr => BinaryOp::Or,
        Op::BitXor => BinaryOp::Xor,
        _ => return None,
    };
    if elem.is_float() && matches!(hir_op, BinaryOp::Rem | BinaryOp::And | BinaryOp::Or | BinaryOp::Xor) {
        return None;
    }
    Some(cx.values().binary_value(hir_op, a, b, span))
}

fn pointer_arithmetic(cx: &mut Checker<'_>, op: Op, lhs: &Expr, rhs: &Expr, span: Span) -> Option<Expr> {
    let (left, right) = (cx.types.pointee(lhs.ty.ty), cx.types.pointee(rhs.ty.ty));
    match (op, left, right) {
        (Op::Add | Op::Sub, Some(pointee), None) => {
            arithmetic_scalar(&cx.types, rhs.ty.ty).filter(|scalar| scalar.is_integral())?;
            if !record::complete_type(cx, pointee.ty, span) {
                return Some(cx.poison(span));
            }
            let mut index = cx.values().index_value(rhs.clone());
            if op == Op::Sub {
                index = cx.values().negated(index);
            }
            Some(Expr::value(ExprKind::PointerAdd(Box::new(lhs.clone()), Box::new(index)), lhs.ty.ty, span))
        }
        (Op::Add, None, Some(_)) => pointer_arithmetic(cx, op, rhs, lhs, span),
        (Op::Sub, Some(a), Some(b)) => {
            let pointee = cx.values().with_both_qualifiers(a, b)?;
            let to = QualTy::plain(cx.types.pointer(pointee));
            let (left, right) =
                (convert::perform(cx, lhs.clone(), to), convert::perform(cx, rhs.clone(), to));
            Some(Expr::value(ExprKind::PointerDiff(Box::new(left), Box::new(right)), Ty::LONG, span))
        }
        _ => None,
    }
}

pub(super) fn unary_arithmetic(cx: &mut Checker<'_>, op: Unary, value: Expr, span: Span) -> Expr {
    if value.ty.ty.is_error() {
        return value;
    }
    let value = cx.values().unpack(value);
    let vector = cx.types.as_vector(value.ty.ty);
    let Some(elem) = vector.map(|(elem, _)| elem).or_else(|| arithmetic_scalar(&cx.types, value.ty.ty))
    else {
        if op == Unary::Plus && cx.types.pointee(value.ty.ty).is_some() {
            return value;
        }
        return operator::bad_operands(
            &cx.types,
            &mut cx.diagnostics,
            spelling::unary(op),
            value.ty,
            None,
            span,
        );
    };
    if op == Unary::BitNot && elem.is_float() {
        return operator::bad_operands(&cx.types, &mut cx.diagnostics, "~", value.ty, None, span);
    }
    let value = match vector {
        Some(_) => value,
        None => cx.values().cast_value(CastKind::Convert, value, Ty::scalar(promote(elem)), span),
    };
    match op {
        Unary::Plus => value,
        Unary::Minus => Expr { span, ..cx.values().negated(value) },
        _ => Expr { span, ..cx.values().unary_value(UnaryOp::BitNot, value) },
    }
}

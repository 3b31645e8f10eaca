//! Builtin arithmetic: `+ - * / % << >> & | ^ ~`, on numbers and pointers.

use crate::ast::{BinaryOp as Op, UnaryOp as Unary};
use crate::hir::{BinaryOp, CastKind, ConstValue, Expr, ExprKind, QualTy, Ty, UnaryOp};
use crate::sema::checker::Checker;
use crate::sema::convert::promote;
use crate::sema::{evaluate, spelling};
use anymetal_diagnostics::Span;
use anymetal_ir::eval;

impl Checker<'_> {
    pub(super) fn arithmetic(&mut self, op: Op, lhs: Expr, rhs: Expr, span: Span) -> Option<Expr> {
        if self.involves_pointer(&lhs, &rhs) {
            return self.pointer_arithmetic(op, &lhs, &rhs, span);
        }
        let (a, b) = self.common_operands(lhs, rhs)?;
        let elem = self.types.element(a.ty.ty)?;
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
        Some(self.binary_value(hir_op, a, b, span))
    }

    fn pointer_arithmetic(&mut self, op: Op, lhs: &Expr, rhs: &Expr, span: Span) -> Option<Expr> {
        let (left, right) = (self.types.pointee(lhs.ty.ty), self.types.pointee(rhs.ty.ty));
        match (op, left, right) {
            (Op::Add | Op::Sub, Some(pointee), None) => {
                self.arithmetic_scalar(rhs.ty.ty).filter(|scalar| scalar.is_integral())?;
                if !self.complete_type(pointee.ty, span) {
                    return Some(self.poison(span));
                }
                let mut index = self.index_value(rhs.clone());
                if op == Op::Sub {
                    index = self.negated(index);
                }
                Some(Expr::value(
                    ExprKind::PointerAdd(Box::new(lhs.clone()), Box::new(index)),
                    lhs.ty.ty,
                    span,
                ))
            }
            (Op::Add, None, Some(_)) => self.pointer_arithmetic(op, rhs, lhs, span),
            (Op::Sub, Some(a), Some(b)) => {
                let pointee = self.with_both_qualifiers(a, b)?;
                let to = QualTy::plain(self.types.pointer(pointee));
                let (left, right) = (self.perform(lhs.clone(), to), self.perform(rhs.clone(), to));
                Some(Expr::value(ExprKind::PointerDiff(Box::new(left), Box::new(right)), Ty::LONG, span))
            }
            _ => None,
        }
    }

    fn negated(&mut self, value: Expr) -> Expr {
        self.unary_value(UnaryOp::Neg, value)
    }

    /// A unary operator on a value of a type it is made for; folded, if the value is constant.
    fn unary_value(&mut self, op: UnaryOp, value: Expr) -> Expr {
        let (ty, span) = (value.ty.ty, value.span);
        if let (ExprKind::Const(ConstValue::Scalar(bits)), Some(scalar)) =
            (&value.kind, self.types.as_scalar(ty))
        {
            let bits = eval::eval_unary(evaluate::ir_unary(op, scalar), scalar.into(), *bits);
            return Expr::value(ExprKind::Const(ConstValue::Scalar(bits)), ty, span);
        }
        Expr::value(ExprKind::Unary(op, Box::new(value)), ty, span)
    }

    pub(super) fn shift(&mut self, op: Op, lhs: Expr, rhs: Expr, span: Span) -> Option<Expr> {
        let (lhs, rhs) = (self.unpack(lhs), self.unpack(rhs));
        if !self.types.element(lhs.ty.ty)?.is_integral() || !self.types.element(rhs.ty.ty)?.is_integral() {
            return None;
        }
        let to = match (self.types.as_vector(lhs.ty.ty), self.types.as_vector(rhs.ty.ty)) {
            (Some((_, n)), Some((_, m))) if n != m => return None,
            (Some(_), _) => lhs.ty.ty,
            (None, Some((_, n))) => {
                let elem = self.types.scalar_repr(lhs.ty.ty)?;
                self.types.vector(elem, n)
            }
            (None, None) => Ty::scalar(promote(self.arithmetic_scalar(lhs.ty.ty)?)),
        };
        let (a, b) = (self.splat_or_convert(lhs, to), self.splat_or_convert(rhs, to));
        let hir_op = if op == Op::Shl { BinaryOp::Shl } else { BinaryOp::Shr };
        Some(self.binary_value(hir_op, a, b, span))
    }

    pub(super) fn unary_arithmetic(&mut self, op: Unary, value: Expr, span: Span) -> Expr {
        if value.ty.ty.is_error() {
            return value;
        }
        let value = self.unpack(value);
        let vector = self.types.as_vector(value.ty.ty);
        let Some(elem) = vector.map(|(elem, _)| elem).or_else(|| self.arithmetic_scalar(value.ty.ty)) else {
            if op == Unary::Plus && self.types.pointee(value.ty.ty).is_some() {
                return value;
            }
            return self.bad_operands(spelling::unary(op), value.ty, None, span);
        };
        if op == Unary::BitNot && elem.is_float() {
            return self.bad_operands("~", value.ty, None, span);
        }
        let value = match vector {
            Some(_) => value,
            None => self.cast_value(CastKind::Convert, value, Ty::scalar(promote(elem)), span),
        };
        match op {
            Unary::Plus => value,
            Unary::Minus => Expr { span, ..self.negated(value) },
            _ => Expr { span, ..self.unary_value(UnaryOp::BitNot, value) },
        }
    }
}

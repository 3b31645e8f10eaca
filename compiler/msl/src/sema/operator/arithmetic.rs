//! Builtin arithmetic: `+ - * / % << >> & | ^ ~`, on numbers and pointers.

use crate::ast::{BinaryOp as Op, UnaryOp as Unary};
use crate::hir::{BinaryOp, CastKind, Expr, ExprKind, QualTy, Ty, UnaryOp};
use crate::sema::checker::Checker;
use crate::sema::convert::promote;
use crate::sema::spelling;
use crate::sema::values::{arithmetic_scalar, involves_pointer};
use anymetal_diagnostics::Span;

impl Checker<'_> {
    pub(super) fn arithmetic(&mut self, op: Op, lhs: Expr, rhs: Expr, span: Span) -> Option<Expr> {
        if involves_pointer(&self.types, &lhs, &rhs) {
            return self.pointer_arithmetic(op, &lhs, &rhs, span);
        }
        let (a, b) = self.values().common_operands(lhs, rhs)?;
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
        Some(self.values().binary_value(hir_op, a, b, span))
    }

    fn pointer_arithmetic(&mut self, op: Op, lhs: &Expr, rhs: &Expr, span: Span) -> Option<Expr> {
        let (left, right) = (self.types.pointee(lhs.ty.ty), self.types.pointee(rhs.ty.ty));
        match (op, left, right) {
            (Op::Add | Op::Sub, Some(pointee), None) => {
                arithmetic_scalar(&self.types, rhs.ty.ty).filter(|scalar| scalar.is_integral())?;
                if !self.complete_type(pointee.ty, span) {
                    return Some(self.poison(span));
                }
                let mut index = self.values().index_value(rhs.clone());
                if op == Op::Sub {
                    index = self.values().negated(index);
                }
                Some(Expr::value(
                    ExprKind::PointerAdd(Box::new(lhs.clone()), Box::new(index)),
                    lhs.ty.ty,
                    span,
                ))
            }
            (Op::Add, None, Some(_)) => self.pointer_arithmetic(op, rhs, lhs, span),
            (Op::Sub, Some(a), Some(b)) => {
                let pointee = self.values().with_both_qualifiers(a, b)?;
                let to = QualTy::plain(self.types.pointer(pointee));
                let (left, right) = (self.perform(lhs.clone(), to), self.perform(rhs.clone(), to));
                Some(Expr::value(ExprKind::PointerDiff(Box::new(left), Box::new(right)), Ty::LONG, span))
            }
            _ => None,
        }
    }

    pub(super) fn unary_arithmetic(&mut self, op: Unary, value: Expr, span: Span) -> Expr {
        if value.ty.ty.is_error() {
            return value;
        }
        let value = self.values().unpack(value);
        let vector = self.types.as_vector(value.ty.ty);
        let Some(elem) = vector.map(|(elem, _)| elem).or_else(|| arithmetic_scalar(&self.types, value.ty.ty))
        else {
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
            None => self.values().cast_value(CastKind::Convert, value, Ty::scalar(promote(elem)), span),
        };
        match op {
            Unary::Plus => value,
            Unary::Minus => Expr { span, ..self.values().negated(value) },
            _ => Expr { span, ..self.values().unary_value(UnaryOp::BitNot, value) },
        }
    }
}

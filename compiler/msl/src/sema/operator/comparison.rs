//! Builtin comparisons and logic: `== < && || !`, on numbers, vectors and pointers.

use crate::ast::BinaryOp as Op;
use crate::hir::{
    BinaryOp, CastKind, CompareOp, ConstValue, Expr, ExprKind, LogicalOp, QualTy, ScalarTy, Ty, TyKind,
    UnaryOp,
};
use crate::sema::checker::Checker;
use crate::sema::convert::is_zero_literal;
use crate::sema::evaluate;
use crate::sema::expr::{after, known_constant};
use crate::sema::values::{involves_pointer, is_pointer};
use anymetal_diagnostics::Span;
use anymetal_ir::eval;

impl Checker<'_> {
    pub(super) fn comparison(&mut self, op: CompareOp, lhs: Expr, rhs: Expr, span: Span) -> Option<Expr> {
        if involves_pointer(&self.types, &lhs, &rhs) {
            return self.pointer_comparison(op, &lhs, &rhs, span);
        }
        // Unscoped ones are promoted by now.
        let same_enum = lhs.ty.ty == rhs.ty.ty && matches!(self.types.kind(lhs.ty.ty), TyKind::Enum(_));
        let (a, b) = if same_enum {
            let repr = Ty::scalar(self.types.scalar_repr(lhs.ty.ty)?);
            (
                self.values().cast_value(CastKind::Convert, lhs, repr, span),
                self.values().cast_value(CastKind::Convert, rhs, repr, span),
            )
        } else {
            self.values().common_operands(lhs, rhs)?
        };
        let ty = match self.types.as_vector(a.ty.ty) {
            Some((_, len)) => self.types.vector(ScalarTy::Bool, len),
            None => Ty::BOOL,
        };
        if let (ExprKind::Const(ConstValue::Scalar(x)), ExprKind::Const(ConstValue::Scalar(y))) =
            (&a.kind, &b.kind)
            && let Some(scalar) = self.types.as_scalar(a.ty.ty)
        {
            let ir = evaluate::ir_compare(op, scalar);
            let result = eval::eval_compare(ir, scalar.into(), *x, *y);
            return Some(self.bool_const(result, span));
        }
        Some(Expr::value(ExprKind::Compare(op, Box::new(a), Box::new(b)), ty, span))
    }

    fn pointer_comparison(&mut self, op: CompareOp, lhs: &Expr, rhs: &Expr, span: Span) -> Option<Expr> {
        let is_null = |e: &Expr| e.ty.ty == Ty::NULLPTR || is_zero_literal(e);
        let (a, b) = match (is_pointer(&self.types, lhs), is_pointer(&self.types, rhs)) {
            (false, false) => return None,
            (true, _) if is_null(rhs) && self.types.pointee(lhs.ty.ty).is_some() => {
                (lhs.clone(), known_constant(rhs.clone(), ConstValue::Null, lhs.ty.ty))
            }
            (_, true) if is_null(lhs) && self.types.pointee(rhs.ty.ty).is_some() => {
                (known_constant(lhs.clone(), ConstValue::Null, rhs.ty.ty), rhs.clone())
            }
            (true, true) => {
                if lhs.ty.ty == Ty::NULLPTR && rhs.ty.ty == Ty::NULLPTR {
                    let result = ConstValue::Scalar(u64::from(op == CompareOp::Eq));
                    let result = known_constant(rhs.clone(), result, Ty::BOOL);
                    return Some(Expr { span, ..after(lhs.clone(), result) });
                }
                let (x, y) = (self.types.pointee(lhs.ty.ty)?, self.types.pointee(rhs.ty.ty)?);
                let pointee = self.composite_pointee(x, y)?;
                let to = QualTy::plain(self.types.pointer(pointee));
                (self.perform(lhs.clone(), to), self.perform(rhs.clone(), to))
            }
            _ => return None,
        };
        Some(Expr::value(ExprKind::Compare(op, Box::new(a), Box::new(b)), Ty::BOOL, span))
    }

    pub(super) fn logical(&mut self, op: Op, lhs: Expr, rhs: Expr, span: Span) -> Option<Expr> {
        let (a, b) = (self.types.as_vector(lhs.ty.ty), self.types.as_vector(rhs.ty.ty));
        if let Some((_, len)) = a.or(b) {
            // Elementwise; both sides are evaluated.
            if a.zip(b).is_some_and(|((_, n), (_, m))| n != m) {
                return None;
            }
            let to = self.types.vector(ScalarTy::Bool, len);
            let (x, y) = (self.values().splat_or_convert(lhs, to), self.values().splat_or_convert(rhs, to));
            let op = if op == Op::LogicalAnd { BinaryOp::And } else { BinaryOp::Or };
            return Some(Expr::value(ExprKind::Binary(op, Box::new(x), Box::new(y)), to, span));
        }
        let (x, y) = (self.condition(lhs), self.condition(rhs));
        if x.ty.ty.is_error() || y.ty.ty.is_error() {
            return Some(self.poison(span));
        }
        let op = if op == Op::LogicalAnd { LogicalOp::And } else { LogicalOp::Or };
        if let ExprKind::Const(ConstValue::Scalar(bits)) = x.kind {
            let decides = (bits != 0) == (op == LogicalOp::Or);
            return Some(if decides { Expr { span, ..x } } else { Expr { span, ..y } });
        }
        Some(Expr::value(ExprKind::Logical(op, Box::new(x), Box::new(y)), Ty::BOOL, span))
    }

    pub(super) fn logical_not(&mut self, operand: Expr, span: Span) -> Expr {
        if let Some((_, len)) = self.types.as_vector(operand.ty.ty) {
            let value = self.values().rvalue(operand);
            let to = self.types.vector(ScalarTy::Bool, len);
            let value = self.values().splat_or_convert(value, to);
            return Expr::value(ExprKind::Unary(UnaryOp::Not, Box::new(value)), to, span);
        }
        let value = self.condition(operand);
        if let ExprKind::Const(ConstValue::Scalar(bits)) = value.kind {
            return self.bool_const(bits == 0, span);
        }
        if value.ty.ty.is_error() {
            return value;
        }
        Expr::value(ExprKind::Unary(UnaryOp::Not, Box::new(value)), Ty::BOOL, span)
    }
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

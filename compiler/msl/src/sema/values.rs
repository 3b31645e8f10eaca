//! Typed values and places from typed operands: loads, conversions and arithmetic, folded where the
//! operands are constant.
//!
//! Nothing here looks names up, instantiates or reports: operands have types that the operation takes, or the
//! result is `None` and the caller reports.

mod operands;
mod place;
mod qualification;

pub(super) use operands::{arithmetic_scalar, involves_pointer, is_pointer};
pub(super) use place::{bit_field, has_bit_fields, is_addressable, promoted_bit_field};

use super::collect::ProgramData;
use super::evaluate;
use super::fn_context::{FnContext, LocalConstants};
use crate::hir::{
    BinaryOp, CastKind, ConstValue, Expr, ExprKind, LocalId, QualTy, Ty, TyKind, Types, UnaryOp,
};
use anymetal_diagnostics::Span;
use anymetal_ir::{Space, eval};

/// See the module's documentation.
pub(super) struct Values<'c> {
    pub(super) types: &'c mut Types,
    pub(super) data: &'c ProgramData,
    /// The function around the operands.
    pub(super) function: &'c FnContext,
    pub(super) local_constants: &'c LocalConstants,
}

impl Values<'_> {
    /// A variable as a place; one of reference type is what its pointer points to.
    pub(in crate::sema) fn variable_place(&mut self, local: LocalId, ty: QualTy, span: Span) -> Expr {
        match self.types.referent(ty.ty) {
            Some(to) => {
                let pointer = QualTy::plain(self.types.pointer(to));
                let place = Expr::place(ExprKind::Local(local), pointer, span);
                if self.types.pointed_function(pointer.ty).is_some() {
                    return Expr::value(ExprKind::Load(Box::new(place)), pointer.ty, span);
                }
                let pointer = Expr::value(ExprKind::Load(Box::new(place)), pointer.ty, span);
                Expr::place(ExprKind::Deref(Box::new(pointer)), to, span)
            }
            None => Expr::place(ExprKind::Local(local), QualTy { space: Space::Thread, ..ty }, span),
        }
    }

    /// The value of an expression: loads places, decays arrays.
    pub(in crate::sema) fn rvalue(&mut self, expr: Expr) -> Expr {
        if !expr.is_place || expr.ty.ty.is_error() {
            return expr;
        }
        let span = expr.span;
        if let Some((elem, _)) = self.types.as_array(expr.ty.ty) {
            let pointer = self.types.pointer(expr.ty.with_ty(elem));
            return Expr::value(ExprKind::ArrayDecay(Box::new(expr)), pointer, span);
        }
        let ty = expr.ty.ty;
        if let Some(value) = self.known_value(&expr) {
            return Expr::value(ExprKind::Const(value), ty, span);
        }
        Expr::value(ExprKind::Load(Box::new(expr)), ty, span)
    }

    /// The value of an array or anything else as a whole, without decay.
    pub(in crate::sema) fn whole_value(&mut self, expr: Expr) -> Expr {
        if expr.is_place && self.types.as_array(expr.ty.ty).is_some() {
            let (ty, span) = (expr.ty.ty, expr.span);
            return Expr::value(ExprKind::Load(Box::new(expr)), ty, span);
        }
        self.rvalue(expr)
    }

    /// The constant that a place is known to hold, for scalars and vectors.
    fn known_value(&self, expr: &Expr) -> Option<ConstValue> {
        match expr.kind {
            ExprKind::Local(local) => self
                .local_constants
                .get(self.function.serial, local)
                .filter(|value| !matches!(value, ConstValue::Bytes(_)))
                .cloned(),
            ExprKind::Global(global) => {
                let global = self.data.global(global);
                evaluate::value_from_bytes(self.types, global.ty, &global.bytes)
                    .filter(|value| !matches!(value, ConstValue::Bytes(_)))
            }
            _ => None,
        }
    }

    /// A conversion node, folded when the operand is a scalar constant.
    pub(in crate::sema) fn cast_value(&mut self, kind: CastKind, value: Expr, to: Ty, span: Span) -> Expr {
        if value.ty.ty == to && kind != CastKind::ToVoid {
            return value;
        }
        if kind == CastKind::Convert
            && let ExprKind::Const(ConstValue::Scalar(bits)) = value.kind
            && let (Some(from), Some(target)) =
                (self.types.scalar_repr(value.ty.ty), self.types.scalar_repr(to))
        {
            let bits = evaluate::convert_scalar(from, target, bits);
            return Expr::value(ExprKind::Const(ConstValue::Scalar(bits)), to, span);
        }
        Expr::value(ExprKind::Cast(kind, Box::new(value)), to, span)
    }

    /// Arithmetic on values of one type, folded for scalar constants.
    pub(in crate::sema) fn binary_value(&mut self, op: BinaryOp, a: Expr, b: Expr, span: Span) -> Expr {
        let ty = a.ty.ty;
        if let (ExprKind::Const(ConstValue::Scalar(x)), ExprKind::Const(ConstValue::Scalar(y))) =
            (&a.kind, &b.kind)
            && let Some(scalar) = self.types.as_scalar(ty)
        {
            // What has no value is no constant expression, and remains an operation.
            if evaluate::has_value(op, scalar, *x, *y) {
                let ir = evaluate::ir_binary(op, scalar);
                let bits = eval::eval_binary(ir, scalar.into(), *x, *y);
                return Expr::value(ExprKind::Const(ConstValue::Scalar(bits)), ty, span);
            }
        }
        Expr::value(ExprKind::Binary(op, Box::new(a), Box::new(b)), ty, span)
    }

    pub(in crate::sema) fn negated(&mut self, value: Expr) -> Expr {
        self.unary_value(UnaryOp::Neg, value)
    }

    /// A unary operator on a value of a type it is made for; folded, if the value is constant.
    pub(in crate::sema) fn unary_value(&mut self, op: UnaryOp, value: Expr) -> Expr {
        let (ty, span) = (value.ty.ty, value.span);
        if let (ExprKind::Const(ConstValue::Scalar(bits)), Some(scalar)) =
            (&value.kind, self.types.as_scalar(ty))
        {
            let bits = eval::eval_unary(evaluate::ir_unary(op, scalar), scalar.into(), *bits);
            return Expr::value(ExprKind::Const(ConstValue::Scalar(bits)), ty, span);
        }
        Expr::value(ExprKind::Unary(op, Box::new(value)), ty, span)
    }

    /// All bits zero.
    pub(in crate::sema) fn zero(&mut self, ty: Ty, span: Span) -> Expr {
        let kind = match *self.types.kind(ty) {
            TyKind::Scalar(_) | TyKind::Enum(_) => ExprKind::Const(ConstValue::Scalar(0)),
            TyKind::Pointer(_) | TyKind::Nullptr => ExprKind::Const(ConstValue::Null),
            _ => ExprKind::Zero,
        };
        Expr::value(kind, ty, span)
    }

    /// The type that carries a value of this declared type: references are pointers.
    pub(in crate::sema) fn value_repr(&mut self, ty: QualTy) -> Ty {
        match self.types.referent(ty.ty) {
            Some(to) => self.types.pointer(to),
            None => ty.ty,
        }
    }
}

//! The usual conversions: what brings operands to the type that an operator works on.

use super::{Values, promoted_bit_field};
use crate::ast::BinaryOp as Op;
use crate::hir::{BinaryOp, CastKind, Expr, QualTy, ScalarTy, Ty, TyKind, Types};
use crate::sema::convert::promote;
use anymetal_diagnostics::Span;

impl Values<'_> {
    /// The value of a bit-field or an unscoped enumeration in the type that it is promoted to. Other
    /// expressions are unchanged: promoting small integers is part of the usual conversions.
    pub(in crate::sema) fn promoted(&mut self, expr: Expr) -> Expr {
        let Some(to) = promoted_type(self.types, &expr) else { return expr };
        let span = expr.span;
        let value = self.rvalue(expr);
        self.cast_value(CastKind::Convert, value, to, span)
    }

    /// Brings two operands to the type that arithmetic on them is done in.
    pub(in crate::sema) fn common_operands(&mut self, a: Expr, b: Expr) -> Option<(Expr, Expr)> {
        let (a, b) = (self.promoted(a), self.promoted(b));
        let (a, b) = (self.unpack(a), self.unpack(b));
        let (left, right) = (a.ty.ty, b.ty.ty);
        let common = match (self.types.as_vector(left), self.types.as_vector(right)) {
            (Some((x, n)), Some((y, m))) => {
                if x != y || n != m {
                    return None;
                }
                left
            }
            (Some((elem, _)), None) => {
                arithmetic_scalar(self.types, right).filter(|s| elem.is_float() || s.is_integral())?;
                left
            }
            (None, Some((elem, _))) => {
                arithmetic_scalar(self.types, left).filter(|s| elem.is_float() || s.is_integral())?;
                right
            }
            (None, None) => {
                let (x, y) = (arithmetic_scalar(self.types, left)?, arithmetic_scalar(self.types, right)?);
                Ty::scalar(common_scalar(x, y))
            }
        };
        let to = QualTy::plain(common);
        let (x, y) = (self.splat_or_convert(a, to.ty), self.splat_or_convert(b, to.ty));
        Some((x, y))
    }

    pub(in crate::sema) fn splat_or_convert(&mut self, value: Expr, to: Ty) -> Expr {
        let span = value.span;
        match (self.types.as_vector(value.ty.ty), self.types.as_vector(to)) {
            (None, Some((elem, _))) => {
                let value = self.cast_value(CastKind::Convert, value, Ty::scalar(elem), span);
                self.cast_value(CastKind::Splat, value, to, span)
            }
            _ => self.cast_value(CastKind::Convert, value, to, span),
        }
    }

    /// A packed vector as an ordinary one.
    pub(in crate::sema) fn unpack(&mut self, value: Expr) -> Expr {
        match *self.types.kind(value.ty.ty) {
            TyKind::Vector { elem, len, packed: true } => {
                let span = value.span;
                let plain = self.types.vector(elem, len);
                self.cast_value(CastKind::Convert, value, plain, span)
            }
            _ => value,
        }
    }

    /// An integer as `long`, for indexing.
    pub(in crate::sema) fn index_value(&mut self, index: Expr) -> Expr {
        let span = index.span;
        let value = self.rvalue(index);
        self.cast_value(CastKind::Convert, value, Ty::LONG, span)
    }

    pub(in crate::sema) fn shift(&mut self, op: Op, lhs: Expr, rhs: Expr, span: Span) -> Option<Expr> {
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
            (None, None) => Ty::scalar(promote(arithmetic_scalar(self.types, lhs.ty.ty)?)),
        };
        let (a, b) = (self.splat_or_convert(lhs, to), self.splat_or_convert(rhs, to));
        let hir_op = if op == Op::Shl { BinaryOp::Shl } else { BinaryOp::Shr };
        Some(self.binary_value(hir_op, a, b, span))
    }
}

/// The scalar that arithmetic on two scalars is done in.
fn common_scalar(a: ScalarTy, b: ScalarTy) -> ScalarTy {
    if a.is_float() || b.is_float() {
        return match (a.is_float(), b.is_float()) {
            (true, false) => a,
            (false, true) => b,
            _ if a == b => a,
            _ => ScalarTy::F32,
        };
    }
    let (a, b) = (promote(a), promote(b));
    if a == b {
        a
    } else if a.size() != b.size() {
        // The wider one can hold the narrower one's values, signed or not.
        if a.size() > b.size() { a } else { b }
    } else if !a.is_signed() {
        a
    } else {
        b
    }
}

/// The type that the value of a bit-field or an unscoped enumeration is promoted to (C++14 [conv.prom]).
fn promoted_type(types: &Types, expr: &Expr) -> Option<Ty> {
    match *types.kind(expr.ty.ty) {
        TyKind::Enum(id) if !types.enumeration(id).is_scoped => {
            Some(Ty::scalar(types.enumeration(id).promoted))
        }
        _ => promoted_bit_field(types, expr),
    }
}

/// The scalar of an arithmetic or unscoped enumeration type.
pub(in crate::sema) fn arithmetic_scalar(types: &Types, ty: Ty) -> Option<ScalarTy> {
    match *types.kind(ty) {
        TyKind::Scalar(scalar) => Some(scalar),
        TyKind::Enum(id) if !types.enumeration(id).is_scoped => Some(types.enumeration(id).promoted),
        _ => None,
    }
}

pub(in crate::sema) fn involves_pointer(types: &Types, a: &Expr, b: &Expr) -> bool {
    is_pointer(types, a) || is_pointer(types, b)
}

pub(in crate::sema) fn is_pointer(types: &Types, value: &Expr) -> bool {
    types.pointee(value.ty.ty).is_some() || value.ty.ty == Ty::NULLPTR
}

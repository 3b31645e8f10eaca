//! The usual conversions: what brings operands to the type that an operator works on.

use crate::hir::{CastKind, Expr, QualTy, ScalarTy, Ty, TyKind};
use crate::sema::checker::Checker;
use crate::sema::convert::promote;

impl Checker<'_> {
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
    pub(in crate::sema) fn promoted_type(&self, expr: &Expr) -> Option<Ty> {
        match *self.types.kind(expr.ty.ty) {
            TyKind::Enum(id) if !self.types.enumeration(id).is_scoped => {
                Some(Ty::scalar(self.types.enumeration(id).promoted))
            }
            _ => self.promoted_bit_field(expr),
        }
    }

    /// The value of a bit-field or an unscoped enumeration in the type that it is promoted to. Other
    /// expressions are unchanged: promoting small integers is part of the usual conversions.
    pub(in crate::sema) fn promoted(&mut self, expr: Expr) -> Expr {
        let Some(to) = self.promoted_type(&expr) else { return expr };
        let span = expr.span;
        let value = self.rvalue(expr);
        self.cast_value(CastKind::Convert, value, to, span)
    }

    /// Brings two operands to the type that arithmetic on them is done in.
    pub(super) fn common_operands(&mut self, a: Expr, b: Expr) -> Option<(Expr, Expr)> {
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
                self.arithmetic_scalar(right).filter(|s| elem.is_float() || s.is_integral())?;
                left
            }
            (None, Some((elem, _))) => {
                self.arithmetic_scalar(left).filter(|s| elem.is_float() || s.is_integral())?;
                right
            }
            (None, None) => {
                let (x, y) = (self.arithmetic_scalar(left)?, self.arithmetic_scalar(right)?);
                Ty::scalar(Self::common_scalar(x, y))
            }
        };
        let to = QualTy::plain(common);
        let (x, y) = (self.splat_or_convert(a, to.ty), self.splat_or_convert(b, to.ty));
        Some((x, y))
    }

    /// The scalar of an arithmetic or unscoped enumeration type.
    pub(in crate::sema) fn arithmetic_scalar(&self, ty: Ty) -> Option<ScalarTy> {
        match *self.types.kind(ty) {
            TyKind::Scalar(scalar) => Some(scalar),
            TyKind::Enum(id) if !self.types.enumeration(id).is_scoped => {
                Some(self.types.enumeration(id).promoted)
            }
            _ => None,
        }
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

    pub(super) fn involves_pointer(&self, a: &Expr, b: &Expr) -> bool {
        self.is_pointer(a) || self.is_pointer(b)
    }

    pub(super) fn is_pointer(&self, value: &Expr) -> bool {
        self.types.pointee(value.ty.ty).is_some() || value.ty.ty == Ty::NULLPTR
    }

    /// An integer as `long`, for indexing.
    pub(in crate::sema) fn index_value(&mut self, index: Expr) -> Expr {
        let span = index.span;
        let value = self.rvalue(index);
        self.cast_value(CastKind::Convert, value, Ty::LONG, span)
    }
}

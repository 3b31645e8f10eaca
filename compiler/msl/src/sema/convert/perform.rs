//! Performing conversions that are known to exist: every step becomes a node.

use crate::hir::{CastKind, ConstValue, Expr, ExprKind, QualTy, ScalarTy, Ty, TyKind};
use crate::sema::checker::Checker;
use crate::sema::expr::known_constant;
use crate::sema::values::is_addressable;

impl Checker<'_> {
    /// Performs a conversion that is known to exist.
    pub(in crate::sema) fn perform(&mut self, expr: Expr, to: QualTy) -> Expr {
        if let TyKind::Reference { to: referent, rvalue } = *self.types.kind(to.ty) {
            return self.bind_reference(expr, referent, rvalue);
        }
        self.perform_value(expr, to.ty)
    }

    fn bind_reference(&mut self, expr: Expr, to: QualTy, rvalue: bool) -> Expr {
        let span = expr.span;
        let pointer = self.types.pointer(to);
        let related = expr.ty.ty == to.ty || self.is_derived(expr.ty.ty, to.ty);
        let direct = expr.is_place
            && (!rvalue || self.functions.is_xvalue(&self.types, &expr))
            && related
            && expr.ty.space == to.space
            && is_addressable(&self.types, &expr);
        let place = if direct {
            if !self.check_base_access(expr.ty.ty, to.ty, span) {
                return self.poison(span);
            }
            self.upcast_place(expr, to.ty)
        } else {
            let value = self.perform_value(expr, to.ty);
            self.materialize(value)
        };
        Expr::value(ExprKind::AddressOf(Box::new(place)), pointer, span)
    }

    /// A place of a class as a place of its base.
    pub(in crate::sema) fn upcast_place(&mut self, mut place: Expr, to: Ty) -> Expr {
        if place.ty.ty == to {
            return place;
        }
        let (Some(derived), Some(base)) = (self.types.as_record(place.ty.ty), self.types.as_record(to))
        else {
            return place;
        };
        let path = self.base_path(derived, base).unwrap_or_default();
        if self.records.has_several(derived, base) {
            let (from, to) = (self.types.record(derived).name.clone(), self.types.record(base).name.clone());
            let message = format!("`{from}` has the base `{to}` several times");
            self.error("ambiguous-base", place.span, message);
        }
        let mut at = derived;
        for field in path {
            let ty = self.types.record(at).fields[field as usize].ty.ty;
            let (qual, span) = (place.ty.with_ty(ty), place.span);
            place = Expr::place(ExprKind::Field(Box::new(place), at, field), qual, span);
            at = self.types.as_record(ty).unwrap_or(at);
        }
        if place.ty.ty != to {
            // An empty base has the object's own address.
            let span = place.span;
            let qual = place.ty.with_ty(to);
            let from = self.types.pointer(place.ty);
            let pointer = self.types.pointer(qual);
            let address = Expr::value(ExprKind::AddressOf(Box::new(place)), from, span);
            let cast = Expr::value(ExprKind::Cast(CastKind::Pointer, Box::new(address)), pointer, span);
            place = Expr::place(ExprKind::Deref(Box::new(cast)), qual, span);
        }
        place
    }

    pub(super) fn perform_value(&mut self, expr: Expr, to: Ty) -> Expr {
        let span = expr.span;
        if expr.ty.ty.is_error() {
            return expr;
        }
        let from = self.decayed_value(expr.ty).ty;
        if from == to {
            return self.copied(expr);
        }
        match (self.types.kind(from).clone(), self.types.kind(to).clone()) {
            (TyKind::Scalar(_) | TyKind::Nullptr, TyKind::Pointer(_))
                if self.types.pointed_function(to).is_some() =>
            {
                known_constant(expr, ConstValue::Scalar(0), to)
            }
            (TyKind::Scalar(_) | TyKind::Enum(_), TyKind::Scalar(_) | TyKind::Enum(_)) => {
                let value = self.values().rvalue(expr);
                self.values().cast_value(CastKind::Convert, value, to, span)
            }
            (TyKind::Scalar(s), TyKind::Pointer(_)) if s.is_integer() => {
                known_constant(expr, ConstValue::Null, to)
            }
            (TyKind::Scalar(_) | TyKind::Enum(_), TyKind::Vector { elem, len, packed }) => {
                let value = self.values().rvalue(expr);
                let value = self.values().cast_value(CastKind::Convert, value, Ty::scalar(elem), span);
                let plain = self.types.vector(elem, len);
                let value = self.values().cast_value(CastKind::Splat, value, plain, span);
                if packed { self.values().cast_value(CastKind::Convert, value, to, span) } else { value }
            }
            (TyKind::Vector { .. }, TyKind::Vector { .. }) => {
                let value = self.values().rvalue(expr);
                self.values().cast_value(CastKind::Convert, value, to, span)
            }
            (TyKind::Nullptr, TyKind::Pointer(_)) => known_constant(expr, ConstValue::Null, to),
            (TyKind::Nullptr, TyKind::Scalar(ScalarTy::Bool)) => {
                known_constant(expr, ConstValue::Scalar(0), to)
            }
            (TyKind::Pointer(a), TyKind::Pointer(b)) => {
                let value = self.values().rvalue(expr);
                if a.ty != b.ty && self.is_derived(a.ty, b.ty) {
                    if !self.check_base_access(a.ty, b.ty, span) {
                        return self.poison(span);
                    }
                    let place = Expr::place(ExprKind::Deref(Box::new(value)), a, span);
                    let place = self.upcast_place(place, b.ty);
                    return Expr::value(ExprKind::AddressOf(Box::new(place)), to, span);
                }
                self.values().cast_value(CastKind::Pointer, value, to, span)
            }
            (TyKind::Pointer(_), TyKind::Scalar(ScalarTy::Bool)) => {
                let value = self.values().rvalue(expr);
                self.values().cast_value(CastKind::PointerToBool, value, to, span)
            }
            (TyKind::Record(_), TyKind::Record(_)) if self.is_derived(from, to) => {
                if !self.check_base_access(from, to, span) {
                    return self.poison(span);
                }
                let place = if expr.is_place { expr } else { self.materialize(expr) };
                let place = self.upcast_place(place, to);
                self.copied(place)
            }
            _ => self.perform_user(expr, to),
        }
    }
}

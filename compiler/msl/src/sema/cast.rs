//! Explicit conversions: `(T)e`, `static_cast`, `reinterpret_cast`, `T(e)` of one value.

use super::call::Arg;
use super::checker::Checker;
use super::construct::ConstructArgs;
use super::expr::known_constant;
use super::values::is_addressable;
use crate::ast::{self, CastKind as Written};
use crate::hir::{CastKind, ConstValue, Expr, ExprKind, QualTy, ScalarTy, Ty, TyKind};
use anymetal_diagnostics::Span;

impl<'a> Checker<'a> {
    pub(super) fn cast_expr(
        &mut self,
        kind: Written,
        ty: &'a ast::Type,
        inner: &'a ast::Expr,
        span: Span,
    ) -> Expr {
        let to = self.resolve_type(ty);
        if let ast::ExprKind::InitList(clauses) = &inner.kind {
            // `(float4){a, b, c, d}`
            return self.construct(to, ConstructArgs::Brace(clauses), span);
        }
        let value = self.expr(inner);
        if to.ty.is_error() || value.ty.ty.is_error() {
            return self.poison(span);
        }
        self.explicit_cast(value, to, kind == Written::Reinterpret, span)
    }

    /// The explicit conversion of a value to a type.
    pub(super) fn explicit_cast(&mut self, value: Expr, to: QualTy, reinterpret: bool, span: Span) -> Expr {
        if to.ty == Ty::VOID {
            let value = self.values().rvalue(value);
            return Expr::value(ExprKind::Cast(CastKind::ToVoid, Box::new(value)), Ty::VOID, span);
        }
        if let TyKind::Reference { to: referent, rvalue } = *self.types.kind(to.ty) {
            return self.cast_to_reference(value, referent, rvalue, span);
        }
        if value.ty.ty == to.ty {
            return Expr { span, ..self.values().rvalue(value) };
        }
        if self.types.as_record(to.ty).is_some() {
            return self.construct(to, ConstructArgs::Paren(vec![Arg::Expr(value)]), span);
        }
        if self.types.as_record(value.ty.ty).is_some() {
            return self.cast_from_record(value, to, span);
        }
        let value = self.values().rvalue(value);
        if value.ty.ty.is_error() {
            return value;
        }
        match self.cast_builtin(&value, to.ty, reinterpret, span) {
            Some(result) => result,
            None => {
                let (from, wanted) = (self.show(value.ty), self.show(to));
                self.error("bad-cast", span, format!("`{from}` cannot be cast to `{wanted}`"));
                self.poison(span)
            }
        }
    }

    fn cast_from_record(&mut self, value: Expr, to: QualTy, span: Span) -> Expr {
        // Explicit operators compete with the others.
        if let Some(inner) = self.cast_by_operator(&value, to.ty) {
            return self.explicit_cast(inner, to, false, span);
        }
        if self.conversion_of(&value, to.unqualified(), true).is_some() {
            return self.perform(value, to.unqualified());
        }
        let inner = self.builtin_operand(value.clone());
        if self.types.as_record(inner.ty.ty).is_some() {
            self.report_no_conversion(&value, to, "by a cast");
            return self.poison(span);
        }
        self.explicit_cast(inner, to, false, span)
    }

    fn cast_to_reference(&mut self, value: Expr, to: QualTy, rvalue: bool, span: Span) -> Expr {
        let place = if value.is_place {
            value
        } else if rvalue || to.is_const {
            let converted = self.convert(value, to.unqualified(), "by a cast");
            self.materialize(converted)
        } else {
            self.error(
                "cast-to-reference",
                span,
                "only variables and memory can be cast to a reference, and this is a value",
            );
            return self.poison(span);
        };
        if place.ty.ty.is_error() {
            return place;
        }
        if !is_addressable(&self.types, &place) {
            self.error(
                "cast-to-reference",
                span,
                "no reference can refer to a bit-field or several elements",
            );
            return self.poison(span);
        }
        if place.ty == to {
            return if rvalue { self.values().as_xvalue(place) } else { place };
        }
        if place.ty.space != to.space {
            if to.is_const {
                let value = self.convert(place, to.unqualified(), "by a cast");
                return self.materialize(value);
            }
            let (from, wanted) = (place.ty.space.name(), to.space.name());
            let message = format!("a cast cannot change the address space, here from {from} to {wanted}");
            self.error("cast-changes-space", span, message);
            return self.poison(span);
        }
        let pointer = self.values().address_of_place(place, span);
        let target = self.types.pointer(to);
        let cast = Expr::value(ExprKind::Cast(CastKind::Pointer, Box::new(pointer)), target, span);
        let place = Expr::place(ExprKind::Deref(Box::new(cast)), to, span);
        if rvalue { self.values().as_xvalue(place) } else { place }
    }

    fn cast_builtin(&mut self, value: &Expr, to: Ty, reinterpret: bool, span: Span) -> Option<Expr> {
        let from = value.ty.ty;
        let value = value.clone();
        match (self.types.kind(from).clone(), self.types.kind(to).clone()) {
            (TyKind::Scalar(_) | TyKind::Enum(_), TyKind::Scalar(_) | TyKind::Enum(_)) => {
                Some(self.values().cast_value(CastKind::Convert, value, to, span))
            }
            (TyKind::Scalar(_) | TyKind::Enum(_), TyKind::Vector { .. }) => Some(self.splat_to(value, to)),
            (TyKind::Vector { len: n, .. }, TyKind::Vector { len: m, .. }) if n == m => {
                Some(self.values().cast_value(CastKind::Convert, value, to, span))
            }
            // Metal drops the elements that are too many: `float3(v)` of a `float4`.
            (TyKind::Vector { elem, len: n, .. }, TyKind::Vector { len: m, .. }) if n > m && !reinterpret => {
                let first = self.types.vector(elem, m);
                let first = Expr::value(ExprKind::Swizzle(Box::new(value), (0..m).collect()), first, span);
                Some(self.values().cast_value(CastKind::Convert, first, to, span))
            }
            (TyKind::Matrix { cols: c, rows: r, .. }, TyKind::Matrix { cols, rows, .. })
                if c == cols && r == rows =>
            {
                Some(self.values().cast_value(CastKind::Convert, value, to, span))
            }
            (TyKind::Scalar(_), TyKind::Matrix { .. }) => Some(self.diagonal(value, to, span)),
            (TyKind::Nullptr, TyKind::Pointer(_)) => Some(known_constant(value, ConstValue::Null, to)),
            (TyKind::Nullptr, TyKind::Scalar(scalar)) if scalar.size() == 8 || scalar == ScalarTy::Bool => {
                Some(known_constant(value, ConstValue::Scalar(0), to))
            }
            (TyKind::Pointer(a), TyKind::Pointer(b)) => {
                if a.space != b.space {
                    return None;
                }
                if !reinterpret && self.conversion_of(&value, QualTy::plain(to), false).is_some() {
                    return Some(self.perform(value, QualTy::plain(to)));
                }
                Some(self.values().cast_value(CastKind::Pointer, value, to, span))
            }
            (TyKind::Pointer(_), TyKind::Scalar(ScalarTy::Bool)) => {
                Some(self.values().cast_value(CastKind::PointerToBool, value, to, span))
            }
            (TyKind::Pointer(_), TyKind::Scalar(scalar)) if scalar.is_integer() => {
                let bits = self.values().cast_value(CastKind::PointerToInt, value, Ty::ULONG, span);
                Some(self.values().cast_value(CastKind::Convert, bits, to, span))
            }
            (TyKind::Scalar(scalar), TyKind::Pointer(_)) if scalar.is_integer() => {
                if super::convert::is_zero_literal(&value) {
                    return Some(Expr::value(ExprKind::Const(ConstValue::Null), to, span));
                }
                let bits = self.values().cast_value(CastKind::Convert, value, Ty::ULONG, span);
                Some(self.values().cast_value(CastKind::IntToPointer, bits, to, span))
            }
            _ => None,
        }
    }

    /// A scalar as a vector with all elements equal, packed or not.
    pub(super) fn splat_to(&mut self, value: Expr, to: Ty) -> Expr {
        let span = value.span;
        let Some((elem, len)) = self.types.as_vector(to) else { return self.poison(span) };
        let plain = self.types.vector(elem, len);
        let wide = self.values().splat_or_convert(value, plain);
        self.values().cast_value(CastKind::Convert, wide, to, span)
    }
}

//! Performing conversions that are known to exist: every step becomes a node.

use super::{user_defined, viable};
use crate::hir::{CastKind, ConstValue, Expr, ExprKind, QualTy, ScalarTy, Ty, TyKind};
use crate::sema::checker::Checker;
use crate::sema::expr::known_constant;
use crate::sema::values::is_addressable;
use crate::sema::{access, call, convert, deduce, expr, record};

/// Performs a conversion that is known to exist.
pub(in crate::sema) fn perform(cx: &mut Checker<'_>, expr: Expr, to: QualTy) -> Expr {
    if let TyKind::Reference { to: referent, rvalue } = *cx.types.kind(to.ty) {
        return bind_reference(cx, expr, referent, rvalue);
    }
    perform_value(cx, expr, to.ty)
}

fn bind_reference(cx: &mut Checker<'_>, expr: Expr, to: QualTy, rvalue: bool) -> Expr {
    let span = expr.span;
    if viable::names_function(&cx.types, &expr, to.ty) {
        return expr;
    }
    let pointer = cx.types.pointer(to);
    let related = expr.ty.ty == to.ty || convert::is_derived(cx, expr.ty.ty, to.ty);
    let direct = expr.is_place
        && (!rvalue || cx.functions.is_xvalue(&cx.types, &expr))
        && related
        && expr.ty.space == to.space
        && is_addressable(&cx.types, &expr);
    let operator = match related || rvalue {
        true => None,
        false => user_defined::place_operator(cx, &expr, to),
    };
    let place = if let Some(operator) = operator {
        let place = call::function(cx, operator, Some(expr), Vec::new(), span);
        if place.ty.ty.is_error() {
            return place;
        }
        upcast_place(cx, place, to.ty)
    } else if direct {
        if !access::check_base(cx, expr.ty.ty, to.ty, span) {
            return cx.poison(span);
        }
        upcast_place(cx, expr, to.ty)
    } else {
        let value = perform_value(cx, expr, to.ty);
        expr::materialize(value)
    };
    Expr::value(ExprKind::AddressOf(Box::new(place)), pointer, span)
}

/// A place of a class as a place of its base.
pub(in crate::sema) fn upcast_place(cx: &mut Checker<'_>, mut place: Expr, to: Ty) -> Expr {
    if place.ty.ty == to {
        return place;
    }
    let (Some(derived), Some(base)) = (cx.types.as_record(place.ty.ty), cx.types.as_record(to)) else {
        return place;
    };
    let path = record::base_path(cx, derived, base).unwrap_or_default();
    if cx.records.has_several(derived, base) {
        let (from, to) = (cx.types.record(derived).name.clone(), cx.types.record(base).name.clone());
        let message = format!("`{from}` has the base `{to}` several times");
        cx.error("ambiguous-base", place.span, message);
    }
    let mut at = derived;
    for field in path {
        let ty = cx.types.record(at).fields[field as usize].ty.ty;
        let (qual, span) = (place.ty.with_ty(ty), place.span);
        place = Expr::place(ExprKind::Field(Box::new(place), at, field), qual, span);
        at = cx.types.as_record(ty).unwrap_or(at);
    }
    if place.ty.ty != to {
        // An empty base has the object's own address.
        let span = place.span;
        let qual = place.ty.with_ty(to);
        let from = cx.types.pointer(place.ty);
        let pointer = cx.types.pointer(qual);
        let address = Expr::value(ExprKind::AddressOf(Box::new(place)), from, span);
        let cast = Expr::value(ExprKind::Cast(CastKind::Pointer, Box::new(address)), pointer, span);
        place = Expr::place(ExprKind::Deref(Box::new(cast)), qual, span);
    }
    place
}

pub(super) fn perform_value(cx: &mut Checker<'_>, expr: Expr, to: Ty) -> Expr {
    let span = expr.span;
    if expr.ty.ty.is_error() {
        return expr;
    }
    let from = deduce::decayed_value(&mut cx.types, expr.ty).ty;
    if from == to {
        return user_defined::copied(cx, expr);
    }
    match (cx.types.kind(from).clone(), cx.types.kind(to).clone()) {
        (TyKind::Scalar(_) | TyKind::Nullptr, TyKind::Pointer(_))
            if cx.types.pointed_function(to).is_some() =>
        {
            known_constant(expr, ConstValue::Scalar(0), to)
        }
        (TyKind::Scalar(_) | TyKind::Enum(_), TyKind::Scalar(_) | TyKind::Enum(_)) => {
            let value = cx.values().rvalue(expr);
            cx.values().cast_value(CastKind::Convert, value, to, span)
        }
        (TyKind::Scalar(s), TyKind::Pointer(_)) if s.is_integer() => {
            known_constant(expr, ConstValue::Null, to)
        }
        (TyKind::Scalar(_) | TyKind::Enum(_), TyKind::Vector { elem, len, packed }) => {
            let value = cx.values().rvalue(expr);
            let value = cx.values().cast_value(CastKind::Convert, value, Ty::scalar(elem), span);
            let plain = cx.types.vector(elem, len);
            let value = cx.values().cast_value(CastKind::Splat, value, plain, span);
            if packed { cx.values().cast_value(CastKind::Convert, value, to, span) } else { value }
        }
        (TyKind::Vector { .. }, TyKind::Vector { .. }) => {
            let value = cx.values().rvalue(expr);
            cx.values().cast_value(CastKind::Convert, value, to, span)
        }
        (TyKind::Nullptr, TyKind::Pointer(_)) => known_constant(expr, ConstValue::Null, to),
        (TyKind::Nullptr, TyKind::Scalar(ScalarTy::Bool)) => known_constant(expr, ConstValue::Scalar(0), to),
        (TyKind::Pointer(a), TyKind::Pointer(b)) => {
            let value = cx.values().rvalue(expr);
            if a.ty != b.ty && convert::is_derived(cx, a.ty, b.ty) {
                if !access::check_base(cx, a.ty, b.ty, span) {
                    return cx.poison(span);
                }
                let place = Expr::place(ExprKind::Deref(Box::new(value)), a, span);
                let place = upcast_place(cx, place, b.ty);
                return Expr::value(ExprKind::AddressOf(Box::new(place)), to, span);
            }
            cx.values().cast_value(CastKind::Pointer, value, to, span)
        }
        (TyKind::Pointer(_), TyKind::Scalar(ScalarTy::Bool)) => {
            let value = cx.values().rvalue(expr);
            cx.values().cast_value(CastKind::PointerToBool, value, to, span)
        }
        (TyKind::Record(_), TyKind::Record(_)) if convert::is_derived(cx, from, to) => {
            if !access::check_base(cx, from, to, span) {
                return cx.poison(span);
            }
            let place = if expr.is_place { expr } else { expr::materialize(expr) };
            let place = upcast_place(cx, place, to);
            user_defined::copied(cx, place)
        }
        _ => user_defined::perform_user(cx, expr, to),
    }
}

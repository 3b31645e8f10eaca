//! Explicit conversions: `(T)e`, `static_cast`, `reinterpret_cast`, `T(e)` of one value.

use super::call::Arg;
use super::checker::Checker;
use super::construct::ConstructArgs;
use super::expr::known_constant;
use super::values::is_addressable;
use super::{construct, convert, expr, odr_use, resolve_type};
use crate::ast::{self, CastKind as Written};
use crate::hir::{CastKind, ConstValue, Expr, ExprKind, QualTy, ScalarTy, Ty, TyKind};
use anymetal_diagnostics::Span;
use anymetal_ir::Space;

pub(super) fn check<'a>(
    cx: &mut Checker<'a>,
    kind: Written,
    ty: &'a ast::Type,
    inner: &'a ast::Expr,
    span: Span,
) -> Expr {
    let to = resolve_type::resolve(cx, ty);
    if let ast::ExprKind::InitList(clauses) = &inner.kind {
        // `(float4){a, b, c, d}`
        return construct::object(cx, to, ConstructArgs::Brace(clauses), span);
    }
    let value = expr::check(cx, inner);
    if to.ty.is_error() || value.ty.ty.is_error() {
        return cx.poison(span);
    }
    explicit(cx, value, to, kind, span)
}

/// The explicit conversion of a value to a type.
pub(super) fn explicit(cx: &mut Checker<'_>, value: Expr, to: QualTy, kind: Written, span: Span) -> Expr {
    if to.ty == Ty::VOID {
        odr_use::check_discarded(cx, &value);
        let value = cx.values().rvalue(value);
        return Expr::value(ExprKind::Cast(CastKind::ToVoid, Box::new(value)), Ty::VOID, span);
    }
    if let TyKind::Reference { to: referent, rvalue } = *cx.types.kind(to.ty) {
        return to_reference(cx, value, (referent, rvalue), kind, span);
    }
    if value.ty.ty == to.ty {
        return Expr { span, ..cx.values().rvalue(value) };
    }
    if cx.types.as_record(to.ty).is_some() {
        return construct::object(cx, to, ConstructArgs::Paren(vec![Arg::Expr(value)]), span);
    }
    if cx.types.as_record(value.ty.ty).is_some() {
        return from_record(cx, value, to, span);
    }
    let value = cx.values().rvalue(value);
    if value.ty.ty.is_error() {
        return value;
    }
    match to_builtin(cx, &value, to.ty, kind, span) {
        Some(result) => result,
        None => {
            let (from, wanted) = (cx.show(value.ty), cx.show(to));
            cx.error("bad-cast", span, format!("`{from}` cannot be cast to `{wanted}`"));
            cx.poison(span)
        }
    }
}

fn from_record(cx: &mut Checker<'_>, value: Expr, to: QualTy, span: Span) -> Expr {
    // Explicit operators compete with the others.
    if let Some(inner) = convert::cast_by_operator(cx, &value, to.ty) {
        return explicit(cx, inner, to, Written::CStyle, span);
    }
    if convert::conversion_of(cx, &value, to.unqualified(), true).is_some() {
        return convert::perform(cx, value, to.unqualified());
    }
    let inner = convert::builtin_operand(cx, value.clone());
    if cx.types.as_record(inner.ty.ty).is_some() {
        convert::report_none(&cx.types, &mut cx.diagnostics, &value, to, "by a cast");
        return cx.poison(span);
    }
    explicit(cx, inner, to, Written::CStyle, span)
}

fn to_reference(
    cx: &mut Checker<'_>,
    value: Expr,
    (to, rvalue): (QualTy, bool),
    kind: Written,
    span: Span,
) -> Expr {
    let drops = (value.ty.is_const && !to.is_const && to.space != Space::Constant)
        || (value.ty.is_volatile && !to.is_volatile);
    if drops && kind == Written::Static && value.is_place {
        let (from, wanted) = (cx.show(value.ty), cx.show(to));
        let message = format!("a `static_cast` from `{from}` to a reference to `{wanted}` drops qualifiers");
        cx.error("bad-cast", span, message);
        return cx.poison(span);
    }
    let is_xvalue = value.is_place && cx.functions.is_xvalue(&cx.types, &value);
    if is_xvalue && !rvalue && !to.is_const {
        let message = "a cast cannot make an lvalue of an rvalue";
        cx.error("cast-to-reference", span, message);
        return cx.poison(span);
    }
    let place = if value.is_place {
        value
    } else if (rvalue || to.is_const) && kind != Written::Reinterpret {
        let converted = convert::to_type(cx, value, to.unqualified(), "by a cast");
        expr::materialize(converted)
    } else {
        cx.error(
            "cast-to-reference",
            span,
            "only variables and memory can be cast to a reference, and this is a value",
        );
        return cx.poison(span);
    };
    if place.ty.ty.is_error() {
        return place;
    }
    if !is_addressable(&cx.types, &place) {
        cx.error("cast-to-reference", span, "no reference can refer to a bit-field or several elements");
        return cx.poison(span);
    }
    if place.ty == to {
        return if rvalue { cx.values().as_xvalue(place) } else { place };
    }
    if place.ty.space != to.space {
        if to.is_const {
            let value = convert::to_type(cx, place, to.unqualified(), "by a cast");
            return expr::materialize(value);
        }
        let (from, wanted) = (place.ty.space.name(), to.space.name());
        let message = format!("a cast cannot change the address space, here from {from} to {wanted}");
        cx.error("cast-changes-space", span, message);
        return cx.poison(span);
    }
    let pointer = cx.values().address_of_place(place, span);
    let target = cx.types.pointer(to);
    let cast = Expr::value(ExprKind::Cast(CastKind::Pointer, Box::new(pointer)), target, span);
    let place = Expr::place(ExprKind::Deref(Box::new(cast)), to, span);
    if rvalue { cx.values().as_xvalue(place) } else { place }
}

fn to_builtin(cx: &mut Checker<'_>, value: &Expr, to: Ty, kind: Written, span: Span) -> Option<Expr> {
    let from = value.ty.ty;
    let reinterpret = kind == Written::Reinterpret;
    let value = value.clone();
    match (cx.types.kind(from).clone(), cx.types.kind(to).clone()) {
        (TyKind::Scalar(_) | TyKind::Enum(_), TyKind::Scalar(_) | TyKind::Enum(_)) => {
            if let TyKind::Enum(id) = *cx.types.kind(to)
                && !cx.enums.get(id).is_complete
            {
                cx.error("incomplete-type", span, "the enumeration is used before it is complete");
                return Some(cx.poison(span));
            }
            // C++14 [expr.reinterpret.cast.2]
            (!reinterpret || from == to).then_some(())?;
            Some(cx.values().cast_value(CastKind::Convert, value, to, span))
        }
        (TyKind::Scalar(_) | TyKind::Enum(_), TyKind::Vector { .. }) => Some(splat_to(cx, value, to)),
        (TyKind::Vector { len: n, .. }, TyKind::Vector { len: m, .. }) if n == m => {
            Some(cx.values().cast_value(CastKind::Convert, value, to, span))
        }
        // Metal drops the elements that are too many: `float3(v)` of a `float4`.
        (TyKind::Vector { elem, len: n, .. }, TyKind::Vector { len: m, .. }) if n > m && !reinterpret => {
            let first = cx.types.vector(elem, m);
            let first = Expr::value(ExprKind::Swizzle(Box::new(value), (0..m).collect()), first, span);
            Some(cx.values().cast_value(CastKind::Convert, first, to, span))
        }
        (TyKind::Matrix { cols: c, rows: r, .. }, TyKind::Matrix { cols, rows, .. })
            if c == cols && r == rows =>
        {
            Some(cx.values().cast_value(CastKind::Convert, value, to, span))
        }
        (TyKind::Scalar(_), TyKind::Matrix { .. }) => Some(construct::diagonal(cx, value, to, span)),
        (TyKind::Nullptr, TyKind::Pointer(_)) => Some(known_constant(value, ConstValue::Null, to)),
        (TyKind::Nullptr, TyKind::Scalar(scalar)) if scalar.size() == 8 || scalar == ScalarTy::Bool => {
            Some(known_constant(value, ConstValue::Scalar(0), to))
        }
        (TyKind::Pointer(a), TyKind::Pointer(b)) => {
            if a.space != b.space {
                return None;
            }
            if !reinterpret && convert::conversion_of(cx, &value, QualTy::plain(to), false).is_some() {
                return Some(convert::perform(cx, value, QualTy::plain(to)));
            }
            // C++14 [expr.static.cast.11]
            let keeps = (b.is_const || !a.is_const) && (b.is_volatile || !a.is_volatile);
            let is_static = keeps && (a.ty == Ty::VOID || convert::is_derived(cx, b.ty, a.ty));
            (kind != Written::Static || is_static).then_some(())?;
            Some(cx.values().cast_value(CastKind::Pointer, value, to, span))
        }
        (TyKind::Pointer(_), TyKind::Scalar(ScalarTy::Bool)) => {
            Some(cx.values().cast_value(CastKind::PointerToBool, value, to, span))
        }
        (TyKind::Pointer(_), TyKind::Scalar(scalar)) if scalar.is_integer() => {
            let bits = cx.values().cast_value(CastKind::PointerToInt, value, Ty::ULONG, span);
            Some(cx.values().cast_value(CastKind::Convert, bits, to, span))
        }
        (TyKind::Scalar(scalar), TyKind::Pointer(_)) if scalar.is_integer() => {
            if super::convert::is_zero_literal(&value) {
                return Some(Expr::value(ExprKind::Const(ConstValue::Null), to, span));
            }
            let bits = cx.values().cast_value(CastKind::Convert, value, Ty::ULONG, span);
            Some(cx.values().cast_value(CastKind::IntToPointer, bits, to, span))
        }
        _ => None,
    }
}

/// A scalar as a vector with all elements equal, packed or not.
pub(super) fn splat_to(cx: &mut Checker<'_>, value: Expr, to: Ty) -> Expr {
    let span = value.span;
    let Some((elem, len)) = cx.types.as_vector(to) else { return cx.poison(span) };
    let plain = cx.types.vector(elem, len);
    let wide = cx.values().splat_or_convert(value, plain);
    cx.values().cast_value(CastKind::Convert, wide, to, span)
}

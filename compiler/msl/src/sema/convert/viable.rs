//! Whether there is a conversion, and how good it is.
//!
//! Invariant: asking reports nothing.

use super::user_defined::UserConversion;
use super::{Conversion, Rank, is_zero_literal, promote, user_defined};
use crate::hir::{Expr, QualTy, RecordId, ScalarTy, Ty, TyKind, Types};
use crate::sema::checker::Checker;
use crate::sema::values::{is_addressable, promoted_bit_field};
use crate::sema::{convert, deduce, record};
use anymetal_ir::Space;
use rustc_hash::FxHashSet;

pub(super) fn reference_binding(
    cx: &mut Checker<'_>,
    expr: &Expr,
    to: QualTy,
    rvalue: bool,
    user: bool,
) -> Option<Conversion> {
    if names_function(&cx.types, expr, to.ty) {
        return Some(Conversion::EXACT);
    }
    let related = expr.ty.ty == to.ty || convert::is_derived(cx, expr.ty.ty, to.ty);
    if user
        && !rvalue
        && !related
        && let Some(func) = user_defined::place_operator(cx, expr, to)
    {
        return Some(Conversion { rank: Rank::User, detail: 0, through: Some(func) });
    }
    let is_xvalue = expr.is_place && cx.functions.is_xvalue(&cx.types, expr);
    if is_xvalue && !rvalue && !to.is_const {
        return None;
    }
    if expr.is_place
        && (!rvalue || is_xvalue)
        && related
        && expr.ty.space == to.space
        && is_addressable(&cx.types, expr)
    {
        let adds_const = to.is_const && !expr.ty.is_const;
        let ok = (to.is_const || !expr.ty.is_const || to.space == Space::Constant)
            && (to.is_volatile || !expr.ty.is_volatile);
        if ok {
            let adds_volatile = to.is_volatile && !expr.ty.is_volatile;
            // Fewer qualifiers are better. An xvalue goes to an rvalue reference rather than to a const
            // one.
            let adds = u8::from(adds_const) + u8::from(adds_volatile) + 3 * u8::from(is_xvalue && !rvalue);
            return Some(match steps_to_base(cx, expr.ty.ty, to.ty) {
                // A nearer base is better, whatever qualifiers are added.
                Some(steps) => Conversion::new(Rank::Conversion, adds.saturating_add(steps)),
                None => Conversion::new(Rank::Exact, adds),
            });
        }
        // No temporary stands for an object that only has more qualifiers (C++14 [dcl.init.ref]).
        if (expr.ty.is_volatile && !to.is_volatile) || (expr.ty.is_const && !to.is_const) {
            return None;
        }
    }
    // An object in another space is not copied for a reference to thread space (MSL 4).
    if expr.is_place && related && !is_xvalue && expr.ty.space != to.space {
        return None;
    }
    // A temporary lives in thread space and is only seen through `const T&` or `T&&`, not through
    // `const volatile T&` (C++14 [dcl.init.ref.5]).
    if to.space != Space::Thread
        || !((to.is_const && !to.is_volatile) || rvalue)
        || (rvalue && expr.is_place && !is_xvalue && related)
    {
        return None;
    }
    if rvalue
        && user
        && let Some(UserConversion::Operator(func, _)) = cx
            .types
            .as_record(expr.ty.ty)
            .filter(|_| !related)
            .and_then(|_| user_defined::find(cx, expr, to.ty))
        && let Some(ret) = cx.functions.inst(func).ret
        && matches!(*cx.types.kind(ret.ty), TyKind::Reference { rvalue: false, to } if !is_function(&cx.types, to.ty))
    {
        // The result is an lvalue, which no rvalue reference binds to (C++14 [dcl.init.ref.5]).
        return None;
    }
    let inner = value_conversion(cx, expr, to.ty, user)?;
    if inner.rank == Rank::Exact {
        return Some(match (expr.is_place, rvalue) {
            (true, _) => Conversion::new(Rank::Conversion, 3),
            (false, true) => Conversion::new(Rank::Exact, 0),
            (false, false) => Conversion::new(Rank::Exact, 1),
        });
    }
    Some(Conversion { detail: inner.detail.saturating_add(1), ..inner })
}

/// Whether an expression stands for a function of a type: its value is the pointer to it.
pub(super) fn names_function(types: &Types, expr: &Expr, ty: Ty) -> bool {
    let is_value = !expr.is_place && !expr.ty.ty.is_error();
    is_value && is_function(types, ty) && types.pointee(expr.ty.ty).is_some_and(|to| to.ty == ty)
}

fn is_function(types: &Types, ty: Ty) -> bool {
    matches!(types.kind(ty), TyKind::Function { .. })
}

/// The conversion of an expression's value to an unqualified type.
pub(super) fn value_conversion(cx: &mut Checker<'_>, expr: &Expr, to: Ty, user: bool) -> Option<Conversion> {
    let from = deduce::decayed_value(&mut cx.types, expr.ty).ty;
    if from == to {
        return Some(Conversion::EXACT);
    }
    if let Some(found) = builtin_conversion(cx, expr, from, to) {
        return Some(found);
    }
    if let Some(steps) = steps_to_base(cx, from, to) {
        return Some(Conversion::new(Rank::Conversion, steps));
    }
    if user { user_defined::find(cx, expr, to).map(|user| user.conversion()) } else { None }
}

fn builtin_conversion(cx: &mut Checker<'_>, expr: &Expr, from: Ty, to: Ty) -> Option<Conversion> {
    let types = &cx.types;
    match (types.kind(from).clone(), types.kind(to).clone()) {
        (TyKind::Scalar(_), TyKind::Scalar(_)) if promoted_bit_field(&cx.types, expr) == Some(to) => {
            Some(Conversion::new(Rank::Promotion, 0))
        }
        (TyKind::Scalar(a), TyKind::Scalar(b)) => scalar_conversion(a, b),
        (TyKind::Enum(id), TyKind::Scalar(b)) if !types.enumeration(id).is_scoped => {
            let info = types.enumeration(id);
            Some(if info.is_fixed && b == info.underlying {
                Conversion::new(Rank::Promotion, 0)
            } else if b == info.promoted {
                // Worse than the promotion to a fixed underlying type (C++14 [over.ics.rank]).
                Conversion::new(Rank::Promotion, u8::from(info.is_fixed))
            } else {
                Conversion::new(Rank::Conversion, 0)
            })
        }
        (TyKind::Scalar(a), TyKind::Vector { elem, packed, .. }) => {
            scalar_conversion(a, elem)?;
            Some(Conversion::new(Rank::Conversion, 2 + u8::from(packed)))
        }
        (TyKind::Enum(id), TyKind::Vector { .. }) if !types.enumeration(id).is_scoped => {
            Some(Conversion::new(Rank::Conversion, 3))
        }
        (TyKind::Vector { elem: a, len: n, .. }, TyKind::Vector { elem: b, len: m, .. })
            if a == b && n == m =>
        {
            Some(Conversion::new(Rank::Promotion, 1))
        }
        (TyKind::Pointer(a), TyKind::Pointer(b))
            if a.ty != b.ty && cx.values().with_both_qualifiers(a, b) == Some(b) =>
        {
            Some(Conversion::new(Rank::Exact, 1))
        }
        (TyKind::Pointer(a), TyKind::Pointer(b)) => pointer_conversion(cx, a, b),
        (TyKind::Nullptr, TyKind::Pointer(_)) => Some(Conversion::new(Rank::Conversion, 0)),
        (TyKind::Scalar(s), TyKind::Pointer(_)) if s.is_integer() && is_zero_literal(expr) => {
            Some(Conversion::new(Rank::Conversion, 1))
        }
        (TyKind::Pointer(_) | TyKind::Nullptr, TyKind::Scalar(ScalarTy::Bool)) => {
            // Worse than all other conversions of pointers (C++14 [over.ics.rank]).
            Some(Conversion::new(Rank::Conversion, u8::MAX))
        }
        _ => None,
    }
}

fn pointer_conversion(cx: &mut Checker<'_>, from: QualTy, to: QualTy) -> Option<Conversion> {
    // Constant memory is const, said or not.
    let drops_const = from.is_const && !to.is_const && to.space != Space::Constant;
    if from.space != to.space || drops_const || (from.is_volatile && !to.is_volatile) {
        return None;
    }
    let adds = u8::from(from.is_const != to.is_const || from.is_volatile != to.is_volatile);
    if from.ty == to.ty {
        Some(Conversion::new(Rank::Exact, adds))
    } else if to.ty == Ty::VOID {
        // Worse than a pointer to any base.
        Some(Conversion::new(Rank::Conversion, u8::MAX - 2 + adds))
    } else {
        let steps = steps_to_base(cx, from.ty, to.ty)?;
        Some(Conversion::new(Rank::Conversion, steps.saturating_add(adds)))
    }
}

/// How far a class is from a base of it, in steps that count more than any qualifiers.
fn steps_to_base(cx: &mut Checker<'_>, derived: Ty, base: Ty) -> Option<u8> {
    let (derived, base) = (cx.types.as_record(derived)?, cx.types.as_record(base)?);
    if derived == base || record::base_path(cx, derived, base).is_none() {
        return None;
    }
    // The nearest classes first.
    let mut level = vec![derived];
    let mut seen = FxHashSet::default();
    for steps in 8_u8.. {
        let direct = level.iter().flat_map(|&id| &cx.records.get(id).bases).map(|&(id, _)| id);
        let next: Vec<RecordId> = direct.filter(|&id| seen.insert(id)).collect();
        if next.contains(&base) || steps >= u8::MAX - 8 {
            return Some(steps);
        }
        level = next;
    }
    None
}

/// The implicit conversion between two scalar types. A `bfloat` converts to types of greater rank only, and
/// no other floating-point type converts to it (MSL 2.22).
fn scalar_conversion(from: ScalarTy, to: ScalarTy) -> Option<Conversion> {
    if from == to {
        return Some(Conversion::EXACT);
    }
    if from.is_integral() && promote(from) == to {
        return Some(Conversion::new(Rank::Promotion, 0));
    }
    if from == ScalarTy::BF16 && to == ScalarTy::F32 {
        // Where the library has no function for bfloat, the one for float is meant, not one for integers.
        return Some(Conversion::new(Rank::Promotion, 0));
    }
    let loses_bfloat =
        (to == ScalarTy::BF16 && from.is_float()) || (from == ScalarTy::BF16 && to == ScalarTy::F16);
    (!loses_bfloat).then_some(Conversion::new(Rank::Conversion, 0))
}

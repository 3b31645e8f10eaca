//! Narrowing conversions: implicit conversions that may lose the value, which lists in braces and converted
//! constant expressions do not allow (C++14 [dcl.init.list.7], [expr.const.3]).
//!
//! Parts of vectors and matrices in braces are exempt: `float4{i, j, k, l}` is how Metal's code converts.

use super::checker::Checker;
use super::evaluate::{convert_scalar, holds, integer_of, mentions_function_constant, value_of};
use super::values::bit_field;
use crate::hir::{Expr, ScalarTy, Ty, TyKind};

/// Reports a value of a list in braces that the type may not have.
pub(super) fn refuse_in_list(cx: &mut Checker<'_>, expr: &Expr, to: Ty) {
    let to = cx.types.referent(to).map_or(to, |to| to.ty);
    // Only numbers are narrowed.
    let (from, Some(target)) = (expr.ty.ty, cx.types.as_scalar(to)) else { return };
    if from == to || bit_field(&cx.types, expr).is_some() || mentions_function_constant(expr) {
        // A bit-field has fewer values than its type.
        return;
    }
    let is_pointer = matches!(cx.types.kind(from), TyKind::Pointer(_) | TyKind::Array(..));
    let source = cx.types.scalar_repr(from);
    let may_lose = match source {
        Some(source) => may_narrow(source, target),
        None => is_pointer && target == ScalarTy::Bool,
    };
    if !may_lose {
        return;
    }
    let value = cx.values().rvalue(expr.clone());
    let constant = value_of(cx, &value).ok().and_then(|value| value.as_scalar());
    if let (Some(source), Some(bits)) = (source, constant)
        && keeps_value(source, target, bits)
    {
        return;
    }
    let (from, to) = (cx.types.display(from), cx.types.display(to));
    let what = if constant.is_some() { "a constant" } else { "a value" };
    let message = format!("{what} of type `{from}` cannot be narrowed to `{to}` in a list in braces");
    let diagnostic = anymetal_diagnostics::Diagnostic::error("narrowing", expr.span, message);
    cx.report(diagnostic.with_hint(format!("convert it explicitly: `{to}(…)`")));
}

/// Whether some values of one type are not values of the other.
fn may_narrow(from: ScalarTy, to: ScalarTy) -> bool {
    let value_bits = |scalar: ScalarTy| match scalar {
        ScalarTy::Bool => 1,
        scalar => scalar.size() * 8 - u32::from(scalar.is_signed()),
    };
    match (from.is_float(), to.is_float()) {
        (true, false) | (false, true) => true,
        // The values of bfloat and half are not those of the other.
        (true, true) => from != to && (to != ScalarTy::F32),
        (false, false) => (from.is_signed() && !to.is_signed()) || value_bits(from) > value_bits(to),
    }
}

/// Whether a constant is a value of the other type; between floating-point types its range counts.
fn keeps_value(from: ScalarTy, to: ScalarTy, bits: u64) -> bool {
    match (from.is_float(), to.is_float()) {
        (true, false) => false,
        (false, true) => {
            let converted = convert_scalar(from, to, bits);
            let back = convert_scalar(to, ScalarTy::I64, converted);
            let value = convert_scalar(from, ScalarTy::I64, bits);
            back == value
        }
        (true, true) => {
            let is_finite =
                |scalar, bits| f32::from_bits(convert_scalar(scalar, ScalarTy::F32, bits) as u32).is_finite();
            !is_finite(from, bits) || is_finite(to, convert_scalar(from, to, bits))
        }
        (false, false) => {
            let value = convert_scalar(from, ScalarTy::I64, bits);
            let n = if from == ScalarTy::U64 { i128::from(value) } else { i128::from(value as i64) };
            holds(to, n)
        }
    }
}

/// Reports an integer constant that the type of a converted constant expression does not have
/// (C++14 [expr.const]).
pub(super) fn refuse_narrowing(cx: &mut Checker<'_>, expr: &Expr, to: Ty, what: &str) {
    let from = expr.ty.ty;
    let integral = |ty: Ty| cx.types.scalar_repr(ty).filter(|scalar| scalar.is_integral());
    // Other conversions are refused where the expression is converted.
    let (Some(source), Some(target)) = (integral(from), cx.types.as_scalar(to).and(integral(to))) else {
        return;
    };
    if from == to {
        return;
    }
    let value = value_of(cx, expr).ok();
    let Some(bits) = value.as_ref().and_then(|value| value.as_scalar()) else { return };
    if !keeps_value(source, target, bits) {
        let n = value.and_then(|value| integer_of(&cx.types, from, &value)).expect("it is an integer");
        let shown = cx.types.display(to);
        cx.error("narrowing", expr.span, format!("{what} {n} does not fit type `{shown}`"));
    }
}

//! Implicit conversions: whether there is one and how good it is ([`conversion`], `viable`), and
//! making it explicit ([`to_type`], `perform`); those by constructors and conversion operators are
//! in `user_defined`.
//!
//! The two must agree: what `conversion` calls viable, `to_type` performs without an error.

mod perform;
mod user_defined;
mod viable;

pub(super) use perform::{perform, upcast_place};
pub(super) use user_defined::{builtin_operand, cast_by_operator, copied, stand_in};

use super::call::Arg;
use super::checker::Checker;
use super::diagnostics::Diagnostics;
use super::values::bit_field;
use super::{init, overload, record};
use crate::hir::{ConstValue, Expr, ExprKind, FuncId, QualTy, ScalarTy, Ty, TyKind, Types};
use anymetal_diagnostics::Diagnostic;

/// How good a conversion is; the smaller the better.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Rank {
    Exact,
    Promotion,
    Conversion,
    /// Viable, but never preferred to anything: what strict MSL would refuse.
    Lenient,
    User,
    /// An argument for `...`.
    Ellipsis,
}

/// A conversion sequence. Compared in the order of the members.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Conversion {
    pub(super) rank: Rank,
    /// Tells sequences of one rank apart: qualifiers added, a temporary made; of user-defined conversions,
    /// the conversion of the operator's result.
    pub(super) detail: u8,
    /// The constructor or operator of a user-defined conversion: only sequences with the same one are
    /// better or worse than each other.
    pub(super) through: Option<FuncId>,
}

impl Conversion {
    pub(super) const EXACT: Self = Self::new(Rank::Exact, 0);

    pub(super) const fn new(rank: Rank, detail: u8) -> Self {
        Self { rank, detail, through: None }
    }
}

/// The conversion of an argument to a parameter type, if there is one.
pub(super) fn conversion<'a>(cx: &mut Checker<'a>, arg: &Arg<'a>, to: QualTy) -> Option<Conversion> {
    match arg {
        Arg::Expr(expr) => conversion_of(cx, expr, to, true),
        Arg::List(clauses, _) => init::list_conversion(cx, clauses, to),
        Arg::Functions(decls, args, span) => {
            let (decls, args, span) = (decls.clone(), *args, *span);
            let function = cx.quietly(|cx| overload::function_for_type(cx, &decls, args, to.ty, span));
            function.ok().flatten().map(|_| Conversion::EXACT)
        }
    }
}

/// The conversion of an expression. `user` allows constructors and conversion operators.
pub(super) fn conversion_of(cx: &mut Checker<'_>, expr: &Expr, to: QualTy, user: bool) -> Option<Conversion> {
    if expr.ty.ty.is_error() || to.ty.is_error() {
        return Some(Conversion::EXACT);
    }
    if let TyKind::Reference { to: referent, rvalue } = *cx.types.kind(to.ty) {
        return viable::reference_binding(cx, expr, referent, rvalue, user);
    }
    viable::value_conversion(cx, expr, to.ty, user)
}

pub(super) fn is_derived(cx: &mut Checker<'_>, derived: Ty, base: Ty) -> bool {
    match (cx.types.as_record(derived), cx.types.as_record(base)) {
        (Some(derived), Some(base)) if derived != base => record::base_path(cx, derived, base).is_some(),
        _ => false,
    }
}

/// Converts an expression to a type, reporting when that is impossible. For a reference the result
/// is the pointer that implements it.
pub(super) fn to_type(cx: &mut Checker<'_>, expr: Expr, to: QualTy, what: &str) -> Expr {
    let span = expr.span;
    if expr.ty.ty.is_error() || to.ty.is_error() {
        return cx.poison(span);
    }
    let wants_place = cx.types.referent(to.ty).is_some_and(|to| !to.is_const);
    let expr = if wants_place { cx.values().conditional_place(expr) } else { expr };
    if conversion_of(cx, &expr, to, true).is_none() {
        report_none(&cx.types, &mut cx.diagnostics, &expr, to, what);
        return cx.poison(span);
    }
    perform::perform(cx, expr, to)
}

pub(super) fn report_none(types: &Types, diagnostics: &mut Diagnostics, expr: &Expr, to: QualTy, what: &str) {
    let (from, shown) = (types.display_qual(expr.ty), types.display_qual(to));
    let message = format!("no conversion from `{from}` to `{shown}` {what}");
    let mut diagnostic = Diagnostic::error("no-conversion", expr.span, message);
    if let Some(hint) = hint_of_none(types, expr, to) {
        diagnostic = diagnostic.with_hint(hint);
    }
    diagnostics.report(diagnostic);
}

/// What to do where there is no conversion.
fn hint_of_none(types: &Types, expr: &Expr, to: QualTy) -> Option<String> {
    if let Some(referent) = types.referent(to.ty) {
        if bit_field(types, expr).is_some() {
            return Some("a reference cannot refer to a bit-field".to_owned());
        }
        let is_apart = expr.is_place && expr.ty.ty == referent.ty && expr.ty.space != referent.space;
        return is_apart.then(|| {
            let (is, wanted) = (expr.ty.space.name(), referent.space.name());
            format!("the object is in {is} memory, not in {wanted} memory: copy it to a variable first")
        });
    }
    let (from, target) = (types.element(expr.ty.ty)?, types.element(to.ty)?);
    let is_bfloat = [from, target].contains(&ScalarTy::BF16) && from.is_float() && target.is_float();
    is_bfloat
        .then(|| format!("`bfloat` converts implicitly only to `float`; write `{}(…)`", types.display(to.ty)))
}

/// What the composite type of two pointers points to (C++14 [expr.13]), if they have one.
pub(in crate::sema) fn composite_pointee(cx: &mut Checker<'_>, a: QualTy, b: QualTy) -> Option<QualTy> {
    let class_or_void = match (a.ty, b.ty) {
        (Ty::VOID, _) | (_, Ty::VOID) => Some(Ty::VOID),
        (derived, base) if is_derived(cx, derived, base) => Some(base),
        (base, derived) if is_derived(cx, derived, base) => Some(base),
        _ => None,
    };
    match class_or_void {
        Some(ty) => cx.values().with_both_qualifiers(a.with_ty(ty), b.with_ty(ty)),
        None => cx.values().with_both_qualifiers(a, b),
    }
}

/// What small integers become in arithmetic.
pub(super) fn promote(scalar: ScalarTy) -> ScalarTy {
    match scalar {
        ScalarTy::Bool | ScalarTy::I8 | ScalarTy::U8 | ScalarTy::I16 | ScalarTy::U16 => ScalarTy::I32,
        other => other,
    }
}

/// Whether the expression is the literal 0.
pub(super) fn is_zero_literal(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Const(ConstValue::Scalar(0)))
}

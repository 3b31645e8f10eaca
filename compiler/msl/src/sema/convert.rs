//! Implicit conversions: whether there is one and how good it is ([`Checker::conversion`], `viable`), and
//! making it explicit ([`Checker::convert`], `perform`); those by constructors and conversion operators are
//! in `user_defined`.
//!
//! The two must agree: what `conversion` calls viable, `convert` performs without an error.

mod perform;
mod user_defined;
mod viable;

use super::call::Arg;
use super::checker::Checker;
use super::values::bit_field;
use crate::hir::{ConstValue, Expr, ExprKind, FuncId, QualTy, ScalarTy, Ty, TyKind};
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

impl<'a> Checker<'a> {
    /// The conversion of an argument to a parameter type, if there is one.
    pub(super) fn conversion(&mut self, arg: &Arg<'a>, to: QualTy) -> Option<Conversion> {
        match arg {
            Arg::Expr(expr) => self.conversion_of(expr, to, true),
            Arg::List(clauses, _) => self.list_conversion(clauses, to),
            Arg::Functions(decls, args, span) => {
                let (decls, args, span) = (decls.clone(), *args, *span);
                let function = self.quietly(|s| s.function_for_type(&decls, args, to.ty, span));
                function.ok().flatten().map(|_| Conversion::EXACT)
            }
        }
    }

    /// The conversion of an expression. `user` allows constructors and conversion operators.
    pub(super) fn conversion_of(&mut self, expr: &Expr, to: QualTy, user: bool) -> Option<Conversion> {
        if expr.ty.ty.is_error() || to.ty.is_error() {
            return Some(Conversion::EXACT);
        }
        if let TyKind::Reference { to: referent, rvalue } = *self.types.kind(to.ty) {
            return self.reference_binding(expr, referent, rvalue, user);
        }
        self.value_conversion(expr, to.ty, user)
    }

    pub(super) fn is_derived(&mut self, derived: Ty, base: Ty) -> bool {
        match (self.types.as_record(derived), self.types.as_record(base)) {
            (Some(derived), Some(base)) if derived != base => self.base_path(derived, base).is_some(),
            _ => false,
        }
    }

    /// Converts an expression to a type, reporting when that is impossible. For a reference the result
    /// is the pointer that implements it.
    pub(super) fn convert(&mut self, expr: Expr, to: QualTy, what: &str) -> Expr {
        let span = expr.span;
        if expr.ty.ty.is_error() || to.ty.is_error() {
            return self.poison(span);
        }
        let wants_place = self.types.referent(to.ty).is_some_and(|to| !to.is_const);
        let expr = if wants_place { self.values().conditional_place(expr) } else { expr };
        if self.conversion_of(&expr, to, true).is_none() {
            self.report_no_conversion(&expr, to, what);
            return self.poison(span);
        }
        self.perform(expr, to)
    }

    pub(super) fn report_no_conversion(&mut self, expr: &Expr, to: QualTy, what: &str) {
        let (from, shown) = (self.show(expr.ty), self.show(to));
        let message = format!("no conversion from `{from}` to `{shown}` {what}");
        let mut diagnostic = Diagnostic::error("no-conversion", expr.span, message);
        if self.types.referent(to.ty).is_some() && bit_field(&self.types, expr).is_some() {
            diagnostic = diagnostic.with_hint("a reference cannot refer to a bit-field");
        }
        self.report(diagnostic);
    }

    /// What the composite type of two pointers points to (C++14 [expr.13]), if they have one.
    pub(in crate::sema) fn composite_pointee(&mut self, a: QualTy, b: QualTy) -> Option<QualTy> {
        let class_or_void = match (a.ty, b.ty) {
            (Ty::VOID, _) | (_, Ty::VOID) => Some(Ty::VOID),
            (derived, base) if self.is_derived(derived, base) => Some(base),
            (base, derived) if self.is_derived(derived, base) => Some(base),
            _ => None,
        };
        match class_or_void {
            Some(ty) => self.values().with_both_qualifiers(a.with_ty(ty), b.with_ty(ty)),
            None => self.values().with_both_qualifiers(a, b),
        }
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

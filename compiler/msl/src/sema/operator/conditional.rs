//! The conditional operator `?:`, on values, places and vectors.
//!
//! Invariant: of a conditional that is a place only the chosen side is evaluated, and only for its address.

use crate::ast;
use crate::hir::{CastKind, ConstValue, Expr, ExprKind, QualTy, ScalarTy, Ty, TyKind};
use crate::sema::checker::Checker;
use anymetal_diagnostics::Span;

impl<'a> Checker<'a> {
    pub(in crate::sema) fn conditional_expr(
        &mut self,
        cond: &'a ast::Expr,
        a: &'a ast::Expr,
        b: &'a ast::Expr,
        span: Span,
    ) -> Expr {
        let cond = self.expr(cond);
        let (a, b) = (self.expr(a), self.expr(b));
        if cond.ty.ty.is_error() || a.ty.ty.is_error() || b.ty.ty.is_error() {
            return self.poison(span);
        }
        if let Some((_, len)) = self.types.as_vector(cond.ty.ty) {
            return self.vector_select(cond, a, b, len, span);
        }
        let cond = self.condition(cond);
        if cond.ty.ty.is_error() {
            return cond;
        }
        let (a, b) = match self.conditional_operands(a, b, span) {
            Some(pair) => pair,
            None => return self.poison(span),
        };
        if let ExprKind::Const(ConstValue::Scalar(bits)) = cond.kind {
            return if bits != 0 { a } else { b };
        }
        if a.is_place {
            return self.values().chosen_place(cond, a, b, span);
        }
        let ty = a.ty.ty;
        Expr::value(ExprKind::Conditional(Box::new(cond), Box::new(a), Box::new(b)), ty, span)
    }

    /// Both sides brought to one type; as places only when both are alike and hold more than a value.
    fn conditional_operands(&mut self, a: Expr, b: Expr, span: Span) -> Option<(Expr, Expr)> {
        let (left, right) = (a.ty.ty, b.ty.ty);
        if left == right {
            let is_wide = matches!(self.types.kind(left), TyKind::Record(_) | TyKind::Array(..));
            if a.is_place && b.is_place && is_wide && a.ty == b.ty {
                return Some((a, b));
            }
            return Some((self.copied(a), self.copied(b)));
        }
        let is_class = |ty| matches!(self.types.kind(ty), TyKind::Record(_) | TyKind::Matrix { .. });
        if is_class(left) || is_class(right) {
            if self.conversion_of(&b, QualTy::plain(left), true).is_some() {
                let b = self.perform(b, QualTy::plain(left));
                return Some((self.copied(a), b));
            }
            if self.conversion_of(&a, QualTy::plain(right), true).is_some() {
                let a = self.perform(a, QualTy::plain(right));
                return Some((a, self.copied(b)));
            }
        }
        // Loaded, a bit-field would be one no more.
        let (a, b) = (self.values().promoted(a), self.values().promoted(b));
        let (a, b) = (self.values().rvalue(a), self.values().rvalue(b));
        let (left, right) = (a.ty.ty, b.ty.ty);
        if left == right {
            return Some((a, b));
        }
        if let Some(pair) = self.common_pointers(&a, &b) {
            return Some(pair);
        }
        if (left == Ty::VOID) != (right == Ty::VOID) {
            let (a, b) = (
                self.values().cast_value(CastKind::ToVoid, a, Ty::VOID, span),
                self.values().cast_value(CastKind::ToVoid, b, Ty::VOID, span),
            );
            return Some((a, b));
        }
        let result = self.values().common_operands(a, b);
        if result.is_none() {
            self.bad_operands("?:", QualTy::plain(left), Some(QualTy::plain(right)), span);
        }
        result
    }

    fn common_pointers(&mut self, a: &Expr, b: &Expr) -> Option<(Expr, Expr)> {
        for (from, to, swapped) in [(b, a, false), (a, b, true)] {
            if self.types.pointee(to.ty.ty).is_some() && self.conversion_of(from, to.ty, false).is_some() {
                let converted = self.perform(from.clone(), to.ty);
                return Some(if swapped { (converted, to.clone()) } else { (to.clone(), converted) });
            }
        }
        let (left, right) = (self.types.pointee(a.ty.ty)?, self.types.pointee(b.ty.ty)?);
        let pointee = self.composite_pointee(left, right)?;
        let to = QualTy::plain(self.types.pointer(pointee));
        Some((self.perform(a.clone(), to), self.perform(b.clone(), to)))
    }

    fn vector_select(&mut self, cond: Expr, a: Expr, b: Expr, len: u8, span: Span) -> Expr {
        let cond = self.values().rvalue(cond);
        let flags = self.types.vector(ScalarTy::Bool, len);
        let cond = self.values().splat_or_convert(cond, flags);
        let (a, b) = (self.values().rvalue(a), self.values().rvalue(b));
        let (left, right) = (a.ty, b.ty);
        let Some((a, b)) = self.values().common_operands(a, b) else {
            return self.bad_operands("?:", left, Some(right), span);
        };
        let to = match self.types.as_vector(a.ty.ty) {
            Some((_, n)) if n == len => a.ty.ty,
            Some(_) => return self.bad_operands("?:", cond.ty, Some(a.ty), span),
            None => {
                let Some(elem) = self.types.as_scalar(a.ty.ty) else { return self.poison(span) };
                self.types.vector(elem, len)
            }
        };
        let (a, b) = (self.values().splat_or_convert(a, to), self.values().splat_or_convert(b, to));
        Expr::value(ExprKind::Select(Box::new(cond), Box::new(a), Box::new(b)), to, span)
    }
}

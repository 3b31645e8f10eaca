//! Fold expressions: the operator between all elements of a pack.
//!
//! Invariant: the expansion is no higher than an expression may be written ([`MAX_HEIGHT`]).

use super::checker::Checker;
use crate::ast::{BinaryOp, Expr as AstExpr, Fold, FoldOp};
use crate::hir::{Expr, ExprKind, Ty};
use crate::parser::MAX_HEIGHT;
use anymetal_diagnostics::Span;

impl<'a> Checker<'a> {
    pub(super) fn fold_expr(&mut self, fold: &'a Fold, span: Span) -> Expr {
        let of_left = fold.left.as_ref().and_then(|left| self.scopes.pack_length_of_expr(left));
        let of_right = fold.right.as_ref().and_then(|right| self.scopes.pack_length_of_expr(right));
        let (pack, count, init, is_right) = match (&fold.left, &fold.right, of_left, of_right) {
            (_, _, Some(_), Some(_)) => {
                self.error("fold-operand", span, "only one operand of a fold expression may be a pack");
                return self.poison(span);
            }
            (Some(pack), init, Some(count), None) => (pack, count, init.as_ref(), true),
            (init, Some(pack), None, Some(count)) => (pack, count, init.as_ref(), false),
            _ => {
                self.error("fold-operand", span, "the operand of a fold expression names no parameter pack");
                return self.poison(span);
            }
        };
        if count >= MAX_HEIGHT as usize {
            self.error("too-deep", span, format!("a fold over {count} elements is too large"));
            return self.poison(span);
        }
        let mut operands: Vec<Expr> = self.fold_operands(pack, count);
        if is_right {
            operands.extend(init.map(|init| self.expr(init)));
        } else if let Some(init) = init {
            operands.insert(0, self.expr(init));
        }
        if self.diagnostics.gave_up() {
            return self.poison(span);
        }
        self.combine(fold.op, operands, is_right, span)
    }

    fn fold_operands(&mut self, pack: &'a AstExpr, count: usize) -> Vec<Expr> {
        let mut operands = Vec::with_capacity(count);
        for n in 0..count {
            operands.push(self.with_pack_index(n, |s| s.expr(pack)));
            if self.diagnostics.gave_up() {
                break;
            }
        }
        operands
    }

    fn combine(&mut self, op: FoldOp, operands: Vec<Expr>, is_right: bool, span: Span) -> Expr {
        if operands.iter().any(|operand| operand.ty.ty.is_error()) {
            return self.poison(span);
        }
        let combined = if is_right {
            operands.into_iter().rev().reduce(|right, left| self.fold_step(op, left, right, span))
        } else {
            operands.into_iter().reduce(|left, right| self.fold_step(op, left, right, span))
        };
        match combined {
            Some(value) => Expr { span, ..value },
            None => self.empty_fold(op, span),
        }
    }

    fn fold_step(&mut self, op: FoldOp, left: Expr, right: Expr, span: Span) -> Expr {
        if left.ty.ty.is_error() || right.ty.ty.is_error() {
            return self.poison(span);
        }
        match op {
            FoldOp::Binary(op) => self.binary(op, left, right, span),
            FoldOp::Assign(op) => match op.0 {
                Some(op) => self.compound_assign(op, left, right, span),
                None => self.assign_value(left, right, span),
            },
        }
    }

    /// What a fold over no elements gives: only three operators have a value for that.
    fn empty_fold(&mut self, op: FoldOp, span: Span) -> Expr {
        match op {
            FoldOp::Binary(BinaryOp::LogicalAnd) => self.bool_const(true, span),
            FoldOp::Binary(BinaryOp::LogicalOr) => self.bool_const(false, span),
            FoldOp::Binary(BinaryOp::Comma) => Expr::value(ExprKind::Zero, Ty::VOID, span),
            _ => {
                self.error("empty-fold", span, "a fold over an empty pack has no value with this operator");
                self.poison(span)
            }
        }
    }
}

//! Fold expressions: `(e op ...)`, `(... op e)`, `(e op ... op f)`.
//!
//! The operands are cast-expressions; an operand with an operator of its own needs parentheses.

use super::Parser;
use super::expr::{assign_operator, binary_op};
use crate::ast::{BinaryOp, Expr, ExprKind, Fold, FoldOp};
use crate::token::{Punct, TokenKind};
use anymetal_diagnostics::Span;

impl Parser<'_> {
    /// Whether an operator and `...` follow: then what was parsed before is the operand of a fold.
    pub(super) fn at_fold(&self) -> bool {
        self.next_is(1, Punct::Ellipsis) && self.fold_operator().is_some()
    }

    fn fold_operator(&self) -> Option<FoldOp> {
        let TokenKind::Punct(punct) = self.peek() else { return None };
        if punct == Punct::Comma {
            return Some(FoldOp::Binary(BinaryOp::Comma));
        }
        binary_op(punct).map(FoldOp::Binary).or_else(|| assign_operator(punct).map(FoldOp::Assign))
    }

    /// After `(`, at `...`: a left fold without an initial value.
    pub(super) fn left_fold(&mut self, start: Span) -> Expr {
        self.advance();
        let Some(op) = self.fold_operator() else {
            let found = self.peek();
            let message = format!("expected an operator after `...`, found {found}");
            self.error("expected-token", self.span(), message);
            if !self.is(Punct::RParen) {
                self.nested_expr(Self::unary_expr, Self::error_expr);
            }
            self.eat(Punct::RParen);
            self.height = 1;
            return Expr { kind: ExprKind::Error, span: self.since(start) };
        };
        self.advance();
        let right = self.nested_expr(Self::unary_expr, Self::error_expr);
        let height = self.height;
        self.fold(Fold { op, left: None, right: Some(right) }, height, start)
    }

    /// After `(left`, at an operator and `...`.
    pub(super) fn right_fold(&mut self, left: Expr, start: Span) -> Expr {
        let mut height = self.height;
        self.check_fold_operand(&left);
        let Some(op) = self.fold_operator() else { return left };
        self.advance();
        self.advance();
        let mut right = None;
        if let Some(second) = self.fold_operator() {
            if second != op {
                let message = "both operators of a fold expression must be the same";
                self.error("fold-operator", self.span(), message);
            }
            self.advance();
            right = Some(self.nested_expr(Self::unary_expr, Self::error_expr));
            height = height.max(self.height);
        }
        self.fold(Fold { op, left: Some(left), right }, height, start)
    }

    fn fold(&mut self, fold: Fold, height: u32, start: Span) -> Expr {
        self.expect(Punct::RParen, "to end the fold expression");
        self.node(ExprKind::Fold(Box::new(fold)), start, height)
    }

    fn check_fold_operand(&mut self, operand: &Expr) {
        if matches!(operand.kind, ExprKind::Binary(..) | ExprKind::Assign(..) | ExprKind::Conditional(..)) {
            let message = "an operand of a fold expression with an operator of its own needs parentheses";
            self.error("fold-operand", operand.span, message);
        }
    }
}

//! Fold expressions: `(e op ...)`, `(... op e)`, `(e op ... op f)`.
//!
//! The operands are cast-expressions; an operand with an operator of its own needs parentheses.

use super::expr::{assign_operator, binary_op};
use super::{Parser, expr};
use crate::ast::{BinaryOp, Expr, ExprKind, Fold, FoldOp};
use crate::token::{Punct, TokenKind};
use anymetal_diagnostics::Span;

/// Whether an operator and `...` follow: then what was parsed before is the operand of a fold.
pub(super) fn at(p: &Parser<'_>) -> bool {
    p.next_is(1, Punct::Ellipsis) && operator(p).is_some()
}

fn operator(p: &Parser<'_>) -> Option<FoldOp> {
    let TokenKind::Punct(punct) = p.peek() else { return None };
    if punct == Punct::Comma {
        return Some(FoldOp::Binary(BinaryOp::Comma));
    }
    binary_op(punct).map(FoldOp::Binary).or_else(|| assign_operator(punct).map(FoldOp::Assign))
}

/// After `(`, at `...`: a left fold without an initial value.
pub(super) fn left(p: &mut Parser<'_>, start: Span) -> Expr {
    p.advance();
    let Some(op) = operator(p) else {
        let found = p.peek();
        let message = format!("expected an operator after `...`, found {found}");
        p.error("expected-token", p.span(), message);
        if !p.is(Punct::RParen) {
            p.nested_expr(expr::unary, expr::error);
        }
        p.eat(Punct::RParen);
        p.height = 1;
        return Expr { kind: ExprKind::Error, span: p.since(start) };
    };
    p.advance();
    let right = p.nested_expr(expr::unary, expr::error);
    let height = p.height;
    parse(p, Fold { op, left: None, right: Some(right) }, height, start)
}

/// After `(left`, at an operator and `...`.
pub(super) fn right(p: &mut Parser<'_>, left: Expr, start: Span) -> Expr {
    let mut height = p.height;
    check_operand(p, &left);
    let Some(op) = operator(p) else { return left };
    p.advance();
    p.advance();
    let mut right = None;
    if let Some(second) = operator(p) {
        if second != op {
            let message = "both operators of a fold expression must be the same";
            p.error("fold-operator", p.span(), message);
        }
        p.advance();
        right = Some(p.nested_expr(expr::unary, expr::error));
        height = height.max(p.height);
    }
    parse(p, Fold { op, left: Some(left), right }, height, start)
}

fn parse(p: &mut Parser<'_>, fold: Fold, height: u32, start: Span) -> Expr {
    p.expect(Punct::RParen, "to end the fold expression");
    expr::node(p, ExprKind::Fold(Box::new(fold)), start, height)
}

fn check_operand(p: &mut Parser<'_>, operand: &Expr) {
    if matches!(operand.kind, ExprKind::Binary(..) | ExprKind::Assign(..) | ExprKind::Conditional(..)) {
        let message = "an operand of a fold expression with an operator of its own needs parentheses";
        p.error("fold-operand", operand.span, message);
    }
}

//! Statement expressions, GNU's `({ … })`: statements where an expression may stand.
//!
//! One is read as a call of a lambda that captures by reference and returns the value of the last
//! statement, if that is an expression. Control leaves it only at its end: `return` in it is an error, and
//! so are a `break` and a `continue` of a loop around it.

use super::{Parser, expr, stmt};
use crate::ast::{Block, Expr, ExprKind, Lambda, StmtKind};
use crate::token::Punct;
use anymetal_diagnostics::Span;
use std::sync::Arc;

/// `{ … })` after the parenthesis at `start`.
pub(super) fn parse(p: &mut Parser<'_>, start: Span) -> Expr {
    let angle = std::mem::replace(&mut p.angle, false);
    let outer = std::mem::replace(&mut p.in_statement_expr, true);
    let body = p.nested_expr(|p| Some(stmt::block(p)), |_| None);
    p.in_statement_expr = outer;
    p.angle = angle;
    p.expect(Punct::RParen, "to end the statement expression");
    let Some(mut body) = body else { return expr::error(p) };
    return_last(&mut body);
    let lambda = Lambda {
        id: p.ids.fresh(),
        initialised: Vec::new(),
        captures_all: true,
        by_reference: true,
        copies_this: false,
        this_at: None,
        is_mutable: false,
        captures: Vec::new(),
        params: Vec::new(),
        ret: None,
        noexcept: crate::ast::Noexcept::Absent,
        body,
        fp: p.fp,
    };
    let callee = expr::node(p, ExprKind::Lambda(Arc::new(lambda)), start, 0);
    expr::node(p, ExprKind::Call(Box::new(callee), Vec::new()), start, 1)
}

/// Parses a function's body, which is in no statement expression or `switch` even where the function is.
pub(super) fn own_body(p: &mut Parser<'_>, body: impl FnOnce(&mut Parser<'_>) -> Block) -> Block {
    let in_statement_expr = std::mem::replace(&mut p.in_statement_expr, false);
    let in_switch = std::mem::replace(&mut p.in_switch, false);
    let block = body(p);
    p.in_statement_expr = in_statement_expr;
    p.in_switch = in_switch;
    block
}

/// Makes the last statement's value the result.
fn return_last(body: &mut Block) {
    let Some(last) = body.stmts.last_mut() else { return };
    last.kind = match std::mem::replace(&mut last.kind, StmtKind::Empty) {
        StmtKind::Expr(value) => StmtKind::Return(Some(value)),
        other => other,
    };
}

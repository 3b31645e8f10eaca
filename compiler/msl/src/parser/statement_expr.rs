//! Statement expressions, GNU's `({ … })`: statements where an expression may stand.
//!
//! One is read as a call of a lambda that captures by reference and returns the value of the last
//! statement, if that is an expression. Control leaves it only at its end: `return` in it is an error, and
//! so are a `break` and a `continue` of a loop around it.

use super::Parser;
use crate::ast::{Block, Expr, ExprKind, Lambda, StmtKind};
use crate::token::Punct;
use anymetal_diagnostics::Span;
use std::sync::Arc;

impl Parser<'_> {
    /// `{ … })` after the parenthesis at `start`.
    pub(super) fn statement_expr(&mut self, start: Span) -> Expr {
        let angle = std::mem::replace(&mut self.angle, false);
        let outer = std::mem::replace(&mut self.in_statement_expr, true);
        let body = self.nested_expr(|p| Some(p.block()), |_| None);
        self.in_statement_expr = outer;
        self.angle = angle;
        self.expect(Punct::RParen, "to end the statement expression");
        let Some(mut body) = body else { return self.error_expr() };
        return_last(&mut body);
        let lambda = Lambda {
            id: self.ids.fresh(),
            initialised: Vec::new(),
            captures_all: true,
            by_reference: true,
            captures: Vec::new(),
            params: Vec::new(),
            ret: None,
            noexcept: crate::ast::Noexcept::Absent,
            body,
            fp: self.fp,
        };
        let callee = self.node(ExprKind::Lambda(Arc::new(lambda)), start, 0);
        self.node(ExprKind::Call(Box::new(callee), Vec::new()), start, 1)
    }

    /// Parses a function's body, which is in no statement expression even where the function is.
    pub(super) fn own_body(&mut self, body: impl FnOnce(&mut Self) -> Block) -> Block {
        let outer = std::mem::replace(&mut self.in_statement_expr, false);
        let block = body(self);
        self.in_statement_expr = outer;
        block
    }
}

/// Makes the last statement's value the result.
fn return_last(body: &mut Block) {
    let Some(last) = body.stmts.last_mut() else { return };
    last.kind = match std::mem::replace(&mut last.kind, StmtKind::Empty) {
        StmtKind::Expr(value) => StmtKind::Return(Some(value)),
        other => other,
    };
}

//! Loops. All of them become one kind, with a condition before or after the body and a step.
//!
//! Invariant: a `continue` in a body belongs to the loop, and so does a `break` that is in no switch inside
//! it.

use crate::ast::{self, ForInit};
use crate::hir::{Block, ConstValue, Expr, ExprKind, LoopHint, Stmt, StmtKind};
use crate::sema::checker::Checker;
use anymetal_diagnostics::Span;

impl<'a> Checker<'a> {
    fn loop_condition(&mut self, cond: Option<&'a ast::Expr>) -> Option<Expr> {
        let value = self.expr(cond?);
        let cond = self.condition(value);
        match cond.kind {
            ExprKind::Const(ConstValue::Scalar(1)) => None,
            _ => Some(cond),
        }
    }

    pub(super) fn loop_body(&mut self, body: &'a ast::Stmt) -> Block {
        self.in_loop(|s| s.body(body))
    }

    /// Runs `f` where `break` and `continue` belong to a loop.
    pub(super) fn in_loop<R>(&mut self, f: impl FnOnce(&mut Self) -> R) -> R {
        self.function.loops += 1;
        let switches = std::mem::take(&mut self.function.switches);
        let result = f(self);
        self.function.switches = switches;
        self.function.loops -= 1;
        result
    }

    pub(super) fn loop_hint(&mut self, hint: Option<&'a ast::LoopHint>) -> Option<LoopHint> {
        Some(match hint? {
            ast::LoopHint::Full => LoopHint::Full,
            ast::LoopHint::Enable => LoopHint::Enable,
            ast::LoopHint::Disable => LoopHint::Disable,
            ast::LoopHint::Count(expr) => {
                // A count that is not constant (a function constant, say) is no more than "please".
                let count = self.quietly(|s| {
                    let value = s.expr(expr);
                    s.constant_integer(value)
                });
                match count.ok().flatten() {
                    Some(n @ 1..=65_536) => LoopHint::Count(n as u32),
                    _ => LoopHint::Enable,
                }
            }
        })
    }

    pub(super) fn while_stmt(
        &mut self,
        cond: &'a ast::Expr,
        body: &'a ast::Stmt,
        hint: Option<&'a ast::LoopHint>,
        span: Span,
        out: &mut Vec<Stmt>,
    ) {
        let cond = self.loop_condition(Some(cond));
        let hint = self.loop_hint(hint);
        let body = self.loop_body(body);
        Self::push(out, StmtKind::Loop { cond, post_test: false, step: None, body, hint }, span);
    }

    pub(super) fn do_stmt(
        &mut self,
        body: &'a ast::Stmt,
        cond: &'a ast::Expr,
        hint: Option<&'a ast::LoopHint>,
        span: Span,
        out: &mut Vec<Stmt>,
    ) {
        let hint = self.loop_hint(hint);
        let body = self.loop_body(body);
        let cond = self.loop_condition(Some(cond));
        Self::push(out, StmtKind::Loop { cond, post_test: true, step: None, body, hint }, span);
    }

    #[allow(clippy::too_many_arguments, reason = "the parts of one statement")]
    pub(super) fn for_stmt(
        &mut self,
        init: &'a ForInit,
        cond: Option<&'a ast::Expr>,
        step: Option<&'a ast::Expr>,
        body: &'a ast::Stmt,
        hint: Option<&'a ast::LoopHint>,
        span: Span,
        out: &mut Vec<Stmt>,
    ) {
        let mut stmts = Vec::new();
        self.in_block(|s| {
            match init {
                ForInit::Empty => {}
                ForInit::Declaration(variables) => {
                    variables.iter().for_each(|variable| s.local_variable(variable, &mut stmts));
                }
                ForInit::Expr(expr) => {
                    let value = s.expr(expr);
                    Self::push(&mut stmts, StmtKind::Expr(value), span);
                }
            }
            let hint = s.loop_hint(hint);
            let cond = s.loop_condition(cond);
            let step = step.map(|step| s.expr(step));
            let body = s.loop_body(body);
            Self::push(&mut stmts, StmtKind::Loop { cond, post_test: false, step, body, hint }, span);
        });
        Self::push(out, StmtKind::Block(Block { stmts }), span);
    }
}

//! Statements: each checked one gives some typed statements, in a block scope.
//!
//! This file has the dispatch and `if`; `local_item` is for declarations other than variables.

mod inner_labels;
mod local_item;
mod loops;
mod range_for;
mod returns;
mod switch;

use self::range_for::RangeFor;
use super::checker::Checker;
use super::spelling;
use crate::ast::{self, BinaryOp, ExprKind as AstExpr, StmtKind as AstStmt};
use crate::hir::{Block, ConstValue, ExprKind, Stmt, StmtKind};
use anymetal_diagnostics::{Diagnostic, Span};

impl<'a> Checker<'a> {
    /// Checks statements in the current block scope.
    pub(super) fn stmts(&mut self, stmts: &'a [ast::Stmt], out: &mut Vec<Stmt>) {
        for stmt in stmts {
            if self.diagnostics.gave_up() {
                return;
            }
            self.deeper(stmt.span, |s| s.stmt(stmt, out));
        }
    }

    /// Checks one statement in a scope of its own.
    fn body(&mut self, stmt: &'a ast::Stmt) -> Block {
        let mut stmts = Vec::new();
        self.in_block(|s| match &stmt.kind {
            AstStmt::Block(block) => s.stmts(&block.stmts, &mut stmts),
            _ => {
                s.deeper(stmt.span, |s| s.stmt(stmt, &mut stmts));
            }
        });
        Block { stmts }
    }

    fn push(out: &mut Vec<Stmt>, kind: StmtKind, span: Span) {
        out.push(Stmt { kind, span });
    }

    fn stmt(&mut self, stmt: &'a ast::Stmt, out: &mut Vec<Stmt>) {
        let span = stmt.span;
        match &stmt.kind {
            AstStmt::Empty => {}
            AstStmt::Block(_) => {
                let block = self.body(stmt);
                Self::push(out, StmtKind::Block(block), span);
            }
            AstStmt::Expr(expr) => {
                let value = self.expr(expr);
                if !value.ty.ty.is_error() {
                    self.warn_of_unused_comparison(expr);
                    Self::push(out, StmtKind::Expr(value), span);
                }
            }
            AstStmt::Variables(variables) => {
                for variable in variables {
                    self.local_variable(variable, out);
                }
            }
            AstStmt::Item(item) => self.local_item(item, out),
            AstStmt::Items(items) => items.iter().for_each(|item| self.local_item(item, out)),
            AstStmt::If { is_constexpr, init, cond, declared, then, otherwise } => self.in_block(|s| {
                s.condition_declarations(init.as_deref(), declared.as_deref(), out);
                s.if_stmt(*is_constexpr, cond, then, otherwise.as_deref(), span, out);
            }),
            AstStmt::Switch { init, declared, selector, body } => self.in_block(|s| {
                s.condition_declarations(init.as_deref(), declared.as_deref(), out);
                s.switch_stmt(selector, body, span, out);
            }),
            AstStmt::Label(_) => {
                self.error("stray-label", span, "`case` and `default` belong into a `switch`");
            }
            AstStmt::For { init, cond, step, body, hint } => {
                self.for_stmt(init, cond.as_deref(), step.as_deref(), body, hint.as_deref(), span, out);
            }
            AstStmt::RangeFor { ty, variable, bindings, range, body, hint } => {
                let (bindings, hint) = (bindings.as_deref(), hint.as_deref());
                self.range_for(&RangeFor { ty, variable, bindings, range, body, hint, span }, out);
            }
            AstStmt::While { cond, body, hint } => self.while_stmt(cond, body, hint.as_deref(), span, out),
            AstStmt::DoWhile { body, cond, hint } => self.do_stmt(body, cond, hint.as_deref(), span, out),
            AstStmt::Break => {
                if self.function.loops == 0 && self.function.switches == 0 {
                    self.error("stray-break", span, "`break` outside of a loop or switch");
                }
                Self::push(out, StmtKind::Break, span);
            }
            AstStmt::Continue => {
                if self.function.loops == 0 {
                    self.error("stray-continue", span, "`continue` outside of a loop");
                }
                Self::push(out, StmtKind::Continue, span);
            }
            AstStmt::Return(value) => self.return_stmt(value.as_ref(), span, out),
            AstStmt::Fp(pragmas) => Self::push(out, StmtKind::Fp(*pragmas), span),
        }
    }

    /// A statement `a == b;` is most likely meant to be an assignment.
    fn warn_of_unused_comparison(&mut self, expr: &ast::Expr) {
        let AstExpr::Binary(op @ (BinaryOp::Eq | BinaryOp::Ne), ..) = expr.kind else { return };
        let message = format!("the result of `{}` is not used", spelling::binary(op));
        let warning = Diagnostic::warning("unused-comparison", expr.span, message);
        self.report(if op == BinaryOp::Eq { warning.with_hint("to assign, write `=`") } else { warning });
    }

    /// What stands before the condition of an `if` or `switch`, and the variable that is the condition.
    fn condition_declarations(
        &mut self,
        init: Option<&'a ast::Stmt>,
        declared: Option<&'a ast::Variable>,
        out: &mut Vec<Stmt>,
    ) {
        if let Some(init) = init {
            self.stmt(init, out);
        }
        if let Some(declared) = declared {
            self.local_variable(declared, out);
        }
    }

    fn if_stmt(
        &mut self,
        is_constexpr: bool,
        cond: &'a ast::Expr,
        then: &'a ast::Stmt,
        otherwise: Option<&'a ast::Stmt>,
        span: Span,
        out: &mut Vec<Stmt>,
    ) {
        let value = self.expr(cond);
        if is_constexpr {
            let chosen = match self.constant_condition(value) {
                Some(true) => Some(then),
                Some(false) => otherwise,
                None => None,
            };
            if let Some(chosen) = chosen {
                let block = self.body(chosen);
                Self::push(out, StmtKind::Block(block), span);
            }
            return;
        }
        let cond = self.condition(value);
        let then = self.body(then);
        let otherwise = otherwise.map_or_else(Block::default, |otherwise| self.body(otherwise));
        if let ExprKind::Const(ConstValue::Scalar(bits)) = cond.kind {
            let block = if bits != 0 { then } else { otherwise };
            Self::push(out, StmtKind::Block(block), span);
            return;
        }
        if !cond.ty.ty.is_error() {
            Self::push(out, StmtKind::If { cond, then, otherwise }, span);
        }
    }
}

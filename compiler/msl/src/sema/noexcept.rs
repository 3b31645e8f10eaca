//! `noexcept(e)`: whether all calls in an expression are of functions that are declared not to throw.

use super::checker::{Checker, FnDeclId};
use super::function::Origin;
use super::walk;
use crate::ast::{self, Noexcept};
use crate::hir::{Expr, ExprKind, FuncId};
use anymetal_diagnostics::Span;

impl<'a> Checker<'a> {
    pub(super) fn noexcept_expr(&mut self, operand: &'a ast::Expr, span: Span) -> Expr {
        self.function.unevaluated += 1;
        let value = self.expr(operand);
        self.function.unevaluated -= 1;
        if value.ty.ty.is_error() {
            return self.poison(span);
        }
        let mut called = Vec::new();
        walk::each_expr(&value, &mut |expr| called.extend(callee(expr)));
        let holds = called.into_iter().all(|func| self.is_noexcept(func));
        self.bool_const(holds, span)
    }

    fn is_noexcept(&mut self, func: FuncId) -> bool {
        match self.functions.inst(func).origin {
            Origin::Decl(decl) => self.declares_noexcept(decl, func),
            Origin::Synthesised(_) => {
                self.ensure_body(func);
                let mut called = Vec::new();
                if let Some(function) = self.functions.inst(func).hir.clone() {
                    walk::each_in_block(&function.body, &mut |expr| called.extend(callee(expr)));
                }
                called.into_iter().all(|func| self.is_noexcept(func))
            }
            Origin::Dispatch | Origin::Linked => false,
        }
    }

    fn declares_noexcept(&mut self, decl: FnDeclId, func: FuncId) -> bool {
        let ast = self.functions.decl(decl).ast;
        let condition = match &ast.noexcept {
            Noexcept::Absent => return false,
            Noexcept::Always => return true,
            Noexcept::If(condition) => condition,
        };
        let (scope, params) = (self.functions.inst(func).scope, self.functions.inst(func).params.clone());
        let holds = self.quietly(|s| {
            s.in_scope(scope, |s| {
                s.with_param_names(ast, &params, |s| {
                    s.function.unevaluated += 1;
                    let value = s.expr(condition);
                    s.function.unevaluated -= 1;
                    s.constant_condition(value)
                })
            })
        });
        holds.ok().flatten().unwrap_or(false)
    }
}

fn callee(expr: &Expr) -> Option<FuncId> {
    match expr.kind {
        ExprKind::Call(func, _) | ExprKind::Construct(func, _) => Some(func),
        _ => None,
    }
}

//! Statements: each checked one gives some typed statements, in a block scope.
//!
//! This file has the dispatch and `if`; `local_item` is for declarations other than variables.

mod inner_labels;
mod local_item;
mod loops;
mod range_for;
mod returns;
mod switch;

pub(super) use local_item::declare_block_tag;
pub(super) use range_for::counted_loop;
pub(super) use returns::refuse_void;

use self::range_for::RangeFor;
use super::checker::Checker;
use super::entities::{Found, LocalDecl};
use super::{evaluate, expr, function, lint, lookup, variable};
use crate::ast::{self, StmtKind as AstStmt};
use crate::hir::{Block, ConstValue, ExprKind, QualTy, Stmt, StmtKind};
use anymetal_diagnostics::Span;

/// Checks statements in the current block scope.
pub(super) fn check_all<'a>(cx: &mut Checker<'a>, stmts: &'a [ast::Stmt], out: &mut Vec<Stmt>) {
    for stmt in stmts {
        if cx.diagnostics.gave_up() {
            return;
        }
        cx.deeper(stmt.span, |cx| check(cx, stmt, out));
    }
}

/// Checks one statement in a scope of its own.
fn check_body<'a>(cx: &mut Checker<'a>, stmt: &'a ast::Stmt) -> Block {
    let mut stmts = Vec::new();
    let scope = cx.scopes.add_body();
    cx.in_scope(scope, |cx| match &stmt.kind {
        AstStmt::Block(block) => check_all(cx, &block.stmts, &mut stmts),
        _ => {
            cx.deeper(stmt.span, |cx| check(cx, stmt, &mut stmts));
        }
    });
    Block { stmts }
}

fn push(out: &mut Vec<Stmt>, kind: StmtKind, span: Span) {
    out.push(Stmt { kind, span });
}

fn check<'a>(cx: &mut Checker<'a>, stmt: &'a ast::Stmt, out: &mut Vec<Stmt>) {
    let span = stmt.span;
    match &stmt.kind {
        AstStmt::Empty => {}
        AstStmt::Block(block) => {
            let mut stmts = Vec::new();
            cx.in_block(|cx| check_all(cx, &block.stmts, &mut stmts));
            push(out, StmtKind::Block(Block { stmts }), span);
        }
        AstStmt::Expr(expr) => {
            let value = expr::check(cx, expr);
            if !value.ty.ty.is_error() {
                lint::unused_value(cx, expr, &value);
                push(out, StmtKind::Expr(value), span);
            }
        }
        AstStmt::Variables(variables) => check_variables(cx, variables, out),
        AstStmt::Item(item) => local_item::check(cx, item, out),
        AstStmt::Items(items) => items.iter().for_each(|item| local_item::check(cx, item, out)),
        AstStmt::If { is_constexpr, init, cond, declared, then, otherwise } => cx.in_block(|cx| {
            condition_declarations(cx, init.as_deref(), declared.as_deref(), out);
            check_if(cx, *is_constexpr, cond, then, otherwise.as_deref(), span, out);
        }),
        AstStmt::Switch { init, declared, selector, body } => cx.in_block(|cx| {
            condition_declarations(cx, init.as_deref(), declared.as_deref(), out);
            switch::check(cx, selector, body, span, out);
        }),
        AstStmt::Label(_) => {
            cx.error("stray-label", span, "`case` and `default` belong into a `switch`");
        }
        AstStmt::For { init, cond, step, body, hint } => {
            loops::check_for(cx, init, cond.as_deref(), step.as_deref(), body, hint.as_deref(), span, out);
        }
        AstStmt::RangeFor { ty, variable, bindings, range, body, hint } => {
            let (bindings, hint) = (bindings.as_deref(), hint.as_deref());
            range_for::check(cx, &RangeFor { ty, variable, bindings, range, body, hint, span }, out);
        }
        AstStmt::While { cond, body, hint } => loops::check_while(cx, cond, body, hint.as_deref(), span, out),
        AstStmt::DoWhile { body, cond, hint } => loops::check_do(cx, body, cond, hint.as_deref(), span, out),
        AstStmt::Break => {
            if cx.function.loops == 0 && cx.function.switches == 0 {
                cx.error("stray-break", span, "`break` outside of a loop or switch");
            }
            push(out, StmtKind::Break, span);
        }
        AstStmt::Continue => {
            if cx.function.loops == 0 {
                cx.error("stray-continue", span, "`continue` outside of a loop");
            }
            push(out, StmtKind::Continue, span);
        }
        AstStmt::Return(value) => returns::check(cx, value.as_ref(), span, out),
        AstStmt::Fp(pragmas) => push(out, StmtKind::Fp(*pragmas), span),
        AstStmt::Unused(_) => {}
    }
}

/// The variables of one declaration, for all of which `auto` is one type (C++14 [dcl.spec.auto.7]).
fn check_variables<'a>(cx: &mut Checker<'a>, variables: &'a [ast::Variable], out: &mut Vec<Stmt>) {
    let mut first: Option<(QualTy, &ast::Variable)> = None;
    for variable in variables {
        cx.placeholders.deduced_auto = None;
        variable::check_local(cx, variable, out);
        let has_auto = variables.len() > 1 && function::mentions_auto(&variable.ty);
        let Some(deduced) = cx.placeholders.deduced_auto.filter(|_| has_auto) else { continue };
        match first {
            Some((known, other))
                if known != deduced && !cx.is_dependent(known.ty) && !cx.is_dependent(deduced.ty) =>
            {
                let (a, b) = (cx.show(known), cx.show(deduced));
                let (name, other) = (variable.declarator.name, other.declarator.name);
                let message = format!(
                    "`auto` deduced as `{a}` in declaration of `{other}` and as `{b}` in declaration of `{name}`"
                );
                cx.error("auto-not-allowed", variable.span, message);
            }
            Some(_) => {}
            None => first = Some((deduced, variable)),
        }
    }
}

/// What stands before the condition of an `if` or `switch`, and the variable that is the condition.
fn condition_declarations<'a>(
    cx: &mut Checker<'a>,
    init: Option<&'a ast::Stmt>,
    declared: Option<&'a ast::Variable>,
    out: &mut Vec<Stmt>,
) {
    if let Some(init) = init {
        check(cx, init, out);
    }
    if let Some(declared) = declared {
        let errors = cx.diagnostics.error_count();
        variable::check_local(cx, declared, out);
        // C++14 [stmt.stmt.2]
        let ty = lookup::unqualified(cx, declared.declarator.name);
        if let Some(Found::Local(LocalDecl::Variable { ty, .. })) = ty
            && cx.types.as_array(ty.ty).is_some()
            && cx.diagnostics.error_count() == errors
        {
            cx.error("bad-variable", declared.span, "an array type is not allowed here");
        }
    }
}

fn check_if<'a>(
    cx: &mut Checker<'a>,
    is_constexpr: bool,
    cond: &'a ast::Expr,
    then: &'a ast::Stmt,
    otherwise: Option<&'a ast::Stmt>,
    span: Span,
    out: &mut Vec<Stmt>,
) {
    let value = expr::check(cx, cond);
    lint::condition(cx, cond, &value);
    if is_constexpr {
        let chosen = match evaluate::constant_condition(cx, value) {
            Some(true) => Some(then),
            Some(false) => otherwise,
            None => None,
        };
        if let Some(chosen) = chosen {
            let block = check_body(cx, chosen);
            push(out, StmtKind::Block(block), span);
        }
        return;
    }
    let cond = expr::condition(cx, value);
    let known = lint::known_condition(&cond);
    let then = lint::in_code(cx, known != Some(false), |cx| check_body(cx, then));
    let otherwise = lint::in_code(cx, known != Some(true), |cx| {
        otherwise.map_or_else(Block::default, |otherwise| check_body(cx, otherwise))
    });
    if let ExprKind::Const(ConstValue::Scalar(bits)) = cond.kind {
        let block = if bits != 0 { then } else { otherwise };
        push(out, StmtKind::Block(block), span);
        return;
    }
    if !cond.ty.ty.is_error() {
        push(out, StmtKind::If { cond, then, otherwise }, span);
    }
}

//! Loops. All of them become one kind, with a condition before or after the body and a step.
//!
//! Invariant: a `continue` in a body belongs to the loop, and so does a `break` that is in no switch inside
//! it.

use crate::ast::{self, ForInit};
use crate::hir::{Block, ConstValue, Expr, ExprKind, LoopHint, ScalarTy, Stmt, StmtKind};
use crate::sema::checker::Checker;
use crate::sema::{evaluate, expr, lint, stmt, variable};
use anymetal_diagnostics::Span;

fn loop_condition<'a>(cx: &mut Checker<'a>, cond: Option<&'a ast::Expr>) -> Option<Expr> {
    let written = cond?;
    let value = expr::check(cx, written);
    lint::condition(cx, written, &value);
    let cond = expr::condition(cx, value);
    match cond.kind {
        ExprKind::Const(ConstValue::Scalar(1)) => None,
        _ => Some(cond),
    }
}

/// The body of a loop whose head has a block for its names, which the body cannot declare again.
pub(super) fn loop_body<'a>(cx: &mut Checker<'a>, body: &'a ast::Stmt) -> Block {
    in_loop(cx, |cx| stmt::check_body(cx, body))
}

/// The body of a loop whose head declares nothing.
fn plain_body<'a>(cx: &mut Checker<'a>, body: &'a ast::Stmt) -> Block {
    cx.in_block(|cx| loop_body(cx, body))
}

/// Runs `f` where `break` and `continue` belong to a loop.
pub(super) fn in_loop<'a, R>(cx: &mut Checker<'a>, f: impl FnOnce(&mut Checker<'a>) -> R) -> R {
    cx.function.loops += 1;
    let switches = std::mem::take(&mut cx.function.switches);
    let result = f(cx);
    cx.function.switches = switches;
    cx.function.loops -= 1;
    result
}

pub(super) fn loop_hint<'a>(cx: &mut Checker<'a>, hint: Option<&'a ast::LoopHint>) -> Option<LoopHint> {
    let hint = hint?;
    for count in &hint.counts {
        loop_count(cx, count, 1);
    }
    Some(match hint.unroll.as_ref()? {
        ast::Unroll::Full => LoopHint::Full,
        ast::Unroll::Enable => LoopHint::Enable,
        ast::Unroll::Disable => LoopHint::Disable,
        ast::Unroll::Count { count, may_be_zero } => match loop_count(cx, count, i128::from(!may_be_zero)) {
            Some(0) => LoopHint::Disable,
            Some(n @ 1..=65_536) => LoopHint::Count(n as u32),
            _ => LoopHint::Enable,
        },
    })
}

/// The number of a loop pragma, if it is known: a function constant is no more than "please".
fn loop_count<'a>(cx: &mut Checker<'a>, count: &'a ast::Expr, least: i128) -> Option<i128> {
    let value = expr::check(cx, count);
    if value.ty.ty.is_error() {
        return None;
    }
    let scalar = cx.types.scalar_repr(value.ty.ty);
    if scalar.is_none_or(|scalar| scalar.is_float() || matches!(scalar, ScalarTy::Bool | ScalarTy::I8)) {
        let message = format!("the number of a loop pragma is an integer, not a `{}`", cx.show(value.ty));
        cx.error("invalid-pragma", count.span, message);
        return None;
    }
    let n = cx.quietly(|cx| evaluate::constant_integer(cx, value)).ok().flatten()?;
    if !(least..=i128::from(i32::MAX)).contains(&n) {
        cx.error("invalid-pragma", count.span, format!("the number {n} of a loop pragma is out of range"));
        return None;
    }
    Some(n)
}

pub(super) fn check_while<'a>(
    cx: &mut Checker<'a>,
    cond: &'a ast::Expr,
    body: &'a ast::Stmt,
    hint: Option<&'a ast::LoopHint>,
    span: Span,
    out: &mut Vec<Stmt>,
) {
    let cond = loop_condition(cx, Some(cond));
    let hint = loop_hint(cx, hint);
    let body = plain_body(cx, body);
    stmt::push(out, StmtKind::Loop { cond, post_test: false, step: None, body, hint }, span);
}

pub(super) fn check_do<'a>(
    cx: &mut Checker<'a>,
    body: &'a ast::Stmt,
    cond: &'a ast::Expr,
    hint: Option<&'a ast::LoopHint>,
    span: Span,
    out: &mut Vec<Stmt>,
) {
    let hint = loop_hint(cx, hint);
    let body = plain_body(cx, body);
    let cond = loop_condition(cx, Some(cond));
    stmt::push(out, StmtKind::Loop { cond, post_test: true, step: None, body, hint }, span);
}

#[allow(clippy::too_many_arguments, reason = "the parts of one statement")]
pub(super) fn check_for<'a>(
    cx: &mut Checker<'a>,
    init: &'a ForInit,
    cond: Option<&'a ast::Expr>,
    step: Option<&'a ast::Expr>,
    body: &'a ast::Stmt,
    hint: Option<&'a ast::LoopHint>,
    span: Span,
    out: &mut Vec<Stmt>,
) {
    let mut stmts = Vec::new();
    cx.in_block(|cx| {
        match init {
            ForInit::Empty => {}
            ForInit::Declaration(variables) => {
                variables.iter().for_each(|variable| variable::check_local(cx, variable, &mut stmts));
            }
            ForInit::Expr(expr) => {
                let value = expr::check(cx, expr);
                stmt::push(&mut stmts, StmtKind::Expr(value), span);
            }
        }
        let hint = loop_hint(cx, hint);
        let cond = loop_condition(cx, cond);
        let step = step.map(|step| expr::check(cx, step));
        let body = loop_body(cx, body);
        stmt::push(&mut stmts, StmtKind::Loop { cond, post_test: false, step, body, hint }, span);
    });
    stmt::push(out, StmtKind::Block(Block { stmts }), span);
}

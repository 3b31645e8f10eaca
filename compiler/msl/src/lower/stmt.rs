//! Statements.

use super::function::{FunctionLowerer, Target};
use super::{aggregate, place, value};
use crate::hir::{self, StmtKind};
use anymetal_ir as ir;

/// Statements in order; floating-point pragmas among them end with them.
pub(super) fn lower_block(f: &mut FunctionLowerer<'_, '_, '_>, block: &hir::Block) {
    let fp = (f.b.fp, f.b.contract);
    for stmt in &block.stmts {
        if f.b.is_terminated() {
            break;
        }
        lower(f, stmt);
    }
    (f.b.fp, f.b.contract) = fp;
}

fn lower(f: &mut FunctionLowerer<'_, '_, '_>, stmt: &hir::Stmt) {
    f.at(stmt.span);
    match &stmt.kind {
        StmtKind::Expr(expr) => value::effects(f, expr),
        StmtKind::Declare { local, init } => place::bind(f, *local, init.as_ref()),
        StmtKind::Block(block) => lower_block(f, block),
        StmtKind::If { cond, then, otherwise } => {
            let cond = value::lower(f, cond);
            value::branch(f, cond, |f| lower_block(f, then), |f| lower_block(f, otherwise));
        }
        StmtKind::Loop { cond, post_test, step, body, .. } => {
            endless_loop(f, cond.as_ref(), *post_test, step.as_ref(), body);
        }
        StmtKind::Switch { selector, cases } => switch(f, selector, cases),
        StmtKind::Break => {
            let label = f.targets.last().expect("a break is in a loop or switch").label;
            f.b.push(ir::Op::break_(label));
        }
        StmtKind::Continue => {
            let target = f.targets.iter().rev().find(|target| target.is_loop);
            let label = target.expect("a continue is in a loop").label;
            f.b.push(ir::Op::continue_(label));
        }
        StmtKind::Return(value) => return_value(f, value.as_ref()),
        StmtKind::Fp(pragmas) => f.follow(*pragmas),
    }
}

fn endless_loop(
    f: &mut FunctionLowerer<'_, '_, '_>,
    cond: Option<&hir::Expr>,
    post_test: bool,
    step: Option<&hir::Expr>,
    body: &hir::Block,
) {
    let loc = f.b.loc;
    let label = f.b.func.add_label();
    f.targets.push(Target { label, is_loop: true });
    let main = value::nested(f, |f| {
        if !post_test {
            leave_unless(f, cond, label);
        }
        lower_block(f, body);
    });
    let continuing = value::nested(f, |f| {
        if let Some(step) = step {
            value::effects(f, step);
        }
        if post_test {
            leave_unless(f, cond, label);
        }
    });
    f.targets.pop();
    f.b.loc = loc;
    f.b.push(ir::Op::endless(label, main, continuing));
}

fn leave_unless(f: &mut FunctionLowerer<'_, '_, '_>, cond: Option<&hir::Expr>, label: ir::Label) {
    if let Some(cond) = cond {
        let cond = value::lower(f, cond);
        value::branch(f, cond, |_| {}, |f| f.b.push(ir::Op::break_(label)));
    }
}

fn switch(f: &mut FunctionLowerer<'_, '_, '_>, selector: &hir::Expr, cases: &[hir::SwitchCase]) {
    let selector = value::lower(f, selector);
    let loc = f.b.loc;
    let label = f.b.func.add_label();
    f.targets.push(Target { label, is_loop: false });
    let mut lowered = Vec::new();
    let mut default = None;
    for case in cases {
        let body = value::nested(f, |f| lower_block(f, &case.body));
        if case.is_default {
            // Values beside `default` reach it anyway.
            let other = default.replace(body);
            assert_eq!(other, None, "a switch has one default");
        } else {
            lowered.push(ir::SwitchCase { values: case.values.clone(), body });
        }
    }
    f.targets.pop();
    let default = default.unwrap_or_else(|| f.b.func.add_block());
    f.b.loc = loc;
    f.b.push(ir::Op::switch(label, selector, lowered, default));
}

fn return_value(f: &mut FunctionLowerer<'_, '_, '_>, value: Option<&hir::Expr>) {
    let returned = match (value, f.result) {
        (Some(value), Some(result)) => {
            // The result may be what the expression still reads (`a = f(a)` passes no such pointer,
            // but a reference parameter can alias it only through the caller's temporary).
            aggregate::into(f, value, result);
            None
        }
        (Some(value), None) if f.b.func.ret.is_some() => Some(value::lower(f, value)),
        (Some(value), None) => {
            value::effects(f, value);
            None
        }
        (None, _) => f.b.func.ret.map(|ty| f.b.value(ir::Op::Undef, ty)),
    };
    f.b.push(ir::Op::Return(returned));
}

//! Loops whose condition cannot change.

use super::warn;
use crate::hir::{Block, Expr, ExprKind, LocalId, Stmt, StmtKind};
use crate::sema::checker::Checker;
use crate::sema::lint::in_template;
use crate::sema::walk;

/// Warns about `for` statements of which no variable in the condition is changed.
pub(super) fn check(cx: &mut Checker<'_>, stmts: &[Stmt]) {
    if in_template(cx) {
        return;
    }
    let mut found = Vec::new();
    each_for(stmts, &mut |cond, step, body| {
        if let Some(locals) = unchanged(cond, step, body) {
            found.push((cond.span, locals));
        }
    });
    for (span, locals) in found {
        let name = |local: &LocalId| format!("'{}'", cx.function.locals[local.0 as usize].name);
        let names: Vec<String> = locals.iter().map(name).collect();
        if names.iter().any(|name| name == "''") {
            continue;
        }
        let listed = match &names[..] {
            [a] => format!("variable {a}"),
            [a, b] => format!("variables {a} and {b}"),
            [first @ .., last] if first.len() < 4 => format!("variables {}, and {last}", first.join(", ")),
            _ => "variables".to_owned(),
        };
        warn(
            cx,
            "for-loop-analysis",
            span,
            format!("{listed} used in loop condition not modified in loop body"),
        );
    }
}

fn each_for(stmts: &[Stmt], f: &mut dyn FnMut(&Expr, &Expr, &Block)) {
    for stmt in stmts {
        match &stmt.kind {
            StmtKind::Loop { cond, step, body, .. } => {
                if let (Some(cond), Some(step)) = (cond, step) {
                    f(cond, step, body);
                }
                each_for(&body.stmts, f);
            }
            StmtKind::Block(block) => each_for(&block.stmts, f),
            StmtKind::If { then, otherwise, .. } => {
                each_for(&then.stmts, f);
                each_for(&otherwise.stmts, f);
            }
            StmtKind::Switch { cases, .. } => cases.iter().for_each(|case| each_for(&case.body.stmts, f)),
            _ => {}
        }
    }
}

/// The variables of a condition that is made of these alone, if nothing changes them and nothing in the body
/// leaves the loop.
fn unchanged(cond: &Expr, step: &Expr, body: &Block) -> Option<Vec<LocalId>> {
    let mut locals = Vec::new();
    read(cond, &mut locals).then_some(())?;
    if locals.is_empty() || leaves(&body.stmts) {
        return None;
    }
    let mut is_changed = false;
    let mut loaded: *const Expr = std::ptr::null();
    // The walk visits the only operand of a load next.
    let mut visit = |expr: &Expr| match &expr.kind {
        ExprKind::Load(place) => loaded = std::ptr::from_ref(&**place),
        ExprKind::Local(local) if !std::ptr::eq(loaded, expr) => is_changed |= locals.contains(local),
        _ => {}
    };
    walk::each_expr(step, &mut visit);
    walk::each_in_block(body, &mut visit);
    (!is_changed).then_some(locals)
}

/// Adds the variables that an expression reads; false where it does anything else.
fn read(expr: &Expr, locals: &mut Vec<LocalId>) -> bool {
    match &expr.kind {
        ExprKind::Load(place) => match place.kind {
            ExprKind::Local(local) if !place.ty.is_volatile => {
                if !locals.contains(&local) {
                    locals.push(local);
                }
                true
            }
            _ => false,
        },
        ExprKind::Const(_) => true,
        ExprKind::Unary(_, a) | ExprKind::Cast(_, a) => read(a, locals),
        ExprKind::Binary(_, a, b) | ExprKind::Compare(_, a, b) | ExprKind::Logical(_, a, b) => {
            read(a, locals) && read(b, locals)
        }
        _ => false,
    }
}

/// Whether there is a `return` or a `break`, whichever loop that leaves.
fn leaves(stmts: &[Stmt]) -> bool {
    stmts.iter().any(|stmt| match &stmt.kind {
        StmtKind::Return(_) | StmtKind::Break => true,
        StmtKind::Block(block) => leaves(&block.stmts),
        StmtKind::If { then, otherwise, .. } => leaves(&then.stmts) || leaves(&otherwise.stmts),
        StmtKind::Loop { body, .. } => leaves(&body.stmts),
        StmtKind::Switch { cases, .. } => cases.iter().any(|case| leaves(&case.body.stmts)),
        _ => false,
    })
}

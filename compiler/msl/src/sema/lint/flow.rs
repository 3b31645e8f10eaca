//! Ways through a function's body: ends without a value, calls of itself, loops without an end, variables
//! without a value.

mod loops;
mod uninitialised;

use super::warn;
use crate::hir::{CastKind, Expr, ExprKind, FuncId, QualTy, Stmt, StmtKind, SwitchCase, Ty};
use crate::sema::checker::Checker;
use crate::sema::walk;
use anymetal_diagnostics::Span;
use rustc_hash::FxHashSet;

/// Where control can go after a statement, besides `return`.
#[derive(Clone, Copy, Default)]
struct Exits {
    /// The next statement is reached.
    end: bool,
    /// A `break` leaves the loop or switch around it.
    breaks: bool,
    continues: bool,
}

impl Exits {
    const END: Self = Self { end: true, breaks: false, continues: false };

    fn or(self, other: Self) -> Self {
        Self {
            end: self.end || other.end,
            breaks: self.breaks || other.breaks,
            continues: self.continues || other.continues,
        }
    }
}

/// Warns about a function with this body. `braces` is where the body is.
pub(super) fn check(cx: &mut Checker<'_>, id: FuncId, name: Span, braces: Span, ret: QualTy, stmts: &[Stmt]) {
    if ret.ty != Ty::VOID && cx.diagnostics.wants("return-type") && exits(cx, stmts).end {
        let end = Span { lo: braces.hi.saturating_sub(1).max(braces.lo), ..braces };
        let message = match returns(stmts) {
            true => "non-void function does not return a value in all control paths",
            false => "non-void function does not return a value",
        };
        warn(cx, "return-type", end, message);
    }
    if cx.diagnostics.wants("infinite-recursion") && !leaves(id, stmts).may_leave() {
        warn(cx, "infinite-recursion", name, "all paths through this function will call itself");
    }
    if cx.diagnostics.wants("for-loop-analysis") {
        loops::check(cx, stmts);
    }
    if cx.diagnostics.wants("uninitialized") || cx.diagnostics.wants("sometimes-uninitialized") {
        uninitialised::check(cx, stmts);
    }
}

/// How statements are left.
fn exits(cx: &Checker<'_>, stmts: &[Stmt]) -> Exits {
    let mut all = Exits::END;
    for stmt in stmts {
        if !all.end {
            break;
        }
        let next = exits_of(cx, stmt);
        all = Exits { end: false, ..all }.or(next);
    }
    all
}

fn exits_of(cx: &Checker<'_>, stmt: &Stmt) -> Exits {
    match &stmt.kind {
        StmtKind::Expr(expr) => Exits { end: !never_returns(cx, expr), ..Exits::default() },
        StmtKind::Declare { .. } | StmtKind::Fp(_) => Exits::END,
        StmtKind::Return(_) => Exits::default(),
        StmtKind::Break => Exits { breaks: true, ..Exits::default() },
        StmtKind::Continue => Exits { continues: true, ..Exits::default() },
        StmtKind::Block(block) => exits(cx, &block.stmts),
        StmtKind::If { then, otherwise, .. } => exits(cx, &then.stmts).or(exits(cx, &otherwise.stmts)),
        StmtKind::Loop { cond, post_test, body, .. } => {
            let body = exits(cx, &body.stmts);
            let reaches_condition = !*post_test || body.end || body.continues;
            Exits { end: body.breaks || (cond.is_some() && reaches_condition), ..Exits::default() }
        }
        StmtKind::Switch { selector, cases } => {
            let all = cases.iter().fold(Exits::default(), |all, case| all.or(exits(cx, &case.body.stmts)));
            let may_skip = !cases.iter().any(|case| case.is_default) && !is_covered(cx, selector, cases);
            Exits { end: all.end || all.breaks || may_skip, breaks: false, continues: all.continues }
        }
    }
}

fn never_returns(cx: &Checker<'_>, expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Call(func, _) if cx.functions.inst(func).name == "__builtin_unreachable")
}

/// Whether a switch has a case for each enumerator.
fn is_covered(cx: &Checker<'_>, selector: &Expr, cases: &[SwitchCase]) -> bool {
    let mut selector = selector;
    while let ExprKind::Cast(CastKind::Convert, inner) = &selector.kind {
        selector = inner;
    }
    let Some(id) = cx.types.as_enum(selector.ty.ty) else {
        // The cases do not list all values of an integer.
        return false;
    };
    let values = &cx.enums.get(id).values;
    let labels: FxHashSet<i64> = cases.iter().flat_map(|case| &case.values).copied().collect();
    !values.is_empty() && values.iter().all(|&(value, _)| labels.contains(&(value as i64)))
}

/// Whether there is a `return` anywhere.
fn returns(stmts: &[Stmt]) -> bool {
    stmts.iter().any(|stmt| match &stmt.kind {
        StmtKind::Return(_) => true,
        StmtKind::Block(block) => returns(&block.stmts),
        StmtKind::If { then, otherwise, .. } => returns(&then.stmts) || returns(&otherwise.stmts),
        StmtKind::Loop { body, .. } => returns(&body.stmts),
        StmtKind::Switch { cases, .. } => cases.iter().any(|case| returns(&case.body.stmts)),
        _ => false,
    })
}

/// Ways through statements on which a function does not call itself.
#[derive(Clone, Copy, Default)]
struct WithoutCall {
    /// To the next statement.
    end: bool,
    /// Out of the function, or out of a loop or switch.
    away: bool,
}

impl WithoutCall {
    fn may_leave(self) -> bool {
        self.end || self.away
    }
}

fn leaves(function: FuncId, stmts: &[Stmt]) -> WithoutCall {
    let mut all = WithoutCall { end: true, away: false };
    for stmt in stmts {
        let next = leaves_stmt(function, stmt);
        all = WithoutCall { end: next.end, away: all.away || next.away };
        if !all.end {
            break;
        }
    }
    all
}

fn leaves_stmt(function: FuncId, stmt: &Stmt) -> WithoutCall {
    let calls = |expr: &Expr| always_calls(function, expr);
    match &stmt.kind {
        StmtKind::Expr(expr) | StmtKind::Declare { init: Some(expr), .. } if calls(expr) => {
            WithoutCall::default()
        }
        StmtKind::Return(value) => WithoutCall { end: false, away: !value.as_ref().is_some_and(calls) },
        StmtKind::Break | StmtKind::Continue => WithoutCall { end: false, away: true },
        StmtKind::Block(block) => leaves(function, &block.stmts),
        StmtKind::If { cond, then, otherwise } => {
            if calls(cond) {
                return WithoutCall::default();
            }
            let (a, b) = (leaves(function, &then.stmts), leaves(function, &otherwise.stmts));
            WithoutCall { end: a.end || b.end, away: a.away || b.away }
        }
        // A loop may not run, and a switch may have no case: what is in them does not matter.
        StmtKind::Loop { cond, .. } if !cond.as_ref().is_some_and(calls) => {
            WithoutCall { end: true, away: true }
        }
        StmtKind::Switch { selector, .. } if !calls(selector) => WithoutCall { end: true, away: true },
        StmtKind::Loop { .. } | StmtKind::Switch { .. } => WithoutCall::default(),
        StmtKind::Expr(_) | StmtKind::Declare { .. } | StmtKind::Fp(_) => {
            WithoutCall { end: true, away: false }
        }
    }
}

/// Whether evaluating an expression always calls the function.
fn always_calls(function: FuncId, expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Call(callee, _) if *callee == function => true,
        // The other operands may be skipped.
        ExprKind::Logical(_, first, _) | ExprKind::Conditional(first, ..) => always_calls(function, first),
        _ => {
            let mut found = false;
            walk::operands(expr, &mut |operand| found = found || always_calls(function, operand));
            found
        }
    }
}

//! Switches with labels inside of nested statements, such as Duff's device.
//!
//! Each label has a number, and the body runs in order with the statements before the chosen label skipped:
//! `entered` becomes true at the label, other statements are conditional on it, and a loop that is entered in
//! the middle does not test its condition first.

use super::switch::Cases;
use super::{loops, switch};
use crate::ast::{self, ForInit, StmtKind as AstStmt};
use crate::hir::{
    Block, CompareOp, Expr, ExprKind, LocalId, LogicalOp, QualTy, ScalarTy, Stmt, StmtKind, SwitchCase, Ty,
    UnaryOp,
};
use crate::sema::checker::Checker;
use crate::sema::diagnostics::Diagnostics;
use crate::sema::expr::scalar_const;
use crate::sema::{expr, stmt, variable};
use crate::token::Name;
use anymetal_diagnostics::{Diagnostic, Span};

/// A switch while its body is checked.
struct Entry {
    /// Whether the chosen label was reached.
    entered: LocalId,
    /// The number of the chosen label.
    target: LocalId,
    /// A case for each label, which sets `target`.
    cases: Cases,
    is_good: bool,
}

/// The cases that choose a label, and the statements that follow.
pub(super) fn entered_switch<'a>(
    cx: &mut Checker<'a>,
    stmts: &'a [ast::Stmt],
    scalar: ScalarTy,
    span: Span,
) -> Option<(Cases, Vec<Stmt>)> {
    let entered = cx.function.new_local(Name::EMPTY, Ty::BOOL, span);
    let target = cx.function.new_local(Name::EMPTY, Ty::INT, span);
    let mut entry = Entry { entered, target, cases: Cases::new(scalar), is_good: true };
    let mut body = Vec::new();
    entered_stmts(cx, stmts, &mut entry, &mut body);
    let mut out = Vec::new();
    for (local, value) in [(entered, expr::bool_const(false, span)), (target, number(-1, span))] {
        stmt::push(&mut out, StmtKind::Declare { local, init: Some(value) }, span);
    }
    let Entry { cases, is_good, .. } = entry;
    // A switch, so that `break` leaves it.
    let case = SwitchCase { values: Vec::new(), is_default: true, body: Block { stmts: body } };
    stmt::push(&mut out, StmtKind::Switch { selector: number(0, span), cases: vec![case] }, span);
    is_good.then_some((cases, out))
}

fn entered_stmts<'a>(cx: &mut Checker<'a>, stmts: &'a [ast::Stmt], entry: &mut Entry, out: &mut Vec<Stmt>) {
    // Statements without labels, to be skipped together.
    let mut plain = Vec::new();
    for (n, stmt) in stmts.iter().enumerate() {
        if cx.diagnostics.gave_up() {
            return;
        }
        let span = stmt.span;
        if has_labels(stmt) {
            push_if_entered(&mut plain, entry, span, out);
            cx.deeper(span, |cx| entered_stmt(cx, stmt, entry, out));
            continue;
        }
        if let AstStmt::Fp(pragmas) = stmt.kind {
            push_if_entered(&mut plain, entry, span, out);
            stmt::push(out, StmtKind::Fp(pragmas), span);
            continue;
        }
        if stmts[n + 1..].iter().any(has_labels) {
            refuse_jump_past(&mut cx.diagnostics, stmt, entry);
        }
        cx.deeper(span, |cx| stmt::check(cx, stmt, &mut plain));
    }
    let span = stmts.last().map_or(Span::NONE, |stmt| stmt.span);
    push_if_entered(&mut plain, entry, span, out);
}

/// Reports a variable whose initialisation a later label of the same block jumps past.
fn refuse_jump_past(diagnostics: &mut Diagnostics, stmt: &ast::Stmt, entry: &mut Entry) {
    let AstStmt::Variables(variables) = &stmt.kind else { return };
    if let Some(variable) = variables.iter().find(|variable| variable.init.is_some()) {
        jump_past(diagnostics, variable, entry);
    }
}

fn jump_past(diagnostics: &mut Diagnostics, variable: &ast::Variable, entry: &mut Entry) {
    let name = variable.declarator.name;
    let message = format!("a label of the switch jumps past the initialisation of `{name}`");
    let hint = "declare the variable before the switch";
    diagnostics.report(Diagnostic::error("jump-past-initialiser", variable.span, message).with_hint(hint));
    entry.is_good = false;
}

fn push_if_entered(plain: &mut Vec<Stmt>, entry: &Entry, span: Span, out: &mut Vec<Stmt>) {
    if !plain.is_empty() {
        let then = Block { stmts: std::mem::take(plain) };
        let cond = load(entry.entered, Ty::BOOL, span);
        stmt::push(out, StmtKind::If { cond, then, otherwise: Block::default() }, span);
    }
}

/// A label, or a statement with labels inside.
fn entered_stmt<'a>(cx: &mut Checker<'a>, stmt: &'a ast::Stmt, entry: &mut Entry, out: &mut Vec<Stmt>) {
    let span = stmt.span;
    if let AstStmt::Label(label) = &stmt.kind {
        return entry_label(cx, label, entry, span, out);
    }
    let first = entry.cases.count();
    let mut inner = Vec::new();
    cx.in_block(|cx| match &stmt.kind {
        AstStmt::Block(block) => entered_stmts(cx, &block.stmts, entry, &mut inner),
        AstStmt::If { is_constexpr: false, init: None, cond, declared: None, then, otherwise } => {
            entered_if(cx, cond, then, otherwise.as_deref(), entry, span, &mut inner);
        }
        AstStmt::While { cond, body, hint } => {
            let value = expr::check(cx, cond);
            let cond = expr::condition(cx, value);
            let cond = Some(unless_entered(entry, cond));
            let hint = loops::loop_hint(cx, hint.as_deref());
            let body = entered_loop_body(cx, body, entry);
            stmt::push(&mut inner, StmtKind::Loop { cond, post_test: false, step: None, body, hint }, span);
        }
        AstStmt::DoWhile { body, cond, hint } => {
            let hint = loops::loop_hint(cx, hint.as_deref());
            let body = entered_loop_body(cx, body, entry);
            let value = expr::check(cx, cond);
            let cond = Some(expr::condition(cx, value));
            stmt::push(&mut inner, StmtKind::Loop { cond, post_test: true, step: None, body, hint }, span);
        }
        AstStmt::For { init, cond, step, body, hint } => {
            match &**init {
                ForInit::Empty => {}
                ForInit::Declaration(variables) => {
                    variables.iter().for_each(|variable| variable::check_local(cx, variable, &mut inner));
                    if let Some(variable) = variables.first() {
                        jump_past(&mut cx.diagnostics, variable, entry);
                    }
                }
                ForInit::Expr(expr) => {
                    let value = expr::check(cx, expr);
                    let mut init = vec![Stmt { kind: StmtKind::Expr(value), span }];
                    push_if_entered(&mut init, entry, span, &mut inner);
                }
            }
            let cond = cond.as_deref().map(|cond| {
                let value = expr::check(cx, cond);
                let cond = expr::condition(cx, value);
                unless_entered(entry, cond)
            });
            let step = step.as_deref().map(|step| expr::check(cx, step));
            let hint = loops::loop_hint(cx, hint.as_deref());
            let body = entered_loop_body(cx, body, entry);
            stmt::push(&mut inner, StmtKind::Loop { cond, post_test: false, step, body, hint }, span);
        }
        _ => {
            cx.error("stray-label", span, "a label of a switch cannot be inside of this statement");
            entry.is_good = false;
        }
    });
    let within = within(entry, first, span);
    let cond = logical(LogicalOp::Or, load(entry.entered, Ty::BOOL, span), within);
    stmt::push(out, StmtKind::If { cond, then: Block { stmts: inner }, otherwise: Block::default() }, span);
}

fn entry_label<'a>(
    cx: &mut Checker<'a>,
    label: &'a ast::SwitchLabel,
    entry: &mut Entry,
    span: Span,
    out: &mut Vec<Stmt>,
) {
    let number_of_label = entry.cases.count();
    let mut case = SwitchCase { values: Vec::new(), is_default: false, body: Block::default() };
    entry.is_good &= switch::case_label(cx, label, span, &mut case, &mut entry.cases);
    let value = number(number_of_label as i64, span);
    stmt::push(&mut case.body.stmts, StmtKind::Expr(store(entry.target, value)), span);
    entry.cases.push(case);
    let reached = expr::bool_const(true, span);
    let mut then = Vec::new();
    stmt::push(&mut then, StmtKind::Expr(store(entry.entered, reached)), span);
    let cond = within(entry, number_of_label, span);
    stmt::push(out, StmtKind::If { cond, then: Block { stmts: then }, otherwise: Block::default() }, span);
}

fn entered_if<'a>(
    cx: &mut Checker<'a>,
    cond: &'a ast::Expr,
    then: &'a ast::Stmt,
    otherwise: Option<&'a ast::Stmt>,
    entry: &mut Entry,
    span: Span,
    out: &mut Vec<Stmt>,
) {
    let value = expr::check(cx, cond);
    let cond = expr::condition(cx, value);
    let first = entry.cases.count();
    let then = entered_block(cx, then, entry);
    let chosen = within(entry, first, span);
    let otherwise = otherwise.map_or_else(Block::default, |stmt| entered_block(cx, stmt, entry));
    let entered = Box::new(load(entry.entered, Ty::BOOL, span));
    let kind = ExprKind::Conditional(entered, Box::new(cond), Box::new(chosen));
    let cond = Expr::value(kind, Ty::BOOL, span);
    stmt::push(out, StmtKind::If { cond, then, otherwise }, span);
}

fn entered_block<'a>(cx: &mut Checker<'a>, stmt: &'a ast::Stmt, entry: &mut Entry) -> Block {
    let mut stmts = Vec::new();
    cx.in_block(|cx| match &stmt.kind {
        AstStmt::Block(block) => entered_stmts(cx, &block.stmts, entry, &mut stmts),
        _ => entered_stmts(cx, std::slice::from_ref(stmt), entry, &mut stmts),
    });
    Block { stmts }
}

fn entered_loop_body<'a>(cx: &mut Checker<'a>, body: &'a ast::Stmt, entry: &mut Entry) -> Block {
    loops::in_loop(cx, |cx| entered_block(cx, body, entry))
}

/// The condition, which does not count before the label is reached.
fn unless_entered(entry: &Entry, cond: Expr) -> Expr {
    let span = cond.span;
    let entered = Box::new(load(entry.entered, Ty::BOOL, span));
    let outside = Expr::value(ExprKind::Unary(UnaryOp::Not, entered), Ty::BOOL, span);
    logical(LogicalOp::Or, outside, cond)
}

/// Whether the number of the chosen label is at least `first` and less than the number of labels so far.
fn within(entry: &Entry, first: usize, span: Span) -> Expr {
    let compare = |op, bound: usize| {
        let target = Box::new(load(entry.target, Ty::INT, span));
        Expr::value(ExprKind::Compare(op, target, Box::new(number(bound as i64, span))), Ty::BOOL, span)
    };
    let end = entry.cases.count();
    logical(LogicalOp::And, compare(CompareOp::Ge, first), compare(CompareOp::Lt, end))
}

fn logical(op: LogicalOp, a: Expr, b: Expr) -> Expr {
    let span = a.span;
    Expr::value(ExprKind::Logical(op, Box::new(a), Box::new(b)), Ty::BOOL, span)
}

fn number(n: i64, span: Span) -> Expr {
    scalar_const(ScalarTy::I32, u64::from(n as u32), span)
}

fn place(local: LocalId, ty: Ty, span: Span) -> Expr {
    Expr::place(ExprKind::Local(local), QualTy::plain(ty), span)
}

fn load(local: LocalId, ty: Ty, span: Span) -> Expr {
    Expr::value(ExprKind::Load(Box::new(place(local, ty, span))), ty, span)
}

fn store(local: LocalId, value: Expr) -> Expr {
    let (ty, span) = (value.ty, value.span);
    let target = Box::new(place(local, ty.ty, span));
    Expr::place(ExprKind::Assign(target, Box::new(value)), ty, span)
}

/// Whether a statement is, or contains, a label of the switch around it.
pub(super) fn has_labels(stmt: &ast::Stmt) -> bool {
    match &stmt.kind {
        AstStmt::Label(_) => true,
        AstStmt::Block(block) => block.stmts.iter().any(has_labels),
        AstStmt::If { then, otherwise, .. } => {
            has_labels(then) || otherwise.as_ref().is_some_and(|stmt| has_labels(stmt))
        }
        AstStmt::For { body, .. }
        | AstStmt::RangeFor { body, .. }
        | AstStmt::While { body, .. }
        | AstStmt::DoWhile { body, .. } => has_labels(body),
        // Labels in a nested switch are of that one.
        AstStmt::Switch { .. }
        | AstStmt::Empty
        | AstStmt::Expr(_)
        | AstStmt::Variables(_)
        | AstStmt::Item(_)
        | AstStmt::Items(_)
        | AstStmt::Break
        | AstStmt::Continue
        | AstStmt::Return(_)
        | AstStmt::Fp(_)
        | AstStmt::Unused(_) => false,
    }
}

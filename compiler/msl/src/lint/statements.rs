//! Conditions, bodies and `else` that are easily mistaken, and qualifiers without an effect.

use super::Linter;
use crate::ast::{Expr, ExprKind, Function, PostfixOp, Stmt, StmtKind, TypeKind, UnaryOp};
use crate::token::Name;

pub(super) fn check(linter: &mut Linter<'_>, stmt: &Stmt) {
    match &stmt.kind {
        StmtKind::If { cond, then, otherwise, .. } => {
            condition(linter, cond);
            empty_body(linter, cond, then, "if statement has empty body");
            if otherwise.is_none() {
                dangling_else(linter, then);
            }
        }
        StmtKind::While { cond, body, .. } => {
            condition(linter, cond);
            empty_body_of_loop(linter, cond, body, "while loop has empty body");
        }
        StmtKind::DoWhile { cond, .. } => condition(linter, cond),
        StmtKind::For { cond, step, body, .. } => {
            cond.iter().for_each(|cond| condition(linter, cond));
            if let Some(last) = step.as_ref().or(cond.as_ref()) {
                empty_body_of_loop(linter, last, body, "for loop has empty body");
            }
            if let Some(step) = step {
                changed_twice(linter, step, body);
            }
        }
        StmtKind::RangeFor { range, body, .. } => {
            empty_body_of_loop(linter, range, body, "range-based for loop has empty body");
        }
        StmtKind::Switch { selector, body, .. } => {
            empty_body(linter, selector, body, "switch statement has empty body");
        }
        _ => {}
    }
}

fn condition(linter: &mut Linter<'_>, cond: &Expr) {
    let ExprKind::Assign(op, ..) = &cond.kind else {
        // Other conditions, an assignment in parentheses included, are meant.
        return;
    };
    let hint = match op.0 {
        None => "place parentheses around the assignment to silence this warning, or use '==' to compare",
        Some(_) => "place parentheses around the assignment to silence this warning",
    };
    let message = "using the result of an assignment as a condition without parentheses";
    linter.warn("condition-assignment", cond.span, message, Some(hint));
}

/// A body `;` on the line on which the head ends.
fn empty_body(linter: &mut Linter<'_>, head: &Expr, body: &Stmt, message: &str) {
    if !matches!(body.kind, StmtKind::Empty) || head.span.file != body.span.file {
        return;
    }
    let file = linter.map.file(body.span.file);
    // A declaration that declares nothing (`long;`) is no statement either.
    let is_semicolon = linter.text_from(body.span, body.span.lo).starts_with(';');
    let shares_line =
        file.is_some_and(|file| file.line_number(head.span.hi) == file.line_number(body.span.lo));
    if is_semicolon && shares_line {
        let hint = "put the semicolon on a separate line to silence this warning";
        linter.warn("empty-body", body.span, message, Some(hint));
    }
}

/// The body of a loop may well be empty; not so if a block follows that looks like the body.
fn empty_body_of_loop(linter: &mut Linter<'_>, head: &Expr, body: &Stmt, message: &str) {
    let after = linter.text_from(body.span, body.span.hi);
    if after_comments(after).starts_with('{') {
        empty_body(linter, head, body, message);
    }
}

fn after_comments(text: &str) -> &str {
    let mut rest = text.trim_start();
    loop {
        let after = if let Some(line) = rest.strip_prefix("//") {
            line.split_once('\n').map_or("", |(_, after)| after)
        } else if let Some(block) = rest.strip_prefix("/*") {
            block.split_once("*/").map_or("", |(_, after)| after)
        } else {
            return rest;
        };
        rest = after.trim_start();
    }
}

/// `for (…; …; i++) { …; i++; }`
fn changed_twice(linter: &mut Linter<'_>, step: &Expr, body: &Stmt) {
    let StmtKind::Block(block) = &body.kind else {
        // A single statement that changes the variable is not reported by clang.
        return;
    };
    let Some(StmtKind::Expr(last)) = block.stmts.last().map(|stmt| &stmt.kind) else {
        // Only the last statement is certainly executed together with the step.
        return;
    };
    let (Some(in_head), Some(in_body)) = (counted(step), counted(last)) else {
        // `i += 2` in one of the places may be meant.
        return;
    };
    if in_head == in_body && !continues(&block.stmts) {
        let (name, is_incremented) = in_body;
        let word = if is_incremented { "incremented" } else { "decremented" };
        let message = format!("variable '{name}' is {word} both in the loop header and in the loop body");
        linter.warn("for-loop-analysis", last.span, message, None);
    }
}

/// The variable of `i++`, `++i`, `i--` or `--i`, and whether it is incremented.
fn counted(expr: &Expr) -> Option<(Name, bool)> {
    let (inner, is_incremented) =
        match &expr.kind {
            ExprKind::Postfix(PostfixOp::Increment, inner)
            | ExprKind::Unary(UnaryOp::PreIncrement, inner) => (inner, true),
            ExprKind::Postfix(PostfixOp::Decrement, inner)
            | ExprKind::Unary(UnaryOp::PreDecrement, inner) => (inner, false),
            _ => return None,
        };
    match &inner.kind {
        ExprKind::Path(path) if path.segments.len() == 1 => Some((path.segments[0].name, is_incremented)),
        _ => None,
    }
}

/// Whether there is a `continue`, whichever loop it is of.
fn continues(stmts: &[Stmt]) -> bool {
    stmts.iter().any(|stmt| match &stmt.kind {
        StmtKind::Continue => true,
        StmtKind::Block(block) => continues(&block.stmts),
        StmtKind::If { then, otherwise, .. } => {
            continues(std::slice::from_ref(then))
                || otherwise.iter().any(|stmt| continues(std::slice::from_ref(stmt)))
        }
        StmtKind::For { body, .. }
        | StmtKind::RangeFor { body, .. }
        | StmtKind::While { body, .. }
        | StmtKind::DoWhile { body, .. }
        | StmtKind::Switch { body, .. } => continues(std::slice::from_ref(body)),
        _ => false,
    })
}

/// `if (a) if (b) x; else y;`
fn dangling_else(linter: &mut Linter<'_>, then: &Stmt) {
    let mut inner = then;
    loop {
        match &inner.kind {
            StmtKind::If { otherwise: Some(otherwise), .. } => {
                let message = "add explicit braces to avoid dangling else";
                linter.warn("dangling-else", otherwise.span, message, None);
                return;
            }
            StmtKind::For { body, .. } | StmtKind::RangeFor { body, .. } | StmtKind::While { body, .. } => {
                inner = body;
            }
            _ => return,
        }
    }
}

pub(super) fn ignored_qualifiers(linter: &mut Linter<'_>, function: &Function) {
    let Some(ret) = &function.ret else {
        // Constructors and conversions have no written result.
        return;
    };
    if !matches!(ret.kind, TypeKind::Builtin(_) | TypeKind::Pointer(_)) {
        return;
    }
    let (word, verb) = match (ret.quals.is_const, ret.quals.is_volatile) {
        (true, true) => ("const volatile", "s on return type have"),
        (true, false) => ("const", " on return type has"),
        (false, true) => ("volatile", " on return type has"),
        (false, false) => return,
    };
    let message = format!("'{word}' type qualifier{verb} no effect");
    linter.warn("ignored-qualifiers", ret.span, message, None);
}

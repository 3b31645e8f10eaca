//! Variables that an expression changes and uses in an order that nothing determines.
//!
//! Compares operands of infix operators only: those of an assignment are sequenced, and arguments of calls
//! are indeterminately sequenced (C++17 [intro.execution], [expr.call]).

use super::is_quiet;
use crate::hir::{Expr, ExprKind, LocalId, Stmt};
use crate::sema::checker::Checker;
use crate::sema::walk;
use anymetal_diagnostics::{Diagnostic, Span};

/// Operators of one expression that are nested deeper are not looked at.
const MAX_DEPTH: u32 = 200;

/// What evaluating an expression does with variables.
#[derive(Default)]
struct Effects {
    reads: Vec<(LocalId, Span)>,
    writes: Vec<(LocalId, Span)>,
}

impl Effects {
    fn extend(&mut self, other: Effects) {
        self.reads.extend(other.reads);
        self.writes.extend(other.writes);
    }
}

/// A variable that is changed, where, and whether it is changed twice.
type Found = (LocalId, Span, bool);

/// Warns about the expressions of statements.
pub(super) fn check(cx: &mut Checker<'_>, stmts: &[Stmt]) {
    let mut stack = Vec::new();
    walk::each_full_expr(stmts, &mut |expr| {
        if writes_within(expr, &mut stack) {
            check_expr(cx, expr);
        }
    });
}

/// Whether a part of the expression changes a variable. An assignment around everything else does not count:
/// it is sequenced after its operands. `stack` is room that calls share.
fn writes_within<'e>(expr: &'e Expr, stack: &mut Vec<&'e Expr>) -> bool {
    stack.clear();
    walk::operands(expr, &mut |operand| stack.push(operand));
    while let Some(part) = stack.pop() {
        match &part.kind {
            ExprKind::Update { .. } | ExprKind::Assign(..) => return true,
            ExprKind::Load(place) if matches!(place.kind, ExprKind::Local(_)) => {}
            _ => walk::operands(part, &mut |operand| stack.push(operand)),
        }
    }
    false
}

fn check_expr(cx: &mut Checker<'_>, expr: &Expr) {
    let mut found: Vec<Found> = Vec::new();
    effects(expr, 0, &mut found);
    found.sort_unstable_by_key(|(local, span, _)| (*local, span.lo));
    found.dedup_by_key(|(local, ..)| *local);
    for (local, span, is_twice) in found {
        let name = cx.function.locals[local.0 as usize].name;
        if name.as_str().is_empty() {
            continue;
        }
        let message = match is_twice {
            true => format!("multiple unsequenced modifications to '{name}'"),
            false => format!("unsequenced modification and access to '{name}'"),
        };
        if !is_quiet(cx, span) {
            cx.report(Diagnostic::warning("unsequenced", span, message));
        }
    }
}

fn effects(expr: &Expr, depth: u32, found: &mut Vec<Found>) -> Effects {
    let mut all = Effects::default();
    if depth > MAX_DEPTH {
        return all;
    }
    match &expr.kind {
        ExprKind::Load(place) => match place.kind {
            ExprKind::Local(local) => all.reads.push((local, expr.span)),
            _ => all = effects(place, depth + 1, found),
        },
        ExprKind::Update { rhs, place, .. } => {
            if let Some((_, rhs)) = rhs {
                all = effects(rhs, depth + 1, found);
            }
            write(place, expr.span, depth, &mut all, found);
        }
        ExprKind::Assign(place, value) => {
            all = effects(value, depth + 1, found);
            write(place, expr.span, depth, &mut all, found);
        }
        ExprKind::Binary(_, a, b) | ExprKind::Compare(_, a, b) => {
            let (a, b) = (effects(a, depth + 1, found), effects(b, depth + 1, found));
            compare(&a, &b, found);
            compare(&b, &a, found);
            all.extend(a);
            all.extend(b);
        }
        _ => walk::operands(expr, &mut |operand| all.extend(effects(operand, depth + 1, found))),
    }
    all
}

fn write(place: &Expr, span: Span, depth: u32, all: &mut Effects, found: &mut Vec<Found>) {
    match place.kind {
        ExprKind::Local(local) => all.writes.push((local, span)),
        _ => all.extend(effects(place, depth + 1, found)),
    }
}

/// Finds what one operand changes and the other changes or reads.
fn compare(changing: &Effects, other: &Effects, found: &mut Vec<Found>) {
    for &(local, span) in &changing.writes {
        let is_of = |(known, _): &&(LocalId, Span)| *known == local;
        if let Some((_, second)) = other.writes.iter().find(is_of) {
            if span.lo <= second.lo {
                found.push((local, span, true));
            }
        } else if other.reads.iter().any(|(known, _)| *known == local) {
            found.push((local, span, false));
        }
    }
}

//! Operators whose precedence is easily mistaken (`-Wparentheses`).

use super::Linter;
use crate::ast::{BinaryOp as Op, Expr, ExprKind, UnaryOp};
use crate::sema::spelling;

pub(super) fn check(linter: &mut Linter<'_>, expr: &Expr) {
    match &expr.kind {
        ExprKind::Binary(op, lhs, rhs) => match op {
            Op::LogicalOr => and_in_or(linter, lhs, rhs),
            Op::BitAnd | Op::BitXor | Op::BitOr => {
                comparison_in_bitwise(linter, *op, lhs, rhs);
                bitwise_in_bitwise(linter, *op, lhs, rhs);
            }
            Op::Shl | Op::Shr => sum_in_shift(linter, *op, lhs, rhs),
            Op::Lt | Op::Le | Op::Gt | Op::Ge => chained_comparison(linter, expr, lhs),
            _ => {}
        },
        ExprKind::Conditional(cond, ..) => conditional(linter, cond),
        _ => {}
    }
}

/// The operator of a binary expression that is not in parentheses.
fn operator(expr: &Expr) -> Option<Op> {
    if let ExprKind::Binary(op, ..) = expr.kind { Some(op) } else { None }
}

fn is_relational(op: Op) -> bool {
    matches!(op, Op::Lt | Op::Le | Op::Gt | Op::Ge)
}

fn is_comparison(op: Op) -> bool {
    is_relational(op) || matches!(op, Op::Eq | Op::Ne)
}

fn is_bitwise(op: Op) -> bool {
    matches!(op, Op::BitAnd | Op::BitXor | Op::BitOr)
}

fn and_in_or(linter: &mut Linter<'_>, lhs: &Expr, rhs: &Expr) {
    for operand in [lhs, rhs] {
        let ExprKind::Binary(Op::LogicalAnd, a, b) = &operand.kind else { continue };
        // `a && "text"` is an idiom of assertions.
        if [a, b].iter().any(|side| matches!(side.kind, ExprKind::Str(_))) {
            continue;
        }
        let hint = "place parentheses around the '&&' expression to silence this warning";
        linter.warn("logical-op-parentheses", operand.span, "'&&' within '||'", Some(hint));
    }
}

fn comparison_in_bitwise(linter: &mut Linter<'_>, op: Op, lhs: &Expr, rhs: &Expr) {
    let (left, right) = (operator(lhs), operator(rhs));
    let compares = |op: Option<Op>| op.is_some_and(is_comparison);
    // Two comparisons are joined without short-circuiting on purpose, and so is a chain of them.
    let is_chain = [left, right].iter().any(|op| op.is_some_and(is_bitwise));
    let (operand, inner) = match (left, right) {
        _ if is_chain || compares(left) == compares(right) => return,
        (Some(inner), _) if is_comparison(inner) => (lhs, inner),
        (_, Some(inner)) => (rhs, inner),
        _ => unreachable!("one of the operands is a comparison"),
    };
    let (op, inner) = (spelling::binary(op), spelling::binary(inner));
    let message = format!("{op} has lower precedence than {inner}; {inner} will be evaluated first");
    let hint = format!("place parentheses around the '{inner}' expression to silence this warning");
    linter.warn("bitwise-precedence", operand.span, message, Some(&hint));
}

fn bitwise_in_bitwise(linter: &mut Linter<'_>, op: Op, lhs: &Expr, rhs: &Expr) {
    let binds_tighter = |inner: Op| match op {
        Op::BitOr => matches!(inner, Op::BitAnd | Op::BitXor),
        Op::BitXor => inner == Op::BitAnd,
        _ => false,
    };
    for operand in [lhs, rhs] {
        let Some(inner) = operator(operand).filter(|inner| binds_tighter(*inner)) else { continue };
        let (outer, inner) = (spelling::binary(op), spelling::binary(inner));
        let hint = format!("place parentheses around the '{inner}' expression to silence this warning");
        let message = format!("'{inner}' within '{outer}'");
        linter.warn("bitwise-op-parentheses", operand.span, message, Some(&hint));
    }
}

fn sum_in_shift(linter: &mut Linter<'_>, op: Op, lhs: &Expr, rhs: &Expr) {
    for operand in [lhs, rhs] {
        let Some(inner @ (Op::Add | Op::Sub)) = operator(operand) else { continue };
        let (op, inner) = (spelling::binary(op), spelling::binary(inner));
        let message =
            format!("operator '{op}' has lower precedence than '{inner}'; '{inner}' will be evaluated first");
        let hint = format!("place parentheses around the '{inner}' expression to silence this warning");
        linter.warn("shift-op-parentheses", operand.span, message, Some(&hint));
    }
}

fn chained_comparison(linter: &mut Linter<'_>, expr: &Expr, lhs: &Expr) {
    if operator(lhs).is_some_and(is_relational) {
        let message = "comparisons like 'X<=Y<=Z' don't have their mathematical meaning";
        linter.warn("chained-comparison", expr.span, message, None);
    }
}

/// `a + b ? x : y` where `b` looks like a condition.
fn conditional(linter: &mut Linter<'_>, cond: &Expr) {
    let ExprKind::Binary(op, _, rhs) = &cond.kind else {
        // Only operators bind tighter than `?`.
        return;
    };
    let is_arithmetic = matches!(op, Op::Add | Op::Sub | Op::Mul | Op::Div | Op::Rem | Op::Shl | Op::Shr);
    if !(is_arithmetic || is_bitwise(*op)) || !looks_boolean(rhs) {
        return;
    }
    // `a & b` is a usual condition.
    let id = if is_bitwise(*op) { "bitwise-conditional-parentheses" } else { "conditional-precedence" };
    let op = spelling::binary(*op);
    let message = format!("operator '?:' has lower precedence than '{op}'; '{op}' will be evaluated first");
    let hint = "place parentheses around the '?:' expression to evaluate it first";
    linter.warn(id, cond.span, message, Some(hint));
}

fn looks_boolean(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Paren(inner) => looks_boolean(inner),
        ExprKind::Binary(op, ..) => is_comparison(*op) || matches!(op, Op::LogicalAnd | Op::LogicalOr),
        ExprKind::Unary(UnaryOp::Not, _) | ExprKind::Bool(_) => true,
        _ => false,
    }
}

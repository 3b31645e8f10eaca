//! Operators without assignment: from syntax to the function or the builtin meaning they have.
//!
//! Operator functions come first (`overloaded`); what no function takes goes to the builtin operators, whose
//! operands are brought to one type by the usual conversions (`operands`). A builtin operator gives `None`
//! where its operands do not fit, and the caller reports that.

mod arithmetic;
mod comparison;
mod conditional;
mod overloaded;

pub(super) use conditional::check_conditional;
pub(super) use overloaded::{binary_function, call, is_overloadable};

use super::checker::Checker;
use super::diagnostics::Diagnostics;
use super::values::bit_field;
use super::{assign, convert, expr, function_pointer, lint, record, spelling};
use crate::ast::{self, BinaryOp as Op, ExprKind as Ast, UnaryOp as Unary};
use crate::hir::{Expr, ExprKind, QualTy, Ty, Types};
use crate::token::Name;
use anymetal_diagnostics::Span;
use comparison::compare_op;

/// A chain of left-associative operators, without recursion on its left side.
pub(super) fn check_chain<'a>(cx: &mut Checker<'a>, expr: &'a ast::Expr) -> Expr {
    let mut chain = Vec::new();
    let mut at = expr;
    while let Ast::Binary(op, lhs, rhs) = &at.kind {
        let negated = matches!(lhs.kind, Ast::Unary(Unary::Not, _));
        chain.push((*op, rhs.as_ref(), at.span, negated));
        at = lhs;
    }
    let mut value = expr::check(cx, at);
    while let Some((op, rhs, span, negated)) = chain.pop() {
        let not = negated.then(|| lint::negation(&value));
        value = binary_step(cx, op, value, rhs, span, not);
    }
    value
}

/// `not` is what a `!` that is the left operand is applied to.
fn binary_step<'a>(
    cx: &mut Checker<'a>,
    op: Op,
    lhs: Expr,
    rhs: &'a ast::Expr,
    span: Span,
    not: Option<Ty>,
) -> Expr {
    let skipped = match (op, lint::known_condition(&lhs)) {
        (Op::LogicalAnd, Some(known)) => !known,
        (Op::LogicalOr, Some(known)) => known,
        _ => false,
    };
    let rhs = match &rhs.kind {
        Ast::InitList(_) => {
            cx.error("init-list", rhs.span, "an initialiser list cannot be an operand");
            cx.poison(rhs.span)
        }
        _ => lint::in_code(cx, !skipped, |cx| expr::check(cx, rhs)),
    };
    if let Some(not) = not {
        lint::logical_not(cx, op, not, rhs.ty.ty, lhs.span);
    }
    binary(cx, op, lhs, rhs, span)
}

/// A binary operator on checked operands.
pub(super) fn binary(cx: &mut Checker<'_>, op: Op, lhs: Expr, rhs: Expr, span: Span) -> Expr {
    if lhs.ty.ty.is_error() || rhs.ty.ty.is_error() {
        return cx.poison(span);
    }
    if let Some(result) = overloaded::binary_function(cx, spelling::binary(op), "", &lhs, &rhs, span) {
        return result;
    }
    if op == Op::Comma {
        let ty = rhs.ty;
        let is_place = rhs.is_place;
        return Expr { kind: ExprKind::Comma(Box::new(lhs), Box::new(rhs)), ty, is_place, span };
    }
    let written = (lhs.ty.ty, rhs.ty.ty);
    // Operands of `&&` and `||` are conditions, which explicit conversions serve as well.
    let is_logical = matches!(op, Op::LogicalAnd | Op::LogicalOr);
    let (lhs, rhs) = match is_logical {
        true => (lhs, rhs),
        false => (convert::builtin_operand(cx, lhs), convert::builtin_operand(cx, rhs)),
    };
    let (lhs, rhs) = (cx.values().promoted(lhs), cx.values().promoted(rhs));
    let (lhs, rhs) = (cx.values().rvalue(lhs), cx.values().rvalue(rhs));
    if lhs.ty.ty.is_error() || rhs.ty.ty.is_error() {
        return cx.poison(span);
    }
    lint::operands(cx, op, &lhs, &rhs, written, span);
    let (left, right) = (lhs.ty, rhs.ty);
    let result = match op {
        Op::LogicalAnd | Op::LogicalOr => comparison::logical(cx, op, lhs, rhs, span),
        Op::Eq | Op::Ne | Op::Lt | Op::Gt | Op::Le | Op::Ge => {
            comparison::comparison(cx, compare_op(op), lhs, rhs, span)
        }
        Op::Shl | Op::Shr => cx.values().shift(op, lhs, rhs, span),
        _ => arithmetic::arithmetic(cx, op, lhs, rhs, span),
    };
    result.unwrap_or_else(|| {
        bad_operands(&cx.types, &mut cx.diagnostics, spelling::binary(op), left, Some(right), span)
    })
}

fn bad_operands(
    types: &Types,
    diagnostics: &mut Diagnostics,
    op: &str,
    lhs: QualTy,
    rhs: Option<QualTy>,
    span: Span,
) -> Expr {
    let left = types.display_qual(lhs);
    let message = match rhs {
        Some(rhs) => format!("invalid operands to `{op}`: `{left}` and `{}`", types.display_qual(rhs)),
        None => format!("invalid operand to `{op}`: `{left}`"),
    };
    diagnostics.error("invalid-operands", span, message);
    diagnostics.poison(span)
}

pub(super) fn check_unary<'a>(cx: &mut Checker<'a>, op: Unary, inner: &'a ast::Expr, span: Span) -> Expr {
    if matches!(op, Unary::PreIncrement | Unary::PreDecrement) {
        return assign::check_increment(cx, inner, op == Unary::PreDecrement, false, span);
    }
    let operand = expr::check(cx, inner);
    let is_member = matches!(inner.kind, ast::ExprKind::Member { .. });
    if op == Unary::AddressOf
        && !operand.is_place
        && (function_pointer::is_function_name(inner)
            || (is_member && cx.types.pointed_function(operand.ty.ty).is_some()))
    {
        // The name of a function is a pointer to it.
        return operand;
    }
    unary(cx, op, operand, span)
}

/// A unary operator on a checked operand; not `++` and `--`.
pub(super) fn unary(cx: &mut Checker<'_>, op: Unary, operand: Expr, span: Span) -> Expr {
    if operand.ty.ty.is_error() {
        return operand;
    }
    if overloaded::is_overloadable(&cx.types, operand.ty.ty) {
        let name = Name::new(&format!("operator{}", spelling::unary(op)));
        if let Some(result) = overloaded::call(cx, name, vec![operand.clone()], span) {
            return result;
        }
    }
    match op {
        Unary::AddressOf => address_of(&mut cx.types, &mut cx.diagnostics, operand, span),
        Unary::Deref => {
            let pointer = convert::builtin_operand(cx, operand);
            let pointer = cx.values().rvalue(pointer);
            dereference(cx, pointer, span)
        }
        Unary::Not => comparison::logical_not(cx, operand, span),
        _ => {
            let operand = convert::builtin_operand(cx, operand);
            let operand = cx.values().promoted(operand);
            let value = cx.values().rvalue(operand);
            arithmetic::unary_arithmetic(cx, op, value, span)
        }
    }
}

fn address_of(types: &mut Types, diagnostics: &mut Diagnostics, operand: Expr, span: Span) -> Expr {
    if !operand.is_place {
        diagnostics.error(
            "address-of-value",
            span,
            "only variables and memory have an address, and this is a value",
        );
        return diagnostics.poison(span);
    }
    if bit_field(types, &operand).is_some() {
        diagnostics.error("address-of-value", span, "a bit-field has no address");
        return diagnostics.poison(span);
    }
    if matches!(&operand.kind, ExprKind::Swizzle(_, picks) if picks.len() > 1) {
        diagnostics.error("address-of-value", span, "several elements of a vector have no address");
        return diagnostics.poison(span);
    }
    let pointer = types.pointer(operand.ty);
    Expr::value(ExprKind::AddressOf(Box::new(operand)), pointer, span)
}

/// What a pointer points to.
pub(super) fn dereference(cx: &mut Checker<'_>, pointer: Expr, span: Span) -> Expr {
    match cx.types.pointee(pointer.ty.ty) {
        Some(_) if cx.types.pointed_function(pointer.ty.ty).is_some() => pointer,
        Some(to) if to.ty != Ty::VOID => {
            if !record::complete_type(cx, to.ty, span) {
                return cx.poison(span);
            }
            Expr::place(ExprKind::Deref(Box::new(pointer)), to, span)
        }
        _ if pointer.ty.ty.is_error() => pointer,
        _ => bad_operands(&cx.types, &mut cx.diagnostics, "*", pointer.ty, None, span),
    }
}

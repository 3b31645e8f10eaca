//! Operands of infix operators: signs, ranges, shift counts, comparisons that are always true.

use super::{bounds, in_template, warn};
use crate::ast::BinaryOp as Op;
use crate::hir::{BinaryOp, CastKind, ConstValue, Expr, ExprKind, ScalarTy, Ty, Types, UnaryOp};
use crate::sema::checker::Checker;
use crate::sema::convert::promote;
use crate::sema::evaluate::{self, integer_of};
use crate::sema::values::arithmetic_scalar;
use anymetal_diagnostics::{ExpansionId, Span};

/// How deep ranges of values are computed.
const MAX_DEPTH: u32 = 16;

/// Looks at the values of two operands, before they are brought to one type. `written` are their types before
/// promotion.
pub(in crate::sema) fn operands(
    cx: &mut Checker<'_>,
    op: Op,
    lhs: &Expr,
    rhs: &Expr,
    written: (Ty, Ty),
    span: Span,
) {
    match op {
        Op::Eq | Op::Ne | Op::Lt | Op::Gt | Op::Le | Op::Ge => comparison(cx, op, lhs, rhs, written, span),
        Op::Shl | Op::Shr => shift_count(cx, lhs, rhs),
        Op::Add | Op::Sub | Op::Mul => overflow(cx, op, lhs, rhs, span),
        _ => {}
    }
}

fn constant(types: &Types, expr: &Expr) -> Option<i128> {
    let ExprKind::Const(value @ ConstValue::Scalar(_)) = &expr.kind else {
        // Not known before the program runs.
        return None;
    };
    integer_of(types, expr.ty.ty, value)
}

/// The type of the operand of `!`, before its conversion to `bool`.
pub(in crate::sema) fn negation(value: &Expr) -> Ty {
    let ExprKind::Unary(UnaryOp::Not, operand) = &value.kind else {
        // `!` of a constant is a constant: its operand's type is lost, and `bool` is never reported.
        return Ty::BOOL;
    };
    match &operand.kind {
        ExprKind::Cast(CastKind::Convert | CastKind::PointerToBool, inner) => inner.ty.ty,
        _ => operand.ty.ty,
    }
}

/// `!a == b` where neither is a truth value.
pub(in crate::sema) fn logical_not(cx: &mut Checker<'_>, op: Op, negated: Ty, rhs: Ty, span: Span) {
    let what = match op {
        Op::Eq | Op::Ne | Op::Lt | Op::Gt | Op::Le | Op::Ge => "comparison",
        Op::BitAnd => "bitwise operator",
        _ => return,
    };
    if negated != Ty::BOOL && rhs != Ty::BOOL && cx.types.as_scalar(rhs).is_some() {
        let message = format!("logical not is only applied to the left hand side of this {what}");
        warn(cx, "logical-not-parentheses", span, message);
    }
}

fn comparison(cx: &mut Checker<'_>, op: Op, lhs: &Expr, rhs: &Expr, written: (Ty, Ty), span: Span) {
    let is_enum = |cx: &Checker<'_>, ty| {
        cx.types.as_enum(ty).is_some_and(|id| !cx.types.enumeration(id).name.starts_with('('))
    };
    if written.0 != written.1 && is_enum(cx, written.0) && is_enum(cx, written.1) {
        let (a, b) = (cx.types.display(written.0), cx.types.display(written.1));
        warn(
            cx,
            "enum-compare",
            span,
            format!("comparison of different enumeration types ('{a}' and '{b}')"),
        );
        return;
    }
    let scalars = (arithmetic_scalar(&cx.types, lhs.ty.ty), arithmetic_scalar(&cx.types, rhs.ty.ty));
    let (Some(left), Some(right)) = scalars else {
        // Pointers and vectors are compared in other ways.
        return;
    };
    if !left.is_integral() || !right.is_integral() {
        return;
    }
    if !in_template(cx) {
        if span.expansion == ExpansionId::NONE && is_same_value(lhs, rhs) {
            let result = matches!(op, Op::Eq | Op::Le | Op::Ge);
            let message = format!("self-comparison always evaluates to {result}");
            warn(cx, "tautological-compare", span, message);
            return;
        }
        out_of_range(cx, op, lhs, rhs, span);
        bitwise(cx, op, lhs, rhs, span);
    }
    sign_compare(cx, op, (lhs, left), (rhs, right), written, span);
}

fn sign_compare(
    cx: &mut Checker<'_>,
    op: Op,
    (lhs, left): (&Expr, ScalarTy),
    (rhs, right): (&Expr, ScalarTy),
    written: (Ty, Ty),
    span: Span,
) {
    let (left, right) = (promote(left), promote(right));
    if left.is_signed() == right.is_signed() {
        return;
    }
    let ((signed, signed_ty), (unsigned, unsigned_ty)) =
        if left.is_signed() { ((lhs, left), (rhs, right)) } else { ((rhs, right), (lhs, left)) };
    // A larger signed type has all values of the unsigned one.
    if signed_ty.size() > unsigned_ty.size() || range(&cx.types, signed, 0).is_positive {
        return;
    }
    // A negative value, converted to unsigned, differs from every small value.
    let bits = unsigned_ty.size() * 8;
    if matches!(op, Op::Eq | Op::Ne) && range(&cx.types, unsigned, 0).bits < bits {
        return;
    }
    // The result of comparing two constants is known.
    if [lhs, rhs].into_iter().all(|operand| evaluate::strict_value_of(cx, operand).is_ok()) {
        return;
    }
    let (a, b) = (cx.types.display(written.0), cx.types.display(written.1));
    warn(cx, "sign-compare", span, format!("comparison of integers of different signs: '{a}' and '{b}'"));
}

/// Bounds of an integer's value: the bits it needs, and whether it is at least zero.
#[derive(Clone, Copy)]
struct Range {
    bits: u32,
    is_positive: bool,
}

fn range(types: &Types, expr: &Expr, depth: u32) -> Range {
    let full = match arithmetic_scalar(types, expr.ty.ty) {
        Some(ScalarTy::Bool) => return Range { bits: 1, is_positive: true },
        Some(scalar) => Range { bits: scalar.size() * 8, is_positive: !scalar.is_signed() },
        None => return Range { bits: 64, is_positive: false },
    };
    if depth > MAX_DEPTH {
        return full;
    }
    let of = |expr: &Expr| range(types, expr, depth + 1);
    let known = match &expr.kind {
        ExprKind::Const(_) => constant(types, expr).map(|n| Range {
            bits: if n < 0 { 129 - n.leading_ones() } else { 128 - n.leading_zeros() },
            is_positive: n >= 0,
        }),
        ExprKind::Cast(CastKind::Convert, inner)
            if types.element(inner.ty.ty).is_some_and(ScalarTy::is_integral) =>
        {
            Some(of(inner)).filter(|inner| inner.is_positive && inner.bits <= full.bits)
        }
        ExprKind::Conditional(_, a, b) => {
            let (a, b) = (of(a), of(b));
            Some(Range { bits: a.bits.max(b.bits), is_positive: a.is_positive && b.is_positive })
        }
        ExprKind::Binary(op, a, b) => of_binary(types, *op, (of(a), of(b)), b),
        _ => None,
    };
    known.filter(|known| known.bits < full.bits || full.is_positive).unwrap_or(full)
}

fn of_binary(types: &Types, op: BinaryOp, (a, b): (Range, Range), rhs: &Expr) -> Option<Range> {
    let is_positive = a.is_positive && b.is_positive;
    let bits = match op {
        BinaryOp::And if a.is_positive || b.is_positive => {
            let positive = [a, b].into_iter().filter(|side| side.is_positive).map(|side| side.bits);
            return positive.min().map(|bits| Range { bits, is_positive: true });
        }
        BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => a.bits.max(b.bits),
        BinaryOp::Add => a.bits.max(b.bits) + 1,
        BinaryOp::Mul => a.bits + b.bits,
        BinaryOp::Div => a.bits,
        BinaryOp::Rem => return Some(Range { bits: a.bits.min(b.bits), is_positive: a.is_positive }),
        BinaryOp::Shr => {
            let count = constant(types, rhs).and_then(|n| u32::try_from(n).ok()).unwrap_or(0);
            return Some(Range { bits: a.bits.saturating_sub(count), is_positive: a.is_positive });
        }
        BinaryOp::Sub | BinaryOp::Shl => return None,
    };
    Some(Range { bits, is_positive })
}

/// A comparison with a constant that the other operand's type does not have.
fn out_of_range(cx: &mut Checker<'_>, op: Op, lhs: &Expr, rhs: &Expr, span: Span) {
    let (known, other, op) = match (constant(&cx.types, lhs), constant(&cx.types, rhs)) {
        (None, Some(known)) => ((known, rhs), lhs, op),
        (Some(known), None) => ((known, lhs), rhs, swapped(op)),
        _ => return,
    };
    let (value, constant) = known;
    let types = &cx.types;
    let (Some(scalar), Some(of_constant)) = (types.as_scalar(other.ty.ty), types.as_scalar(constant.ty.ty))
    else {
        // Elements of vectors are compared after conversions.
        return;
    };
    if scalar == ScalarTy::Bool {
        return;
    }
    // In an unsigned comparison, negative values are converted to large ones.
    let (a, b) = (promote(scalar), promote(of_constant));
    let is_unsigned = (a.size() >= b.size() && !a.is_signed()) || (b.size() >= a.size() && !b.is_signed());
    if is_unsigned && (scalar.is_signed() || value < 0) {
        return;
    }
    let (low, high) = bounds(scalar);
    if (low..=high).contains(&value) {
        return;
    }
    let result = match op {
        Op::Eq => false,
        Op::Ne => true,
        Op::Lt | Op::Le => value > high,
        _ => value < low,
    };
    let shown = types.display(other.ty.ty);
    let message = format!(
        "result of comparison of constant {value} with expression of type '{shown}' is always {result}"
    );
    warn(cx, "tautological-constant-out-of-range-compare", span, message);
}

/// The same comparison with its operands swapped.
fn swapped(op: Op) -> Op {
    match op {
        Op::Lt => Op::Gt,
        Op::Gt => Op::Lt,
        Op::Le => Op::Ge,
        Op::Ge => Op::Le,
        other => other,
    }
}

/// `(a & 8) == 4`, `(a | 8) == 4`
fn bitwise(cx: &mut Checker<'_>, op: Op, lhs: &Expr, rhs: &Expr, span: Span) {
    if !matches!(op, Op::Eq | Op::Ne) {
        return;
    }
    let (value, inner) = match (constant(&cx.types, lhs), constant(&cx.types, rhs)) {
        (None, Some(value)) => (value, lhs),
        (Some(value), None) => (value, rhs),
        _ => return,
    };
    let ExprKind::Binary(inner_op, a, b) = &inner.kind else {
        // Bits of other operands are not known.
        return;
    };
    let Some(mask) = constant(&cx.types, a).or_else(|| constant(&cx.types, b)) else {
        // Nor are those of a mask that is not constant.
        return;
    };
    let is_never = match inner_op {
        BinaryOp::And => mask & value != value,
        BinaryOp::Or => mask | value != value,
        _ => false,
    };
    if is_never {
        let result = op == Op::Ne;
        let message = format!("bitwise comparison always evaluates to {result}");
        warn(cx, "tautological-bitwise-compare", span, message);
    }
}

fn shift_count(cx: &mut Checker<'_>, lhs: &Expr, rhs: &Expr) {
    let Some(scalar) = arithmetic_scalar(&cx.types, lhs.ty.ty).filter(|scalar| scalar.is_integral()) else {
        // Vectors have no such warning, and other types no shifts.
        return;
    };
    let Some(count) = constant(&cx.types, rhs) else {
        // The count is known when the program runs.
        return;
    };
    if count < 0 {
        warn(cx, "shift-count-negative", rhs.span, "shift count is negative");
    } else if count >= promote(scalar).size() as i128 * 8 {
        warn(cx, "shift-count-overflow", rhs.span, "shift count >= width of type");
    }
}

/// Signed arithmetic on constants.
fn overflow(cx: &mut Checker<'_>, op: Op, lhs: &Expr, rhs: &Expr, span: Span) {
    let (Some(a), Some(b)) = (constant(&cx.types, lhs), constant(&cx.types, rhs)) else {
        // Only results of constants are known.
        return;
    };
    let types = &cx.types;
    let (Some(left), Some(right)) = (types.as_scalar(lhs.ty.ty), types.as_scalar(rhs.ty.ty)) else {
        // Elements of vectors wrap around.
        return;
    };
    let (left, right) = (promote(left), promote(right));
    let wider = if left.size() >= right.size() { left } else { right };
    let other = if left.size() >= right.size() { right } else { left };
    let is_unsigned = !wider.is_signed() || (other.size() == wider.size() && !other.is_signed());
    if is_unsigned {
        return;
    }
    let exact = match op {
        Op::Add => a + b,
        Op::Sub => a - b,
        _ => a * b,
    };
    let (low, high) = bounds(wider);
    if !(low..=high).contains(&exact) {
        let wrapped = (exact - low).rem_euclid(high - low + 1) + low;
        let shown = cx.types.display(Ty::scalar(wider));
        let message = format!("overflow in expression; result is {wrapped} with type '{shown}'");
        warn(cx, "integer-overflow", span, message);
    }
}

fn is_same_value(a: &Expr, b: &Expr) -> bool {
    match (&a.kind, &b.kind) {
        (ExprKind::Load(a), ExprKind::Load(b)) => !a.ty.is_volatile && is_same_place(a, b),
        _ => false,
    }
}

/// Whether two places without effects are the same.
pub(super) fn is_same_place(a: &Expr, b: &Expr) -> bool {
    match (&a.kind, &b.kind) {
        (ExprKind::Local(a), ExprKind::Local(b)) => a == b,
        (ExprKind::Threadgroup(a), ExprKind::Threadgroup(b)) => a == b,
        (ExprKind::Global(a), ExprKind::Global(b)) => a == b,
        (ExprKind::Field(a, _, n), ExprKind::Field(b, _, m)) => n == m && is_same_place(a, b),
        (ExprKind::Swizzle(a, n), ExprKind::Swizzle(b, m)) => n == m && is_same_place(a, b),
        (ExprKind::Deref(a), ExprKind::Deref(b)) => is_same_value(a, b),
        _ => false,
    }
}

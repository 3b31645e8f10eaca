//! Warnings that depend on types, by clang's names.
//!
//! Skips the Metal library, unevaluated operands, and code that is unreachable because of a constant
//! condition, which is common in instances of templates. `operands` looks at operators, `values` and
//! `flow` at bodies of functions; this file is about statements and conversions.

mod flow;
mod operands;
mod sequence;
mod values;

pub(super) use operands::{logical_not, negation, operands};

use super::checker::Checker;
use super::walk;
use crate::ast::{self, BinaryOp as Op, CastKind as Written, ExprKind as Ast, FunctionBody};
use crate::hir::{CompareOp, ConstValue, Expr, ExprKind, FuncId, QualTy, RecordId, ScalarTy, Stmt, Ty};
use crate::sema::evaluate::integer_of;
use crate::token::Name;
use anymetal_diagnostics::{Diagnostic, ExpansionId, Span};
use std::collections::BTreeMap;

/// Whether warnings about the current code are suppressed.
fn is_quiet(cx: &Checker<'_>, span: Span) -> bool {
    cx.function.dead > 0 || cx.function.unevaluated > 0 || cx.diagnostics.is_of_library(span)
}

fn warn(cx: &mut Checker<'_>, id: &'static str, span: Span, message: impl Into<String>) {
    if !is_quiet(cx, span) {
        cx.report(Diagnostic::warning(id, span, message));
    }
}

/// Whether the current code is a template's, of which other instances have other types and constants.
fn in_template(cx: &Checker<'_>) -> bool {
    cx.diagnostics.requested_at().is_some()
}

/// Runs `f` for code that runs, or that a constant condition keeps from running.
pub(super) fn in_code<'a, R>(cx: &mut Checker<'a>, runs: bool, f: impl FnOnce(&mut Checker<'a>) -> R) -> R {
    cx.function.dead += u32::from(!runs);
    let result = f(cx);
    cx.function.dead -= u32::from(!runs);
    result
}

/// Whether a constant condition holds.
pub(super) fn known_condition(cond: &Expr) -> Option<bool> {
    if let ExprKind::Const(ConstValue::Scalar(bits)) = cond.kind { Some(bits != 0) } else { None }
}

/// `if ((a == b))`
pub(super) fn condition(cx: &mut Checker<'_>, written: &ast::Expr, value: &Expr) {
    let Ast::Paren(inner) = &written.kind else {
        // A comparison without additional parentheses is no misspelt assignment.
        return;
    };
    let ExprKind::Compare(CompareOp::Eq, lhs, _) = &value.kind else {
        // An operator function may do something else than compare.
        return;
    };
    let is_written = matches!(inner.kind, Ast::Binary(Op::Eq, ..));
    if !is_written || written.span.expansion != ExpansionId::NONE || in_template(cx) {
        return;
    }
    let mut operand = lhs;
    while let ExprKind::Cast(_, inner) = &operand.kind {
        operand = inner;
    }
    // Only what could be assigned to is mistaken for an assignment.
    if matches!(&operand.kind, ExprKind::Load(place) if !place.ty.is_const) {
        warn(cx, "parentheses-equality", inner.span, "equality comparison with extraneous parentheses");
    }
}

// --- statements

/// A statement whose value is lost.
pub(super) fn unused_value(cx: &mut Checker<'_>, written: &ast::Expr, value: &Expr) {
    let mut written = written;
    while let Ast::Paren(inner) = &written.kind {
        written = inner;
    }
    let span = written.span;
    if let ExprKind::Call(func, _) = value.kind
        && let Some(attribute) = nodiscard(cx, func)
    {
        let message = format!("ignoring return value of function declared with '{attribute}' attribute");
        warn(cx, "unused-result", span, message);
        return;
    }
    if let Ast::Binary(op, ..) = written.kind {
        let word = match op {
            Op::Eq => "equality",
            Op::Ne => "inequality",
            Op::Lt | Op::Le | Op::Gt | Op::Ge => "relational",
            _ => "",
        };
        if !word.is_empty() {
            if !is_quiet(cx, span) {
                let message = format!("{word} comparison result unused");
                let warning = Diagnostic::warning("unused-comparison", span, message);
                cx.report(match op {
                    Op::Eq => {
                        warning.with_hint("use '=' to turn this equality comparison into an assignment")
                    }
                    _ => warning,
                });
            }
            return;
        }
    }
    if value.ty.ty == Ty::VOID || span.expansion != ExpansionId::NONE {
        return;
    }
    if is_lost(written, value) {
        let message = match written.kind {
            Ast::Cast(Written::CStyle, ..) => "expression result unused; should this cast be to 'void'?",
            _ => "expression result unused",
        };
        warn(cx, "unused-value", span, message);
    }
}

/// The attribute that says that the result of a function is to be used.
fn nodiscard(cx: &Checker<'_>, func: FuncId) -> Option<Name> {
    let decl = cx.functions.inst(func).origin.decl()?;
    let says_so = |name: &str| matches!(name, "nodiscard" | "warn_unused_result");
    let attributes = &cx.functions.decl(decl).ast.attributes;
    attributes.iter().map(|attribute| attribute.name).find(|name| says_so(name.as_str()))
}

/// Whether an expression has no effect besides its value.
fn is_lost(written: &ast::Expr, value: &Expr) -> bool {
    match &written.kind {
        // The operands' effects do not make the operator useful.
        Ast::Binary(op, ..) if !matches!(op, Op::LogicalAnd | Op::LogicalOr | Op::Comma) => matches!(
            value.kind,
            ExprKind::Binary(..) | ExprKind::PointerAdd(..) | ExprKind::PointerDiff(..) | ExprKind::Const(_)
        ),
        Ast::Binary(..)
        | Ast::Unary(..)
        | Ast::Path(_)
        | Ast::Index(..)
        | Ast::Member { .. }
        | Ast::Conditional(..)
        | Ast::Cast(..)
        | Ast::Int { .. }
        | Ast::Float { .. }
        | Ast::Bool(_)
        | Ast::Char(_)
        | Ast::Nullptr => !walk::has_effects(value) && !value.ty.is_volatile,
        _ => false,
    }
}

/// `x = x`
pub(super) fn self_assignment(cx: &mut Checker<'_>, place: &Expr, value: &Expr, span: Span) {
    if !value.is_place || place.ty.is_volatile || in_template(cx) || span.expansion != ExpansionId::NONE {
        return;
    }
    if matches!(place.kind, ExprKind::Local(_)) && operands::is_same_place(place, value) {
        let shown = cx.show(place.ty);
        let message = format!("explicitly assigning value of variable of type '{shown}' to itself");
        warn(cx, "self-assign", span, message);
    }
}

/// A `switch` over truth values, or without a case for an enumerator.
pub(super) fn switch(
    cx: &mut Checker<'_>,
    selector: Ty,
    span: Span,
    has_default: bool,
    labels: &BTreeMap<i128, (i64, i64)>,
) {
    if selector == Ty::BOOL {
        warn(cx, "switch-bool", span, "switch condition has boolean value");
    }
    let Some(id) = cx.types.as_enum(selector).filter(|_| !has_default) else {
        // Only an enumeration has a list of values, and `default` takes those that are left.
        return;
    };
    let has_case = |value: i128| {
        let before = labels.range(..=value).next_back();
        before.is_some_and(|(first, &(lo, hi))| value - first <= i128::from(hi.wrapping_sub(lo)))
    };
    let inst = cx.enums.get(id);
    let enumerators = inst.ast.enumerators.iter().flatten();
    let missing: Vec<String> = enumerators
        .zip(&inst.values)
        .filter(|(_, (value, _))| !has_case(*value))
        .map(|(enumerator, _)| format!("'{}'", enumerator.name))
        .collect();
    let message = match &missing[..] {
        [] => return,
        [a] => format!("enumeration value {a} not handled in switch"),
        [a, b] => format!("enumeration values {a} and {b} not handled in switch"),
        [a, b, c] => format!("enumeration values {a}, {b}, and {c} not handled in switch"),
        [a, b, c, ..] => {
            format!("{} enumeration values not handled in switch: {a}, {b}, {c}...", missing.len())
        }
    };
    warn(cx, "missing-case", span, message);
}

// --- conversions

/// An implicit conversion of a constant that changes its value.
pub(super) fn conversion(cx: &mut Checker<'_>, written: &ast::Expr, value: &Expr, to: Ty) {
    let (Some(from), Some(target)) = (cx.types.as_scalar(value.ty.ty), cx.types.as_scalar(to)) else {
        // Conversions of other types change no values.
        return;
    };
    if target == ScalarTy::Bool {
        return;
    }
    if let Some(literal) = float_literal(written).filter(|_| from.is_float() && target.is_integral()) {
        float_to_integer(cx, literal, value, to, target);
    } else if let ExprKind::Const(constant) = &value.kind
        && from.is_integral()
        && target.is_integral()
        && let Some(known) = integer_of(&cx.types, value.ty.ty, constant)
    {
        integer_to_integer(cx, known, value, from, to, target);
    } else if let ExprKind::Const(constant) = &value.kind
        && from.is_integral()
        && target.is_float()
        && let Some(known) = integer_of(&cx.types, value.ty.ty, constant)
    {
        integer_to_float(cx, known, value, to, target);
    }
}

/// An integer constant of which a floating-point type has only a neighbour.
fn integer_to_float(cx: &mut Checker<'_>, known: i128, value: &Expr, to: Ty, target: ScalarTy) {
    let near = match target {
        ScalarTy::F16 => half::f16::from_f64(known as f64).to_f64(),
        ScalarTy::BF16 => half::bf16::from_f64(known as f64).to_f64(),
        _ => f64::from(known as f32),
    };
    if near == known as f64 && (known as f64) as i128 == known {
        return;
    }
    let shown = match near.is_infinite() {
        true if near > 0.0 => "+Inf".to_owned(),
        true => "-Inf".to_owned(),
        false => format!("{near}"),
    };
    let (from, to) = (cx.types.display(value.ty.ty), cx.types.display(to));
    let message =
        format!("implicit conversion from '{from}' to '{to}' changes value from {known} to {shown}");
    warn(cx, "implicit-const-int-float-conversion", value.span, message);
}

/// The value of a floating-point literal, perhaps with a sign or in parentheses.
fn float_literal(written: &ast::Expr) -> Option<f64> {
    match &written.kind {
        Ast::Float { value, .. } => Some(*value),
        Ast::Paren(inner) | Ast::Unary(ast::UnaryOp::Plus, inner) => float_literal(inner),
        Ast::Unary(ast::UnaryOp::Minus, inner) => float_literal(inner).map(|value| -value),
        _ => None,
    }
}

fn float_to_integer(cx: &mut Checker<'_>, literal: f64, value: &Expr, to: Ty, target: ScalarTy) {
    let (from, shown) = (cx.types.display(value.ty.ty), cx.types.display(to));
    let (low, high) = bounds(target);
    let truncated = literal.trunc();
    if truncated < low as f64 || truncated > high as f64 || literal.is_nan() {
        let message =
            format!("implicit conversion of out of range value from '{from}' to '{shown}' is undefined");
        warn(cx, "literal-conversion", value.span, message);
    } else if truncated != literal {
        // As short as a `float` of that value is written.
        let literal = literal as f32;
        let message = format!(
            "implicit conversion from '{from}' to '{shown}' changes value from {literal} to {truncated}"
        );
        warn(cx, "literal-conversion", value.span, message);
    }
}

fn integer_to_integer(
    cx: &mut Checker<'_>,
    known: i128,
    value: &Expr,
    from: ScalarTy,
    to: Ty,
    target: ScalarTy,
) {
    let width = target.size() * 8;
    let needed = match known {
        0.. => 128 - known.leading_zeros(),
        _ => 129 - known.leading_ones(),
    };
    // A value of all bits may be meant as the bits, but not in decimal with a sign.
    let becomes_negative = known >= 0 && from.is_signed() && target.is_signed() && needed == width;
    if needed <= width && !becomes_negative {
        return;
    }
    let (low, _) = bounds(target);
    let modulus = 1i128 << width;
    let changed = (known - low).rem_euclid(modulus) + low;
    let (from, to) = (cx.types.display(value.ty.ty), cx.types.display(to));
    let message =
        format!("implicit conversion from '{from}' to '{to}' changes value from {known} to {changed}");
    warn(cx, "constant-conversion", value.span, message);
}

/// The least and the greatest value of an integer type.
fn bounds(scalar: ScalarTy) -> (i128, i128) {
    let bits = scalar.size() * 8;
    match scalar {
        ScalarTy::Bool => (0, 1),
        _ if scalar.is_signed() => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
        _ => (0, (1i128 << bits) - 1),
    }
}

// --- lists

/// Warns about a list that initialises some members of a class, but not all that have no default initialiser.
pub(super) fn missing_fields(cx: &mut Checker<'_>, record: RecordId, values: &[Option<Expr>], span: Span) {
    if !cx.diagnostics.wants("missing-field-initializers") {
        return;
    }
    let defaults = &cx.records.get(record).field_inits;
    let fields = &cx.types.record(record).fields;
    let missing = fields.iter().zip(values).zip(defaults).find(|((_, value), default)| {
        // A base without members of its own has no initialiser in the list either.
        value.is_none() && default.is_none()
    });
    let Some(((field, _), _)) = missing.filter(|((field, _), _)| !field.name.as_str().is_empty()) else {
        // All members have values; a base and an anonymous union have no name to report.
        return;
    };
    let message = format!("missing field '{}' initializer", field.name);
    warn(cx, "missing-field-initializers", span, message);
}

/// An aggregate within another that has no braces of its own.
pub(super) fn missing_braces(cx: &mut Checker<'_>, span: Span) {
    warn(cx, "missing-braces", span, "suggest braces around initialization of subobject");
}

// --- functions

/// A function's body after it was checked.
pub(super) fn body(cx: &mut Checker<'_>, id: FuncId, ast: &ast::Function, ret: QualTy, stmts: &[Stmt]) {
    let FunctionBody::Block(block) = &ast.body else {
        // Defaulted functions have no statements that somebody wrote.
        return;
    };
    if cx.diagnostics.is_of_library(ast.span) || cx.diagnostics.has_errors() {
        return;
    }
    flow::check(cx, id, ast.span, block.span, ret, stmts);
    values::check(cx, ret, stmts);
    if cx.diagnostics.wants("unsequenced") {
        sequence::check(cx, stmts);
    }
}

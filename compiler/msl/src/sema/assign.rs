//! Assignment, compound assignment, `++` and `--`.

use super::checker::Checker;
use super::diagnostics::Diagnostics;
use super::init::{ListForm, Memberwise};
use super::special::Copying;
use super::values::promoted_bit_field;
use super::{access, call, cast, convert, expr, init, lint, operator, record, rules, special, spelling};
use crate::ast::{self, AssignOp, BinaryOp as Op, ExprKind as Ast};
use crate::hir::{BinaryOp, Expr, ExprKind, QualTy, RecordId, ScalarTy, Ty, Types};
use crate::token::Name;
use anymetal_diagnostics::Span;
use anymetal_ir::Space;

pub(super) fn check<'a>(
    cx: &mut Checker<'a>,
    op: AssignOp,
    lhs: &'a ast::Expr,
    rhs: &'a ast::Expr,
    span: Span,
) -> Expr {
    let place = expr::check(cx, lhs);
    let place = cx.values().conditional_place(place);
    // An operator of a class, declared or not, takes temporaries as well.
    let is_object = cx.types.as_record(place.ty.ty).is_some();
    let place = if is_object { expr::materialize(place) } else { place };
    match op.0 {
        None => plain(cx, place, rhs, span),
        Some(op) => {
            let value = expr::check(cx, rhs);
            compound(cx, op, place, value, span)
        }
    }
}

fn plain<'a>(cx: &mut Checker<'a>, place: Expr, rhs: &'a ast::Expr, span: Span) -> Expr {
    if let Ast::InitList(clauses) = &rhs.kind {
        if place.ty.ty.is_error() {
            return place;
        }
        let value = init::list_value(cx, clauses, place.ty.unqualified(), ListForm::Copy, rhs.span);
        return store_value(cx, place, value, span);
    }
    if let Some(function) = call::function_for(cx, rhs, place.ty.unqualified()) {
        return store_value(cx, place, function, span);
    }
    let value = expr::check(cx, rhs);
    lint::conversion(cx, rhs, &value, place.ty.ty);
    lint::self_assignment(cx, &place, &value, span);
    store_value(cx, place, value, span)
}

/// `=` with a checked right side.
pub(super) fn store_value(cx: &mut Checker<'_>, place: Expr, value: Expr, span: Span) -> Expr {
    if place.ty.ty.is_error() || value.ty.ty.is_error() {
        return cx.poison(span);
    }
    let same = value.ty.ty == place.ty.ty || convert::is_derived(cx, value.ty.ty, place.ty.ty);
    if let Some(record) = cx.types.as_record(place.ty.ty) {
        let mut is_implicit = false;
        if same {
            let ty = place.ty.ty;
            let source = object_as(&value, ty);
            match special::copying(cx, Memberwise::Assign, &source) {
                Copying::Defaulted(func) if !access::check_function(cx, func, None, span) => {
                    return cx.poison(span);
                }
                Copying::Parts | Copying::Defaulted(_) => is_implicit = true,
                Copying::Declared(_) => {}
                Copying::Deleted(deletion) => {
                    special::report_deletion(
                        &cx.types,
                        &mut cx.diagnostics,
                        "assignment",
                        ty,
                        deletion,
                        span,
                    );
                    return cx.poison(span);
                }
            }
        }
        if !is_implicit && has_own_assignment(cx, record) {
            let name = cx.names.assign_operator;
            if let Some(result) = operator::call(cx, name, vec![place.clone(), value.clone()], span) {
                return result;
            }
        }
        if is_implicit && init::copies_by_code(cx, Memberwise::Assign, place.ty.ty) {
            let from = expr::materialize(value);
            return init::assigned_parts(cx, place, from, span);
        }
    }
    let value = if value.ty.ty == place.ty.ty {
        // Members are assigned, no object is constructed.
        cx.values().rvalue(value)
    } else {
        convert::to_type(cx, value, place.ty.unqualified(), "in this assignment")
    };
    rules::uniform::assigned(cx, &place, &value);
    store(&cx.types, &mut cx.diagnostics, place, value, span)
}

/// An object as one of its class or of a base, to ask about copies only.
fn object_as(object: &Expr, ty: Ty) -> Expr {
    Expr { kind: ExprKind::Undef, ty: object.ty.with_ty(ty), ..object.clone() }
}

/// Whether the class declares an assignment operator that does not just copy.
fn has_own_assignment(cx: &mut Checker<'_>, record: RecordId) -> bool {
    record::assignment_operators(cx, record).into_iter().any(|decl| {
        matches!(
            cx.functions.decl(decl).ast.body,
            ast::FunctionBody::Block(_) | ast::FunctionBody::None | ast::FunctionBody::Delete
        )
    })
}

/// Stores a value of the place's type.
pub(super) fn store(
    types: &Types,
    diagnostics: &mut Diagnostics,
    place: Expr,
    value: Expr,
    span: Span,
) -> Expr {
    if place.ty.ty.is_error() || value.ty.ty.is_error() || !check_modifiable(types, diagnostics, &place, span)
    {
        return diagnostics.poison(span);
    }
    let ty = place.ty;
    Expr::place(ExprKind::Assign(Box::new(place), Box::new(value)), ty, span)
}

/// Whether a place may be written to; reports if not.
pub(super) fn check_modifiable(
    types: &Types,
    diagnostics: &mut Diagnostics,
    place: &Expr,
    span: Span,
) -> bool {
    let problem = if !place.is_place {
        Some("this is not something that can be assigned to".to_owned())
    } else if place.ty.space == Space::Constant {
        Some("constant memory cannot be written to".to_owned())
    } else if place.ty.is_const {
        Some(format!("this is const: `{}`", types.display_qual(place.ty)))
    } else if let ExprKind::Swizzle(_, picks) = &place.kind
        && picks.iter().enumerate().any(|(n, pick)| picks[..n].contains(pick))
    {
        Some("an element occurs twice among those assigned to".to_owned())
    } else if types.as_array(place.ty.ty).is_some() {
        Some("arrays cannot be assigned".to_owned())
    } else {
        None
    };
    match problem {
        Some(problem) => {
            diagnostics.error("not-assignable", span, problem);
            false
        }
        None => true,
    }
}

pub(super) fn compound(cx: &mut Checker<'_>, op: Op, place: Expr, value: Expr, span: Span) -> Expr {
    if place.ty.ty.is_error() || value.ty.ty.is_error() {
        return cx.poison(span);
    }
    if let Some(result) = operator::binary_function(cx, spelling::binary(op), "=", &place, &value, span) {
        return result;
    }
    if cx.types.as_record(place.ty.ty).is_some() {
        return no_compound_operator(&cx.types, &mut cx.diagnostics, op, &place, &value, span);
    }
    if !check_modifiable(&cx.types, &mut cx.diagnostics, &place, span) {
        return cx.poison(span);
    }
    let value = convert::builtin_operand(cx, value);
    let value = cx.values().promoted(value);
    let value = cx.values().rvalue(value);
    rules::uniform::assigned(cx, &place, &value);
    // A constant needs no variable of its own.
    let (rhs, operand) = match value.kind {
        ExprKind::Const(_) => (None, value),
        _ => {
            let local = cx.function.new_local(Name::EMPTY, value.ty.ty, span);
            let operand = Expr::place(ExprKind::Local(local), value.ty, span);
            (Some((local, Box::new(value))), operand)
        }
    };
    let old = cx.function.new_local(Name::EMPTY, place.ty.ty, span);
    let mut before = Expr::place(ExprKind::Local(old), place.ty.unqualified(), span);
    if let Some(promoted) = promoted_bit_field(&cx.types, &place) {
        let value = cx.values().rvalue(before);
        before = cx.values().cast_value(crate::hir::CastKind::Convert, value, promoted, span);
    }
    let result = operator::binary(cx, op, before, operand, span);
    if result.ty.ty.is_error() {
        return result;
    }
    // The result of an operation on a `bfloat` may be a `float`, which is only converted explicitly.
    let is_bfloat = cx.types.element(place.ty.ty) == Some(ScalarTy::BF16);
    let result = match cx.types.element(result.ty.ty) {
        Some(elem) if is_bfloat && elem.is_float() => {
            cast::explicit(cx, result, place.ty.unqualified(), ast::CastKind::CStyle, span)
        }
        _ => convert::to_type(cx, result, place.ty.unqualified(), "in this assignment"),
    };
    if result.ty.ty.is_error() {
        return result;
    }
    let ty = place.ty;
    let kind =
        ExprKind::Update { rhs, place: Box::new(place), old, value: Box::new(result), yields_old: false };
    Expr::place(kind, ty, span)
}

/// A record has no such operator but the one that it declares, whatever its other operators.
fn no_compound_operator(
    types: &Types,
    diagnostics: &mut Diagnostics,
    op: Op,
    place: &Expr,
    value: &Expr,
    span: Span,
) -> Expr {
    let (left, right) = (types.display_qual(place.ty), types.display_qual(value.ty));
    let op = spelling::binary(op);
    let message = format!("no `operator{op}=` takes `{left}` and `{right}`");
    let mut diagnostic = anymetal_diagnostics::Diagnostic::error("invalid-operands", span, message);
    if place.ty.space != Space::Thread {
        diagnostic = diagnostic.with_hint(
            "member functions without an address space take objects of the thread address space only",
        );
    }
    diagnostics.report(diagnostic);
    diagnostics.poison(span)
}

pub(super) fn check_increment<'a>(
    cx: &mut Checker<'a>,
    inner: &'a ast::Expr,
    decrement: bool,
    postfix: bool,
    span: Span,
) -> Expr {
    let place = expr::check(cx, inner);
    increment(cx, place, decrement, postfix, span)
}

/// `++` and `--` of a checked operand.
pub(super) fn increment(
    cx: &mut Checker<'_>,
    place: Expr,
    decrement: bool,
    postfix: bool,
    span: Span,
) -> Expr {
    let place = cx.values().conditional_place(place);
    if place.ty.ty.is_error() {
        return place;
    }
    if operator::is_overloadable(&cx.types, place.ty.ty) {
        let name = Name::new(if decrement { "operator--" } else { "operator++" });
        let mut operands = vec![place.clone()];
        if postfix {
            operands.push(super::expr::scalar_const(ScalarTy::I32, 0, span));
        }
        if let Some(result) = operator::call(cx, name, operands, span) {
            return result;
        }
    }
    if !check_modifiable(&cx.types, &mut cx.diagnostics, &place, span) {
        return cx.poison(span);
    }
    let old = cx.function.new_local(Name::EMPTY, place.ty.ty, span);
    let old_place = Expr::place(ExprKind::Local(old), place.ty.unqualified(), span);
    let one = super::expr::scalar_const(ScalarTy::I32, 1, span);
    let result = if cx.types.pointee(place.ty.ty).is_some() {
        let op = if decrement { Op::Sub } else { Op::Add };
        operator::binary(cx, op, old_place, one, span)
    } else if place.ty.ty == Ty::BOOL && !decrement {
        // Deprecated in C++14: the result is true.
        expr::bool_const(true, span)
    } else {
        stepped(cx, old_place, one, decrement, span)
    };
    if result.ty.ty.is_error() {
        return result;
    }
    let result = convert::to_type(cx, result, place.ty.unqualified(), "");
    let ty = place.ty;
    let kind = ExprKind::Update {
        rhs: None,
        place: Box::new(place),
        old,
        value: Box::new(result),
        yields_old: postfix,
    };
    if postfix { Expr::value(kind, ty.ty, span) } else { Expr::place(kind, ty, span) }
}

fn stepped(cx: &mut Checker<'_>, old: Expr, one: Expr, decrement: bool, span: Span) -> Expr {
    let ty = old.ty.ty;
    let elem = cx.types.as_scalar(ty).or_else(|| cx.types.as_vector(ty).map(|(elem, _)| elem));
    if elem.is_none_or(|elem| elem == ScalarTy::Bool) {
        let shown = cx.show(QualTy::plain(ty));
        cx.error("invalid-operands", span, format!("a value of type `{shown}` cannot be counted up or down"));
        return cx.poison(span);
    }
    let value = cx.values().rvalue(old);
    let value = cx.values().unpack(value);
    let one = cx.values().splat_or_convert(one, value.ty.ty);
    cx.values().binary_value(if decrement { BinaryOp::Sub } else { BinaryOp::Add }, value, one, span)
}

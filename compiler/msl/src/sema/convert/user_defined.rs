//! Conversions by constructors and conversion operators.
//!
//! Invariant: a conversion has at most one of them: their own arguments and results convert without.

use super::{Conversion, Rank, perform};
use crate::ast::{FunctionName, OperatorName};
use crate::hir::{Expr, ExprKind, FuncId, QualTy, RecordId, Ty, TyKind, Types};
use crate::sema::call::Arg;
use crate::sema::checker::Checker;
use crate::sema::entities::FnDeclId;
use crate::sema::function::{FnInst, Origin};
use crate::sema::init::Memberwise;
use crate::sema::pattern::Pat;
use crate::sema::special::Copying;
use crate::sema::{
    access, call, convert, deduce, expr, function, function_pointer, init, lambda, overload, pattern, record,
    special, specialise,
};
use anymetal_diagnostics::{Diagnostic, Span};
use std::rc::Rc;

/// How a class takes part in a conversion.
#[derive(Clone, Copy, Debug)]
pub(super) enum UserConversion {
    Constructor(FuncId),
    /// With the conversion of its result.
    Operator(FuncId, Conversion),
    /// The function that a pointer made from a closure points to.
    Invoker(FuncId),
    /// Two that are equally good.
    Ambiguous(FuncId, FuncId),
}

/// A constructor or conversion operator that fits.
#[derive(Clone, Copy, Debug)]
struct UserCandidate {
    func: FuncId,
    /// The conversion of the expression to its parameter or object.
    first: Conversion,
    /// The conversion of the result.
    second: Conversion,
}

/// The best candidate, and another one that is as good.
type Best = (UserCandidate, Option<FuncId>);

impl UserConversion {
    /// How good it is.
    pub(super) fn conversion(self) -> Conversion {
        let (func, detail) = match self {
            Self::Constructor(func) | Self::Invoker(func) => (Some(func), 0),
            Self::Operator(func, second) => (Some(func), (second.rank as u8) << 4 | second.detail.min(7)),
            // Neither better nor worse than others (C++14 [over.best.ics.10]).
            Self::Ambiguous(..) => (None, 0),
        };
        Conversion { rank: Rank::User, detail, through: func }
    }
}

/// The constructor or conversion operator that turns the expression into a `to`.
pub(super) fn find(cx: &mut Checker<'_>, expr: &Expr, to: Ty) -> Option<UserConversion> {
    let constructor = cx.types.as_record(to).and_then(|record| {
        record::declare_members(cx, record);
        if cx.records.inherits_constructors(record) {
            let _ = cx.quietly(|cx| record::complete(cx, record, expr.span));
        }
        let constructors = cx.records.get(record).constructors.clone();
        converting_constructor(cx, &constructors, expr)
    });
    let from = cx.types.as_record(expr.ty.ty);
    let operator = from.and_then(|from| conversion_operator(cx, from, expr, to, false));
    let ((best, rival), is_constructor) = match (constructor, operator) {
        (None, None) => {
            let from = from.filter(|_| !expr.ty.is_volatile)?;
            return lambda::invoker(cx, from, to, expr.span).map(UserConversion::Invoker);
        }
        (Some(constructor), None) => (constructor, true),
        (None, Some(operator)) => (operator, false),
        (Some(constructor), Some(operator)) => {
            let (a, b) = (constructor.0, operator.0);
            if is_better_conversion(cx, &b, &a, false) {
                (operator, false)
            } else if is_better_conversion(cx, &a, &b, false) {
                (constructor, true)
            } else {
                ((a, Some(b.func)), true)
            }
        }
    };
    Some(match rival {
        Some(rival) => UserConversion::Ambiguous(best.func, rival),
        None if is_constructor => UserConversion::Constructor(best.func),
        None => UserConversion::Operator(best.func, best.second),
    })
}

/// Whether one conversion is better than another; `by_result` also compares what follows.
fn is_better_conversion(cx: &mut Checker<'_>, a: &UserCandidate, b: &UserCandidate, by_result: bool) -> bool {
    if a.first != b.first {
        return a.first < b.first;
    }
    if by_result && a.second != b.second {
        return a.second < b.second;
    }
    let decl = |candidate: &UserCandidate| cx.functions.inst(candidate.func).origin.decl();
    // The remaining rules compare templates; a function that no source declares is not an instance of one.
    let (Some(x), Some(y)) = (decl(a), decl(b)) else { return false };
    match (cx.functions.decl(x).template.is_some(), cx.functions.decl(y).template.is_some()) {
        (false, true) => true,
        (true, true) => overload::is_more_specialised(cx, x, y) && !overload::is_more_specialised(cx, y, x),
        (true | false, false) => false,
    }
}

fn best_conversion(cx: &mut Checker<'_>, candidates: &[UserCandidate]) -> Option<Best> {
    let mut best = *candidates.first()?;
    for candidate in &candidates[1..] {
        if is_better_conversion(cx, candidate, &best, true) {
            best = *candidate;
        }
    }
    let rival = candidates.iter().find(|candidate| {
        !is_hidden_by(cx, candidate.func, best.func) && !is_better_conversion(cx, &best, candidate, true)
    });
    Some((best, rival.map(|rival| rival.func)))
}

/// Whether a constructor or operator is the other one, an overload of it for another address space, or
/// hidden by it as a member of a base.
fn is_hidden_by(cx: &mut Checker<'_>, hidden: FuncId, by: FuncId) -> bool {
    let (a, b) = (cx.functions.inst(hidden), cx.functions.inst(by));
    if !function::are_same_params(&a.params, &b.params) || a.ret != b.ret {
        return false;
    }
    let owner = |origin: Origin| origin.decl().and_then(|decl| cx.functions.decl(decl).owner);
    match (owner(b.origin), owner(a.origin)) {
        (Some(derived), Some(base)) => record::base_path(cx, derived, base).is_some(),
        _ => true,
    }
}

/// The conversion operators of a class, and those of its bases that it does not hide by others to the same
/// types (C++14 [class.conv.fct.6]).
fn conversion_operators(cx: &mut Checker<'_>, class: RecordId) -> Vec<FnDeclId> {
    record::declare_members(cx, class);
    let mut operators = cx.records.get(class).conversions.clone();
    if operators.is_empty() && cx.records.get(class).bases.is_empty() {
        return operators;
    }
    let own: Vec<Ty> = operators.iter().filter_map(|&decl| conversion_type(cx, decl)).collect();
    for base in cx.records.bases_of(class) {
        for decl in cx.records.get(base).conversions.clone() {
            let is_hidden = !own.is_empty() && conversion_type(cx, decl).is_some_and(|ty| own.contains(&ty));
            if !is_hidden {
                operators.push(decl);
            }
        }
    }
    operators
}

/// The type that a conversion operator converts to; `None` for a template.
fn conversion_type(cx: &mut Checker<'_>, decl: FnDeclId) -> Option<Ty> {
    let data = cx.functions.decl(decl);
    if data.template.is_some() {
        return None;
    }
    let span = data.ast.span;
    let func = cx.quietly(|cx| function::instantiate(cx, decl, Rc::from([]), span)).ok()??;
    cx.functions.inst(func).ret.map(|ret| ret.ty)
}

fn report_ambiguous_conversion(
    cx: &mut Checker<'_>,
    from: Ty,
    to: Option<Ty>,
    functions: [FuncId; 2],
    span: Span,
) {
    let from = cx.types.display(from);
    let to = to.map_or_else(String::new, |to| format!(" to `{}`", cx.types.display(to)));
    let message = format!("the conversion from `{from}`{to} is ambiguous");
    let mut diagnostic = Diagnostic::error("ambiguous-conversion", span, message);
    for function in functions {
        diagnostic = diagnostic.with_note(cx.functions.inst(function).span, "candidate");
    }
    cx.report(diagnostic);
}

/// The result of the conversion operator, explicit or not, by which a cast or a condition makes a `to` of
/// an object.
pub(in crate::sema) fn cast_by_operator(cx: &mut Checker<'_>, expr: &Expr, to: Ty) -> Option<Expr> {
    let from = cx.types.as_record(expr.ty.ty)?;
    let (best, rival) = conversion_operator(cx, from, expr, to, true)?;
    if let Some(rival) = rival {
        report_ambiguous_conversion(cx, expr.ty.ty, Some(to), [best.func, rival], expr.span);
        return Some(cx.poison(expr.span));
    }
    Some(call::function(cx, best.func, Some(expr.clone()), Vec::new(), expr.span))
}

/// The value of an expression: of an object, a copy by the functions that its class and its members have.
pub(in crate::sema) fn copied(cx: &mut Checker<'_>, expr: Expr) -> Expr {
    if !expr.is_place || cx.types.as_record(expr.ty.ty).is_none() {
        return cx.values().rvalue(expr);
    }
    let constructor = match special::copying(cx, Memberwise::Construct, &expr) {
        Copying::Defaulted(func) | Copying::Declared(func)
            if !access::check_function(cx, func, None, expr.span) =>
        {
            return cx.poison(expr.span);
        }
        Copying::Declared(constructor) => constructor,
        Copying::Parts | Copying::Defaulted(_)
            if init::copies_by_code(cx, Memberwise::Construct, expr.ty.ty) =>
        {
            return init::copied_parts(cx, expr);
        }
        Copying::Parts | Copying::Defaulted(_) => return cx.values().rvalue(expr),
        Copying::Deleted(deletion) => {
            special::report_deletion(
                &cx.types,
                &mut cx.diagnostics,
                "copy constructor",
                expr.ty.ty,
                deletion,
                expr.span,
            );
            return cx.poison(expr.span);
        }
    };
    let (ty, span) = (expr.ty.ty, expr.span);
    let param = cx.functions.inst(constructor).params[0];
    let is_elsewhere = cx.types.referent(param.ty).is_some_and(|to| to.space != expr.ty.space);
    let expr = if is_elsewhere {
        let bytes = cx.values().rvalue(expr);
        expr::materialize(bytes)
    } else {
        expr
    };
    let mut args = vec![perform::perform(cx, expr, param)];
    call::default_arguments(cx, constructor, &mut args, span);
    Expr::value(ExprKind::Construct(constructor, args), ty, span)
}

fn converting_constructor(cx: &mut Checker<'_>, constructors: &[FnDeclId], expr: &Expr) -> Option<Best> {
    let usable: Vec<FnDeclId> = constructors
        .iter()
        .copied()
        .filter(|&id| !cx.functions.decl(id).ast.specifiers.is_explicit)
        .collect();
    if usable.is_empty() {
        return None;
    }
    single_argument_candidate(cx, &usable, expr)
}

/// The best one-argument constructor without user conversions of the argument.
fn single_argument_candidate<'a>(cx: &mut Checker<'a>, decls: &[FnDeclId], expr: &Expr) -> Option<Best> {
    let mut candidates = Vec::new();
    for &decl in decls {
        let args = [Arg::Expr(expr.clone())];
        let Some(func) = cx
            .quietly(|cx| overload::candidate_function(cx, decl, None, &args, expr.span).ok())
            .ok()
            .flatten()
        else {
            continue;
        };
        let inst: &FnInst<'a> = cx.functions.inst(func);
        let Some(&param) = inst.params.first() else { continue };
        let Some(first) = convert::conversion_of(cx, expr, param, false) else { continue };
        candidates.push(UserCandidate { func, first, second: Conversion::EXACT });
    }
    best_conversion(cx, &candidates)
}

/// The conversion operator of `from` whose result converts to `to`; an explicit one where these count.
fn conversion_operator(
    cx: &mut Checker<'_>,
    from: RecordId,
    expr: &Expr,
    to: Ty,
    is_explicit: bool,
) -> Option<Best> {
    let operators = conversion_operators(cx, from);
    let mut candidates = Vec::new();
    for decl in operators {
        if cx.functions.decl(decl).ast.specifiers.is_explicit && !is_explicit {
            continue;
        }
        let Some(func) = conversion_candidate(cx, decl, QualTy::plain(to)) else { continue };
        let Some(first) = overload::object_conversion(cx, func, expr) else { continue };
        let Some(ret) = cx.functions.inst(func).ret else { continue };
        let value = stand_in(&cx.types, ret, expr.span);
        let Some(second) = convert::conversion_of(cx, &value, QualTy::plain(to), false) else { continue };
        candidates.push(UserCandidate { func, first, second });
    }
    best_conversion(cx, &candidates)
}

/// The conversion operator whose result is a place that a reference to `to` binds to (C++14
/// [over.match.ref]).
pub(super) fn place_operator(cx: &mut Checker<'_>, expr: &Expr, to: QualTy) -> Option<FuncId> {
    let from = cx.types.as_record(expr.ty.ty)?;
    let mut candidates = Vec::new();
    for decl in conversion_operators(cx, from) {
        if cx.functions.decl(decl).ast.specifiers.is_explicit {
            continue;
        }
        let Some(func) = conversion_candidate(cx, decl, to) else { continue };
        let Some(first) = overload::object_conversion(cx, func, expr) else { continue };
        let Some(ret) = cx.functions.inst(func).ret else { continue };
        let TyKind::Reference { to: place, rvalue: false } = *cx.types.kind(ret.ty) else { continue };
        let is_related = place.ty == to.ty || convert::is_derived(cx, place.ty, to.ty);
        let keeps = (to.is_const || !place.is_const) && (to.is_volatile || !place.is_volatile);
        if is_related && keeps && place.space == to.space {
            let adds = u8::from(to.is_const != place.is_const);
            candidates.push(UserCandidate { func, first, second: Conversion::new(Rank::Exact, adds) });
        }
    }
    // Of several that are equally good none is meant, which a temporary may not hide.
    best_conversion(cx, &candidates).filter(|(_, rival)| rival.is_none()).map(|(best, _)| best.func)
}

/// A conversion operator's instance; for a template, deduced from the wanted type.
fn conversion_candidate(cx: &mut Checker<'_>, decl: FnDeclId, to: QualTy) -> Option<FuncId> {
    let data = cx.functions.decl(decl);
    let (ast, template, scope, span) = (data.ast, data.template, data.scope, data.ast.span);
    let args = match template {
        None => Rc::from([]),
        Some(template) => {
            let FunctionName::Operator(OperatorName::Conversion(ty)) = &ast.name else {
                unreachable!("the conversions of a class are conversion operators");
            };
            let pattern = cx.in_scope(scope, |cx| pattern::of_type(cx, ty, &template.params));
            // Of a reference the type that it refers to counts (C++14 [temp.deduct.conv]).
            let pattern = match pattern {
                Pat::Reference { to, .. } => *to,
                pattern => pattern,
            };
            let mut deduced = deduce::Deduced::none(template.params.len());
            if !deduce::from_type(cx, &pattern, to, &mut deduced) {
                return None;
            }
            specialise::finish_deduction(cx, &template.params, deduced, scope, span)?
        }
    };
    cx.quietly(|cx| function::instantiate(cx, decl, args, span)).ok().flatten()
}

/// An expression of a type, for asking about conversions only.
pub(in crate::sema) fn stand_in(types: &Types, ty: QualTy, span: Span) -> Expr {
    match types.referent(ty.ty) {
        Some(to) => Expr::place(ExprKind::Undef, to, span),
        None => Expr::value(ExprKind::Undef, ty.ty, span),
    }
}

pub(super) fn perform_user(cx: &mut Checker<'_>, expr: Expr, to: Ty) -> Expr {
    let span = expr.span;
    match find(cx, &expr, to) {
        Some(UserConversion::Constructor(func)) => {
            let param = cx.functions.inst(func).params[0];
            let mut args = vec![perform::perform(cx, expr, param)];
            call::default_arguments(cx, func, &mut args, span);
            init::constructed(cx, func, args, to, span)
        }
        Some(UserConversion::Operator(func, _)) => {
            let value = call::function(cx, func, Some(expr), Vec::new(), span);
            perform::perform_value(cx, value, to)
        }
        Some(UserConversion::Invoker(func)) => {
            let pointer = function_pointer::pointer_to(cx, func, span);
            if let ExprKind::Struct(_) | ExprKind::Local(_) | ExprKind::Load(_) = expr.kind {
                return pointer;
            }
            let ty = pointer.ty.ty;
            Expr::value(ExprKind::Comma(Box::new(expr), Box::new(pointer)), ty, span)
        }
        Some(UserConversion::Ambiguous(a, b)) => {
            report_ambiguous_conversion(cx, expr.ty.ty, Some(to), [a, b], span);
            cx.poison(span)
        }
        None => {
            convert::report_none(&cx.types, &mut cx.diagnostics, &expr, QualTy::plain(to), "");
            cx.poison(span)
        }
    }
}

/// Converts a class value to the arithmetic type (or pointer) its only fitting conversion operator
/// gives, for the builtin operators; others are left alone. Explicit operators do not fit.
pub(in crate::sema) fn builtin_operand(cx: &mut Checker<'_>, expr: Expr) -> Expr {
    let Some(record) = cx.types.as_record(expr.ty.ty) else { return expr };
    let mut candidates = Vec::new();
    for decl in conversion_operators(cx, record) {
        if cx.functions.decl(decl).template.is_some() || cx.functions.decl(decl).ast.specifiers.is_explicit {
            continue;
        }
        let Some(func) = function::instantiate(cx, decl, Rc::from([]), expr.span) else { continue };
        if let Some(first) = overload::object_conversion(cx, func, &expr) {
            candidates.push(UserCandidate { func, first, second: Conversion::EXACT });
        }
    }
    if let Some((best, rival)) = best_conversion(cx, &candidates) {
        let span = expr.span;
        let is_number =
            |func| cx.functions.inst(func).ret.is_some_and(|ret| cx.types.element(ret.ty).is_some());
        if let Some(rival) = rival.filter(|&rival| is_number(best.func) && is_number(rival)) {
            report_ambiguous_conversion(cx, expr.ty.ty, None, [best.func, rival], span);
            return cx.poison(span);
        }
        return call::function(cx, best.func, Some(expr), Vec::new(), span);
    }
    expr
}

//! Operator functions: which types may have them, and finding the best.

use crate::hir::{Expr, Ty, TyKind, Types};
use crate::sema::call::Arg;
use crate::sema::checker::Checker;
use crate::sema::diagnostics::Diagnostics;
use crate::sema::entities::{FnDeclId, Found};
use crate::sema::function::Functions;
use crate::sema::overload::{Call, NoOverload};
use crate::sema::{ambiguity, call, function, lookup, overload, record};
use crate::token::Name;
use anymetal_diagnostics::{Diagnostic, Span};
use std::rc::Rc;

/// Whether operators on this type may be functions.
pub(in crate::sema) fn is_overloadable(types: &Types, ty: Ty) -> bool {
    matches!(types.kind(ty), TyKind::Record(_) | TyKind::Enum(_) | TyKind::Matrix { .. })
}

/// Calls the function that the operator `{op}{suffix}` is for these operands, if one fits.
pub(in crate::sema) fn binary_function(
    cx: &mut Checker<'_>,
    op: &str,
    suffix: &str,
    lhs: &Expr,
    rhs: &Expr,
    span: Span,
) -> Option<Expr> {
    if !is_overloadable(&cx.types, lhs.ty.ty) && !is_overloadable(&cx.types, rhs.ty.ty) {
        return None;
    }
    let name = Name::new(&format!("operator{op}{suffix}"));
    call(cx, name, vec![lhs.clone(), rhs.clone()], span)
}

/// Calls an operator function, if one fits; `None` leaves the builtin meaning.
pub(in crate::sema) fn call<'a>(
    cx: &mut Checker<'a>,
    name: Name,
    operands: Vec<Expr>,
    span: Span,
) -> Option<Expr> {
    let mut members = Vec::new();
    if let Some(record) = operands.first().and_then(|first| cx.types.as_record(first.ty.ty))
        && record::complete(cx, record, span)
    {
        if name == cx.names.assign_operator {
            members = record::assignment_operators(cx, record);
        } else {
            match ambiguity::member_functions(cx, record, name, span) {
                Ok(decls) => members.extend(decls.iter().flat_map(|decls| decls.iter().copied())),
                Err(_) => return Some(cx.poison(span)),
            }
        }
    }
    let args: Vec<Arg<'a>> = operands.iter().cloned().map(Arg::Expr).collect();
    let mut free: Vec<FnDeclId> = Vec::new();
    if let Some(Found::Functions(decls)) = lookup::operator(cx, name) {
        free.extend(decls.iter().copied());
    }
    let more = call::argument_dependent(cx, name, &args, &free);
    free.extend(more);
    let is_simple =
        |operand: &Expr| matches!(cx.types.kind(operand.ty.ty), TyKind::Enum(_) | TyKind::Scalar(_));
    if operands.iter().all(is_simple) {
        free.retain(|&decl| takes_enumeration(cx, decl, &operands));
    }
    best_operator(cx, name, members, free, &operands, args, span)
}

/// Whether a function takes the enumeration that an operand has as its type: without operands of classes,
/// others are no candidates (C++14 [over.match.oper.3]).
fn takes_enumeration(cx: &mut Checker<'_>, decl: FnDeclId, operands: &[Expr]) -> bool {
    let data = cx.functions.decl(decl);
    if data.template.is_some() {
        return true;
    }
    let span = data.ast.span;
    let Ok(Some(func)) = cx.quietly(|cx| function::instantiate(cx, decl, Rc::from([]), span)) else {
        return true;
    };
    let mut pairs = cx.functions.inst(func).params.iter().zip(operands);
    pairs.any(|(param, operand)| {
        let is_enumeration = matches!(cx.types.kind(operand.ty.ty), TyKind::Enum(_));
        is_enumeration && cx.types.referent(param.ty).unwrap_or(*param).ty == operand.ty.ty
    })
}

fn best_operator<'a>(
    cx: &mut Checker<'a>,
    name: Name,
    members: Vec<FnDeclId>,
    free: Vec<FnDeclId>,
    operands: &[Expr],
    args: Vec<Arg<'a>>,
    span: Span,
) -> Option<Expr> {
    let (name_text, object) = (name.as_str(), operands.first());
    let by_member = Call { name: name_text, decls: &members, explicit: None, object, args: &args[1..], span };
    let by_name = Call { name: name_text, decls: &free, explicit: None, object: None, args: &args, span };
    match overload::find_operator(cx, &by_member, &by_name) {
        Ok(func) if cx.functions.inst(func).this.is_some() => {
            let mut args = args;
            args.remove(0);
            Some(call::known(cx, func, object.cloned(), args, span))
        }
        Ok(func) => Some(call::known(cx, func, None, args, span)),
        Err(NoOverload::Ambiguous(decls)) => {
            report_ambiguous_operator(&cx.functions, &mut cx.diagnostics, name, &decls, span);
            Some(cx.poison(span))
        }
        Err(NoOverload::None(_)) => None,
    }
}

fn report_ambiguous_operator(
    functions: &Functions<'_>,
    diagnostics: &mut Diagnostics,
    name: Name,
    decls: &[FnDeclId],
    span: Span,
) {
    let mut diagnostic = Diagnostic::error("ambiguous-call", span, format!("`{name}` is ambiguous here"));
    for &decl in decls {
        diagnostic = diagnostic.with_note(functions.decl(decl).ast.span, "candidate");
    }
    diagnostics.report(diagnostic);
}

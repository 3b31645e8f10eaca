//! Calls through an object: `x.f()`, `p->f()`, `x.Base::f()`, and `*this`.

use super::{arguments, implicit_assignment, known, names_assignment};
use crate::ast;
use crate::hir::{Expr, ExprKind, QualTy, RecordId, Types};
use crate::sema::checker::Checker;
use crate::sema::diagnostics::{DEPENDENT, Diagnostics};
use crate::sema::entities::{Found, LocalDecl};
use crate::sema::path::Miss;
use crate::sema::record::Records;
use crate::sema::table::operator_key;
use crate::sema::{
    convert, function, lambda, log_call, member, path, record, resolve_type, spelling, template_args,
};
use anymetal_diagnostics::Span;
use std::rc::Rc;

/// `*this`, if there is one here.
pub(in crate::sema) fn this_object(cx: &mut Checker<'_>, span: Span) -> Option<Expr> {
    if let Some(Found::Local(LocalDecl::Capture { field, record, ty, .. })) = lambda::captured_this(cx) {
        let captured = lambda::capture_value(cx, record, field, ty, span)?;
        if cx.types.as_record(ty.ty).is_some() {
            // `[*this]`: the closure's copy.
            return Some(captured);
        }
        let pointer = cx.values().rvalue(captured);
        let to = cx.types.pointee(pointer.ty.ty)?;
        return Some(Expr::place(ExprKind::Deref(Box::new(pointer)), to, span));
    }
    let (local, object) = cx.function.this?;
    let pointer_ty = cx.types.pointer(object);
    let place = Expr::place(ExprKind::Local(local), QualTy::plain(pointer_ty), span);
    let pointer = cx.values().rvalue(place);
    Some(Expr::place(ExprKind::Deref(Box::new(pointer)), object, span))
}

pub(super) fn member_call<'a>(
    cx: &mut Checker<'a>,
    base: &'a ast::Expr,
    arrow: bool,
    member: &'a ast::Path,
    args: &'a [ast::Expr],
    span: Span,
) -> Expr {
    let object = member::object_of(cx, base, arrow, member);
    if object.ty.ty.is_error() {
        member.segments.iter().for_each(|segment| path::require_template_word(&mut cx.diagnostics, segment));
        let _ = arguments::check_args(cx, args);
        return object;
    }
    let Some(record) = cx.types.as_record(object.ty.ty) else {
        let function = member::named(cx, object, member, span);
        let Some(args) = arguments::check_args(cx, args) else { return cx.poison(span) };
        return known::call_value(cx, function, args, span);
    };
    if names_assignment(member) && record::assignment_operators(cx, record).is_empty() {
        let object = member::as_naming_class(cx, object, member);
        return implicit_assignment(cx, object, args, span);
    }
    let Some(found) = member_target(cx, record, member) else { return cx.poison(span) };
    if let Some(level) = log_call::method(&cx.types, &cx.names, record, member) {
        return log_call::check(cx, &object, level, args, span);
    }
    let object = member::as_naming_class(cx, object, member);
    match found {
        Found::Functions(decls) => {
            let explicit = member
                .segments
                .last()
                .and_then(|last| last.args.as_ref())
                .map(|args| template_args::explicit(cx, args));
            let Some(args) = arguments::check_args(cx, args) else { return cx.poison(span) };
            let name = member.segments.last().map_or("", |last| last.name.as_str());
            known::overloaded(cx, name, &decls, explicit, Some(object), args, span)
        }
        Found::Error => cx.poison(span),
        found => {
            let function = member::value_of(cx, object, found, span);
            let Some(args) = arguments::check_args(cx, args) else { return cx.poison(span) };
            known::call_value(cx, function, args, span)
        }
    }
}

/// What a member path means in a class.
pub(in crate::sema) fn member_target<'a>(
    cx: &mut Checker<'a>,
    record: RecordId,
    member: &'a ast::Path,
) -> Option<Found<'a>> {
    if let [only] = member.segments.as_slice() {
        let key = only.operator.as_ref().map_or(only.name, operator_key);
        let ty = QualTy::plain(cx.records.get(record).ty);
        if !record::complete(cx, record, member.span) {
            return None;
        }
        let found = path::lookup_in_type(cx, ty, key, only.span);
        let found = found.and_then(|found| path::accessible(cx, ty, key, found, true, only.span));
        let found = match found {
            Ok(found) => found,
            Err(miss) => {
                report_member_miss(&cx.types, &cx.records, &mut cx.diagnostics, miss, record);
                return None;
            }
        };
        if key == cx.names.conversion
            && let Some(ast::OperatorName::Conversion(wanted)) = &only.operator
        {
            return explicit_conversion(cx, found, wanted);
        }
        return Some(found);
    }
    // `x.Base::f`, where `Base` is looked up in the class first (C++14 [basic.lookup.classref.4]).
    let target = match own_class(cx, record, member) {
        Some(class) => path::resolve_in_type(cx, class, &member.segments[1..]),
        None => path::resolve(cx, member),
    };
    match target {
        Ok(_) if names_other_class(cx, record, member) => {
            let (name, class) = (spelling::path(member), cx.types.record(record).name.clone());
            cx.error("unknown-member", member.span, format!("`{name}` is not a member of class `{class}`"));
            None
        }
        Ok(target) => Some(target.found),
        Err(miss) => {
            path::report_miss(&cx.scopes, &cx.records, &mut cx.diagnostics, miss, "member");
            None
        }
    }
}

/// Whether the scope in `x.scope::f` is a namespace, or a class that is neither that of the object nor a base
/// of it (C++14 [expr.ref]).
pub(super) fn names_other_class<'a>(cx: &mut Checker<'a>, record: RecordId, member: &'a ast::Path) -> bool {
    let count = member.segments.len() - 1;
    if own_class(cx, record, member).is_some() || cx.records.has_unknown_base(record) {
        return false;
    }
    let Ok(Ok(prefix)) = cx.quietly(|cx| path::resolve_prefix(cx, member, count)) else { return false };
    if let Found::Namespace(_) = prefix.found {
        return true;
    }
    let Some(class) = path::type_of_found(&cx.records, &prefix.found) else { return false };
    let object = cx.records.get(record).ty;
    let is_class = cx.types.as_record(class.ty).is_some() && !cx.is_dependent(class.ty);
    is_class && class.ty != object && !cx.is_dependent(object) && !convert::is_derived(cx, object, class.ty)
}

/// The class of an object, if that is what the first name of a member's path means in it.
fn own_class(cx: &mut Checker<'_>, record: RecordId, member: &ast::Path) -> Option<QualTy> {
    let first = member.segments.first().filter(|first| first.args.is_none() && !member.global)?;
    let is_own = cx.records.get(record).name == Some(first.name);
    is_own.then(|| QualTy::plain(cx.records.get(record).ty))
}

fn explicit_conversion<'a>(
    cx: &mut Checker<'a>,
    found: Found<'a>,
    wanted: &'a ast::Type,
) -> Option<Found<'a>> {
    let Found::Functions(decls) = found else { return Some(found) };
    let wanted = resolve_type::resolve(cx, wanted);
    let mut fitting = Vec::new();
    for &decl in decls.iter() {
        if cx.functions.decl(decl).template.is_some() {
            continue;
        }
        if let Some(func) = function::instantiate(cx, decl, Rc::from([]), Span::NONE)
            && cx.functions.inst(func).ret.is_some_and(|ret| ret.ty == wanted.ty)
        {
            fitting.push(decl);
        }
    }
    Some(Found::Functions(fitting.into()))
}

fn report_member_miss(
    types: &Types,
    records: &Records<'_>,
    diagnostics: &mut Diagnostics,
    miss: Miss,
    record: RecordId,
) {
    let Miss::Unknown { name, span, .. } = miss else { return };
    if diagnostics.in_template() && records.has_unknown_base(record) {
        return;
    }
    let class = types.record(record).name.replace(DEPENDENT, "…");
    let mut diagnostic = anymetal_diagnostics::Diagnostic::error(
        "unknown-member",
        span,
        format!("no member named `{name}` in `{class}`"),
    );
    let names = records.get(record).member_names();
    if let Some(near) = anymetal_diagnostics::suggest(name.as_str(), names.iter().map(|name| name.as_str())) {
        diagnostic = diagnostic.with_other_name(span, near);
    }
    diagnostics.report(diagnostic);
}

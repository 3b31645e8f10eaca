//! Classes without constructors: one value for each member, in their order.
//!
//! Members that no clause names take their declared initialiser, or their default value.

use super::list::Cursor;
use super::{constructor, default, list};
use crate::ast::{self, Designator, InitClause};
use crate::hir::{self, Expr, ExprKind, QualTy, RecordId, StmtKind, Types};
use crate::sema::call::Arg;
use crate::sema::checker::Checker;
use crate::sema::diagnostics::Diagnostics;
use crate::sema::entities::Found;
use crate::sema::expr::after;
use crate::sema::function::Functions;
use crate::sema::record::Records;
use crate::sema::{call, init, lint, overload, record};
use crate::token::Name;
use anymetal_diagnostics::Span;
use std::rc::Rc;

/// Whether the class has no constructors but defaulted and deleted ones, and all its data are public.
pub(in crate::sema) fn is_aggregate(
    records: &Records<'_>,
    functions: &Functions<'_>,
    record: RecordId,
) -> bool {
    let inst = records.get(record);
    !inst.access.hides_data
        && inst.lambda.is_none()
        && inst.constructors.iter().all(|&id| {
            let ast = functions.decl(id).ast;
            let has_code = !matches!(ast.body, ast::FunctionBody::Default | ast::FunctionBody::Delete);
            !has_code && !ast.specifiers.is_explicit
        })
}

/// Whether a class has neither members nor bases.
pub(super) fn has_no_elements(types: &Types, records: &Records<'_>, record: RecordId) -> bool {
    types.record(record).fields.is_empty() && records.get(record).bases.is_empty()
}

/// Initialises the members of a class without constructors from the cursor.
pub(super) fn aggregate<'a>(
    cx: &mut Checker<'a>,
    record: RecordId,
    cursor: &mut Cursor<'a>,
    span: Span,
) -> Expr {
    let count = cx.types.record(record).fields.len();
    if cx.types.record(record).is_union {
        return union_aggregate(cx, record, cursor, span);
    }
    let slots = aggregate_slots(&mut cx.types, &cx.records, record);
    let mut values: Vec<Option<Expr>> = vec![None; count];
    let mut effects = Vec::new();
    let mut next = 0;
    let may_elide = slots.len() == 1;
    while let Some(clause) = cursor.clauses.get(cursor.at) {
        if cursor.leaves_elided() {
            break;
        }
        if let Some(Designator::Field(name, at)) = cursor.designator() {
            let Some(path) = designated_field(cx, record, *name, *at) else {
                cursor.at = cursor.clauses.len();
                return cx.poison(span);
            };
            let field = path[0] as usize;
            let value = designated_value(cx, record, &path, clause, cursor);
            values[field] = Some(value);
            let slot = slots.iter().position(|(slot, _)| *slot == Some(field));
            next = slot.expect("each field has a slot") + 1;
            continue;
        }
        let Some(&(field, ty)) = slots.get(next) else { break };
        cursor.may_elide = may_elide;
        let value = list::element(cx, ty, cursor);
        match field {
            Some(field) => values[field] = Some(value),
            None => effects.push(value),
        }
        next += 1;
    }
    if next > 0 {
        lint::missing_fields(cx, record, &values, span);
    }
    let object = aggregate_of(cx, record, values, span);
    after_all(&mut cx.diagnostics, effects, object)
}

/// The elements of an aggregate in their order: bases, then members. An empty base has no field.
fn aggregate_slots(
    types: &mut Types,
    records: &Records<'_>,
    record: RecordId,
) -> Vec<(Option<usize>, QualTy)> {
    let bases = records.get(record).bases.clone();
    let with_fields = bases.iter().filter(|(_, field)| field.is_some()).count();
    let base = |(base, field): (RecordId, Option<u32>)| {
        (field.map(|field| field as usize), QualTy::plain(records.get(base).ty))
    };
    let mut slots: Vec<_> = bases.into_iter().map(base).collect();
    let fields = types.record(record).fields.clone();
    for (n, field) in fields.iter().enumerate().skip(with_fields) {
        slots.push((Some(n), declared_field_type(types, field).unqualified()));
    }
    slots
}

/// A value after the effects of others; in error if one of them is.
fn after_all(diagnostics: &mut Diagnostics, first: Vec<Expr>, then: Expr) -> Expr {
    if first.iter().any(|value| value.ty.ty.is_error()) {
        return diagnostics.poison(then.span);
    }
    first.into_iter().rev().fold(then, |then, value| after(value, then))
}

fn aggregate_of(cx: &mut Checker<'_>, record: RecordId, mut values: Vec<Option<Expr>>, span: Span) -> Expr {
    let defaults = cx.records.get(record).field_inits.clone();
    if values.iter().zip(&defaults).any(|(value, default)| value.is_none() && default.is_some()) {
        return aggregate_with_defaults(cx, record, values, span);
    }
    struct_of(cx, record, span, |_, n| values[n].take())
}

/// An object from the values of its members, one after the other; a missing one is as declared.
fn struct_of<'a>(
    cx: &mut Checker<'a>,
    record: RecordId,
    span: Span,
    mut value_of: impl FnMut(&mut Checker<'a>, usize) -> Option<Expr>,
) -> Expr {
    let count = cx.types.record(record).fields.len();
    let mut fields = Vec::with_capacity(count);
    for n in 0..count {
        let value = match value_of(cx, n) {
            Some(value) => value,
            None => missing_field(cx, record, n as u32, span),
        };
        if value.ty.ty.is_error() {
            return cx.poison(span);
        }
        fields.push(value);
    }
    Expr::value(ExprKind::Struct(fields), cx.records.get(record).ty, span)
}

/// Default member initialisers may mention earlier members: the object is built in a variable that
/// they see as `*this`.
fn aggregate_with_defaults(
    cx: &mut Checker<'_>,
    record: RecordId,
    values: Vec<Option<Expr>>,
    span: Span,
) -> Expr {
    let ty = cx.records.get(record).ty;
    let object = QualTy::plain(ty);
    let pointer_ty = cx.types.pointer(object);
    let local = cx.function.new_local(Name::EMPTY, ty, span);
    let pointer = cx.function.new_local(cx.names.this, pointer_ty, span);
    let outer = cx.function.this.replace((pointer, object));
    let mut stmts = Vec::new();
    for (n, value) in values.into_iter().enumerate() {
        match value {
            Some(value) => constructor::store_field(cx, record, n as u32, value, &mut stmts, span),
            None => constructor::default_field(cx, record, n as u32, &mut stmts, span),
        }
    }
    cx.function.this = outer;
    let place = Expr::place(ExprKind::Local(local), object, span);
    let mut body = Expr::value(ExprKind::Load(Box::new(place.clone())), ty, span);
    for stmt in stmts.into_iter().rev() {
        if let StmtKind::Expr(store) = stmt.kind {
            body = Expr::value(ExprKind::Comma(Box::new(store), Box::new(body)), ty, span);
        }
    }
    let address = Expr::value(ExprKind::AddressOf(Box::new(place)), pointer_ty, span);
    let body = Expr::value(ExprKind::Let(pointer, Some(Box::new(address)), Box::new(body)), ty, span);
    let zero = Expr::value(ExprKind::Zero, ty, span);
    Expr::value(ExprKind::Let(local, Some(Box::new(zero)), Box::new(body)), ty, span)
}

fn union_aggregate<'a>(cx: &mut Checker<'a>, record: RecordId, cursor: &mut Cursor<'a>, span: Span) -> Expr {
    let ty = cx.records.get(record).ty;
    let Some(clause) = cursor.clauses.get(cursor.at) else { return cx.values().zero(ty, span) };
    let (index, value) = match cursor.designator() {
        Some(Designator::Field(name, at)) => {
            let Some(path) = designated_field(cx, record, *name, *at) else {
                cursor.at = cursor.clauses.len();
                return cx.poison(span);
            };
            (path[0], designated_value(cx, record, &path, clause, cursor))
        }
        _ => {
            let Some(first) = cx.types.record(record).fields.first() else {
                return cx.values().zero(ty, span);
            };
            let first = first.ty.unqualified();
            (0, list::element(cx, first, cursor))
        }
    };
    if value.ty.ty.is_error() {
        return value;
    }
    Expr::value(ExprKind::Union(index, Box::new(value)), ty, span)
}

fn designated_field(
    cx: &mut Checker<'_>,
    record: RecordId,
    name: crate::token::Name,
    span: Span,
) -> Option<Rc<[u32]>> {
    match record::lookup(cx, record, name) {
        Some(Found::Field(owner, path)) if owner == record => Some(path),
        _ => {
            let class = cx.types.record(record).name.clone();
            cx.error("unknown-member", span, format!("no member named `{name}` in `{class}`"));
            None
        }
    }
}

fn designated_value<'a>(
    cx: &mut Checker<'a>,
    record: RecordId,
    path: &[u32],
    clause: &'a InitClause,
    cursor: &mut Cursor<'a>,
) -> Expr {
    let span = clause.value.span;
    if clause.designators.len() > 1 || path.len() > 1 {
        cx.error("nested-designator", span, "designators of nested members are not supported");
        cursor.at += 1;
        return cx.poison(span);
    }
    cursor.designated = Some(cursor.at);
    let field = cx.types.record(record).fields[path[0] as usize].clone();
    let ty = declared_field_type(&mut cx.types, &field).unqualified();
    list::element(cx, ty, cursor)
}

/// The value of a member that no clause names.
fn missing_field(cx: &mut Checker<'_>, record: RecordId, index: u32, span: Span) -> Expr {
    let init = cx.records.get(record).field_inits.get(index as usize).copied().flatten();
    let field = &cx.types.record(record).fields[index as usize];
    let (name, field, is_reference) = (field.name, field.ty, field.is_reference);
    match init {
        Some(init) => {
            let scope = cx.records.get(record).scope;
            cx.in_scope(scope, |cx| init::initial_value(cx, field, init, span))
        }
        None if is_reference => {
            constructor::uninitialised_member(&mut cx.diagnostics, name, span);
            cx.poison(span)
        }
        None => default::value_init(cx, field.ty, span),
    }
}

/// A class without constructors from arguments in parentheses.
pub(in crate::sema) fn aggregate_from_args<'a>(
    cx: &mut Checker<'a>,
    record: RecordId,
    args: Vec<Arg<'a>>,
    span: Span,
) -> Expr {
    let slots = aggregate_slots(&mut cx.types, &cx.records, record);
    // Parentheses convert no argument to an empty base, which has no member.
    let is_base = |(arg, (field, ty)): (&Arg<'a>, &(Option<usize>, QualTy))| {
        field.is_some() || matches!(arg, Arg::Expr(value) if value.ty.ty == ty.ty)
    };
    let fits = args.len() <= slots.len() && args.iter().zip(&slots).all(is_base);
    if !fits || cx.types.record(record).is_union {
        let name = cx.types.record(record).name.clone();
        let types: Vec<String> = args.iter().map(|arg| overload::show_call_arg(&cx.types, arg)).collect();
        let message = format!("`{name}` has no constructor that takes ({})", types.join(", "));
        cx.error("no-matching-function", span, message);
        return cx.poison(span);
    }
    let mut values = vec![None; cx.types.record(record).fields.len()];
    let mut effects = Vec::new();
    for (arg, (field, ty)) in args.into_iter().zip(slots) {
        let value = call::convert_arg(cx, arg, ty);
        match field {
            Some(field) => values[field] = Some(value),
            None => effects.push(value),
        }
    }
    let object = struct_of(cx, record, span, |_, n| values[n].take());
    after_all(&mut cx.diagnostics, effects, object)
}

pub(super) fn declared_field_type(types: &mut Types, field: &hir::FieldInfo) -> QualTy {
    match (field.is_reference, types.pointee(field.ty.ty)) {
        (true, Some(to)) => QualTy::plain(types.reference(to, false)),
        _ => field.ty,
    }
}

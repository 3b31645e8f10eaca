//! What constructors do before their bodies: member initialisers, default values, delegation.
//!
//! Invariant: members are initialised in the order of their declaration, whatever the order of the
//! initialisers.

use super::synthesised::assigned;
use super::{DefaultInit, ListForm, aggregate, default, list, synthesised};
use crate::ast;
use crate::hir::{Expr, ExprKind, QualTy, RecordId, Stmt, StmtKind, Ty, Types};
use crate::sema::call::Arg;
use crate::sema::checker::Checker;
use crate::sema::construct::{Brackets, ConstructArgs};
use crate::sema::diagnostics::Diagnostics;
use crate::sema::entities::Found;
use crate::sema::fn_context::Returns;
use crate::sema::record::Records;
use crate::sema::scopes::Scopes;
use crate::sema::{call, construct, init, path, record, special, spelling};
use crate::token::Name;
use anymetal_diagnostics::{Diagnostic, Span};
use std::rc::Rc;

/// A member initialiser, of a pack with the element's number, and the path to its member.
type FieldInit<'a> = (&'a ast::MemInit, Option<usize>, Rc<[u32]>);

/// Initialises one member as its declaration says.
pub(super) fn default_field(
    cx: &mut Checker<'_>,
    record: RecordId,
    index: u32,
    stmts: &mut Vec<Stmt>,
    span: Span,
) {
    let init = cx.records.get(record).field_inits.get(index as usize).copied().flatten();
    let field = cx.types.record(record).fields[index as usize].clone();
    let value = match init {
        Some(init) => {
            let ty = aggregate::declared_field_type(&mut cx.types, &field);
            let scope = cx.records.get(record).scope;
            cx.in_scope(scope, |cx| init::initial_value(cx, ty, init, span))
        }
        None if field.is_reference => return uninitialised_member(&mut cx.diagnostics, field.name, span),
        None => match default::default_init(cx, field.ty.ty, span) {
            DefaultInit::Constructor(func) => default::default_constructed(cx, field.ty.ty, func, span),
            DefaultInit::Trivial => {
                if field.ty.is_const
                    && !special::may_be_const_without_value(
                        &cx.types,
                        &cx.records,
                        &cx.functions,
                        field.ty.ty,
                    )
                {
                    uninitialised_member(&mut cx.diagnostics, field.name, span);
                }
                return;
            }
            init @ (DefaultInit::Impossible | DefaultInit::Deleted(_)) => {
                return default::report_no_default(&cx.types, &mut cx.diagnostics, field.ty.ty, init, span);
            }
        },
    };
    store_field(cx, record, index, value, stmts, span);
}

/// Checks the initialiser of a data member as a constructor evaluates it.
pub(in crate::sema) fn check_field_initialiser(
    cx: &mut Checker<'_>,
    record: RecordId,
    name: Name,
    span: Span,
) {
    let Some(index) = cx.types.record(record).fields.iter().position(|field| field.name == name) else {
        // The class is in error.
        return;
    };
    cx.in_function(Returns::Type(QualTy::plain(Ty::VOID)), |cx| {
        let object = QualTy::plain(cx.records.get(record).ty);
        let pointer = cx.types.pointer(object);
        let this = cx.function.new_local(cx.names.this, pointer, span);
        cx.function.this = Some((this, object));
        default_field(cx, record, index as u32, &mut Vec::new(), span);
    });
}

/// Reports a const or reference member without a value.
pub(super) fn uninitialised_member(diagnostics: &mut Diagnostics, name: Name, span: Span) {
    let message = format!("member `{name}` is const or a reference, and has no initialiser");
    diagnostics.error("uninitialised-member", span, message);
}

pub(super) fn store_field(
    cx: &mut Checker<'_>,
    record: RecordId,
    index: u32,
    value: Expr,
    stmts: &mut Vec<Stmt>,
    span: Span,
) {
    let Some(object) = call::this_object(cx, span) else { return };
    if value.ty.ty.is_error() {
        return;
    }
    let place = cx.values().raw_field(object, record, index, span);
    stmts.push(Stmt { kind: StmtKind::Expr(assigned(place, value, span)), span });
}

/// What a constructor does before its body: member initialisers and default values, in the order of
/// the members.
pub(in crate::sema) fn constructor_prologue<'a>(
    cx: &mut Checker<'a>,
    function: &'a ast::Function,
    stmts: &mut Vec<Stmt>,
) {
    let Some((_, this)) = cx.function.this else { return };
    let Some(record) = cx.types.as_record(this.ty) else { return };
    if !record::complete(cx, record, function.span) {
        return;
    }
    if let [only] = function.mem_inits.as_slice()
        && is_delegation(&cx.records, only, record)
    {
        delegate(cx, only, record, stmts);
        return;
    }
    clear_bit_fields(cx, record, stmts, function.span);
    let mut empty_bases = Vec::new();
    let mut by_field: Vec<Vec<FieldInit<'a>>> = vec![Vec::new(); cx.types.record(record).fields.len()];
    for (init, element) in expanded_inits(&cx.scopes, &mut cx.diagnostics, &function.mem_inits) {
        let member = with_element(cx, element, |cx| member_of_init(cx, init, record));
        match member {
            Some(path) if !path.is_empty() => by_field[path[0] as usize].push((init, element, path)),
            Some(_) => empty_bases.extend(with_element(cx, element, |cx| empty_base_init(cx, init, stmts))),
            None => {}
        }
    }
    construct_empty_bases(cx, record, &empty_bases, stmts, function.span);
    refuse_several_members(cx, record, &by_field);
    for (index, inits) in by_field.into_iter().enumerate() {
        let index = index as u32;
        if inits.is_empty() && !cx.types.record(record).is_union {
            default_field(cx, record, index, stmts, function.span);
        }
        for (init, element, path) in inits {
            with_element(cx, element, |cx| member_init(cx, record, init, &path, stmts));
        }
    }
}

/// Reports member initialisers of two members of one union (C++14 [class.base.init.8]).
fn refuse_several_members(cx: &mut Checker<'_>, record: RecordId, by_field: &[Vec<FieldInit<'_>>]) {
    // The member of each union, by the path to the union.
    let mut known: Vec<(&[u32], u32, Span)> = Vec::new();
    for (init, _, path) in by_field.iter().flatten() {
        let mut at = record;
        for (depth, &index) in path.iter().enumerate() {
            let info = cx.types.record(at);
            if info.is_union {
                let (union, span) = (&path[..depth], init.span);
                match known.iter().find(|(other, ..)| *other == union) {
                    Some(&(_, member, first)) if member != index => {
                        let (first, second) = if first.lo < span.lo { (first, span) } else { (span, first) };
                        let diagnostic =
                            Diagnostic::error("uninitialised-member", second, record::UNION_MEMBERS);
                        cx.report(diagnostic.with_note(first, "previous initialization is here"));
                        return;
                    }
                    Some(_) => {}
                    None => known.push((union, index, span)),
                }
            }
            let Some(inner) = cx.types.as_record(cx.types.record(at).fields[index as usize].ty.ty) else {
                // Only classes have members, so that this is the end of the path.
                break;
            };
            at = inner;
        }
    }
}

/// The initialisers, those of packs once for each element.
fn expanded_inits<'a>(
    scopes: &Scopes<'a>,
    diagnostics: &mut Diagnostics,
    inits: &'a [ast::MemInit],
) -> Vec<(&'a ast::MemInit, Option<usize>)> {
    let mut expanded = Vec::with_capacity(inits.len());
    for init in inits {
        if !init.is_pack {
            expanded.push((init, None));
            continue;
        }
        match scopes.pack_length_of_path(&init.name) {
            Some(length) => expanded.extend((0..length).map(|n| (init, Some(n)))),
            None => diagnostics.error("not-a-pack", init.span, "`...` needs a parameter pack before it"),
        }
    }
    expanded
}

fn with_element<'a, R>(
    cx: &mut Checker<'a>,
    element: Option<usize>,
    f: impl FnOnce(&mut Checker<'a>) -> R,
) -> R {
    match element {
        Some(n) => cx.with_pack_index(n, f),
        None => f(cx),
    }
}

fn is_delegation(records: &Records<'_>, init: &ast::MemInit, record: RecordId) -> bool {
    let name = init.name.segments.last().map(|segment| segment.name);
    name.is_some() && name == records.get(record).name
}

fn delegate<'a>(cx: &mut Checker<'a>, init: &'a ast::MemInit, record: RecordId, stmts: &mut Vec<Stmt>) {
    let Some(args) = call::clause_args(cx, &init.args) else { return };
    let brackets = if init.braced { Brackets::Brace(ListForm::Direct) } else { Brackets::Paren };
    let value = construct::of_class(cx, record, args, brackets, init.span);
    let Some(object) = call::this_object(cx, init.span) else { return };
    if !value.ty.ty.is_error() {
        stmts.push(Stmt { kind: StmtKind::Expr(assigned(object, value, init.span)), span: init.span });
    }
}

/// The path to the member (or base) a member initialiser names; empty for an empty base.
fn member_of_init<'a>(cx: &mut Checker<'a>, init: &'a ast::MemInit, record: RecordId) -> Option<Rc<[u32]>> {
    if let [only] = init.name.segments.as_slice()
        && only.args.is_none()
        && let Some(Found::Field(owner, path)) = record::lookup(cx, record, only.name)
        && owner == record
    {
        return Some(path);
    }
    let base = cx.quietly(|cx| path::resolve_type(cx, &init.name)).ok().flatten();
    if let Some(base) = base.and_then(|ty| cx.types.as_record(ty.ty))
        && let Some(path) = record::base_path(cx, record, base)
    {
        return Some(path.into());
    }
    let class = cx.types.record(record).name.clone();
    let name = spelling::path(&init.name);
    cx.error("unknown-member", init.span, format!("no member named `{name}` in `{class}`"));
    None
}

fn member_init<'a>(
    cx: &mut Checker<'a>,
    record: RecordId,
    init: &'a ast::MemInit,
    path: &[u32],
    stmts: &mut Vec<Stmt>,
) {
    let span = init.span;
    let Some(mut place) = call::this_object(cx, span) else { return };
    let mut at = record;
    let mut declared = place.ty;
    for &index in path {
        let field = cx.types.record(at).fields[index as usize].clone();
        declared = aggregate::declared_field_type(&mut cx.types, &field);
        place = cx.values().raw_field(place, at, index, span);
        at = cx.types.as_record(field.ty.ty).unwrap_or(at);
    }
    let value = mem_init_value(cx, init, declared, span);
    let is_reference = cx.types.referent(declared.ty).is_some();
    if (is_reference && is_temporary(&value)) || has_temporary(&cx.types, &value) {
        let name = spelling::path(&init.name);
        let message =
            format!("reference member `{name}` binds to a temporary object, which does not live as long");
        cx.error("dangling-member", span, message);
        return;
    }
    if !value.ty.ty.is_error() {
        stmts.push(Stmt { kind: StmtKind::Expr(assigned(place, value, span)), span });
    }
}

/// Whether a value is the address of a temporary object.
fn is_temporary(value: &Expr) -> bool {
    matches!(&value.kind, ExprKind::AddressOf(place) if matches!(place.kind, ExprKind::Materialize(_)))
}

/// Whether an aggregate has a reference that binds to a temporary object.
fn has_temporary(types: &Types, value: &Expr) -> bool {
    let (ExprKind::Struct(values), Some(record)) = (&value.kind, types.as_record(value.ty.ty)) else {
        return false;
    };
    let mut fields = types.record(record).fields.iter().zip(values);
    fields.any(|(field, value)| (field.is_reference && is_temporary(value)) || has_temporary(types, value))
}

/// An empty base has no member to store its value in, but its constructor runs. Returns the base.
fn empty_base_init<'a>(
    cx: &mut Checker<'a>,
    init: &'a ast::MemInit,
    stmts: &mut Vec<Stmt>,
) -> Option<RecordId> {
    let base = path::resolve_type(cx, &init.name)?;
    let value = mem_init_value(cx, init, base.unqualified(), init.span);
    if !value.ty.ty.is_error() {
        stmts.push(Stmt { kind: StmtKind::Expr(value), span: init.span });
    }
    cx.types.as_record(base.ty)
}

/// Runs the default constructors of empty bases without an initialiser; reports those that have none.
pub(super) fn construct_empty_bases(
    cx: &mut Checker<'_>,
    record: RecordId,
    initialised: &[RecordId],
    stmts: &mut Vec<Stmt>,
    span: Span,
) {
    let empty: Vec<RecordId> = cx
        .records
        .get(record)
        .bases
        .iter()
        .filter(|(base, field)| field.is_none() && !initialised.contains(base))
        .map(|&(base, _)| base)
        .collect();
    for base in empty {
        let ty = cx.records.get(base).ty;
        match default::default_init(cx, ty, span) {
            DefaultInit::Trivial => {}
            DefaultInit::Constructor(func) => {
                let value = default::default_constructed(cx, ty, func, span);
                stmts.push(Stmt { kind: StmtKind::Expr(value), span });
            }
            init @ (DefaultInit::Impossible | DefaultInit::Deleted(_)) => {
                default::report_no_default(&cx.types, &mut cx.diagnostics, ty, init, span);
            }
        }
    }
}

fn mem_init_value<'a>(cx: &mut Checker<'a>, init: &'a ast::MemInit, declared: QualTy, span: Span) -> Expr {
    if init.braced {
        return list::list_value(cx, &init.args, declared, ListForm::Direct, span);
    }
    let Some(args) = call::clause_args(cx, &init.args) else { return cx.poison(span) };
    let to = init::initialised_type(&cx.types, declared);
    if cx.types.referent(declared.ty).is_some() && args.is_empty() {
        let message = format!("reference to type `{}` requires an initializer", cx.show(declared));
        cx.error("uninitialised-member", span, message);
        return cx.poison(span);
    }
    if cx.types.referent(declared.ty).is_some() {
        return init::bound_argument(cx, args, to, span);
    }
    if let ([Arg::Expr(only)], Some(_)) = (args.as_slice(), cx.types.as_array(to.ty))
        && only.ty.ty == to.ty
    {
        let only = only.clone();
        return synthesised::copied_array(cx, only);
    }
    if args.is_empty() {
        return default::value_init(cx, to.ty, span);
    }
    construct::object(cx, to, ConstructArgs::Paren(args), span)
}

/// At the start of a constructor: an object with bit-fields begins as zero, because a write to a
/// bit-field reads the bytes around it.
pub(super) fn clear_bit_fields(cx: &mut Checker<'_>, record: RecordId, stmts: &mut Vec<Stmt>, span: Span) {
    if cx.types.record(record).fields.iter().all(|field| field.bits.is_none()) {
        return;
    }
    let Some(object) = call::this_object(cx, span) else { return };
    let ty = cx.records.get(record).ty;
    let zero = Expr::value(ExprKind::Zero, ty, span);
    let place = ExprKind::Assign(Box::new(object), Box::new(zero));
    let store = Expr::place(place, QualTy::plain(ty), span);
    stmts.push(Stmt { kind: StmtKind::Expr(store), span });
}

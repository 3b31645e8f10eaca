//! Lists in braces, with brace elision.
//!
//! Invariant: a [`Cursor`] only goes forward, and a clause that was looked at is checked once.

use super::{DefaultInit, aggregate, default};
use crate::ast::{Designator, ExprKind as Ast, InitClause};
use crate::hir::{Expr, ExprKind, QualTy, RecordId, Ty, TyKind};
use crate::sema::checker::Checker;
use crate::sema::construct::ConstructArgs;
use crate::sema::convert::{Conversion, Rank};
use crate::sema::diagnostics::Diagnostics;
use crate::sema::{call, construct, convert, expr, init, lint, narrowing, record};
use anymetal_diagnostics::Span;

/// Where a list in braces stands: explicit constructors serve direct initialisation only
/// (C++17 [over.match.list]).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::sema) enum ListForm {
    /// `T x{…}`, `T{…}`
    Direct,
    /// `T x = {…}`, and lists that are arguments, results or elements of other lists.
    Copy,
}

/// Reads the clauses of a list one after the other, as brace elision wants them.
#[derive(Debug)]
pub(super) struct Cursor<'a> {
    pub(super) clauses: &'a [InitClause],
    pub(super) at: usize,
    /// The value of the current clause, when it was looked at and not used.
    pub(super) pending: Option<Expr>,
    /// The clause whose designator has been followed.
    pub(super) designated: Option<usize>,
    /// The number of aggregates without braces around the current one.
    pub(super) elided: u32,
    /// Whether it is usual that the next aggregate has no braces: it is the only one of its class.
    pub(super) may_elide: bool,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(clauses: &'a [InitClause]) -> Self {
        Self { clauses, at: 0, pending: None, designated: None, elided: 0, may_elide: false }
    }

    /// The designator of the current clause, unless it has been followed.
    pub(super) fn designator(&self) -> Option<&'a Designator> {
        let clause = self.clauses.get(self.at)?;
        clause.designators.first().filter(|_| self.designated != Some(self.at))
    }

    /// Whether the current clause is for the list, not for an aggregate without braces within it.
    pub(super) fn leaves_elided(&self) -> bool {
        // A range of elements is for the array that the elements before it are in.
        self.elided > 0 && matches!(self.designator(), Some(Designator::Field(..) | Designator::Index(_)))
    }
}

/// Whether a list can initialise a type; how well does not matter much.
pub(in crate::sema) fn list_conversion<'a>(
    cx: &mut Checker<'a>,
    clauses: &'a [InitClause],
    to: QualTy,
) -> Option<Conversion> {
    if !cx.limits.enter_tried_list() {
        return Some(Conversion::new(Rank::User, 1));
    }
    let value = cx.quietly(|cx| {
        let span = clauses.first().map_or(Span::NONE, |clause| clause.value.span);
        // An explicit constructor that is chosen is an error, but does not make others better.
        list_value(cx, clauses, to, ListForm::Direct, span)
    });
    cx.limits.leave_tried_list();
    value.ok().filter(|value| !value.ty.ty.is_error()).map(|_| Conversion::new(Rank::User, 1))
}

/// The value that `{clauses}` gives for a type.
pub(in crate::sema) fn list_value<'a>(
    cx: &mut Checker<'a>,
    clauses: &'a [InitClause],
    to: QualTy,
    form: ListForm,
    span: Span,
) -> Expr {
    if to.ty.is_error() {
        return cx.poison(span);
    }
    let clauses = cx.made.expanded_clauses(&cx.scopes, clauses);
    if let TyKind::Reference { to: referent, rvalue } = *cx.types.kind(to.ty) {
        if !referent.is_const && !rvalue {
            cx.error("no-conversion", span, "a list cannot be bound to a reference to non-const");
            return cx.poison(span);
        }
        let value = list_value(cx, clauses, referent.unqualified(), form, span);
        let place = expr::materialize(value);
        let pointer = cx.types.pointer(referent);
        return Expr::value(ExprKind::AddressOf(Box::new(place)), pointer, span);
    }
    match *cx.types.kind(to.ty) {
        TyKind::Record(record) => list_record(cx, record, clauses, form, span),
        TyKind::Array(elem, len) => list_array(cx, to.ty, elem, len, clauses, span),
        TyKind::Vector { .. } if clauses.iter().all(|clause| clause.designators.is_empty()) => {
            construct::object(cx, to, ConstructArgs::Brace(clauses), span)
        }
        TyKind::Vector { .. } | TyKind::Matrix { .. } => {
            let Some(args) = call::clause_args(cx, clauses) else { return cx.poison(span) };
            construct::object(cx, to, ConstructArgs::Paren(args), span)
        }
        _ => list_scalar(cx, clauses, to, span),
    }
}

fn list_scalar<'a>(cx: &mut Checker<'a>, clauses: &'a [InitClause], to: QualTy, span: Span) -> Expr {
    match clauses {
        [] => cx.values().zero(to.ty, span),
        [only] if only.designators.is_empty() => {
            if let Ast::InitList(inner) = &only.value.kind {
                return list_value(cx, inner, to, ListForm::Copy, span);
            }
            if let Some(function) = call::function_for(cx, &only.value, to) {
                return function;
            }
            let value = expr::check(cx, &only.value);
            narrowing::refuse_in_list(cx, &value, to.ty);
            convert::to_type(cx, value, to.unqualified(), "in this initialiser")
        }
        _ => {
            let shown = cx.show(to);
            cx.error("excess-initialisers", span, format!("`{shown}` is initialised by one value"));
            cx.poison(span)
        }
    }
}

fn list_record<'a>(
    cx: &mut Checker<'a>,
    record: RecordId,
    clauses: &'a [InitClause],
    form: ListForm,
    span: Span,
) -> Expr {
    if !record::complete(cx, record, span) {
        return cx.poison(span);
    }
    let ty = cx.records.get(record).ty;
    let is_aggregate = aggregate::is_aggregate(&cx.records, &cx.functions, record);
    if clauses.is_empty()
        && !(is_aggregate && matches!(default::default_init(cx, ty, span), DefaultInit::Deleted(_)))
    {
        if form == ListForm::Copy {
            default::refuse_explicit(cx, record, span);
        }
        return default::value_init(cx, ty, span);
    }
    if !is_aggregate {
        return construct::by_list(cx, record, clauses, form, span);
    }
    if let [only] = clauses
        && only.designators.is_empty()
        && !matches!(only.value.kind, Ast::InitList(_))
    {
        // `S{other}` copies.
        let value = expr::check(cx, &only.value);
        if value.ty.ty.is_error() {
            return value;
        }
        if value.ty.ty == ty || convert::is_derived(cx, value.ty.ty, ty) {
            return convert::perform(cx, value, QualTy::plain(ty));
        }
        return list_aggregate(cx, record, Cursor { pending: Some(value), ..Cursor::new(clauses) }, span);
    }
    list_aggregate(cx, record, Cursor::new(clauses), span)
}

fn list_aggregate<'a>(cx: &mut Checker<'a>, record: RecordId, mut cursor: Cursor<'a>, span: Span) -> Expr {
    let value = aggregate::aggregate(cx, record, &mut cursor, span);
    check_consumed(&mut cx.diagnostics, &cursor);
    value
}

fn check_consumed<'a>(diagnostics: &mut Diagnostics, cursor: &Cursor<'a>) {
    if let Some(extra) = cursor.clauses.get(cursor.at) {
        diagnostics.error(
            "excess-initialisers",
            extra.value.span,
            "more initialisers than members or elements",
        );
    }
}

/// One element of an aggregate: a whole clause, or by brace elision as many as it takes.
pub(super) fn element<'a>(cx: &mut Checker<'a>, to: QualTy, cursor: &mut Cursor<'a>) -> Expr {
    let ty = to.ty;
    let Some(clause) = cursor.clauses.get(cursor.at) else {
        return default::value_init(cx, ty, Span::NONE);
    };
    let span = clause.value.span;
    if cursor.pending.is_none()
        && let Ast::InitList(inner) = &clause.value.kind
    {
        cursor.at += 1;
        return list_value(cx, inner, to, ListForm::Copy, span);
    }
    if let Some(value) = init::characters(&cx.types, &mut cx.diagnostics, &clause.value, ty) {
        cursor.at += 1;
        cursor.pending = None;
        return value;
    }
    if cursor.pending.is_none()
        && let Some(function) = call::function_for(cx, &clause.value, to)
    {
        cursor.at += 1;
        return function;
    }
    let value = match cursor.pending.take() {
        Some(value) => value,
        None => expr::check(cx, &clause.value),
    };
    if value.ty.ty.is_error() {
        cursor.at += 1;
        return value;
    }
    let is_aggregate = match *cx.types.kind(ty) {
        TyKind::Array(..) => true,
        TyKind::Record(record) => {
            record::complete(cx, record, span) && aggregate::is_aggregate(&cx.records, &cx.functions, record)
        }
        _ => false,
    };
    if !is_aggregate || convert::conversion_of(cx, &value, to, true).is_some() {
        cursor.at += 1;
        narrowing::refuse_in_list(cx, &value, ty);
        return convert::to_type(cx, value, to, "in this initialiser");
    }
    if let TyKind::Record(record) = *cx.types.kind(ty)
        && aggregate::has_no_elements(&cx.types, &cx.records, record)
    {
        let message = "initializer for aggregate with no elements requires explicit braces";
        cx.error("excess-initialisers", span, message);
        cursor.at += 1;
        return cx.poison(span);
    }
    cursor.pending = Some(value);
    if !std::mem::take(&mut cursor.may_elide) {
        lint::missing_braces(cx, span);
    }
    cursor.elided += 1;
    let at = cursor.at;
    let value = match *cx.types.kind(ty) {
        TyKind::Record(record) => aggregate::aggregate(cx, record, cursor, span),
        TyKind::Array(elem, len) => array_elements(cx, ty, elem, len, cursor, span),
        _ => cx.poison(span),
    };
    cursor.elided -= 1;
    if cursor.at == at {
        // An aggregate without elements takes no clause.
        cursor.at += usize::from(value.ty.ty.is_error());
    }
    value
}

fn list_array<'a>(
    cx: &mut Checker<'a>,
    ty: Ty,
    elem: Ty,
    len: u64,
    clauses: &'a [InitClause],
    span: Span,
) -> Expr {
    if let [only] = clauses
        && let Some(value) = init::characters(&cx.types, &mut cx.diagnostics, &only.value, ty)
    {
        return value;
    }
    let mut cursor = Cursor::new(clauses);
    let value = array_elements(cx, ty, elem, len, &mut cursor, span);
    check_consumed(&mut cx.diagnostics, &cursor);
    value
}

fn array_elements<'a>(
    cx: &mut Checker<'a>,
    ty: Ty,
    elem: Ty,
    len: u64,
    cursor: &mut Cursor<'a>,
    span: Span,
) -> Expr {
    let mut values = Vec::new();
    while (values.len() as u64) < len && cursor.at < cursor.clauses.len() {
        if cursor.leaves_elided() {
            break;
        }
        if let Some(Designator::Index(_)) = cursor.designator() {
            cx.error("array-designator", span, "designators of array elements are not supported");
            cursor.at = cursor.clauses.len();
            return cx.poison(span);
        }
        let before = cursor.at;
        cursor.may_elide = false;
        let value = element(cx, QualTy::plain(elem), cursor);
        if cursor.at == before {
            // Elements without members take no clause, however many there are.
            break;
        }
        if value.ty.ty.is_error() {
            // The rest is not in excess.
            cursor.at = cursor.clauses.len();
            return value;
        }
        values.push(value);
    }
    if (values.len() as u64) < len && default::default_init(cx, elem, span) != DefaultInit::Trivial {
        if default::refuse_too_many_elements(&cx.types, &mut cx.diagnostics, ty, span) {
            return cx.poison(span);
        }
        while (values.len() as u64) < len {
            values.push(default::value_init(cx, elem, span));
        }
    }
    Expr::value(ExprKind::Array(values), ty, span)
}

//! Tables of visible functions: `visible_function_table<T>`.
//!
//! The Metal library declares the type; a record is one by the name of its first member, which programs
//! cannot use: the memory of the entries. An entry has a function's number in its low 32 bits and the number
//! of entries in the others ([`anymetal_abi::functions`]).

use super::checker::Checker;
use super::diagnostics::Diagnostics;
use super::entities::TArg;
use super::names::KnownNames;
use super::record::Records;
use super::{convert, expr};
use crate::ast;
use crate::hir::{CastKind, Expr, ExprKind, QualTy, Ty, TyKind, Types};
use anymetal_diagnostics::Span;

/// Whether a type is that of tables.
pub(super) fn is_table(types: &Types, names: &KnownNames, ty: Ty) -> bool {
    let first = types.as_record(ty).and_then(|record| types.record(record).fields.first());
    first.is_some_and(|first| first.name == names.function_table)
}

/// The type of the pointers that a table gives.
fn pointer_to(
    types: &mut Types,
    records: &Records<'_>,
    diagnostics: &mut Diagnostics,
    table: Ty,
    span: Span,
) -> Option<Ty> {
    let record = types.as_record(table)?;
    let signature = match records.get(record).args.first() {
        Some(TArg::Type(ty)) => *ty,
        _ => return None,
    };
    if types.pointed_function(signature.ty).is_some() {
        let function = types.pointed_function(signature.ty)?;
        return Some(types.pointer(QualTy::plain(function)));
    }
    if !matches!(types.kind(signature.ty), TyKind::Function { .. }) {
        let message = format!("a table of `{}` has no functions", types.display_qual(signature));
        diagnostics.error("not-a-function-type", span, message);
        return None;
    }
    Some(types.pointer(QualTy::plain(signature.ty)))
}

/// `table[index]`.
pub(super) fn function_of_table<'a>(
    cx: &mut Checker<'a>,
    table: Expr,
    index: &'a ast::Expr,
    span: Span,
) -> Expr {
    let index = expr::check(cx, index);
    let index = convert::builtin_operand(cx, index);
    let index = cx.values().rvalue(index);
    if index.ty.ty.is_error() {
        return index;
    }
    if cx.types.scalar_repr(index.ty.ty).is_none_or(|scalar| scalar.is_float()) {
        let shown = cx.types.display(index.ty.ty);
        cx.error("bad-index", index.span, format!("an index must be an integer, not a `{shown}`"));
        return cx.poison(span);
    }
    let Some(pointer) = pointer_to(&mut cx.types, &cx.records, &mut cx.diagnostics, table.ty.ty, span) else {
        return cx.poison(span);
    };
    let entry = entry(cx, table, index, span);
    // The number is the low half.
    let number = cx.values().cast_value(CastKind::Convert, entry, Ty::UINT, span);
    let number = cx.values().cast_value(CastKind::Convert, number, Ty::ULONG, span);
    cx.values().cast_value(CastKind::Bitcast, number, pointer, span)
}

/// The entry of a table, an unsigned integer of 64 bits.
fn entry(cx: &mut Checker<'_>, table: Expr, index: Expr, span: Span) -> Expr {
    let place = expr::materialize(table);
    let Some(record) = cx.types.as_record(place.ty.ty) else { return cx.poison(span) };
    let entries = cx.values().raw_field(place, record, 0, span);
    let entries = cx.values().rvalue(entries);
    let Some(element) = cx.types.pointee(entries.ty.ty) else { return cx.poison(span) };
    let ty = entries.ty.ty;
    let index = cx.values().cast_value(CastKind::Convert, index, Ty::LONG, span);
    let at = Expr::value(ExprKind::PointerAdd(Box::new(entries), Box::new(index)), ty, span);
    let entry = Expr::place(ExprKind::Deref(Box::new(at)), element, span);
    Expr::value(ExprKind::Load(Box::new(entry)), element.ty, span)
}

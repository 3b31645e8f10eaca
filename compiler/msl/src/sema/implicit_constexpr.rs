//! Whether the special member functions that a class has implicitly could be `constexpr`, as those that are
//! defaulted and marked so must be (C++17 [dcl.fct.def.default.3]).

use super::checker::Checker;
use super::data_member;
use super::init::{self, DefaultInit, Memberwise};
use super::special::{self, Copying, Takes};
use crate::hir::{Expr, ExprKind, QualTy, RecordId, Ty, Types};
use crate::token::Name;
use anymetal_diagnostics::Span;

/// Whether the default constructor that a class has implicitly could be `constexpr`: it sets all members, by
/// constructors that are (C++17 [dcl.constexpr.4]).
pub(super) fn has_constant_default(cx: &mut Checker<'_>, record: RecordId) -> bool {
    let fields = cx.types.record(record).fields.clone();
    let inits = cx.records.get(record).field_inits.clone();
    let is_union = cx.types.record(record).is_union;
    let empty = cx.records.get(record).bases.iter().filter(|(_, field)| field.is_none());
    let mut types: Vec<Ty> = empty.map(|&(base, _)| cx.records.get(base).ty).collect();
    let unset = fields.iter().zip(inits).filter(|(_, init)| init.is_none() && !is_union);
    types.extend(unset.map(|(field, _)| field.ty.ty));
    types.into_iter().all(|ty| {
        let Some(part) = cx.types.as_record(element_of(&cx.types, ty)) else { return false };
        match init::default_init(cx, cx.records.get(part).ty, Span::NONE) {
            DefaultInit::Constructor(func) => match cx.functions.inst(func).origin.decl() {
                Some(decl) => cx.functions.decl(decl).ast.specifiers.is_constexpr,
                None => has_constant_default(cx, part),
            },
            DefaultInit::Trivial => has_constant_default(cx, part),
            // It is deleted, which is reported.
            DefaultInit::Impossible | DefaultInit::Deleted(_) => true,
        }
    })
}

/// Whether the copy or move that a class has implicitly could be `constexpr`.
pub(super) fn has_constant_copy(
    cx: &mut Checker<'_>,
    how: Memberwise,
    takes: Takes,
    record: RecordId,
) -> bool {
    let fields: Vec<(Name, Ty)> =
        cx.types.record(record).fields.iter().map(|field| (field.name, field.ty.ty)).collect();
    fields.into_iter().all(|(name, ty)| {
        let ty = element_of(&cx.types, ty);
        let Some(part) = cx.types.as_record(ty) else { return true };
        let is_const = takes == Takes::Copy && !data_member::is_mutable(&cx.records, record, name);
        let place = Expr::place(ExprKind::Undef, QualTy { is_const, ..QualTy::plain(ty) }, Span::NONE);
        let place = if takes == Takes::Copy { place } else { cx.values().as_xvalue(place) };
        match special::copying(cx, how, &place) {
            Copying::Declared(func) => {
                let decl = cx.functions.inst(func).origin.decl();
                decl.is_some_and(|decl| cx.functions.decl(decl).ast.specifiers.is_constexpr)
            }
            Copying::Parts | Copying::Defaulted(_) => has_constant_copy(cx, how, takes, part),
            // It is deleted, which is reported.
            Copying::Deleted(_) => true,
        }
    })
}

/// The type of the innermost elements of an array, other types themselves.
fn element_of(types: &Types, ty: Ty) -> Ty {
    let mut inner = ty;
    while let Some((elem, _)) = types.as_array(inner) {
        inner = elem;
    }
    inner
}

//! Facts about a data member that its declaration states and its layout does not.

use super::checker::Checker;
use super::record::Records;
use super::resolve_type;
use crate::ast::{self, ItemKind};
use crate::hir::{RecordId, TyKind};
use crate::token::Name;

/// The declaration of a data member.
fn field_of<'a>(records: &Records<'a>, record: RecordId, member: Name) -> Option<&'a ast::Field> {
    let members = records.get(record).ast?.members.as_ref()?;
    members.iter().find_map(|item| match &item.kind {
        ItemKind::Field(field) if field.name == Some(member) => Some(&**field),
        _ => None,
    })
}

/// Whether a data member is `mutable`.
pub(super) fn is_mutable(records: &Records<'_>, record: RecordId, member: Name) -> bool {
    field_of(records, record, member).is_some_and(|field| field.mutable.is_some())
}

/// Whether a data member, a reference, is `T&&`.
pub(super) fn is_rvalue_reference(cx: &mut Checker<'_>, record: RecordId, member: Name) -> bool {
    let Some(field) = field_of(&cx.records, record, member) else { return false };
    let scope = cx.records.get(record).scope;
    let ty = cx.quietly(|cx| cx.in_scope(scope, |cx| resolve_type::resolve(cx, &field.ty)));
    ty.is_ok_and(|ty| matches!(cx.types.kind(ty.ty), TyKind::Reference { rvalue: true, .. }))
}

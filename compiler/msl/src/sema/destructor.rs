//! Destructors: whether objects of a class can be destroyed (C++14 [class.dtor]).
//!
//! A destructor runs no code (one with statements is refused), so that only its existence matters: a class
//! with a part that cannot be destroyed has no default or copy constructor.

use super::access;
use super::checker::Checker;
use super::record::Records;
use crate::ast::{Access, FunctionBody, FunctionName, Item, ItemKind};
use crate::hir::{RecordId, Ty, TyKind};
use rustc_hash::FxHashSet;

/// The destructor that a class declares.
struct Declared {
    access: Access,
    is_deleted: bool,
}

fn declared(records: &Records<'_>, record: RecordId) -> Option<Declared> {
    let members = records.get(record).ast?.members.as_ref()?;
    members.iter().find_map(|Item { kind, access, .. }| match kind {
        ItemKind::Function(function) if matches!(function.name, FunctionName::Destructor) => {
            Some(Declared { access: *access, is_deleted: matches!(function.body, FunctionBody::Delete) })
        }
        _ => None,
    })
}

/// Whether the members of a class may destroy an object of a type, a part of theirs.
pub(super) fn is_usable_in(cx: &mut Checker<'_>, class: RecordId, ty: Ty, is_base: bool) -> bool {
    let mut seen = FxHashSet::default();
    let mut rest = vec![(class, ty, is_base)];
    while let Some((user, ty, is_base)) = rest.pop() {
        let record = match *cx.types.kind(ty) {
            TyKind::Array(element, _) => {
                rest.push((user, element, is_base));
                continue;
            }
            TyKind::Record(record) => record,
            _ => continue,
        };
        if !seen.insert((user, record)) {
            continue;
        }
        if let Some(declared) = declared(&cx.records, record) {
            let mut is_accessible =
                || access::is_member_accessible_in(cx, user, record, declared.access, is_base);
            if declared.is_deleted || !is_accessible() {
                return false;
            }
        }
        let bases: Vec<RecordId> = cx.records.get(record).bases.iter().map(|&(base, _)| base).collect();
        rest.extend(cx.types.record(record).fields.iter().map(|field| (record, field.ty.ty, false)));
        rest.extend(bases.into_iter().map(|base| (record, cx.records.get(base).ty, true)));
    }
    true
}

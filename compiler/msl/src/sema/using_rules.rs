//! Rules for the names in using-declarations, by scope (C++14 [namespace.udecl]).

use super::checker::Checker;
use super::entities::Found;
use super::{convert, path};
use crate::ast::Path;
use crate::hir::{RecordId, TyKind};

/// A using-declaration of a namespace or a block names no member of a class or an enumeration.
pub(super) fn outside_of_classes<'a>(cx: &mut Checker<'a>, path: &'a Path) {
    let Some(Found::Type(ty)) = prefix(cx, path) else { return };
    if matches!(cx.types.kind(ty.ty), TyKind::Record(_) | TyKind::Enum(_)) {
        let message = "a using-declaration outside of a class cannot name a member";
        cx.error("using-declaration", path.span, message);
    }
}

/// A using-declaration of a class names a member of a base.
pub(super) fn inside_of_class<'a>(cx: &mut Checker<'a>, class: RecordId, path: &'a Path) {
    let message = match prefix(cx, path) {
        Some(Found::Namespace(_)) => {
            "a using-declaration of a class cannot name a member of a namespace".to_owned()
        }
        None if path.segments.len() == 1 => {
            "a using-declaration of a class names a member of a base".to_owned()
        }
        Some(Found::Type(ty)) if cx.types.as_record(ty.ty).is_some() => {
            let own = cx.records.get(class).ty;
            if convert::is_derived(cx, own, ty.ty) || cx.is_dependent(own) || cx.is_dependent(ty.ty) {
                return;
            }
            format!("`{}` is not a base of the class", cx.show(ty))
        }
        _ => return,
    };
    cx.error("using-declaration", path.span, message);
}

/// The entity that the path without its last name refers to.
fn prefix<'a>(cx: &mut Checker<'a>, path: &'a Path) -> Option<Found<'a>> {
    let count = path.segments.len() - 1;
    if count == 0 {
        return None;
    }
    let found = cx.without_access(|cx| cx.quietly(|cx| path::resolve_prefix(cx, path, count)));
    let found = found.ok()?.ok()?.found;
    match path::type_of_found(&cx.records, &found) {
        Some(ty) => Some(Found::Type(ty)),
        None => Some(found),
    }
}

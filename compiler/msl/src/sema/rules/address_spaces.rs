//! Pointers and references without an address space, which Metal's compiler refuses (MSL 4).
//!
//! Here they are to thread memory, as in C++. A warning that an option switches on reports them.

use crate::ast::{self, TypeKind};
use crate::hir::{QualTy, TyKind};
use crate::sema::checker::Checker;
use anymetal_diagnostics::Diagnostic;
use anymetal_ir::Space;

/// Reports a pointer or reference to `to`, which is written as `written`, without a space.
pub(in crate::sema) fn require<'a>(cx: &mut Checker<'a>, written: &'a ast::Type, to: QualTy, what: &str) {
    let id = "missing-address-space";
    if to.space != Space::Thread || written.quals.space.is_some() || !cx.diagnostics.wants(id) {
        return;
    }
    // Functions are in no space, and a deduced type has the space of its initialiser.
    let is_function = matches!(cx.types.kind(to.ty), TyKind::Function { .. });
    let needs_none = is_function || matches!(written.kind, TypeKind::Auto | TypeKind::DecltypeAuto);
    if to.ty.is_error() || needs_none || cx.diagnostics.is_of_library(written.span) {
        return;
    }
    let message = format!("{what} type must have an explicit address space qualifier");
    let hint = "write `thread`, `device`, `constant` or `threadgroup` before the type";
    cx.report(Diagnostic::warning(id, written.span, message).with_hint(hint));
}

//! The order of declarations: a name of a namespace means nothing, and a class is incomplete, before its
//! declaration (C++14 [basic.scope.namespace]).
//!
//! Lookup finds all declarations of a namespace wherever they stand, and a check of everything refuses here
//! what is declared later only. Code of templates is exempt when it is checked with arguments: names that
//! depend on them are looked up where they are known. Declarations from another file or a macro are exempt
//! because their order relative to the use is not known here.

use super::checker::Checker;
use super::entities::Found;
use super::specialise;
use crate::hir::RecordId;
use crate::token::Name;
use anymetal_diagnostics::Span;

/// Whether all declarations of a name that was found in namespaces come after its use.
pub(super) fn is_too_early<'a>(cx: &mut Checker<'a>, found: &Found<'a>, name: Name, used: Span) -> bool {
    if !applies(cx, used)
        || matches!(found, Found::Local(_) | Found::TArg(_) | Found::Field(..) | Found::Error)
    {
        return false;
    }
    let reach = cx.scopes.namespaces_around();
    let levels = cx.scopes.visible_decls(reach, name);
    let mut decls = levels.into_iter().flat_map(|(_, decls)| decls).peekable();
    decls.peek().is_some()
        && decls.all(|(decl, _)| cx.table.is_own(decl) && is_after(cx.table.span(decl), used))
}

/// Whether a class is defined after a use that needs its definition.
pub(super) fn is_defined_later(cx: &Checker<'_>, class: RecordId, used: Span) -> bool {
    let record = cx.records.get(class);
    // A member class of an instance may be specialised after its class.
    let is_plain = record.lambda.is_none() && !specialise::is_known_instance(cx, class);
    let is_plain = is_plain && record.template.is_none();
    is_plain && applies(cx, used) && record.ast.is_some_and(|ast| is_after(ast.span, used))
}

/// Whether the order of declarations matters to code.
pub(super) fn applies(cx: &Checker<'_>, used: Span) -> bool {
    let has_arguments = || cx.scopes.is_in_instance() && !cx.diagnostics.in_template();
    cx.checks_everything && cx.diagnostics.trace().is_none() && !used.is_none() && !has_arguments()
}

/// Whether a declaration comes after a use, in one file and without macros between them.
pub(super) fn is_after(declared: Span, used: Span) -> bool {
    declared.file == used.file
        && declared.expansion == used.expansion
        && declared.lo > used.hi
        && !declared.is_none()
}

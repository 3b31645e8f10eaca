//! The order of declarations: a name of a namespace means nothing, and a class is incomplete, before its
//! declaration (C++14 [basic.scope.namespace]).
//!
//! Lookup finds all declarations of a namespace wherever they stand, and a check of everything refuses here
//! what is declared later only. Code of templates is exempt when it is checked with arguments: names that
//! depend on them are looked up where they are known. Declarations from another file or a macro are exempt
//! because their order relative to the use is not known here.

use super::checker::Checker;
use super::entities::{FnDeclId, Found};
use super::specialise;
use super::table::Decl;
use crate::hir::RecordId;
use crate::token::Name;
use anymetal_diagnostics::Span;
use std::rc::Rc;

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

/// Removes the functions that are declared after an unqualified use. A using-declaration introduces only the
/// functions that are declared before it (C++14 [namespace.udecl.11]).
pub(super) fn visible_functions(
    cx: &mut Checker<'_>,
    decls: Rc<[FnDeclId]>,
    name: Name,
    used: Span,
) -> Rc<[FnDeclId]> {
    let span = |cx: &Checker<'_>, decl: FnDeclId| cx.functions.decl(decl).ast.span;
    // Most overloads are of the library.
    let may_be_later = decls.len() > 1 && decls.iter().any(|&decl| span(cx, decl).file == used.file);
    if !may_be_later || !applies(cx, used) {
        return decls;
    }
    let reach = cx.scopes.namespaces_around();
    let (mut namespaces, mut usings) = (Vec::new(), Vec::new());
    for (decl, ns) in cx.scopes.visible_decls(reach, name).into_iter().flat_map(|(_, decls)| decls) {
        match decl {
            // Functions that a block's using-declaration names were looked up at that declaration.
            Decl::Using(_) if cx.scopes.has_block_using(name) => {}
            Decl::Using(_) => usings.push(cx.table.span(decl)),
            _ => namespaces.push(ns),
        }
    }
    let is_visible = |decl: &FnDeclId| {
        let data = cx.functions.decl(*decl);
        let declared = data.ast.span;
        let is_direct = || namespaces.contains(&cx.scopes.enclosing_namespace(data.scope));
        let is_used = |using: &Span| !is_after(declared, *using) && !is_after(*using, used);
        !is_after(declared, used) && (usings.is_empty() || is_direct() || usings.iter().any(is_used))
    };
    decls.iter().copied().filter(is_visible).collect()
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

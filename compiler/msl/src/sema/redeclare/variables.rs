//! Variables that are declared several times, in a namespace and in blocks (C++14 [basic.link.10]).

use crate::ast::ItemKind;
use crate::hir::{QualTy, Types};
use crate::sema::checker::Checker;
use crate::sema::entities::Found;
use crate::sema::table::{Decl, Layer};
use crate::sema::{function, lookup, resolve_type};
use crate::token::Name;
use anymetal_diagnostics::{Diagnostic, Span};

/// Reports `extern T x;` in a block where the namespace, or another block, declares the variable with another
/// type: at the later declaration.
pub(in crate::sema) fn check_extern<'a>(cx: &mut Checker<'a>, name: Name, ty: QualTy, span: Span) {
    if !cx.checks_everything || cx.is_dependent(ty.ty) {
        return;
    }
    let ns = cx.scopes.enclosing_namespace(cx.scopes.current());
    let mut others: Vec<(QualTy, Span)> = cx.globals.externs.get(&(ns, name)).copied().into_iter().collect();
    if let Some(Found::Variable(decl)) = lookup::directly(cx, ns, name)
        && decl.template.is_none()
        && !function::mentions_auto(&decl.variable.ty)
    {
        let variable = decl.variable;
        let ty = cx.quietly(|cx| cx.in_scope(decl.scope, |cx| resolve_type::resolve(cx, &variable.ty)));
        others.extend(ty.ok().map(|ty| (ty, variable.span)));
    }
    cx.globals.externs.entry((ns, name)).or_insert((ty, span));
    for (other, at) in others {
        if !is_one_type(&cx.types, ty, other) {
            let (earlier, later) = if at.lo > span.lo { (span, at) } else { (at, span) };
            let (ty, other) = (cx.show(ty), cx.show(other));
            let message = format!("redeclaration of `{name}` with a different type: `{ty}` vs `{other}`");
            let diagnostic = Diagnostic::error("redefinition", later, message);
            return cx.report(diagnostic.with_note(earlier, "previously declared here"));
        }
    }
}

/// Whether two declarations of a variable agree on its type; an array may omit its bound.
fn is_one_type(types: &Types, a: QualTy, b: QualTy) -> bool {
    match (types.as_array(a.ty), types.as_array(b.ty)) {
        (Some((a, n)), Some((b, m))) => a == b && (n == m || n == 0 || m == 0),
        _ => a.ty == b.ty,
    }
}

/// Reports variables of a namespace that are declared with different types (C++14 [basic.link.10]).
pub(in crate::sema) fn check_variables<'a>(cx: &mut Checker<'a>, layer: &'a Layer) {
    for (name, decls) in layer.own_names() {
        let mut known: Option<(QualTy, Span)> = None;
        for &decl in decls.iter().filter(|_| decls.len() > 1) {
            let Decl::Item(id) = decl else { continue };
            let item = &layer.entry(id).item;
            let ItemKind::Variable(variable) = &item.kind else { continue };
            if item.template.is_some() || function::mentions_auto(&variable.ty) {
                continue;
            }
            let scope = cx.scopes.of_item(id);
            let ty = cx.quietly(|cx| cx.in_scope(scope, |cx| resolve_type::resolve(cx, &variable.ty)));
            let Some(ty) = ty.ok().filter(|ty| !cx.is_dependent(ty.ty)) else { continue };
            match known {
                Some((other, at)) if !is_one_type(&cx.types, ty, other) => {
                    let (ty, other) = (cx.show(ty), cx.show(other));
                    let message =
                        format!("redeclaration of `{name}` with a different type: `{ty}` vs `{other}`");
                    let diagnostic = Diagnostic::error("redefinition", variable.span, message);
                    cx.report(diagnostic.with_note(at, "previously declared here"));
                }
                Some(_) => {}
                None => known = Some((ty, variable.span)),
            }
        }
    }
}

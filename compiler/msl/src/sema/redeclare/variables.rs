//! Variables and aliases that are declared several times, in a namespace and in blocks
//! (C++14 [basic.link.10], [dcl.typedef]).

use crate::ast::{self, Item, ItemKind};
use crate::hir::{QualTy, TyKind, Types};
use crate::sema::checker::Checker;
use crate::sema::entities::{Found, VarDecl};
use crate::sema::scopes::ScopeId;
use crate::sema::table::{Decl, Layer};
use crate::sema::{function, lookup, resolve_type, variable};
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
            if item.template.is_some() {
                continue;
            }
            let scope = cx.scopes.of_item(id);
            let Some(ty) = declared_type(cx, variable, scope) else { continue };
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

/// The type of a variable of a namespace, perhaps deduced; `None` if it is in error.
fn declared_type<'a>(cx: &mut Checker<'a>, variable: &'a ast::Variable, scope: ScopeId) -> Option<QualTy> {
    let ty = if function::mentions_auto(&variable.ty) {
        let decl = VarDecl { variable, template: None, scope };
        let global = cx.quietly(|cx| variable::global_of(cx, decl, None, variable.span)).ok()??;
        cx.globals.ty(global)
    } else {
        cx.quietly(|cx| cx.in_scope(scope, |cx| resolve_type::resolve(cx, &variable.ty))).ok()?
    };
    (!cx.is_dependent(ty.ty)).then_some(ty)
}

/// Reports aliases of one name for different types, and aliases that share their name with another class.
pub(in crate::sema) fn check_aliases<'a>(cx: &mut Checker<'a>, layer: &'a Layer) {
    for (name, decls) in layer.own_names().filter(|(_, decls)| decls.len() > 1) {
        let mut known: Option<(QualTy, Span)> = None;
        for &decl in decls {
            let Decl::Item(id) = decl else { continue };
            let item = &layer.entry(id).item;
            let (ItemKind::Alias(alias), None) = (&item.kind, &item.template) else { continue };
            let scope = cx.scopes.of_item(id);
            let ty = cx.quietly(|cx| cx.in_scope(scope, |cx| resolve_type::resolve(cx, &alias.ty)));
            let Some(ty) = ty.ok().filter(|ty| !cx.is_dependent(ty.ty)) else { continue };
            match known {
                Some((other, span)) if other.ty != ty.ty => {
                    let (other, shown) = (cx.show(other), cx.show(ty));
                    let message =
                        format!("`{name}` is an alias for `{shown}` here, and for `{other}` before");
                    let diagnostic = Diagnostic::error("redefinition", alias.ty.span, message);
                    cx.report(diagnostic.with_note(span, "previously declared here"));
                }
                Some(_) => {}
                None => known = Some((ty, alias.ty.span)),
            }
        }
        if let Some((ty, span)) = known {
            check_tag_of_alias(cx, layer, (name, decls), ty, span);
        }
    }
}

/// Reports a class that has the name of an alias for another type, at the later declaration.
fn check_tag_of_alias(
    cx: &mut Checker<'_>,
    layer: &Layer,
    (name, decls): (Name, &[Decl]),
    alias: QualTy,
    span: Span,
) {
    let is_own = match *cx.types.kind(alias.ty) {
        TyKind::Record(record) => cx.records.get(record).name == Some(name),
        TyKind::Enum(_) => true,
        _ => false,
    };
    let class = decls.iter().find_map(|&decl| match decl {
        Decl::Item(id) => match &layer.entry(id).item {
            Item { kind: ItemKind::Record(record), template: None, .. } => Some(record.span),
            _ => None,
        },
        _ => None,
    });
    if let (false, Some(class)) = (is_own, class) {
        let (earlier, later) = if class.lo < span.lo { (class, span) } else { (span, class) };
        let message = format!("`{name}` is a class and an alias for `{}`", cx.show(alias));
        let diagnostic = Diagnostic::error("redefinition", later, message);
        cx.report(diagnostic.with_note(earlier, "previously declared here"));
    }
}

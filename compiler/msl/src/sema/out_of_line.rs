//! Members defined outside of their class: `template <typename T> int S<T>::f() { … }`, and explicit
//! specialisations of members, `template <> int S<float>::f() { … }`, which take precedence over the body in
//! the class.
//!
//! Invariant: a definition serves a class only if the scope it is written with leads to that very class.

use super::checker::Checker;
use super::entities::{FnDeclId, Found, TArg};
use super::function::Definition;
use super::scopes::ScopeId;
use super::table::{ItemId, function_key};
use super::{deduce, function, lookup, path, pattern, specialise};
use crate::ast::{self, FunctionBody, ItemKind, TemplateParams};
use crate::hir::{FuncId, RecordId, TyKind};
use anymetal_diagnostics::Span;
use std::rc::Rc;

/// How well a definition's scope fits a class; the greater one wins.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Fit {
    /// `S<T>::f`, for all arguments.
    Any,
    /// `S<T *>::f`, for some.
    Some,
    /// `S<float>::f`, for this class alone.
    Exact,
}

/// The body of a member function that is defined outside of its class, with at least that fit.
pub(super) fn definition<'a>(
    cx: &mut Checker<'a>,
    id: FuncId,
    decl_id: FnDeclId,
    owner: RecordId,
    least: Fit,
) -> Option<Definition<'a>> {
    let declared = cx.functions.decl(decl_id).ast;
    let key = function_key(&declared.name);
    let params = cx.functions.inst(id).params.clone();
    let class = cx.records.get(owner).name?;
    let mut best: Option<(Fit, Definition<'a>)> = None;
    for item in cx.table.out_of_line(class) {
        let entry = cx.table.entry(item);
        let ItemKind::Function(ast) = &entry.item.kind else { continue };
        if function_key(&ast.name) != key
            || !matches!(ast.body, FunctionBody::Block(_))
            || ast.method != declared.method
        {
            continue;
        }
        let Some((fit, scope)) = scope_of(cx, item, ast.scope.as_ref(), owner) else {
            continue;
        };
        if fit < least || best.as_ref().is_some_and(|(known, _)| *known >= fit) {
            continue;
        }
        let signature = cx.quietly(|cx| cx.in_scope(scope, |cx| function::signature(cx, ast)));
        if matches!(signature, Ok(Some((own, _))) if function::are_same_params(&own, &params)) {
            best = Some((fit, Definition { ast, scope }));
        }
    }
    let (_, definition) = best?;
    cx.functions.served.insert(definition.ast.id);
    Some(definition)
}

/// Whether a definition written with this scope (`S<T>` in `S<T>::f`) serves the class; and the scope
/// in which it is to be checked.
pub(super) fn scope_of<'a>(
    cx: &mut Checker<'a>,
    item: ItemId,
    written: Option<&'a ast::Path>,
    owner: RecordId,
) -> Option<(Fit, ScopeId)> {
    let written = written?;
    let template = cx.table.entry(item).item.template.as_ref();
    let around = cx.scopes.of_item(item);
    let class = cx.records.get(owner);
    let (inside, args) = (class.scope, class.args.clone());
    match template {
        Some(template) if !template.params.is_empty() => {
            if !may_name_class(cx, written, around, owner) {
                return None;
            }
            let last = written.segments.last()?;
            let Some(patterns) = &last.args else { return Some((Fit::Any, inside)) };
            let is_partial = patterns.iter().any(|arg| !names_parameter(arg, template));
            let bound = deduced_from_written(cx, template, patterns, around, &args, last.span)?;
            let fit = if is_partial { Fit::Some } else { Fit::Any };
            Some((fit, cx.scopes.template_scope(&template.params, &bound, inside)))
        }
        _ => {
            let resolve = |cx: &mut Checker<'a>| cx.in_scope(around, |cx| path::resolve_type(cx, written));
            let ty = cx.without_access(|cx| cx.quietly(resolve)).ok()??;
            let is_class = matches!(*cx.types.kind(ty.ty), TyKind::Record(record) if record == owner);
            is_class.then_some((Fit::Exact, inside))
        }
    }
}

/// False if the path leads to another class template of the same name, in another namespace.
fn may_name_class<'a>(
    cx: &mut Checker<'a>,
    written: &'a ast::Path,
    around: ScopeId,
    owner: RecordId,
) -> bool {
    let Some(known) = cx.records.get(owner).template.as_ref().map(|known| known.primary.id) else {
        return true;
    };
    let mut within = None;
    let last = written.segments.len() - 1;
    for (n, segment) in written.segments.iter().enumerate() {
        let found = match within {
            Some(ns) => lookup::in_namespace(cx, ns, segment.name),
            None => cx.in_scope(around, |cx| lookup::unqualified(cx, segment.name)),
        };
        match found {
            Some(Found::Namespace(ns)) => within = Some(ns),
            // A class around it: its members are not looked into here.
            Some(Found::ClassTemplate(_)) if n < last => return true,
            Some(Found::ClassTemplate(template)) => return template.primary.id == known,
            _ => return true,
        }
    }
    true
}

/// The template's arguments with which what is written gives those arguments.
pub(super) fn deduced_from_written<'a>(
    cx: &mut Checker<'a>,
    template: &'a TemplateParams,
    written: &'a [ast::TemplateArg],
    scope: ScopeId,
    args: &[TArg],
    span: Span,
) -> Option<Rc<[TArg]>> {
    let params = &template.params;
    let patterns: Vec<_> =
        cx.in_scope(scope, |cx| written.iter().map(|arg| pattern::of_arg(cx, arg, params)).collect());
    let mut deduced = vec![None; params.len()];
    if !deduce::from_args(cx, &patterns, args, &mut deduced) {
        return None;
    }
    specialise::finish_deduction(cx, params, deduced, scope, span)
}

/// Whether a written argument is one of the template's parameters and nothing else.
fn names_parameter(arg: &ast::TemplateArg, template: &TemplateParams) -> bool {
    let path = match arg {
        ast::TemplateArg::Type(ast::Type { kind: ast::TypeKind::Path(path), .. }) => path,
        ast::TemplateArg::Type(ast::Type { kind: ast::TypeKind::Pack(inner), .. }) => match &inner.kind {
            ast::TypeKind::Path(path) => path,
            _ => return false,
        },
        ast::TemplateArg::Expr(ast::Expr { kind: ast::ExprKind::Path(path), .. }) => path,
        _ => return false,
    };
    let [only] = path.segments.as_slice() else { return false };
    only.args.is_none() && template.params.iter().any(|param| param.name == Some(only.name))
}

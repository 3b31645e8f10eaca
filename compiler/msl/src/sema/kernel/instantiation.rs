//! The function of an entry point: itself, or the specialisation that an explicit instantiation names.

use super::Entrance;
use crate::ast::{self, ItemKind};
use crate::hir::{FuncId, QualTy};
use crate::sema::checker::Checker;
use crate::sema::entities::{FnDeclId, Found};
use crate::sema::scopes::ScopeId;
use crate::sema::template_args::ExplicitArg;
use crate::sema::{function, lookup, overload, path, resolve_type, spelling, template_args};
use anymetal_diagnostics::{Diagnostic, Span};
use std::rc::Rc;

/// The function of an entry point.
pub(in crate::sema) fn function(cx: &mut Checker<'_>, entrance: &Entrance) -> Option<FuncId> {
    let entry = cx.table.entry(entrance.item);
    let scope = cx.scopes.of_item(entrance.item);
    match &entry.item.kind {
        ItemKind::Function(function) if entry.item.template.is_some() => {
            let name = function.name.ordinary()?;
            let found = cx.in_scope(scope, |cx| lookup::unqualified(cx, name));
            let Some(Found::Functions(decls)) = found else { return None };
            instantiated_by_signature(
                cx,
                &decls,
                function.specialisation.as_deref(),
                &function.params,
                scope,
                entrance.span,
            )
        }
        ItemKind::Function(function) => {
            let decl = cx.functions.declare(function, None, scope, None);
            function::instantiate(cx, decl, Rc::from([]), function.span)
        }
        ItemKind::ExplicitInstantiation(instantiation) => {
            cx.in_scope(scope, |cx| instantiated(cx, instantiation, scope))
        }
        _ => None,
    }
}

/// The function that an explicit instantiation names.
pub(in crate::sema) fn instantiated<'a>(
    cx: &mut Checker<'a>,
    instantiation: &'a ast::ExplicitInstantiation,
    scope: ScopeId,
) -> Option<FuncId> {
    let path = &instantiation.path;
    let target = match path::resolve(cx, path) {
        Ok(target) => target,
        Err(miss) => {
            path::report_miss(&cx.scopes, &cx.records, &mut cx.diagnostics, miss, "template");
            return None;
        }
    };
    let Found::Functions(decls) = target.found else {
        if !matches!(target.found, Found::Error) {
            let message = format!("`{}` is not a function template", spelling::path(path));
            cx.error("not-a-template", path.span, message);
        }
        return None;
    };
    let templates: Vec<FnDeclId> =
        decls.iter().copied().filter(|&decl| cx.functions.decl(decl).template.is_some()).collect();
    match &instantiation.params {
        Some(params) => instantiated_by_signature(cx, &templates, target.args, params, scope, path.span),
        None => overload::function_without_call(cx, &templates, target.args, path.span),
    }
}

/// The specialisation that a written signature names.
fn instantiated_by_signature<'a>(
    cx: &mut Checker<'a>,
    decls: &[FnDeclId],
    args: Option<&'a [ast::TemplateArg]>,
    params: &'a [ast::Param],
    scope: ScopeId,
    span: Span,
) -> Option<FuncId> {
    let errors = cx.diagnostics.error_count();
    let (explicit, types) = cx.in_scope(scope, |cx| {
        let explicit = args.map_or_else(Vec::new, |args| template_args::explicit(cx, args));
        let types: Vec<QualTy> =
            params.iter().map(|param| resolve_type::resolve_param(cx, &param.ty)).collect();
        (explicit, types)
    });
    if cx.diagnostics.error_count() > errors {
        return None;
    }
    let mut mismatch = None;
    for &decl in decls {
        match instance_of_signature(cx, decl, explicit.clone(), &types, span) {
            Ok(func) => return Some(func),
            Err(found) => mismatch = mismatch.or(found),
        }
    }
    let mut diagnostic = Diagnostic::error(
        "no-matching-template",
        span,
        "no template has this signature with these arguments",
    );
    if let Some(func) = mismatch {
        diagnostic = diagnostic.with_note(cx.functions.inst(func).span, "this one's parameters differ");
    }
    cx.report(diagnostic);
    None
}

fn instance_of_signature<'a>(
    cx: &mut Checker<'a>,
    decl: FnDeclId,
    explicit: Vec<ExplicitArg<'a>>,
    types: &[QualTy],
    span: Span,
) -> Result<FuncId, Option<FuncId>> {
    if cx.functions.decl(decl).ast.params.len() != types.len() {
        return Err(None);
    }
    let args = cx
        .quietly(|cx| function::args_with_deduction(cx, decl, explicit, types))
        .ok()
        .flatten()
        .ok_or(None)?;
    let func = cx.quietly(|cx| function::instantiate(cx, decl, args, span)).ok().flatten().ok_or(None)?;
    // Top-level qualifiers of parameters do not matter.
    let same = cx.functions.inst(func).params.iter().zip(types).all(|(a, b)| a.ty == b.ty);
    if same { Ok(func) } else { Err(Some(func)) }
}

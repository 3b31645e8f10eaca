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
            instantiated_by_signature(cx, &decls, Signature::of(function), scope, entrance.span)
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
        Some(params) => {
            let ret = instantiation.ty.as_ref();
            let signature = Signature { args: target.args, params, ret };
            instantiated_by_signature(cx, &templates, signature, scope, path.span)
        }
        None => overload::function_without_call(cx, &templates, target.args, path.span),
    }
}

/// What a specialisation or instantiation of a function template is written with.
#[derive(Clone, Copy, Debug)]
pub(in crate::sema) struct Signature<'a> {
    args: Option<&'a [ast::TemplateArg]>,
    params: &'a [ast::Param],
    ret: Option<&'a ast::Type>,
}

impl<'a> Signature<'a> {
    /// Of a full specialisation.
    pub(in crate::sema) fn of(ast: &'a ast::Function) -> Self {
        let ret = match &ast.name {
            ast::FunctionName::Operator(ast::OperatorName::Conversion(ty)) => Some(&**ty),
            _ => ast.ret.as_ref(),
        };
        Self { args: ast.specialisation.as_deref(), params: &ast.params, ret }
    }
}

/// The specialisation that a written signature names.
pub(in crate::sema) fn instantiated_by_signature<'a>(
    cx: &mut Checker<'a>,
    decls: &[FnDeclId],
    signature: Signature<'a>,
    scope: ScopeId,
    span: Span,
) -> Option<FuncId> {
    let errors = cx.diagnostics.error_count();
    let Signature { args, params, ret } = signature;
    let ret = ret.filter(|ret| !function::mentions_auto(ret) && !matches!(ret.kind, ast::TypeKind::Error));
    let (explicit, types, ret) = cx.in_scope(scope, |cx| {
        let explicit = args.map_or_else(Vec::new, |args| template_args::explicit(cx, args));
        let types: Vec<QualTy> =
            params.iter().map(|param| resolve_type::resolve_param(cx, &param.ty)).collect();
        let ret = ret.and_then(|ret| cx.quietly(|cx| resolve_type::resolve(cx, ret)).ok());
        (explicit, types, ret)
    });
    if cx.diagnostics.error_count() > errors {
        return None;
    }
    let (mut mismatch, mut fitting) = (None, Vec::new());
    for &decl in decls {
        match instance_of_signature(cx, decl, explicit.clone(), &types, ret, span) {
            Ok(func) => fitting.push((decl, func)),
            Err(found) => mismatch = mismatch.or(found),
        }
    }
    if !fitting.is_empty() {
        return overload::most_specialised(cx, &fitting, span);
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
    ret: Option<QualTy>,
    span: Span,
) -> Result<FuncId, Option<FuncId>> {
    let params = &cx.functions.decl(decl).ast.params;
    if params.len() != types.len() && !params.iter().any(overload::is_pack) {
        return Err(None);
    }
    let args = cx
        .quietly(|cx| function::args_with_deduction(cx, decl, explicit, types, ret))
        .ok()
        .flatten()
        .ok_or(None)?;
    let func = cx.quietly(|cx| function::instantiate(cx, decl, args, span)).ok().flatten().ok_or(None)?;
    // Top-level qualifiers of parameters do not matter.
    let params = &cx.functions.inst(func).params;
    let has_ret = match (cx.functions.inst(func).ret, ret) {
        (Some(own), Some(written)) => own.ty == written.ty,
        _ => true,
    };
    let same = has_ret && params.len() == types.len() && params.iter().zip(types).all(|(a, b)| a.ty == b.ty);
    if same { Ok(func) } else { Err(Some(func)) }
}

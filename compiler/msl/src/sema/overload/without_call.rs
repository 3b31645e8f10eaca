//! Functions that are named but not called: chosen by a function type, or the only one there is.

use super::{candidate, ranking};
use crate::ast::{Noexcept, TemplateArg};
use crate::hir::{FuncId, QualTy, Ty};
use crate::sema::checker::Checker;
use crate::sema::entities::FnDeclId;
use crate::sema::function::Functions;
use crate::sema::template_args::ExplicitArg;
use crate::sema::{deduce, function, specialise, template_args};
use anymetal_diagnostics::{Diagnostic, Span};
use std::rc::Rc;

/// Further candidates are not listed.
const MAX_CANDIDATES_SHOWN: usize = 6;

/// The function of an overload set that has exactly this function type (or pointer to it).
pub(in crate::sema) fn function_for_type<'a>(
    cx: &mut Checker<'a>,
    decls: &[FnDeclId],
    args: Option<&'a [TemplateArg]>,
    ty: Ty,
    span: Span,
) -> Option<FuncId> {
    let Some((ret, params)) = function::function_type(&cx.types, ty) else {
        let shown = cx.types.display(ty);
        cx.error("not-a-function-type", span, format!("a function cannot become a `{shown}`"));
        return None;
    };
    let explicit = args.map(|args| template_args::explicit(cx, args));
    let mut found: Vec<(FnDeclId, FuncId)> = Vec::new();
    for &decl in decls {
        if let Some(func) = function_of_type(cx, decl, explicit.as_deref(), ret, &params, span)
            && !found.iter().any(|&known| is_same_function(&cx.functions, known, func))
        {
            found.push((decl, func));
        }
    }
    // Plain functions win over templates, special templates over general ones.
    if found.iter().any(|(decl, _)| cx.functions.decl(*decl).template.is_none()) {
        found.retain(|(decl, _)| cx.functions.decl(*decl).template.is_none());
    }
    if let [first, second, ..] = *found.as_slice()
        && cx.functions.decl(first.0).template.is_none()
        && [first, second]
            .iter()
            .all(|(decl, _)| matches!(cx.functions.decl(*decl).ast.noexcept, Noexcept::Absent))
    {
        let diagnostic = Diagnostic::error("ambiguous-function", span, "this name means several functions");
        let [a, b] = [first, second].map(|(_, func)| cx.functions.inst(func).span);
        cx.report(diagnostic.with_note(a, "candidate").with_note(b, "candidate"));
        return None;
    }
    let mut best = *found.first()?;
    for &(decl, func) in &found[1..] {
        if ranking::is_more_specialised(cx, decl, best.0) {
            best = (decl, func);
        }
    }
    Some(best.1)
}

/// Whether a function is one that was found before, perhaps declared again.
fn is_same_function(functions: &Functions<'_>, (decl, known): (FnDeclId, FuncId), func: FuncId) -> bool {
    known == func
        || (functions.decl(decl).template.is_none()
            && functions.inst(known).scope == functions.inst(func).scope
            && function::are_same_params(&functions.inst(known).params, &functions.inst(func).params))
}

fn function_of_type<'a>(
    cx: &mut Checker<'a>,
    decl: FnDeclId,
    explicit: Option<&[ExplicitArg<'a>]>,
    ret: QualTy,
    params: &[QualTy],
    span: Span,
) -> Option<FuncId> {
    if cx.functions.needs_object(decl) || cx.functions.decl(decl).ast.params.len() != params.len() {
        return None;
    }
    let data = cx.functions.decl(decl);
    let (template, scope) = (data.template, data.scope);
    let args = match template {
        None => Rc::from([]),
        Some(template) => {
            let explicit = explicit.map_or_else(Vec::new, <[ExplicitArg<'a>]>::to_vec);
            let mut deduced =
                cx.quietly(|cx| candidate::explicit_prefix(cx, decl, explicit, span)).ok().flatten()?;
            let patterns = function::patterns_of(cx, decl);
            for (pattern, &param) in patterns.iter().zip(params) {
                if !deduce::from_param_type(cx, pattern, param, &mut deduced) {
                    return None;
                }
            }
            specialise::finish_deduction(cx, &template.params, deduced, scope, span)?
        }
    };
    let func = cx.quietly(|cx| function::instantiate(cx, decl, args, span)).ok().flatten()?;
    let same = cx.functions.inst(func).params.iter().zip(params).all(|(a, b)| a.ty == b.ty);
    (same && cx.functions.inst(func).ret.is_none_or(|own| own == ret)).then_some(func)
}

/// The only function that a name with template arguments can mean.
pub(in crate::sema) fn function_without_call<'a>(
    cx: &mut Checker<'a>,
    decls: &[FnDeclId],
    args: Option<&'a [TemplateArg]>,
    span: Span,
) -> Option<FuncId> {
    let explicit = args.map(|args| template_args::explicit(cx, args));
    if explicit.iter().flatten().any(|arg| matches!(arg, ExplicitArg::Error)) {
        return None;
    }
    let mut found: Vec<FuncId> = Vec::new();
    let mut reasons = Vec::new();
    for &decl in decls {
        match instance_without_call(cx, decl, explicit.as_deref(), span) {
            Ok(func) => {
                let params = &cx.functions.inst(func).params;
                if !found.iter().any(|&f| function::are_same_params(&cx.functions.inst(f).params, params)) {
                    found.push(func);
                }
            }
            Err(errors) => reasons.extend(errors),
        }
    }
    match found.as_slice() {
        [only] => Some(*only),
        [] => {
            let message = "no function template fits these arguments";
            let first = reasons.into_iter().next();
            cx.report(first.unwrap_or_else(|| Diagnostic::error("no-matching-function", span, message)));
            None
        }
        _ => {
            let message = "this name means several functions";
            let mut diagnostic = Diagnostic::error("ambiguous-function", span, message);
            for &func in found.iter().take(MAX_CANDIDATES_SHOWN) {
                diagnostic = diagnostic.with_note(cx.functions.inst(func).span, "candidate");
            }
            cx.report(diagnostic);
            None
        }
    }
}

fn instance_without_call<'a>(
    cx: &mut Checker<'a>,
    decl: FnDeclId,
    explicit: Option<&[ExplicitArg<'a>]>,
    span: Span,
) -> Result<FuncId, Vec<Diagnostic>> {
    let data = cx.functions.decl(decl);
    let (template, scope) = (data.template, data.scope);
    let result = cx.quietly(|cx| {
        let args = match template {
            None => Rc::from([]),
            Some(template) => {
                let explicit = explicit.map_or_else(Vec::new, <[ExplicitArg<'a>]>::to_vec);
                template_args::bind(cx, &template.params, &[], explicit, scope, span)?
            }
        };
        function::instantiate(cx, decl, args, span)
    })?;
    result.ok_or_else(Vec::new)
}

//! Template arguments: from syntax to [`TArg`]s, with defaults and packs.

use super::ast_names::{self, Visitor};
use super::checker::Checker;
use super::entities::{AliasTemplate, ClassTemplate, FnDeclId, Found, TArg, TemplateId};
use super::enumeration::Enums;
use super::path::Miss;
use super::scopes::ScopeId;
use super::{
    evaluate, expr, function, overload, path, record, resolve_type, special, template_template, variable,
};
use crate::ast::{self, ExprKind, TemplateArg, TemplateParam, TemplateParamKind, TypeKind};
use crate::hir::{ConstValue, Expr, QualTy, Ty, TyKind, Types};
use anymetal_diagnostics::Span;
use std::rc::Rc;

/// Bytes that template arguments take in a name.
const MAX_SHOWN_ARGS: usize = 400;

/// A template argument as written, before it is known what parameter it is for.
#[derive(Clone, Debug)]
pub(super) enum ExplicitArg<'a> {
    Type(QualTy),
    /// A constant expression, not evaluated yet.
    Value(Expr),
    Template(TemplateId),
    /// The name of a class in itself, which is a type or the template (C++14 [temp.local]).
    Injected(QualTy, TemplateId),
    /// A name of functions; the parameter's type picks one.
    Functions(Rc<[FnDeclId]>, Option<&'a [TemplateArg]>, Span),
    /// Already known (the rest of a pack, a deduced one).
    Known(TArg),
    /// A member of something that depends on template parameters, named without `typename`: a value.
    DependentValue,
    /// Already reported.
    Error,
}

/// Resolves written template arguments, expanding packs.
pub(super) fn explicit<'a>(cx: &mut Checker<'a>, args: &'a [TemplateArg]) -> Vec<ExplicitArg<'a>> {
    let mut out = Vec::with_capacity(args.len());
    for arg in args {
        match arg {
            TemplateArg::Type(ty) => match &ty.kind {
                TypeKind::Pack(inner) => {
                    let count = cx.expansion_of_type(inner);
                    for n in 0..count {
                        if cx.diagnostics.gave_up() {
                            break;
                        }
                        let arg = cx.with_pack_index(n, |cx| explicit_type_arg(cx, inner));
                        out.push(arg);
                    }
                }
                _ => {
                    let arg = explicit_type_arg(cx, ty);
                    out.push(arg);
                }
            },
            TemplateArg::Expr(expr) => match &expr.kind {
                ExprKind::PackExpansion(inner) => {
                    let count = cx.expansion_of_expr(inner);
                    for n in 0..count {
                        if cx.diagnostics.gave_up() {
                            break;
                        }
                        let arg = cx.with_pack_index(n, |cx| explicit_expr_arg(cx, inner));
                        out.push(arg);
                    }
                }
                _ => {
                    let arg = explicit_expr_arg(cx, expr);
                    out.push(arg);
                }
            },
        }
    }
    out
}

fn explicit_type_arg<'a>(cx: &mut Checker<'a>, ty: &'a ast::Type) -> ExplicitArg<'a> {
    if let TypeKind::Path(path) = &ty.kind
        && ty.quals == ast::Qualifiers::default()
    {
        return explicit_path_arg(cx, path);
    }
    let errors = cx.diagnostics.error_count();
    let ty = resolve_type::resolve(cx, ty);
    if cx.diagnostics.error_count() > errors || ty.ty.is_error() {
        ExplicitArg::Error
    } else {
        ExplicitArg::Type(ty)
    }
}

fn explicit_path_arg<'a>(cx: &mut Checker<'a>, path: &'a ast::Path) -> ExplicitArg<'a> {
    if cx.diagnostics.in_template() && !path.is_typename && is_member_of_dependent(cx, path) {
        return ExplicitArg::DependentValue;
    }
    let target = match path::resolve(cx, path) {
        Ok(target) => target,
        Err(miss) => {
            let what = if matches!(miss, Miss::Unknown { .. }) { "name" } else { "" };
            path::report_miss(&cx.scopes, &cx.records, &mut cx.diagnostics, miss, what);
            return ExplicitArg::Error;
        }
    };
    if let Found::Injected(record) = target.found
        && let Some(template) = cx.records.get(record).template.clone()
        && let Some(template) = cx.templates.id(&Found::ClassTemplate(template))
    {
        return ExplicitArg::Injected(QualTy::plain(cx.records.get(record).ty), template);
    }
    if let Some(ty) = path::type_of_found(&cx.records, &target.found) {
        return if ty.ty.is_error() { ExplicitArg::Error } else { ExplicitArg::Type(ty) };
    }
    if let Some(template) = cx.templates.id(&target.found) {
        return ExplicitArg::Template(template);
    }
    match target.found {
        Found::Error => ExplicitArg::Error,
        Found::TArg(TArg::Value(ty, _)) if ty.is_error() => ExplicitArg::Error,
        Found::TArg(arg) => ExplicitArg::Known(arg),
        Found::Functions(decls) => ExplicitArg::Functions(decls, target.args, path.span),
        _ => {
            let value = expr::target_value(cx, target, path);
            if value.ty.ty.is_error() { ExplicitArg::Error } else { ExplicitArg::Value(value) }
        }
    }
}

/// Whether a name is looked up in a type that depends on template parameters (C++14 [temp.res]), perhaps a
/// class of the current template.
fn is_member_of_dependent<'a>(cx: &mut Checker<'a>, path: &'a ast::Path) -> bool {
    let Some((last, front)) = path.segments.split_last() else { return false };
    if front.is_empty() || last.args.is_some() {
        return false;
    }
    let scope = match cx.quietly(|cx| path::resolve_prefix(cx, path, front.len())) {
        Ok(Ok(scope)) => scope,
        Ok(Err(miss)) => return matches!(miss, Miss::Reported),
        // What is not understood may be a namespace that is reported later.
        Err(_) => return false,
    };
    let Some(ty) = path::type_of_found(&cx.records, &scope.found) else { return false };
    let class = cx.types.as_record(ty.ty).map(|class| cx.records.get(class).decl_scope);
    cx.is_dependent(ty.ty) || class.is_some_and(|scope| cx.scopes.is_in_template(scope))
}

fn explicit_expr_arg<'a>(cx: &mut Checker<'a>, expr: &'a ast::Expr) -> ExplicitArg<'a> {
    match &expr.kind {
        ExprKind::Path(path) => explicit_path_arg(cx, path),
        ExprKind::Unary(ast::UnaryOp::AddressOf, inner)
            if let ExprKind::Path(path) = &inner.kind
                && let Ok(Ok(target)) = cx.quietly(|cx| path::resolve(cx, path))
                && matches!(target.found, Found::Functions(_) | Found::TArg(TArg::Function(_))) =>
        {
            explicit_path_arg(cx, path)
        }
        _ => {
            let value = expr::check(cx, expr);
            if value.ty.ty.is_error() { ExplicitArg::Error } else { ExplicitArg::Value(value) }
        }
    }
}

/// Binds written arguments to a template's parameters; defaults fill up.
pub(super) fn bind<'a>(
    cx: &mut Checker<'a>,
    params: &'a [TemplateParam],
    others: &[&'a ast::TemplateParams],
    explicit: Vec<ExplicitArg<'a>>,
    scope: ScopeId,
    span: Span,
) -> Option<Rc<[TArg]>> {
    let mut bound: Vec<TArg> = Vec::with_capacity(params.len());
    let mut explicit = explicit.into_iter();
    for (n, param) in params.iter().enumerate() {
        if param.is_pack {
            let elements = bind_pack(cx, params, &bound, param, &mut explicit, scope, span)?;
            if !is_pack_complete(cx, params, &bound, param, elements.len(), scope) {
                if !cx.diagnostics.in_template() {
                    let name = param.name.map_or("<unnamed>".to_owned(), |name| name.to_string());
                    let message = format!("too few arguments for template parameter pack `{name}`");
                    cx.error("too-few-template-arguments", span, message);
                }
                return None;
            }
            bound.push(TArg::Pack(elements.into()));
            continue;
        }
        let errors = cx.diagnostics.error_count();
        let arg = match explicit.next() {
            Some(arg) => bind_one(cx, params, &bound, param, arg, scope, span)?,
            None => match default_arg(cx, params, others, n, &bound, scope, span) {
                Some(arg) => arg,
                None => {
                    let name = param.name.map_or("<unnamed>".to_owned(), |name| name.to_string());
                    // A default argument that is in error may have been reported with its class.
                    let is_silent = cx.diagnostics.error_count() == errors && !cx.diagnostics.in_template();
                    if is_silent || list_with_default(params, others, n).is_none() {
                        cx.error(
                            "too-few-template-arguments",
                            span,
                            format!("no argument for template parameter `{name}`"),
                        );
                    }
                    return None;
                }
            },
        };
        bound.push(arg);
    }
    if explicit.next().is_some() {
        cx.error(
            "too-many-template-arguments",
            span,
            format!("the template takes {} arguments", params.len()),
        );
        return None;
    }
    Some(bound.into())
}

/// Binds arguments to a pack: all that are left, or as many as the packs have that its declaration expands,
/// such as `T... values` where `T` is a pack of a template around.
pub(super) fn bind_pack<'a>(
    cx: &mut Checker<'a>,
    params: &'a [TemplateParam],
    bound: &[TArg],
    param: &'a TemplateParam,
    explicit: &mut impl Iterator<Item = ExplicitArg<'a>>,
    scope: ScopeId,
    span: Span,
) -> Option<Vec<TArg>> {
    let Some(count) = expansion_length(cx, params, bound, param, scope) else {
        return explicit.map(|arg| bind_one(cx, params, bound, param, arg, scope, span)).collect();
    };
    let mut elements = Vec::with_capacity(count);
    while elements.len() < count
        && let Some(arg) = explicit.next()
    {
        let bind = |cx: &mut Checker<'a>| bind_one(cx, params, bound, param, arg, scope, span);
        elements.push(cx.with_pack_index(elements.len(), bind)?);
    }
    Some(elements)
}

/// Whether a pack has the elements that its declaration wants, if it expands other packs.
pub(super) fn is_pack_complete<'a>(
    cx: &mut Checker<'a>,
    params: &'a [TemplateParam],
    bound: &[TArg],
    param: &'a TemplateParam,
    count: usize,
    scope: ScopeId,
) -> bool {
    expansion_length(cx, params, bound, param, scope).is_none_or(|wanted| wanted == count)
}

/// The number of parameters that a pack stands for if its declaration expands other packs.
fn expansion_length<'a>(
    cx: &mut Checker<'a>,
    params: &'a [TemplateParam],
    bound: &[TArg],
    param: &'a TemplateParam,
    scope: ScopeId,
) -> Option<usize> {
    let types: Vec<&ast::Type> = match &param.kind {
        TemplateParamKind::Type(_) => return None,
        TemplateParamKind::Value(ty, _) => vec![ty],
        TemplateParamKind::Template(list, _) => list.value_types().collect(),
    };
    let inner = cx.scopes.template_scope(params, bound, scope);
    cx.in_scope(inner, |cx| types.into_iter().find_map(|ty| cx.scopes.pack_length_of_type(ty)))
}

/// The list of parameters whose n-th has a default argument.
fn list_with_default<'a>(
    params: &'a [TemplateParam],
    others: &[&'a ast::TemplateParams],
    n: usize,
) -> Option<&'a [TemplateParam]> {
    let others = others.iter().map(|other| other.params.as_slice());
    std::iter::once(params).chain(others).find(|list| list.get(n).is_some_and(TemplateParam::has_default))
}

/// The default argument of the n-th parameter, seen with the earlier ones bound.
pub(super) fn default_arg<'a>(
    cx: &mut Checker<'a>,
    params: &'a [TemplateParam],
    others: &[&'a ast::TemplateParams],
    n: usize,
    bound: &[TArg],
    scope: ScopeId,
    span: Span,
) -> Option<TArg> {
    let list = list_with_default(params, others, n)?;
    let inner = cx.scopes.template_scope(list, bound, scope);
    let arg = cx.in_scope(inner, |cx| match &list[n].kind {
        TemplateParamKind::Type(Some(ty)) => explicit_type_arg(cx, ty),
        TemplateParamKind::Value(_, Some(value)) => explicit_expr_arg(cx, value),
        TemplateParamKind::Template(_, Some(path)) => explicit_path_arg(cx, path),
        _ => ExplicitArg::Error,
    });
    bind_one(cx, params, bound, &params[n], arg, scope, span)
}

/// The arguments of a template that is itself an argument, with the default arguments of the parameter that
/// it is for: those count, not the template's.
pub(super) fn with_defaults<'a>(
    cx: &mut Checker<'a>,
    parameter: &'a ast::TemplateParams,
    explicit: Vec<ExplicitArg<'a>>,
    scope: ScopeId,
    span: Span,
) -> Option<Vec<ExplicitArg<'a>>> {
    let is_complete = parameter.params.get(explicit.len()).is_none_or(|next| !next.has_default());
    if is_complete {
        return Some(explicit);
    }
    let bound = bind(cx, &parameter.params, &[], explicit, scope, span)?;
    let elements = bound.iter().flat_map(|arg| match arg {
        TArg::Pack(elements) => elements,
        arg => std::slice::from_ref(arg),
    });
    Some(elements.cloned().map(ExplicitArg::Known).collect())
}

/// Checks a default argument of a template template parameter with this list.
pub(super) fn check_template_default<'a>(
    cx: &mut Checker<'a>,
    wanted: &ast::TemplateParams,
    default: &'a ast::Path,
) {
    let fits = match explicit_path_arg(cx, default) {
        ExplicitArg::Template(id) | ExplicitArg::Injected(_, id) => cx.templates.fits(wanted, id),
        ExplicitArg::Error | ExplicitArg::DependentValue => return,
        _ => false,
    };
    if !fits {
        let message = "this template template parameter takes a template whose parameters match its own";
        cx.error("template-expected", default.span, message);
    }
}

/// Checks one argument against its parameter.
pub(super) fn bind_one<'a>(
    cx: &mut Checker<'a>,
    params: &'a [TemplateParam],
    bound: &[TArg],
    param: &'a TemplateParam,
    arg: ExplicitArg<'a>,
    scope: ScopeId,
    span: Span,
) -> Option<TArg> {
    match (&param.kind, arg) {
        (_, ExplicitArg::Error) => None,
        // A member of a template may be specialised with other parameters.
        (TemplateParamKind::Type(_), ExplicitArg::DependentValue) if !cx.scopes.is_in_template(scope) => {
            let name = param.name.map_or("<unnamed>".to_owned(), |name| name.to_string());
            let message = format!(
                "template parameter `{name}` takes a type, and this names a value; did you forget `typename`?"
            );
            cx.error("type-expected", span, message);
            None
        }
        (_, ExplicitArg::DependentValue) => None,
        (
            TemplateParamKind::Type(_),
            ExplicitArg::Type(ty) | ExplicitArg::Injected(ty, _) | ExplicitArg::Known(TArg::Type(ty)),
        ) => Some(TArg::Type(ty)),
        (TemplateParamKind::Type(_), _) => {
            let name = param.name.map_or("<unnamed>".to_owned(), |name| name.to_string());
            cx.error("type-expected", span, format!("template parameter `{name}` takes a type"));
            None
        }
        (
            TemplateParamKind::Template(wanted, _),
            ExplicitArg::Template(template)
            | ExplicitArg::Injected(_, template)
            | ExplicitArg::Known(TArg::Template(template)),
        ) if cx.templates.fits(wanted, template) => Some(TArg::Template(template)),
        (TemplateParamKind::Template(..), _) => {
            let name = param.name.map_or("<unnamed>".to_owned(), |name| name.to_string());
            let message =
                format!("template parameter `{name}` takes a template whose parameters match its own");
            cx.error("template-expected", span, message);
            None
        }
        (TemplateParamKind::Value(ty, _), arg) => {
            let inner = cx.scopes.template_scope(params, bound, scope);
            bind_value(cx, ty, arg, inner, span)
        }
    }
}

fn bind_value<'a>(
    cx: &mut Checker<'a>,
    ty: &'a ast::Type,
    arg: ExplicitArg<'a>,
    scope: ScopeId,
    span: Span,
) -> Option<TArg> {
    let is_deduced = function::mentions_auto(ty);
    if let (ExplicitArg::Known(TArg::Value(value_ty, value)), true) = (&arg, is_deduced) {
        return Some(TArg::Value(*value_ty, value.clone()));
    }
    let errors = cx.diagnostics.error_count();
    let want = cx.in_scope(scope, |cx| match &arg {
        ExplicitArg::Value(value) if is_deduced => deduced_value_type(cx, ty, value, span),
        _ => resolve_type::resolve(cx, ty),
    });
    if want.ty.is_error() || cx.diagnostics.error_count() > errors {
        return None;
    }
    match arg {
        ExplicitArg::Functions(decls, args, at) => function_argument(cx, &decls, args, want.ty, at),
        ExplicitArg::Known(TArg::Function(function)) => Some(TArg::Function(function)),
        ExplicitArg::Known(TArg::Value(have, value)) => {
            if have == want.ty {
                return Some(TArg::Value(have, value));
            }
            let value = Expr::value(crate::hir::ExprKind::Const(value), have, span);
            evaluate::constant_of_type(cx, value, want).map(|value| TArg::Value(want.ty, value))
        }
        ExplicitArg::Value(value) => {
            evaluate::constant_of_type(cx, value, want).map(|value| TArg::Value(want.ty, value))
        }
        _ => {
            cx.error("value-expected", span, "the template parameter takes a value, not a type");
            None
        }
    }
}

/// The type of a parameter such as `auto N` or `auto& R` for an argument.
fn deduced_value_type<'a>(cx: &mut Checker<'a>, ty: &'a ast::Type, value: &Expr, span: Span) -> QualTy {
    if let TypeKind::Auto = ty.kind {
        return value.ty.unqualified();
    }
    variable::auto_type(cx, ty, value, span).unwrap_or(QualTy::plain(Ty::ERROR))
}

/// `Template<args>`.
pub(super) fn type_of_template<'a>(
    cx: &mut Checker<'a>,
    template: &Found<'a>,
    explicit: Vec<ExplicitArg<'a>>,
    span: Span,
) -> Option<QualTy> {
    match template {
        Found::ClassTemplate(template) => class_from_args(cx, template, explicit, span).map(QualTy::plain),
        Found::AliasTemplate(template) => alias_from_args(cx, *template, explicit, span),
        Found::BuiltinTemplate(template) => template_template::builtin_type(cx, *template, &explicit, span),
        other => panic!("{other:?} is not a template"),
    }
}

/// `Class<args>`.
pub(super) fn class_from_args<'a>(
    cx: &mut Checker<'a>,
    template: &ClassTemplate<'a>,
    explicit: Vec<ExplicitArg<'a>>,
    span: Span,
) -> Option<Ty> {
    let args = bind(cx, &template.params.params, &template.others, explicit, template.scope, span)?;
    Some(record::instantiate(cx, template, args))
}

/// Whether an unknown pack is expanded into a parameter that is not a pack, which aliases cannot have
/// (CWG 1430).
pub(super) fn expands_into_single(
    cx: &Checker<'_>,
    params: &ast::TemplateParams,
    args: &[TemplateArg],
) -> bool {
    let is_unknown_pack = |arg: &TemplateArg| match arg {
        TemplateArg::Type(ast::Type { kind: TypeKind::Pack(inner), .. }) => {
            cx.scopes.expands_unknown_type(inner)
        }
        TemplateArg::Expr(ast::Expr { kind: ExprKind::PackExpansion(inner), .. }) => {
            cx.scopes.expands_unknown_expr(inner)
        }
        _ => false,
    };
    let position = args.iter().position(is_unknown_pack).filter(|_| cx.diagnostics.in_template());
    position.is_some_and(|n| params.params.get(n).is_some_and(|param| !param.is_pack))
}

/// `Alias<args>`.
pub(super) fn alias_from_args<'a>(
    cx: &mut Checker<'a>,
    template: AliasTemplate<'a>,
    explicit: Vec<ExplicitArg<'a>>,
    span: Span,
) -> Option<QualTy> {
    let params = &template.params.params;
    let args = bind(cx, params, &[], explicit, template.scope, span)?;
    let scope = cx.scopes.template_scope(params, &args, template.scope);
    let errors = cx.diagnostics.error_count();
    let ty = cx.instantiating(
        |_| format!("in instantiation of alias template `{}` requested here", template.alias.name),
        span,
        |cx| cx.in_scope(scope, |cx| resolve_type::resolve(cx, &template.alias.ty)),
    )?;
    (cx.diagnostics.error_count() == errors && !ty.ty.is_error()).then_some(ty)
}

/// The type of an alias with unknown arguments, if it does not depend on them.
pub(super) fn alias_without_params<'a>(
    cx: &mut Checker<'a>,
    template: AliasTemplate<'a>,
    explicit: &[ExplicitArg<'a>],
) -> Option<QualTy> {
    let is_unknown = explicit.iter().any(|arg| matches!(arg, ExplicitArg::Error));
    // The elements of a pack that is not known are not known either.
    if !is_unknown || !cx.diagnostics.in_template() || cx.placeholders.pack_index.is_some() {
        return None;
    }
    let mut depends = false;
    let params = &template.params.params;
    let mut look = |name| depends |= params.iter().any(|param| param.name == Some(name));
    ast_names::in_type(&template.alias.ty, &mut Visitor::all(&mut look));
    (!depends).then(|| cx.in_scope(template.scope, |cx| resolve_type::resolve(cx, &template.alias.ty)))
}

/// A function as a template argument of a given type; reports when none of the name has it.
fn function_argument<'a>(
    cx: &mut Checker<'a>,
    decls: &[FnDeclId],
    args: Option<&'a [ast::TemplateArg]>,
    ty: Ty,
    span: Span,
) -> Option<TArg> {
    let errors = cx.diagnostics.error_count();
    let found = overload::function_for_type(cx, decls, args, ty, span);
    if found.is_none() && cx.diagnostics.error_count() == errors {
        let shown = cx.types.display(ty);
        cx.error("no-matching-function", span, format!("no function of this name has type `{shown}`"));
    }
    found.filter(|&func| special::check_usable(cx, func, None, span)).map(TArg::Function)
}

/// The arguments of a class without the last ones that are default enumerators, as programs leave them
/// out (`access::sample`). Other defaults may need the class that is to be named.
pub(super) fn without_defaults<'a, 't>(
    cx: &mut Checker<'a>,
    template: &ClassTemplate<'a>,
    args: &'t [TArg],
) -> &'t [TArg] {
    let params = &template.params.params;
    let mut shown = args;
    while let [front @ .., last @ TArg::Value(..)] = shown
        && params.get(front.len()).is_some_and(is_default_name)
    {
        let span = params[front.len()].span;
        let default = cx.quietly(|cx| default_arg(cx, params, &[], front.len(), front, template.scope, span));
        if default.ok().flatten().as_ref() != Some(last) {
            break;
        }
        shown = front;
    }
    shown
}

/// Template arguments for messages and for the names of what they instantiate; of long ones the
/// beginning, so that names of nested instantiations stay short.
pub(super) fn show_args(cx: &Checker<'_>, args: &[TArg]) -> String {
    let mut shown = String::new();
    for (n, arg) in args.iter().enumerate() {
        shown.push_str(if n > 0 { ", " } else { "" });
        shown.push_str(&show_arg(cx, arg));
        if shown.len() > MAX_SHOWN_ARGS {
            shown.truncate(shown.floor_char_boundary(MAX_SHOWN_ARGS));
            shown.push('…');
            break;
        }
    }
    shown
}

fn show_arg(cx: &Checker<'_>, arg: &TArg) -> String {
    match arg {
        TArg::Type(ty) => cx.show(*ty),
        TArg::Value(ty, value) if matches!(cx.types.kind(*ty), TyKind::Enum(_)) => {
            show_enumerator(&cx.types, &cx.enums, *ty, value)
        }
        TArg::Value(ty, ConstValue::Address(global, _)) => {
            let sign = if cx.types.referent(*ty).is_some() { "" } else { "&" };
            format!("{sign}{}", cx.data.global(*global).name)
        }
        TArg::Value(ty, value) => match super::evaluate::integer_of(&cx.types, *ty, value) {
            Some(1) if *ty == Ty::BOOL => "true".to_owned(),
            Some(0) if *ty == Ty::BOOL => "false".to_owned(),
            Some(n) => n.to_string(),
            None => "{…}".to_owned(),
        },
        TArg::Function(id) => cx.functions.inst(*id).name.clone(),
        TArg::Template(id) => cx.templates.name(*id),
        TArg::Pack(elements) => show_args(cx, elements),
    }
}

/// `access::read`, or a conversion of the number where no enumerator has it.
fn show_enumerator(types: &Types, enums: &Enums<'_>, ty: Ty, value: &ConstValue) -> String {
    let TyKind::Enum(id) = *types.kind(ty) else { return String::new() };
    let enumeration = types.enumeration(id);
    match enums.enumerator_name(types, ty, value) {
        Some(name) if enumeration.is_scoped => format!("{}::{name}", enumeration.name),
        Some(name) => name.to_string(),
        None => {
            let number =
                super::evaluate::integer_of(types, ty, value).map_or("{…}".to_owned(), |n| n.to_string());
            format!("{}({number})", enumeration.name)
        }
    }
}

/// Whether a parameter's default is a value that a name without template arguments stands for.
fn is_default_name(param: &TemplateParam) -> bool {
    let TemplateParamKind::Value(_, Some(default)) = &param.kind else { return false };
    matches!(&default.kind, ExprKind::Path(path) if path.segments.iter().all(|segment| segment.args.is_none()))
}

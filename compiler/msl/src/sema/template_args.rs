//! Template arguments: from syntax to [`TArg`]s, with defaults and packs.

use super::checker::Checker;
use super::diagnostics::Diagnostics;
use super::entities::{AliasTemplate, BuiltinTemplate, ClassTemplate, FnDeclId, Found, TArg, TemplateId};
use super::enumeration::Enums;
use super::path::Miss;
use super::scopes::ScopeId;
use super::{evaluate, expr, overload, path, record, resolve_type, special};
use crate::ast::{self, ExprKind, TemplateArg, TemplateParam, TemplateParamKind, TypeKind};
use crate::hir::{
    ConstValue, Expr, MAX_METAL_VECTOR_LEN, MAX_VECTOR_LEN, QualTy, ScalarTy, Ty, TyKind, Types,
};
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
                    let count = cx.scopes.pack_length_of_type(inner).unwrap_or(0);
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
                    let count = cx.scopes.pack_length_of_expr(inner).unwrap_or(0);
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
    let scope = cx.quietly(|cx| path::resolve_prefix(cx, path, front.len()));
    // What is not understood may be a namespace that is reported later.
    let Ok(Ok(scope)) = scope else { return false };
    let Some(ty) = path::type_of_found(&cx.records, &scope.found) else { return false };
    let class = cx.types.as_record(ty.ty).map(|class| cx.records.get(class).decl_scope);
    cx.is_dependent(ty.ty) || class.is_some_and(|scope| cx.scopes.is_in_template(scope))
}

fn explicit_expr_arg<'a>(cx: &mut Checker<'a>, expr: &'a ast::Expr) -> ExplicitArg<'a> {
    match &expr.kind {
        ExprKind::Path(path) => explicit_path_arg(cx, path),
        ExprKind::Unary(ast::UnaryOp::AddressOf, inner) if matches!(inner.kind, ExprKind::Path(_)) => {
            explicit_expr_arg(cx, inner)
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
            let mut elements = Vec::new();
            for arg in explicit.by_ref() {
                elements.push(bind_one(cx, params, &bound, param, arg, scope, span)?);
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
                    if is_silent || has_default(params, others, n).is_none() {
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

fn has_default<'a>(
    params: &'a [TemplateParam],
    others: &[&'a ast::TemplateParams],
    n: usize,
) -> Option<&'a TemplateParam> {
    let has = |param: &TemplateParam| {
        matches!(
            param.kind,
            TemplateParamKind::Type(Some(_))
                | TemplateParamKind::Value(_, Some(_))
                | TemplateParamKind::Template(_, Some(_))
        )
    };
    std::iter::once(&params[n])
        .chain(others.iter().filter_map(|other| other.params.get(n)))
        .find(|param| has(param))
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
    let param = has_default(params, others, n)?;
    let inner = cx.scopes.template_scope(params, bound, scope);
    let arg = cx.in_scope(inner, |cx| match &param.kind {
        TemplateParamKind::Type(Some(ty)) => explicit_type_arg(cx, ty),
        TemplateParamKind::Value(_, Some(value)) => explicit_expr_arg(cx, value),
        TemplateParamKind::Template(_, Some(path)) => explicit_path_arg(cx, path),
        _ => ExplicitArg::Error,
    });
    bind_one(cx, params, bound, &params[n], arg, scope, span)
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
    if let (ExplicitArg::Known(TArg::Value(value_ty, value)), TypeKind::Auto) = (&arg, &ty.kind) {
        return Some(TArg::Value(*value_ty, value.clone()));
    }
    let auto = match (&arg, &ty.kind) {
        (ExplicitArg::Value(value), TypeKind::Auto) => Some(value.ty.unqualified()),
        _ => None,
    };
    let outer = std::mem::replace(&mut cx.placeholders.auto_ty, auto);
    let errors = cx.diagnostics.error_count();
    let want = cx.in_scope(scope, |cx| resolve_type::resolve(cx, ty));
    cx.placeholders.auto_ty = outer;
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

/// `Template<args>`.
pub(super) fn class_from_args<'a>(
    cx: &mut Checker<'a>,
    template: &ClassTemplate<'a>,
    explicit: Vec<ExplicitArg<'a>>,
    span: Span,
) -> Option<Ty> {
    let args = bind(cx, &template.params.params, &template.others, explicit, template.scope, span)?;
    Some(record::instantiate(cx, template, args))
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

/// `vec<T, N>` and its kin.
pub(super) fn builtin_from_args<'a>(
    cx: &mut Checker<'a>,
    template: BuiltinTemplate,
    explicit: &[ExplicitArg<'a>],
    span: Span,
) -> Option<Ty> {
    let elem = match explicit.first() {
        Some(ExplicitArg::Type(ty) | ExplicitArg::Known(TArg::Type(ty))) => cx.types.as_scalar(ty.ty),
        Some(ExplicitArg::Error) => return None,
        _ => None,
    };
    let Some(elem) = elem else {
        cx.error("vector-element", span, "the element of a vector or matrix must be an arithmetic type");
        return None;
    };
    let mut sizes = Vec::new();
    for arg in &explicit[1..] {
        let size = match arg {
            ExplicitArg::Value(value) => evaluate::constant_integer(cx, value.clone()),
            ExplicitArg::Known(TArg::Value(ty, value)) => super::evaluate::integer_of(&cx.types, *ty, value),
            _ => None,
        }?;
        sizes.push(size);
    }
    builtin_of(&mut cx.types, &mut cx.diagnostics, template, elem, &sizes, span)
}

fn builtin_of(
    types: &mut Types,
    diagnostics: &mut Diagnostics,
    template: BuiltinTemplate,
    elem: ScalarTy,
    sizes: &[i128],
    span: Span,
) -> Option<Ty> {
    let small = |n: i128, low: i128| (low..=i128::from(MAX_METAL_VECTOR_LEN)).contains(&n).then_some(n as u8);
    // Longer ones are what code around Metal 4's tensors holds a thread's elements in.
    let wide = |n: i128| (2..=i128::from(MAX_VECTOR_LEN)).contains(&n).then_some(n as u8);
    let kind = match (template, sizes) {
        // `vec<T, 1>` is what generic code writes for a scalar.
        (BuiltinTemplate::Vec, &[1]) => Some(TyKind::Scalar(elem)),
        (BuiltinTemplate::Vec, &[n]) => wide(n).map(|len| TyKind::Vector { elem, len, packed: false }),
        (BuiltinTemplate::PackedVec, &[n]) => {
            small(n, 2).map(|len| TyKind::Vector { elem, len, packed: true })
        }
        (BuiltinTemplate::Matrix, &[c, r]) => {
            small(c, 2).zip(small(r, 2)).map(|(cols, rows)| TyKind::Matrix { elem, cols, rows })
        }
        _ => None,
    };
    match kind {
        Some(kind) => Some(types.intern(kind)),
        None => {
            let message = "vectors have 2 to 16 elements, packed ones and matrices 2 to 4 in each direction";
            diagnostics.error("vector-size", span, message);
            None
        }
    }
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

//! Partial specialisations: whether they specialise, and whether each of their parameters can be deduced
//! (C++14 [temp.class.spec.8]).

use super::place::{self, mentions};
use super::specialisation::template_of;
use crate::ast::{
    self, ExprKind, ItemKind, TemplateArg, TemplateParam, TemplateParamKind, TemplateParams, TypeKind,
};
use crate::sema::ast_names::{self, Visitor};
use crate::sema::checker::Checker;
use crate::sema::entities::Found;
use crate::sema::pattern::{self, ArgPat, Pat, TemplatePat, ValuePat};
use crate::sema::scopes::ScopeId;
use crate::sema::{deduce, lookup, path, record};
use crate::token::Name;
use anymetal_diagnostics::Span;

/// Checks a partial specialisation of a class or variable template.
pub(in crate::sema) fn check<'a>(
    cx: &mut Checker<'a>,
    item: &'a ast::Item,
    head: &'a TemplateParams,
    scope: ScopeId,
) {
    let (written, name, span, path) = match &item.kind {
        ItemKind::Record(record) => (&record.specialisation, record.name, record.span, &record.scope),
        ItemKind::Variable(variable) => {
            let declarator = &variable.declarator;
            (&declarator.specialisation, Some(declarator.name), variable.span, &declarator.scope)
        }
        _ => return,
    };
    let (Some(written), Some(name)) = (written, name) else { return };
    if !is_placed(cx, &item.kind, path.as_ref(), name, scope, span) {
        return;
    }
    let params = &head.params;
    let patterns: Vec<ArgPat<'a>> =
        cx.in_scope(scope, |cx| written.iter().map(|arg| pattern::of_arg(cx, arg, params)).collect());
    let what = if matches!(item.kind, ItemKind::Record(_)) { "class" } else { "variable" };
    let primary = primary_params(cx, path.as_ref(), name, scope);
    if primary.is_some_and(|primary| is_primary(&patterns, &primary.params, params)) {
        let message = format!(
            "{what} template partial specialization does not specialize any template argument; to define the \
             primary template, remove the template argument list"
        );
        return cx.error("bad-template", span, message);
    }
    if let Some(param) = undeduced(&patterns, written, params) {
        let shown = param.name.map_or("<unnamed>".to_owned(), |name| name.to_string());
        let message = format!(
            "{what} template partial specialization contains a template parameter that cannot be deduced, \
             `{shown}`; this partial specialization will never be used"
        );
        return cx.error("bad-template", span, message);
    }
    if let Some(primary) = primary {
        check_value_types(cx, primary, written, &patterns, span);
    }
}

/// Whether a partial specialisation is in the class of its template, or in a namespace that encloses the
/// template's; reported if not (C++17 [temp.class.spec.5]).
fn is_placed<'a>(
    cx: &mut Checker<'a>,
    kind: &ItemKind,
    path: Option<&'a ast::Path>,
    name: Name,
    scope: ScopeId,
    span: Span,
) -> bool {
    if let Some(class) = cx.scopes.record(scope) {
        let own = record::lookup_in_class(cx, class, name);
        let is_own = matches!(own, Some(Found::ClassTemplate(_) | Found::Variable(_)));
        if path.is_none() && !is_own {
            let message = format!("partial specialization of `{name}` outside of the class of its template");
            cx.error("no-matching-template", span, message);
            return false;
        }
        return true;
    }
    let template = match kind {
        ItemKind::Record(_) => template_of(cx, path, name, scope).map(|template| template.scope),
        _ => path.and_then(|path| {
            let class = path::class_of_path(cx, path, scope)?;
            match record::lookup_in_class(cx, class, name) {
                Some(Found::Variable(variable)) => Some(variable.scope),
                _ => None,
            }
        }),
    };
    let from = cx.scopes.enclosing_namespace(scope);
    template.is_none_or(|template| place::check_specialised(cx, from, template, name.as_str(), span))
}

/// Whether the arguments are those of the template itself: the parameters, each once and in order.
fn is_primary(patterns: &[ArgPat<'_>], primary: &[TemplateParam], params: &[TemplateParam]) -> bool {
    let is_nth = |arg: &ArgPat<'_>, n: usize| match arg {
        ArgPat::Type(Pat::Param(m, quals)) => *m == n && *quals == ast::Qualifiers::default(),
        ArgPat::Value(ValuePat::Param(m)) | ArgPat::Template(TemplatePat::Param(m)) => *m == n,
        _ => false,
    };
    let is_alike = |(a, b): (&TemplateParam, &TemplateParam)| a.is_pack == b.is_pack;
    patterns.len() == params.len()
        && primary.len() == params.len()
        && primary.iter().zip(params).all(is_alike)
        && patterns.iter().zip(params).enumerate().all(|(n, (arg, param))| match arg {
            ArgPat::Pack(inner) => param.is_pack && is_nth(inner, n),
            arg => !param.is_pack && is_nth(arg, n),
        })
}

/// A parameter that no argument can determine. Arguments that may determine it in a form that patterns do not
/// have count as determining it.
fn undeduced<'a>(
    patterns: &[ArgPat<'_>],
    written: &[TemplateArg],
    params: &'a [TemplateParam],
) -> Option<&'a TemplateParam> {
    let ends_in_pack =
        |list: &[ArgPat<'_>]| list.iter().rev().skip(1).all(|arg| !matches!(arg, ArgPat::Pack(_)));
    // After an expansion that is not the last argument nothing is deduced (C++14 [temp.deduct.type.9]).
    let mut holes = Vec::new();
    if ends_in_pack(patterns) {
        patterns.iter().for_each(|arg| deduce::holes_in_arg(arg, &mut holes));
    }
    params.iter().enumerate().find_map(|(n, param)| {
        let may_be_deduced = |arg: &TemplateArg| {
            let is_expression = match arg {
                TemplateArg::Expr(expr) => is_computed(expr),
                TemplateArg::Type(_) => false,
            };
            !is_expression && ends_in_pack(patterns) && mentions(arg, param.name)
        };
        // `noexcept` of a function's type is not part of its syntax here.
        let is_hidden = |arg: &TemplateArg| match arg {
            TemplateArg::Type(ty) => matches!(ty.kind, TypeKind::Function { .. }),
            TemplateArg::Expr(_) => false,
        };
        let may_be_hidden =
            matches!(param.kind, TemplateParamKind::Value(..)) && written.iter().any(is_hidden);
        let is_open = !holes.contains(&n) && !may_be_hidden && !written.iter().any(may_be_deduced);
        is_open.then_some(param)
    })
}

/// Whether an argument is computed from parameters.
fn is_computed(expr: &ast::Expr) -> bool {
    match &expr.kind {
        ExprKind::Binary(..) | ExprKind::Unary(..) | ExprKind::Conditional(..) => true,
        ExprKind::PackExpansion(inner) | ExprKind::Paren(inner) => is_computed(inner),
        _ => false,
    }
}

/// The parameters of the template that is specialised.
fn primary_params<'a>(
    cx: &mut Checker<'a>,
    path: Option<&'a ast::Path>,
    name: Name,
    scope: ScopeId,
) -> Option<&'a TemplateParams> {
    if let Some(template) = template_of(cx, path, name, scope) {
        return Some(template.params);
    }
    let found = match path {
        None => cx.in_scope(scope, |cx| lookup::unqualified(cx, name)),
        Some(path) => {
            let class = path::class_of_path(cx, path, scope)?;
            record::lookup_in_class(cx, class, name)
        }
    };
    match found {
        Some(Found::Variable(decl)) => decl.template,
        _ => None,
    }
}

/// Reports a value for a parameter whose type depends on another parameter that is specialised with it.
fn check_value_types<'a>(
    cx: &mut Checker<'a>,
    primary: &'a TemplateParams,
    written: &[TemplateArg],
    patterns: &[ArgPat<'a>],
    span: Span,
) {
    for ((param, arg), pattern) in primary.params.iter().zip(written).zip(patterns) {
        let TemplateParamKind::Value(ty, _) = &param.kind else { continue };
        if param.is_pack || matches!(pattern, ArgPat::Value(ValuePat::Param(_)) | ArgPat::Pack(_)) {
            continue;
        }
        let mut depends = false;
        let mut look = |seen| depends |= primary.params.iter().any(|other| other.name == Some(seen));
        ast_names::in_type(ty, &mut Visitor::all(&mut look));
        let is_value = matches!(arg, TemplateArg::Expr(_))
            && !matches!(&ty.kind, TypeKind::Path(path) if path.segments.len() > 1);
        if depends && is_value {
            let message = "non-type template argument specializes a template parameter with dependent type";
            return cx.error("bad-template", span, message);
        }
    }
}

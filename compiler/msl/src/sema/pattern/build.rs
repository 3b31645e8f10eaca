//! Patterns from syntax.
//!
//! Invariant: this reports nothing; what is in error is opaque, and substitution reports it.

use super::{ArgPat, Pat, TemplatePat, ValuePat, add_quals};
use crate::ast::{self, ExprKind, Qualifiers, TemplateArg, TemplateParam, TypeKind};
use crate::sema::ast_names::{self, Visitor};
use crate::sema::checker::Checker;
use crate::sema::entities::{BuiltinTemplate, Found};
use crate::sema::path::segment_key;
use crate::sema::table::NsId;
use crate::sema::{evaluate, expr, lookup, path, record, resolve_type};

fn param_index(params: &[TemplateParam], path: &ast::Path) -> Option<usize> {
    match path.segments.as_slice() {
        [only] if !path.global && only.args.is_none() && only.operator.is_none() => {
            params.iter().position(|param| param.name == Some(only.name))
        }
        _ => None,
    }
}

/// Whether a type mentions any of the parameters.
fn mentions(params: &[TemplateParam], ty: &ast::Type) -> bool {
    let mut found = false;
    let mut look = |name| found |= params.iter().any(|param| param.name == Some(name));
    ast_names::in_type(ty, &mut Visitor::all(&mut look));
    found
}

fn arg_mentions(params: &[TemplateParam], arg: &TemplateArg) -> bool {
    let mut found = false;
    let mut look = |name| found |= params.iter().any(|param| param.name == Some(name));
    ast_names::in_arg(arg, &mut Visitor::all(&mut look));
    found
}

fn has_auto(ty: &ast::Type) -> bool {
    match &ty.kind {
        TypeKind::Auto => true,
        TypeKind::Pointer(inner)
        | TypeKind::Array(inner, _)
        | TypeKind::ExtVector(inner, _)
        | TypeKind::Function { ret: inner, .. }
        | TypeKind::Reference { referent: inner, .. } => has_auto(inner),
        _ => false,
    }
}

/// The pattern of a type in which `params` are holes; names are looked up in the current scope.
/// `auto` counts as hole number `params.len()`.
pub(in crate::sema) fn of_type<'a>(
    cx: &mut Checker<'a>,
    ty: &'a ast::Type,
    params: &'a [TemplateParam],
) -> Pat<'a> {
    cx.deeper(ty.span, |cx| of_kind(cx, ty, params)).unwrap_or(Pat::Opaque)
}

fn of_kind<'a>(cx: &mut Checker<'a>, ty: &'a ast::Type, params: &'a [TemplateParam]) -> Pat<'a> {
    if !mentions(params, ty) && !has_auto(ty) {
        return match cx.quietly(|cx| resolve_type::resolve(cx, ty)) {
            Ok(ty) if !ty.ty.is_error() => Pat::Fixed(ty),
            _ => Pat::Opaque,
        };
    }
    let pat = match &ty.kind {
        TypeKind::Path(path) => of_path(cx, path, params),
        TypeKind::Auto => Pat::Param(params.len(), Qualifiers::default()),
        TypeKind::Pointer(inner) => Pat::Pointer(Box::new(of_type(cx, inner, params))),
        TypeKind::Reference { referent, rvalue } => {
            Pat::Reference { to: Box::new(of_type(cx, referent, params)), rvalue: *rvalue }
        }
        TypeKind::Array(elem, len) => {
            let len = len.as_ref().map_or(ValuePat::Opaque, |len| of_value(cx, len, params));
            Pat::Array(Box::new(of_type(cx, elem, params)), len)
        }
        TypeKind::ExtVector(elem, len) => {
            let len = of_value(cx, len, params);
            let (elem, quals) = (Box::new(of_type(cx, elem, params)), Qualifiers::default());
            Pat::Vector { elem, len, packed: false, quals }
        }
        TypeKind::Function { ret, params: inner, is_variadic, method } => Pat::Function {
            form: resolve_type::function_form(*is_variadic, *method),
            ret: Box::new(of_type(cx, ret, params)),
            params: inner.iter().map(|param| of_function_param(cx, param, params)).collect(),
        },
        TypeKind::Pack(inner) => of_type(cx, inner, params),
        _ => Pat::Opaque,
    };
    add_quals(pat, ty.quals)
}

/// Of a parameter of a function type.
fn of_function_param<'a>(cx: &mut Checker<'a>, ty: &'a ast::Type, params: &'a [TemplateParam]) -> ArgPat<'a> {
    let pattern = ArgPat::Type(of_type(cx, ty, params));
    if matches!(ty.kind, TypeKind::Pack(_)) { ArgPat::Pack(Box::new(pattern)) } else { pattern }
}

fn of_value<'a>(cx: &mut Checker<'a>, expr: &'a ast::Expr, params: &'a [TemplateParam]) -> ValuePat {
    match &expr.kind {
        ExprKind::Paren(inner) => return of_value(cx, inner, params),
        ExprKind::Path(path) => {
            if let Some(index) = param_index(params, path) {
                return ValuePat::Param(index);
            }
        }
        _ => {}
    }
    let mut dependent = false;
    let mut look = |name| dependent |= params.iter().any(|param| param.name == Some(name));
    ast_names::in_expr(expr, &mut Visitor::all(&mut look));
    if dependent {
        return ValuePat::Opaque;
    }
    let value = cx.quietly(|cx| {
        let value = expr::check(cx, expr);
        evaluate::constant_integer(cx, value)
    });
    value.ok().flatten().map_or(ValuePat::Opaque, ValuePat::Fixed)
}

pub(in crate::sema) fn of_arg<'a>(
    cx: &mut Checker<'a>,
    arg: &'a TemplateArg,
    params: &'a [TemplateParam],
) -> ArgPat<'a> {
    match arg {
        TemplateArg::Type(ty) => match &ty.kind {
            TypeKind::Pack(inner) => {
                let inner = match &inner.kind {
                    TypeKind::Path(path) => of_path_arg(cx, path, params),
                    _ => ArgPat::Type(of_type(cx, inner, params)),
                };
                ArgPat::Pack(Box::new(inner))
            }
            TypeKind::Path(path) if ty.quals == Qualifiers::default() => of_path_arg(cx, path, params),
            _ => ArgPat::Type(of_type(cx, ty, params)),
        },
        TemplateArg::Expr(expr) => match &expr.kind {
            ExprKind::PackExpansion(inner) => match &inner.kind {
                ExprKind::Path(path) => ArgPat::Pack(Box::new(of_path_arg(cx, path, params))),
                _ => ArgPat::Pack(Box::new(ArgPat::Value(of_value(cx, inner, params)))),
            },
            ExprKind::Path(path) => of_path_arg(cx, path, params),
            _ => {
                if arg_mentions(params, arg) {
                    ArgPat::Value(ValuePat::Opaque)
                } else {
                    ArgPat::Value(of_value(cx, expr, params))
                }
            }
        },
    }
}

/// A path among template arguments may be a type or a value.
fn of_path_arg<'a>(cx: &mut Checker<'a>, path: &'a ast::Path, params: &'a [TemplateParam]) -> ArgPat<'a> {
    if let Some(index) = param_index(params, path) {
        return match params[index].kind {
            ast::TemplateParamKind::Type(_) => ArgPat::Type(Pat::Param(index, Qualifiers::default())),
            ast::TemplateParamKind::Value(..) => ArgPat::Value(ValuePat::Param(index)),
            ast::TemplateParamKind::Template(..) => ArgPat::Template(TemplatePat::Param(index)),
        };
    }
    let mut dependent = false;
    for arg in path.segments.iter().flat_map(|segment| segment.args.iter().flatten()) {
        dependent |= arg_mentions(params, arg);
    }
    let first = path.segments.first().is_some_and(|s| params.iter().any(|param| param.name == Some(s.name)));
    if dependent || first {
        return ArgPat::Type(of_path(cx, path, params));
    }
    let resolved = cx.quietly(|cx| {
        let target = path::resolve(cx, path).ok()?;
        if let Some(ty) = path::type_of_found(&cx.records, &target.found) {
            return Some(ArgPat::Type(Pat::Fixed(ty)));
        }
        if let Some(template) = cx.templates.id(&target.found) {
            return Some(ArgPat::Template(TemplatePat::Fixed(template)));
        }
        let value = expr::target_value(cx, target, path);
        evaluate::constant_integer(cx, value).map(|n| ArgPat::Value(ValuePat::Fixed(n)))
    });
    resolved.ok().flatten().unwrap_or(ArgPat::Type(Pat::Opaque))
}

/// What a path means when its last template arguments are left aside.
fn template_of_path<'a>(
    cx: &mut Checker<'a>,
    path: &'a ast::Path,
    params: &[TemplateParam],
) -> Option<Found<'a>> {
    let (last, front) = path.segments.split_last()?;
    let Some((first, rest)) = front.split_first() else {
        let key = segment_key(last);
        return if path.global {
            lookup::in_namespace(cx, NsId::GLOBAL, key)
        } else {
            lookup::unqualified(cx, key)
        };
    };
    if params.iter().any(|param| param.name == Some(first.name)) {
        return None;
    }
    let mut found = if path.global {
        lookup::in_namespace(cx, NsId::GLOBAL, first.name)
    } else {
        lookup::unqualified(cx, first.name)
    }?;
    for segment in rest.iter().chain(std::iter::once(last)) {
        found = match found {
            Found::Namespace(ns) => lookup::in_namespace(cx, ns, segment_key(segment))?,
            ref other => {
                let ty = path::type_of_found(&cx.records, other)?;
                let record = cx.types.as_record(ty.ty)?;
                record::lookup(cx, record, segment_key(segment))?
            }
        };
    }
    Some(found)
}

fn of_path<'a>(cx: &mut Checker<'a>, path: &'a ast::Path, params: &'a [TemplateParam]) -> Pat<'a> {
    if let Some(index) = param_index(params, path) {
        return Pat::Param(index, Qualifiers::default());
    }
    if let [only] = path.segments.as_slice()
        && let Some(args) = &only.args
        && let Some(template) = params.iter().position(|param| param.name == Some(only.name))
    {
        let args = args.iter().map(|arg| of_arg(cx, arg, params)).collect();
        return Pat::Applied { template, args, quals: Qualifiers::default() };
    }
    let front_depends = path.segments[..path.segments.len() - 1]
        .iter()
        .any(|segment| segment.args.is_some() || params.iter().any(|param| param.name == Some(segment.name)));
    let Some(args) = path.segments.last().and_then(|last| last.args.as_ref()).filter(|_| !front_depends)
    else {
        return Pat::Opaque;
    };
    let found = cx.quietly(|cx| template_of_path(cx, path, params)).ok().flatten();
    let Some(found) = found else { return Pat::Opaque };
    let mut arg_pats: Vec<ArgPat<'a>> = args.iter().map(|arg| of_arg(cx, arg, params)).collect();
    let quals = Qualifiers::default();
    match found {
        Found::ClassTemplate(template) => Pat::Class { template, args: arg_pats, quals },
        Found::Injected(record) => match cx.records.get(record).template.clone() {
            Some(template) => Pat::Class { template, args: arg_pats, quals },
            None => Pat::Opaque,
        },
        Found::BuiltinTemplate(template) => {
            let Some(ArgPat::Type(elem)) = arg_pats.first().cloned() else { return Pat::Opaque };
            let mut value = |n: usize| match arg_pats.get_mut(n) {
                Some(ArgPat::Value(value)) => std::mem::replace(value, ValuePat::Opaque),
                _ => ValuePat::Opaque,
            };
            let elem = Box::new(elem);
            match template {
                BuiltinTemplate::Vec => Pat::Vector { elem, len: value(1), packed: false, quals },
                BuiltinTemplate::PackedVec => Pat::Vector { elem, len: value(1), packed: true, quals },
                BuiltinTemplate::Matrix => Pat::Matrix { elem, cols: value(1), rows: value(2), quals },
                BuiltinTemplate::MakeIntegerSeq | BuiltinTemplate::TypePackElement => Pat::Opaque,
            }
        }
        Found::AliasTemplate(alias) => {
            let inner_params = &alias.params.params;
            let pack = inner_params.iter().position(|param| param.is_pack);
            let fits = match pack {
                // What the last parameter's pack stands for; others are deduced from elsewhere.
                Some(pack) => pack + 1 == inner_params.len() && arg_pats.len() >= pack,
                None => arg_pats.len() == inner_params.len(),
            };
            if !fits {
                return Pat::Opaque;
            }
            let body = cx.instantiating(
                |_| format!("in the pattern of alias template `{}`", alias.alias.name),
                alias.alias.ty.span,
                |cx| cx.in_scope(alias.scope, |cx| of_type(cx, &alias.alias.ty, inner_params)),
            );
            body.map_or(Pat::Opaque, |body| substitute(&body, &Filling { args: &arg_pats, pack }))
        }
        _ => Pat::Opaque,
    }
}

/// What fills the holes of a pattern: one argument for each parameter, and several for a pack, which is the
/// last.
struct Filling<'f, 'a> {
    args: &'f [ArgPat<'a>],
    pack: Option<usize>,
}

impl<'a> Filling<'_, 'a> {
    /// The argument of a parameter that is not a pack.
    fn get(&self, n: usize) -> Option<&ArgPat<'a>> {
        if self.pack == Some(n) { None } else { self.args.get(n) }
    }

    /// The arguments of a pack, if this is the expansion of one.
    fn of_expansion(&self, inner: &ArgPat<'a>) -> Option<&[ArgPat<'a>]> {
        let n = match inner {
            ArgPat::Type(Pat::Param(n, quals)) if *quals == Qualifiers::default() => *n,
            ArgPat::Value(ValuePat::Param(n)) => *n,
            _ => return None,
        };
        self.pack.filter(|&pack| pack == n).map(|pack| &self.args[pack..])
    }
}

/// The arguments with their holes filled.
fn substitute_args<'a>(list: &[ArgPat<'a>], filling: &Filling<'_, 'a>) -> Vec<ArgPat<'a>> {
    let mut filled = Vec::with_capacity(list.len());
    for arg in list {
        match arg {
            ArgPat::Pack(inner) => match filling.of_expansion(inner) {
                Some(elements) => filled.extend_from_slice(elements),
                None => filled.push(ArgPat::Type(Pat::Opaque)),
            },
            ArgPat::Type(pat) => filled.push(ArgPat::Type(substitute(pat, filling))),
            ArgPat::Value(value) => filled.push(ArgPat::Value(substitute_value(value, filling))),
            ArgPat::Template(TemplatePat::Fixed(_)) => filled.push(arg.clone()),
            ArgPat::Template(TemplatePat::Param(n)) => filled.push(match filling.get(*n) {
                Some(arg @ ArgPat::Template(_)) => arg.clone(),
                _ => ArgPat::Type(Pat::Opaque),
            }),
        }
    }
    filled
}

fn substitute_value(value: &ValuePat, filling: &Filling<'_, '_>) -> ValuePat {
    match value {
        ValuePat::Param(n) => match filling.get(*n) {
            Some(ArgPat::Value(value)) => value.clone(),
            _ => ValuePat::Opaque,
        },
        other => other.clone(),
    }
}

/// The pattern with its holes filled by other patterns.
fn substitute<'a>(pat: &Pat<'a>, filling: &Filling<'_, 'a>) -> Pat<'a> {
    let boxed = |pat: &Pat<'a>| Box::new(substitute(pat, filling));
    let value = |value: &ValuePat| substitute_value(value, filling);
    match pat {
        Pat::Fixed(_) | Pat::Opaque => pat.clone(),
        Pat::Param(n, quals) => match filling.get(*n) {
            Some(ArgPat::Type(inner)) => add_quals(inner.clone(), *quals),
            _ => Pat::Opaque,
        },
        Pat::Pointer(inner) => Pat::Pointer(boxed(inner)),
        Pat::Reference { to, rvalue } => Pat::Reference { to: boxed(to), rvalue: *rvalue },
        Pat::Array(elem, len) => Pat::Array(boxed(elem), value(len)),
        Pat::Vector { elem, len, packed, quals } => {
            Pat::Vector { elem: boxed(elem), len: value(len), packed: *packed, quals: *quals }
        }
        Pat::Matrix { elem, cols, rows, quals } => {
            Pat::Matrix { elem: boxed(elem), cols: value(cols), rows: value(rows), quals: *quals }
        }
        Pat::Class { template, args, quals } => {
            Pat::Class { template: template.clone(), args: substitute_args(args, filling), quals: *quals }
        }
        Pat::Applied { template, args, quals } => match filling.get(*template) {
            Some(ArgPat::Template(TemplatePat::Param(n))) => {
                Pat::Applied { template: *n, args: substitute_args(args, filling), quals: *quals }
            }
            _ => Pat::Opaque,
        },
        Pat::Function { ret, params, form } => {
            Pat::Function { ret: boxed(ret), params: substitute_args(params, filling), form: *form }
        }
    }
}

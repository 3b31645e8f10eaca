//! Templates that are declared twice: member functions of class templates, and function templates.
//!
//! Each parameter is bound to a unique class, so that types compare equal only if they are equal for all
//! arguments (C++14 [temp.type], [temp.over.link]). Only signatures whose types are written plainly
//! take part: members of other templates and expressions could be equal for these types by chance.

use super::checker::Checker;
use super::entities::{ClassTemplate, Found, TArg};
use super::record::NamedRecord;
use super::scopes::ScopeId;
use super::table::{Decl, Entry, ItemId, Layer};
use super::{function, lookup, record, redeclare, resolve_type, template_args};
use crate::ast::{
    self, FunctionBody, ItemKind, TemplateArg, TemplateParam, TemplateParamKind, TemplateParams, TypeKind,
};
use crate::hir::{FuncId, QualTy, RecordId};
use crate::token::Name;
use anymetal_diagnostics::{Diagnostic, Span};
use std::rc::Rc;

/// Reports member functions of a class template, or of a partial specialisation, that are declared twice.
pub(super) fn check_class<'a>(cx: &mut Checker<'a>, entry: &'a Entry, id: ItemId) {
    let (ItemKind::Record(ast), Some(template)) = (&entry.item.kind, &entry.item.template) else { return };
    if ast.members.is_none() || ast.scope.is_some() || template.params.is_empty() {
        return;
    }
    let scope = cx.scopes.of_item(id);
    let Some(args) = stand_ins(cx, template, scope) else { return };
    let Some(name) = ast.name else { return };
    let class = if ast.specialisation.is_none() {
        let found = cx.in_scope(scope, |cx| lookup::unqualified(cx, name));
        match found {
            Some(Found::ClassTemplate(class)) if class.primary.id == ast.id => instance(cx, &class, args),
            _ => return,
        }
    } else {
        partial_instance(cx, ast, name, template, &args, scope)
    };
    if let Some(class) = class {
        check_members(cx, class, &[name], ast.span);
    }
}

/// The class that a partial specialisation is for these arguments of it.
fn partial_instance<'a>(
    cx: &mut Checker<'a>,
    ast: &'a ast::Record,
    name: Name,
    template: &'a TemplateParams,
    args: &Rc<[TArg]>,
    scope: ScopeId,
) -> Option<RecordId> {
    let written = ast.specialisation.as_ref()?;
    let inner = cx.scopes.template_scope(&template.params, args, scope);
    let ty = cx.quietly(|cx| {
        cx.in_scope(inner, |cx| {
            let Some(Found::ClassTemplate(class)) = lookup::unqualified(cx, name) else { return None };
            let explicit = template_args::explicit(cx, written);
            template_args::class_from_args(cx, &class, explicit, ast.span)
        })
    });
    let class = cx.types.as_record(ty.ok().flatten()?)?;
    record::declare_members(cx, class);
    // Another specialisation may be chosen.
    cx.records.get(class).ast.filter(|chosen| chosen.id == ast.id).map(|_| class)
}

fn instance<'a>(cx: &mut Checker<'a>, class: &ClassTemplate<'a>, args: Rc<[TArg]>) -> Option<RecordId> {
    let ty = record::instantiate(cx, class, args);
    cx.types.as_record(ty)
}

/// The functions of a class and of the classes in it.
fn check_members<'a>(cx: &mut Checker<'a>, class: RecordId, around: &[Name], span: Span) {
    record::declare_members(cx, class);
    let is_plain =
        |cx: &mut Checker<'a>, function: &'a ast::Function| is_plain_signature(cx, function, around);
    redeclare::check_methods(cx, class, &is_plain);
    let Some(items) = cx.records.get(class).ast.and_then(|ast| ast.members.as_ref()) else { return };
    let scope = cx.records.get(class).scope;
    for item in items {
        if let (ItemKind::Record(inner), None) = (&item.kind, &item.template)
            && let Some(name) = inner.name
            && inner.members.is_some()
            && inner.specialisation.is_none()
            && inner.scope.is_none()
        {
            let ty = record::plain(&mut cx.types, &mut cx.records, inner, scope);
            let Some(inner) = cx.types.as_record(ty) else { continue };
            let around = [around, &[name]].concat();
            cx.deeper(span, |cx| check_members(cx, inner, &around, span));
        }
    }
}

/// Reports function templates of a namespace that are defined twice.
pub(super) fn check_functions<'a>(cx: &mut Checker<'a>, layer: &'a Layer) {
    for (_, decls) in layer.own_names() {
        let mut templates = Vec::new();
        for &decl in decls {
            let Decl::Item(id) = decl else { continue };
            let item = &layer.entry(id).item;
            if let (ItemKind::Function(function), Some(template)) = (&item.kind, &item.template)
                && !template.params.is_empty()
                && matches!(function.body, FunctionBody::Block(_) | FunctionBody::Delete)
            {
                let scope = cx.scopes.of_item(id);
                if cx.in_scope(scope, |cx| is_plain_signature(cx, function, &[])) {
                    templates.push((id, &**function, template));
                }
            }
        }
        if templates.len() > 1 {
            check_templates(cx, &templates);
        }
    }
}

fn check_templates<'a>(cx: &mut Checker<'a>, templates: &[(ItemId, &'a ast::Function, &'a TemplateParams)]) {
    let mut known: Vec<(FuncId, &TemplateParams)> = Vec::new();
    let mut args: Option<Rc<[TArg]>> = None;
    for &(id, ast, template) in templates {
        let scope = cx.scopes.of_item(id);
        // All have the same arguments as far as their parameters are alike.
        let own = match args.clone().filter(|args| args.len() == template.params.len()) {
            Some(args) => args,
            None => {
                let Some(made) = stand_ins(cx, template, scope) else { continue };
                args = Some(made.clone());
                known.clear();
                made
            }
        };
        let decl = cx.functions.declare(ast, Some(template), scope, None);
        let func = cx.quietly(|cx| function::instantiate(cx, decl, own, ast.span));
        let Ok(Some(func)) = func else { continue };
        let new = cx.functions.inst(func);
        let earlier = known.iter().find(|(earlier, other)| {
            let old = cx.functions.inst(*earlier);
            are_alike(template, other)
                && new.ret.is_some()
                && old.ret == new.ret
                && function::are_same_params(&old.params, &new.params)
        });
        if let Some(&(earlier, _)) = earlier {
            let message = format!("redefinition of `{}`", super::spelling::function(&ast.name));
            let diagnostic = Diagnostic::error("redefinition", ast.span, message);
            let at = cx.functions.inst(earlier).span;
            cx.report(diagnostic.with_note(at, "previously declared here"));
        }
        known.push((func, template));
    }
}

/// Whether two lists of template parameters are written alike: types, and values of one built-in type.
fn are_alike(a: &TemplateParams, b: &TemplateParams) -> bool {
    a.params.len() == b.params.len()
        && a.params.iter().zip(&b.params).all(|(a, b)| {
            a.is_pack == b.is_pack
                && match (&a.kind, &b.kind) {
                    (TemplateParamKind::Type(_), TemplateParamKind::Type(_)) => true,
                    (TemplateParamKind::Value(a, _), TemplateParamKind::Value(b, _)) => {
                        matches!((&a.kind, &b.kind), (TypeKind::Builtin(a), TypeKind::Builtin(b)) if a == b)
                    }
                    _ => false,
                }
        })
}

/// A class without members, which has no other name, for each parameter; `None` if the list has other
/// kinds of parameters.
fn stand_ins<'a>(cx: &mut Checker<'a>, template: &TemplateParams, scope: ScopeId) -> Option<Rc<[TArg]>> {
    let mut args = Vec::new();
    for param in &template.params {
        if !matches!(param.kind, TemplateParamKind::Type(_)) || param.is_pack {
            return None;
        }
        args.push(TArg::Type(stand_in(cx, param, scope)));
    }
    Some(args.into())
}

fn stand_in<'a>(cx: &mut Checker<'a>, param: &TemplateParam, scope: ScopeId) -> QualTy {
    let name = param.name.map_or_else(|| "typename".to_owned(), |name| name.to_string());
    let named = NamedRecord { name, is_union: false, ast: None, template: None, args: Rc::from([]), scope };
    let id = cx.records.add(&mut cx.types, named);
    QualTy::plain(cx.records.get(id).ty)
}

/// Reports alias templates of the same name for different types.
pub(super) fn check_aliases<'a>(cx: &mut Checker<'a>, layer: &'a Layer) {
    for (name, decls) in layer.own_names() {
        let mut known: Option<(&'a TemplateParams, &'a ast::TypeAlias, Rc<[TArg]>)> = None;
        for &decl in decls {
            let Decl::Item(id) = decl else { continue };
            let item = &layer.entry(id).item;
            let (ItemKind::Alias(alias), Some(template)) = (&item.kind, &item.template) else { continue };
            if decls.len() < 2 || !is_plain(cx, &alias.ty, &[]) {
                continue;
            }
            let scope = cx.scopes.of_item(id);
            let Some((other, first, args)) = known.clone() else {
                known = stand_ins(cx, template, scope).map(|args| (template, alias, args));
                continue;
            };
            let mut of = |template: &'a TemplateParams, alias: &'a ast::TypeAlias| {
                let inner = cx.scopes.template_scope(&template.params, &args, scope);
                cx.quietly(|cx| cx.in_scope(inner, |cx| resolve_type::resolve(cx, &alias.ty))).ok()
            };
            if !are_alike(template, other) || of(template, alias) != of(other, first) {
                let message = format!("`{name}` is a template of aliases for other types before");
                let diagnostic = Diagnostic::error("redefinition", alias.ty.span, message);
                cx.report(diagnostic.with_note(first.ty.span, "previously declared here"));
            }
        }
    }
}

/// Whether a signature depends on template parameters through plainly written types only.
fn is_plain_signature<'a>(cx: &mut Checker<'a>, function: &'a ast::Function, around: &[Name]) -> bool {
    let of_result = function.ret.as_ref().is_none_or(|ret| is_plain(cx, ret, around));
    of_result && function.params.iter().all(|param| is_plain(cx, &param.ty, around))
}

/// `around` names the classes whose members are known.
fn is_plain<'a>(cx: &mut Checker<'a>, ty: &'a ast::Type, around: &[Name]) -> bool {
    match &ty.kind {
        TypeKind::Builtin(_) => true,
        TypeKind::Pointer(inner) | TypeKind::Reference { referent: inner, .. } => is_plain(cx, inner, around),
        TypeKind::Path(path) => is_plain_path(cx, path, around),
        _ => false,
    }
}

fn is_plain_path<'a>(cx: &mut Checker<'a>, path: &'a ast::Path, around: &[Name]) -> bool {
    let (last, front) = path.segments.split_last().expect("a path has a segment");
    let is_own = |segment: &ast::PathSegment| around.contains(&segment.name);
    let has_plain_args =
        path.segments.iter().flat_map(|segment| segment.args.iter().flatten()).all(|arg| match arg {
            TemplateArg::Type(ty) => is_plain(cx, ty, around),
            TemplateArg::Expr(_) => false,
        });
    // Members of a parameter, and of classes that depend on one, are not known.
    let is_known = front.iter().all(|segment| segment.args.is_none() || is_own(segment))
        && (front.is_empty() || front.iter().any(is_own));
    let is_class = last.args.is_none()
        || is_own(last)
        || (front.is_empty() && matches!(lookup::unqualified(cx, last.name), Some(Found::ClassTemplate(_))));
    has_plain_args && is_known && is_class
}

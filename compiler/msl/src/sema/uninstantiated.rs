//! Templates without arguments: what is wrong with the code whatever the arguments are.
//!
//! The parameters stand for types and values in error, which make everything that depends on them silent, as
//! after an error that was reported. What is reported does not depend on them. Only a check of everything
//! does this; an instance that a program uses is checked with its arguments, as always.
//!
//! Invariant: messages that would show something that depends on a parameter are dropped
//! ([`super::diagnostics::DEPENDENT`]), and so are calls that may mean another function with other arguments.

use super::checker::Checker;
use super::diagnostics::DEPENDENT;
use super::entities::{FnDeclId, Found, TArg};
use super::fn_context::Returns;
use super::record::NamedRecord;
use super::scopes::ScopeId;
use super::table::ItemId;
use super::whole_program;
use super::{
    call, default_arguments, explicit, expr, function, lookup, noexcept, path, record, resolve_type, stage,
    template_args,
};
use crate::ast::{self, Item, ItemKind, TemplateParam, TemplateParamKind, TemplateParams};
use crate::hir::{ConstValue, QualTy, RecordId, Ty, TyKind};
use anymetal_diagnostics::Span;
use std::rc::Rc;

/// Checks a template, perhaps a member of a class.
pub(super) fn check<'a>(
    cx: &mut Checker<'a>,
    item: &'a Item,
    template: &'a TemplateParams,
    scope: ScopeId,
    owner: Option<RecordId>,
) {
    let before = cx.diagnostics.set_in_template(true);
    check_head(cx, template, scope);
    explicit::check_partial(cx, item, template, scope);
    match &item.kind {
        ItemKind::Function(function) => check_function(cx, function, template, scope, owner),
        ItemKind::Record(record) => {
            check_template_defaults(cx, template, scope);
            check_record(cx, record, template, scope);
        }
        ItemKind::Alias(alias) => {
            let inner = cx.scopes.template_scope(&template.params, &unknown_args(template), scope);
            cx.in_scope(inner, |cx| resolve_type::resolve(cx, &alias.ty));
        }
        _ => {}
    }
    cx.diagnostics.set_in_template(before);
}

/// Checks the body of a lambda, which no call may need; a generic lambda's as that of a template.
pub(super) fn check_lambda<'a>(
    cx: &mut Checker<'a>,
    decl: FnDeclId,
    template: Option<&'a TemplateParams>,
    span: Span,
) {
    let args = template.map_or_else(|| Rc::from([]), unknown_args);
    let before = cx.diagnostics.in_template();
    cx.diagnostics.set_in_template(before || template.is_some());
    default_arguments::check_single(cx, cx.functions.decl(decl).ast);
    if let Some(func) = function::instantiate(cx, decl, args, span) {
        let scope = cx.functions.inst(func).scope;
        cx.in_function(Returns::Type(QualTy::plain(Ty::VOID)), |cx| {
            call::check_default_arguments(cx, func, scope);
        });
        whole_program::check_complete(cx, func, span);
        function::ensure_body(cx, func);
    }
    cx.diagnostics.set_in_template(before);
}

/// The types and default arguments of template parameters.
fn check_head<'a>(cx: &mut Checker<'a>, template: &'a TemplateParams, scope: ScopeId) {
    let outer = template.heads().into_iter().filter(|head| !std::ptr::eq(*head, template));
    let outer =
        outer.fold(scope, |scope, head| cx.scopes.template_scope(&head.params, &unknown_args(head), scope));
    for (n, param) in template.params.iter().enumerate() {
        // A parameter is not known in its own default argument (C++14 [basic.scope.pdecl.9]).
        let (known, args) = (&template.params[..n], &unknown_args(template)[..n]);
        let inner = cx.scopes.template_scope(known, args, outer);
        cx.in_scope(inner, |cx| match &param.kind {
            TemplateParamKind::Type(default) => {
                if let Some(default) = default {
                    resolve_type::resolve(cx, default);
                }
            }
            TemplateParamKind::Value(ty, default) => {
                check_value_type(cx, ty);
                if let Some(default) = default {
                    expr::check(cx, default);
                }
            }
            TemplateParamKind::Template(inner, _) => {
                cx.deeper(inner.span, |cx| check_head(cx, inner, cx.scopes.current()));
            }
        });
    }
}

/// The default arguments that are templates. Those of aliases are checked where they are used.
fn check_template_defaults<'a>(cx: &mut Checker<'a>, template: &'a TemplateParams, scope: ScopeId) {
    for param in &template.params {
        if let TemplateParamKind::Template(wanted, Some(default)) = &param.kind {
            let inner = cx.scopes.template_scope(&template.params, &unknown_args(template), scope);
            cx.in_scope(inner, |cx| template_args::check_template_default(cx, wanted, default));
        }
    }
}

/// The type of a value that is a template argument (C++14 [temp.param.4]). Objects of classes are arguments
/// from C++20 on.
fn check_value_type<'a>(cx: &mut Checker<'a>, ty: &'a ast::Type) {
    let inner = if let ast::TypeKind::Pack(inner) = &ty.kind { inner } else { ty };
    if function::mentions_auto(inner) {
        return;
    }
    match cx.scopes.pack_length_of_type(inner) {
        Some(count) => {
            for n in 0..count {
                cx.with_pack_index(n, |cx| refuse_value_type(cx, inner));
            }
        }
        None => refuse_value_type(cx, inner),
    }
}

fn refuse_value_type<'a>(cx: &mut Checker<'a>, ty: &'a ast::Type) {
    let resolved = resolve_type::resolve(cx, ty);
    let refused = match *cx.types.kind(resolved.ty) {
        TyKind::Scalar(scalar) => scalar.is_float(),
        TyKind::Void | TyKind::Reference { rvalue: true, .. } => true,
        _ => false,
    };
    if refused {
        let message = format!("a non-type template parameter cannot have type `{}`", cx.show(resolved));
        cx.error("template-parameter", ty.span, message);
    }
}

/// Checks the head of a member template of an instance, whose own arguments are not known.
pub(super) fn check_member_head<'a>(cx: &mut Checker<'a>, template: &'a TemplateParams, scope: ScopeId) {
    let before = cx.diagnostics.set_in_template(true);
    check_head(cx, template, scope);
    cx.diagnostics.set_in_template(before);
}

fn check_function<'a>(
    cx: &mut Checker<'a>,
    function: &'a ast::Function,
    template: &'a TemplateParams,
    scope: ScopeId,
    owner: Option<RecordId>,
) {
    // A member's definition outside of its class is checked with the class.
    if function.scope.is_some() || matches!(function.name, ast::FunctionName::Destructor) {
        return;
    }
    let owner = owner.filter(|_| !function.specifiers.is_friend);
    let decl = cx.functions.declare(function, Some(template), scope, owner);
    let args = unknown_args(template);
    let Some(func) = function::instantiate(cx, decl, args, function.span) else { return };
    noexcept::check_specifier(cx, decl, func);
    default_arguments::check_single(cx, function);
    let inner = cx.functions.inst(func).scope;
    cx.in_function(Returns::Type(QualTy::plain(Ty::VOID)), |cx| {
        call::check_default_arguments(cx, func, inner);
    });
    if function::has_code(cx, func) {
        function::ensure_body(cx, func);
    }
    if let Some(stage) = function.specifiers.graphics {
        stage::check(cx, func, stage);
    }
}

/// Checks the declaration in the definition of a member template outside of a class that is not a template.
pub(super) fn check_definition<'a>(
    cx: &mut Checker<'a>,
    id: ItemId,
    function: &'a ast::Function,
    template: &'a TemplateParams,
    path: &'a ast::Path,
) {
    let scope = cx.scopes.of_item(id);
    let is_of_namespace = cx.table.find_namespace(cx.table.entry(id).ns, path).is_some();
    if template.outer.is_some() || is_of_namespace {
        return;
    }
    let Some(class) = path::class_of_path(cx, path, scope) else { return };
    record::declare_members(cx, class);
    let before = cx.diagnostics.set_in_template(true);
    let scope = cx.records.get(class).scope;
    let decl = cx.functions.declare(function, Some(template), scope, Some(class));
    function::instantiate(cx, decl, unknown_args(template), function.span);
    cx.diagnostics.set_in_template(before);
}

fn check_record<'a>(
    cx: &mut Checker<'a>,
    record: &'a ast::Record,
    template: &'a TemplateParams,
    scope: ScopeId,
) {
    let (Some(name), Some(_)) = (record.name, &record.members) else { return };
    if record.scope.is_some() {
        return;
    }
    let args = unknown_args(template);
    if record.specialisation.is_none() {
        let found = cx.in_scope(scope, |cx| lookup::unqualified(cx, name));
        let Some(Found::ClassTemplate(class)) = found else { return };
        if class.primary.id == record.id {
            let ty = record::instantiate(cx, &class, args);
            whole_program::check_record(cx, ty, record.span);
        }
        return;
    }
    let inner = cx.scopes.template_scope(&template.params, &args, scope);
    let is_union = record.kind == ast::RecordKind::Union;
    let name = format!("{name}<{DEPENDENT}>");
    let named =
        NamedRecord { name, is_union, ast: Some(record), template: None, args: Rc::from([]), scope: inner };
    let id = cx.records.add(&mut cx.types, named);
    whole_program::check_record(cx, cx.records.get(id).ty, record.span);
}

/// An argument for each parameter of which nothing is known.
pub(super) fn unknown_args(template: &TemplateParams) -> Rc<[TArg]> {
    template.params.iter().map(unknown_arg).collect()
}

fn unknown_arg(param: &TemplateParam) -> TArg {
    let arg = match param.kind {
        TemplateParamKind::Type(_) | TemplateParamKind::Template(..) => TArg::Type(QualTy::plain(Ty::ERROR)),
        TemplateParamKind::Value(..) => TArg::Value(Ty::ERROR, ConstValue::Scalar(0)),
    };
    if param.is_pack { TArg::Pack(Rc::from([arg])) } else { arg }
}

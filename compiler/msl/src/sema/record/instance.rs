//! The declarations in an instance of a class template: they are instantiated with it, unlike the bodies
//! of its
//! functions (C++14 [temp.inst.1]).

use crate::ast::{self, FunctionName, Item, ItemKind, TypeKind};
use crate::hir::{RecordId, TyKind};
use crate::sema::checker::Checker;
use crate::sema::entities::VarDecl;
use crate::sema::scopes::ScopeId;
use crate::sema::{
    enumeration, function, lookup, redeclare, resolve_type, specialise, uninstantiated, using_rules,
    variable, whole_program,
};
use anymetal_diagnostics::Span;
use std::rc::Rc;

/// Checks the declarations of a complete instance at its first use that is not tried. Only a check of
/// everything does this.
pub(super) fn check(cx: &mut Checker<'_>, id: RecordId, span: Span) {
    if !cx.checks_everything
        || cx.diagnostics.is_quiet()
        || !specialise::is_known_instance(cx, id)
        || !cx.records.checked.insert(id)
    {
        return;
    }
    let (scope, ast) = (cx.records.get(id).scope, cx.records.get(id).ast);
    // The library's declarations hold only where they are used: some assert what their arguments must be.
    let Some(ast) = ast.filter(|ast| !cx.diagnostics.is_of_library(ast.span)) else { return };
    let Some(items) = &ast.members else { return };
    specialise::check_unambiguous(cx, id, span);
    cx.instantiating(
        |cx| format!("in instantiation of `{}` requested here", cx.types.record(id).name),
        span,
        |cx| {
            cx.in_scope(scope, |cx| items.iter().for_each(|item| check_item(cx, id, item, scope)));
            redeclare::check_methods(cx, id);
            redeclare::templates::check_member_partials(cx, id);
            redeclare::templates::check_member_specialisations(cx, id);
            cx.in_scope(scope, |cx| using_rules::check_instance(cx, items));
        },
    );
}

fn check_item<'a>(cx: &mut Checker<'a>, id: RecordId, item: &'a Item, scope: ScopeId) {
    if cx.diagnostics.gave_up() {
        return;
    }
    if let Some(template) = &item.template {
        return uninstantiated::check_member_head(cx, template, scope);
    }
    match &item.kind {
        ItemKind::Alias(alias) => {
            lookup::alias_found(cx, alias, None, scope);
        }
        ItemKind::Friend(ty) if matches!(&ty.kind, TypeKind::Path(path) if path.is_typename) => {
            resolve_type::resolve(cx, ty);
        }
        ItemKind::Function(function) if function.specifiers.is_friend => {
            whole_program::check_friend(cx, function);
        }
        ItemKind::Function(function) => check_function(cx, id, function, scope),
        ItemKind::Variable(variable) if has_instantiated_value(variable) => {
            let decl = VarDecl { variable, template: None, scope };
            variable::global_of(cx, decl, None, variable.span);
        }
        // An initialiser may complete the type.
        ItemKind::Variable(variable) if variable.init.is_none() => {
            let ty = resolve_type::resolve(cx, &variable.ty);
            if matches!(cx.types.kind(ty.ty), TyKind::Function { .. }) {
                let message = format!("static data member instantiated with function type `{}`", cx.show(ty));
                cx.error("bad-member-type", variable.span, message);
            }
        }
        ItemKind::Enum(enumeration) if !enumeration.is_scoped => {
            enumeration::type_of(cx, enumeration, scope);
        }
        _ => {}
    }
}

/// Whether the initialiser of a static member is instantiated with the class: that of a constant that is not
/// `inline`.
fn has_instantiated_value(variable: &ast::Variable) -> bool {
    variable.init.is_some() && variable.ty.quals.is_const && !variable.is_constexpr && !variable.is_inline
}

fn check_function<'a>(cx: &mut Checker<'a>, id: RecordId, function: &'a ast::Function, scope: ScopeId) {
    // A destructor has no signature.
    if matches!(function.name, FunctionName::Destructor) || function.scope.is_some() {
        return;
    }
    let decl = cx.functions.declare(function, None, scope, Some(id));
    function::instantiate(cx, decl, Rc::from([]), function.span);
}

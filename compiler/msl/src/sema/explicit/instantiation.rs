//! `template void f<int>(int);`, `template struct S<int>;` and the same with `extern`.

use super::history::{Entity, Event, History};
use super::place;
use crate::ast::{self, FunctionBody};
use crate::hir::{FuncId, QualTy, RecordId};
use crate::sema::checker::Checker;
use crate::sema::entities::{FnDeclId, Found, VarDecl};
use crate::sema::table::ItemId;
use crate::sema::{function, kernel, path, record, resolve_type, template_args, variable, whole_program};
use anymetal_diagnostics::Span;
use std::rc::Rc;

/// Checks an explicit instantiation and what it instantiates.
pub(in crate::sema) fn check<'a>(
    cx: &mut Checker<'a>,
    history: &mut History,
    instantiation: &'a ast::ExplicitInstantiation,
    id: ItemId,
) {
    let scope = cx.scopes.of_item(id);
    cx.in_scope(scope, |cx| {
        if instantiation.is_record {
            check_class(cx, history, instantiation, id);
        } else if !check_member(cx, history, instantiation, id)
            && let Some(func) = kernel::instantiated(cx, instantiation, scope)
        {
            check_function(cx, history, instantiation, func, id);
        }
    });
}

fn event(instantiation: &ast::ExplicitInstantiation) -> Event {
    if instantiation.is_extern { Event::InstantiationDeclaration } else { Event::Instantiation }
}

fn check_class<'a>(
    cx: &mut Checker<'a>,
    history: &mut History,
    instantiation: &'a ast::ExplicitInstantiation,
    id: ItemId,
) {
    let path = &instantiation.path;
    let Some(ty) = path::resolve_type(cx, path) else { return };
    let Some(class) = cx.types.as_record(ty.ty) else { return };
    let name = cx.types.record(class).name.clone();
    if !is_templated(cx, class) {
        let message = format!("explicit instantiation of non-templated type `{name}`");
        return cx.error("explicit-instantiation", path.span, message);
    }
    let from = cx.table.entry(id).ns;
    place::check_instantiated(cx, from, cx.records.get(class).decl_scope, path);
    let entity = Entity::Class(class);
    let owner = cx.scopes.class_of_scope(cx.records.get(class).decl_scope);
    let around = owner.and_then(|owner| history.instantiated(&Entity::Class(owner)));
    if around.is_none() || instantiation.is_extern {
        note_owner(cx, history, instantiation, owner, path.span);
    }
    if !is_defined_before(cx, class, path.span) && !history.is_specialised(&entity) {
        if history.fail(&entity) {
            let message = format!("explicit instantiation of undefined template `{name}`");
            cx.error("explicit-instantiation", path.span, message);
        }
        return history.add(&mut cx.diagnostics, entity, event(instantiation), &name, path.span);
    }
    history.add(&mut cx.diagnostics, entity, event(instantiation), &name, path.span);
    match instantiation.is_extern {
        true => {
            record::complete_type(cx, ty.ty, path.span);
        }
        false => whole_program::check_record(cx, ty.ty, path.span),
    }
}

/// Whether a class has a definition before an explicit instantiation: later ones are not instantiated.
fn is_defined_before(cx: &mut Checker<'_>, class: RecordId, span: Span) -> bool {
    record::declare_members(cx, class);
    let record = cx.records.get(class);
    let is_before =
        |ast: &ast::Record| ast.members.is_some() && (ast.span.file != span.file || ast.span.lo < span.lo);
    // A specialisation that follows is chosen for the class all the same.
    record.ast.is_some_and(is_before)
        || record.template.as_ref().is_some_and(|known| is_before(known.primary))
}

/// Reports `extern template` for a member of a class that is instantiated explicitly before.
fn note_owner<'a>(
    cx: &mut Checker<'a>,
    history: &mut History,
    instantiation: &ast::ExplicitInstantiation,
    owner: Option<RecordId>,
    span: Span,
) {
    let Some(owner) = owner.filter(|_| instantiation.is_extern) else { return };
    if history.instantiated(&Entity::Class(owner)).is_some() {
        let name = cx.types.record(owner).name.clone();
        history.add(&mut cx.diagnostics, Entity::Class(owner), Event::InstantiationDeclaration, &name, span);
    }
}

/// Whether a class or a class around it is made from a template.
fn is_templated(cx: &Checker<'_>, class: RecordId) -> bool {
    let mut at = Some(class);
    while let Some(class) = at {
        let record = cx.records.get(class);
        if record.template.is_some() {
            return true;
        }
        at = cx.scopes.class_of_scope(record.decl_scope);
    }
    false
}

fn check_function<'a>(
    cx: &mut Checker<'a>,
    history: &mut History,
    instantiation: &'a ast::ExplicitInstantiation,
    func: FuncId,
    id: ItemId,
) {
    let span = instantiation.path.span;
    let from = cx.table.entry(id).ns;
    if let Some(decl) = cx.functions.inst(func).origin.decl() {
        place::check_instantiated(cx, from, cx.functions.decl(decl).scope, &instantiation.path);
    }
    let name = cx.functions.inst(func).name.clone();
    history.add(&mut cx.diagnostics, Entity::Function(func), event(instantiation), &name, span);
    if !instantiation.is_extern {
        check_instance(cx, func, span);
        whole_program::check_stage(cx, func);
    }
}

/// Checks an explicitly instantiated function, which needs a definition.
fn check_instance(cx: &mut Checker<'_>, func: FuncId, span: Span) {
    let is_without_body = cx.functions.inst(func).origin.decl().is_some_and(|decl| {
        !matches!(cx.functions.decl(decl).ast.body, FunctionBody::Default | FunctionBody::Delete)
    });
    if function::has_code(cx, func) {
        function::ensure_body(cx, func);
    } else if is_without_body {
        let message = format!("`{}` is instantiated but never defined", cx.functions.inst(func).name);
        cx.error("undefined-function", span, message);
    }
}

/// `template int S<int>::x;`, `template void S<int>::f();`, `template int x<int>;`: members of class
/// templates that are not templates themselves, and variables. False for other templates.
fn check_member<'a>(
    cx: &mut Checker<'a>,
    history: &mut History,
    instantiation: &'a ast::ExplicitInstantiation,
    id: ItemId,
) -> bool {
    let path = &instantiation.path;
    let found = cx.without_access(|cx| cx.quietly(|cx| path::resolve(cx, path)));
    let Ok(Ok(target)) = found else { return false };
    match target.found {
        Found::Variable(decl) => {
            check_variable(cx, history, instantiation, decl, target.args, id);
            true
        }
        Found::Injected(class) if path.segments.len() > 1 => {
            let constructors = cx.records.get(class).constructors.clone();
            let is_plain = |decl: &FnDeclId| cx.functions.decl(*decl).template.is_none();
            let all_plain = constructors.iter().all(is_plain);
            if !check_methods(cx, history, instantiation, &constructors) && all_plain {
                let name = cx.types.record(class).name.clone();
                let message =
                    format!("explicit instantiation of a constructor that `{name}` does not declare");
                cx.error("explicit-instantiation", path.span, message);
            }
            true
        }
        Found::Functions(decls) => {
            let is_method = |decl: &FnDeclId| {
                let decl = cx.functions.decl(*decl);
                decl.owner.is_some() && decl.template.is_none()
            };
            let methods: Vec<FnDeclId> = decls.iter().copied().filter(is_method).collect();
            if methods.is_empty() || methods.len() < decls.len() || instantiation.params.is_none() {
                return false;
            }
            check_methods(cx, history, instantiation, &methods);
            true
        }
        _ => false,
    }
}

fn check_variable<'a>(
    cx: &mut Checker<'a>,
    history: &mut History,
    instantiation: &'a ast::ExplicitInstantiation,
    decl: VarDecl<'a>,
    args: Option<&'a [ast::TemplateArg]>,
    id: ItemId,
) {
    let path = &instantiation.path;
    let from = cx.table.entry(id).ns;
    place::check_instantiated(cx, from, decl.scope, path);
    let explicit = args.map(|args| template_args::explicit(cx, args));
    let bound = match (decl.template, explicit.clone()) {
        (Some(template), Some(explicit)) => {
            let bind = |cx: &mut Checker<'a>| {
                template_args::bind(cx, &template.params, &[], explicit, decl.scope, path.span)
            };
            cx.quietly(bind).ok().flatten()
        }
        _ => Some(Rc::from([])),
    };
    if let Some(bound) = bound {
        let owner = cx.scopes.record(decl.scope);
        note_owner(cx, history, instantiation, owner, path.span);
        let entity = Entity::Variable(decl.variable.id, decl.scope, bound);
        let name = decl.variable.declarator.name.to_string();
        history.add(&mut cx.diagnostics, entity, event(instantiation), &name, path.span);
    }
    variable::global_of(cx, decl, explicit, path.span);
}

/// Checks the instantiated functions among these; false if none has the parameters that are written.
fn check_methods<'a>(
    cx: &mut Checker<'a>,
    history: &mut History,
    instantiation: &'a ast::ExplicitInstantiation,
    methods: &[FnDeclId],
) -> bool {
    let mut is_found = false;
    let span = instantiation.path.span;
    let params = instantiation.params.as_deref().unwrap_or_default();
    let types: Vec<QualTy> = params.iter().map(|param| resolve_type::resolve_param(cx, &param.ty)).collect();
    for &decl in methods {
        if cx.functions.decl(decl).template.is_some() {
            continue;
        }
        let Some(func) = function::instantiate(cx, decl, Rc::from([]), span) else { continue };
        if !function::are_same_params(&cx.functions.inst(func).params, &types) {
            continue;
        }
        is_found = true;
        let owner = cx.functions.decl(decl).owner;
        note_owner(cx, history, instantiation, owner, span);
        let name = cx.functions.inst(func).name.clone();
        history.add(&mut cx.diagnostics, Entity::Function(func), event(instantiation), &name, span);
        if !instantiation.is_extern {
            check_instance(cx, func, span);
        }
    }
    is_found
}

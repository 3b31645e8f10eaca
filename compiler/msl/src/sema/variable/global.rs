//! Variables with static storage: constants outside of functions, static members, variable templates.
//!
//! Invariant: a variable's value is worked out once, when it is first mentioned; one that depends on itself
//! is found by being [`GlobalValue::Pending`].

use super::{GlobalValue, function_constant, local};
use crate::ast::{self, ItemKind, TemplateParams};
use crate::hir::{self, Expr, ExprKind, QualTy, Ty};
use crate::sema::checker::Checker;
use crate::sema::collect::ProgramData;
use crate::sema::diagnostics::Deferred;
use crate::sema::entities::{GlobalVarId, TArg, VarDecl};
use crate::sema::fn_context::Returns;
use crate::sema::out_of_line::{Fit, Position};
use crate::sema::scopes::ScopeId;
use crate::sema::template_args::ExplicitArg;
use crate::sema::{
    alignment, evaluate, expr, init, kernel, out_of_line, record, resolve_type, template_args, variable,
};
use anymetal_diagnostics::{Diagnostic, Span};
use anymetal_ir::Space;
use std::rc::Rc;

/// The variable a name stands for; for a template, with its arguments.
pub(in crate::sema) fn global_of<'a>(
    cx: &mut Checker<'a>,
    decl: VarDecl<'a>,
    explicit: Option<Vec<ExplicitArg<'a>>>,
    span: Span,
) -> Option<GlobalVarId> {
    let args: Rc<[TArg]> = match (decl.template, explicit) {
        (Some(template), Some(explicit)) => {
            template_args::bind(cx, &template.params, &[], explicit, decl.scope, span)?
        }
        (Some(_), None) => {
            let name = decl.variable.declarator.name;
            cx.error(
                "template-arguments",
                span,
                format!("variable template `{name}` needs template arguments"),
            );
            return None;
        }
        (None, Some(_)) => {
            let name = decl.variable.declarator.name;
            cx.error("not-a-template", span, format!("`{name}` is not a template"));
            return None;
        }
        (None, None) => Rc::from([]),
    };
    if let Some(id) = cx.globals.known(&decl, &args) {
        cx.diagnostics.report_deferred(Deferred::Global(id));
        return Some(id);
    }
    let id = cx.globals.add(decl, args.clone());
    cx.once(Deferred::Global(id), |cx| define_global(cx, id, decl, &args, span));
    Some(id)
}

fn define_global<'a>(
    cx: &mut Checker<'a>,
    id: GlobalVarId,
    decl: VarDecl<'a>,
    args: &Rc<[TArg]>,
    span: Span,
) {
    let (variable, scope) = select_variable(cx, &decl, args);
    let name = variable.declarator.name;
    let work = |cx: &mut Checker<'a>| {
        cx.in_function(Returns::Type(QualTy::plain(Ty::VOID)), |cx| {
            cx.in_scope(scope, |cx| global_value_of(cx, variable, &decl))
        })
    };
    let defined = if args.is_empty() {
        let trace = cx.diagnostics.replace_trace(None);
        let defined = cx.deeper(span, work);
        cx.diagnostics.replace_trace(trace);
        defined
    } else {
        let text = |cx: &Checker<'a>| {
            format!(
                "in instantiation of variable template `{name}<{}>` requested here",
                template_args::show_args(cx, args)
            )
        };
        cx.instantiating(text, span, work)
    };
    let (mut ty, value) = defined.flatten().unwrap_or((QualTy::plain(Ty::ERROR), GlobalValue::Failed));
    if matches!(value, GlobalValue::Failed) {
        ty = cx.types.referent(ty.ty).unwrap_or(ty);
    }
    let global = cx.globals.get_mut(id);
    global.ty = ty;
    global.value = value;
}

/// The definition that serves the template arguments, and the scope to check it in.
fn select_variable<'a>(
    cx: &mut Checker<'a>,
    decl: &VarDecl<'a>,
    args: &Rc<[TArg]>,
) -> (&'a ast::Variable, ScopeId) {
    let Some(template) = decl.template else { return (decl.variable, decl.scope) };
    let mut best: Option<((bool, bool), &'a ast::Variable, ScopeId)> = None;
    for (variable, params, scope) in specialisations_of(cx, decl) {
        let Some(written) = &variable.declarator.specialisation else { continue };
        if let Some(inner) = match_variable(cx, template, params, written, scope, args, variable.span) {
            let rank = (params.params.is_empty(), variable.init.is_some());
            if best.is_none_or(|(known, ..)| rank > known) {
                best = Some((rank, variable, inner));
            }
        }
    }
    match best {
        Some((_, variable, scope)) => (variable, scope),
        None => {
            let (variable, params, scope) =
                member_template_definition(cx, decl).unwrap_or((decl.variable, template, decl.scope));
            (variable, cx.scopes.template_scope(&params.params, args, scope))
        }
    }
}

/// A declaration of a variable template, with its own parameters and the scope around.
type Declared<'a> = (&'a ast::Variable, &'a TemplateParams, ScopeId);

/// The specialisations of a variable template: in its namespace, or in and outside of its class.
fn specialisations_of<'a>(cx: &mut Checker<'a>, decl: &VarDecl<'a>) -> Vec<Declared<'a>> {
    let name = decl.variable.declarator.name;
    let of_item = |item: &'a ast::Item, scope: ScopeId| match (&item.kind, &item.template) {
        (ItemKind::Variable(variable), Some(params)) if variable.declarator.specialisation.is_some() => {
            Some((&**variable, params, scope))
        }
        _ => None,
    };
    let mut found = Vec::new();
    let Some(owner) = cx.scopes.record(decl.scope) else {
        for item in cx.table.specialisations(name) {
            found.extend(of_item(&cx.table.entry(item).item, cx.scopes.of_item(item)));
        }
        return found;
    };
    for item in cx.records.get(owner).ast.and_then(|ast| ast.members.as_ref()).into_iter().flatten() {
        found.extend(of_item(item, decl.scope).filter(|(variable, ..)| variable.declarator.name == name));
    }
    let outside = outside_of_class(cx, decl).into_iter();
    found.extend(outside.filter(|(variable, ..)| variable.declarator.specialisation.is_some()));
    found
}

/// The definition of a member template itself outside of its class.
fn member_template_definition<'a>(cx: &mut Checker<'a>, decl: &VarDecl<'a>) -> Option<Declared<'a>> {
    let template = decl.template.filter(|_| decl.variable.init.is_none())?;
    outside_of_class(cx, decl).into_iter().find(|(variable, params, _)| {
        let is_alike = params.params.len() == template.params.len();
        variable.declarator.specialisation.is_none() && variable.init.is_some() && is_alike
    })
}

/// The declarations of a member template outside of its class.
fn outside_of_class<'a>(cx: &mut Checker<'a>, decl: &VarDecl<'a>) -> Vec<Declared<'a>> {
    let Some(owner) = cx.scopes.record(decl.scope) else { return Vec::new() };
    let Some(class) = cx.records.get(owner).name else { return Vec::new() };
    let mut found = Vec::new();
    for item in cx.table.out_of_line(class) {
        let ItemKind::Variable(variable) = &cx.table.entry(item).item.kind else { continue };
        let declarator = &variable.declarator;
        if declarator.name == decl.variable.declarator.name
            && let Some(Position { scope, own: Some(own), .. }) =
                out_of_line::position(cx, item, declarator.scope.as_ref(), owner)
        {
            found.push((&**variable, own, scope));
        }
    }
    found
}

fn match_variable<'a>(
    cx: &mut Checker<'a>,
    primary: &'a TemplateParams,
    params: &'a TemplateParams,
    written: &'a [ast::TemplateArg],
    scope: ScopeId,
    args: &Rc<[TArg]>,
    span: Span,
) -> Option<ScopeId> {
    let bound = out_of_line::deduced_from_written(cx, params, written, scope, args, span)?;
    let inner = cx.scopes.template_scope(&params.params, &bound, scope);
    let again = cx.quietly(|cx| {
        cx.in_scope(inner, |cx| {
            let explicit = template_args::explicit(cx, written);
            template_args::bind(cx, &primary.params, &[], explicit, scope, span)
        })
    });
    (again.ok().flatten()? == *args).then_some(inner)
}

fn global_value_of<'a>(
    cx: &mut Checker<'a>,
    variable: &'a ast::Variable,
    decl: &VarDecl<'a>,
) -> Option<(QualTy, GlobalValue)> {
    if let Some(attribute) = function_constant::attribute(&cx.names, variable) {
        return function_constant::function_constant(cx, variable, attribute);
    }
    let least = if variable.init.is_some() { Fit::Exact } else { Fit::Any };
    match static_definition(cx, decl, least) {
        Some(StaticDefinition { variable, scope, is_declaration: true }) => cx.in_scope(scope, |cx| {
            let ty = resolve_type::resolve(cx, &variable.ty);
            Some((ty, without_initialiser(cx, variable, ty)))
        }),
        Some(StaticDefinition { variable, scope, .. }) => {
            cx.in_scope(scope, |cx| value_of_definition(cx, variable))
        }
        None => value_of_definition(cx, variable),
    }
}

fn value_of_definition<'a>(
    cx: &mut Checker<'a>,
    variable: &'a ast::Variable,
) -> Option<(QualTy, GlobalValue)> {
    let (ty, value) = match &variable.init {
        Some(init) => variable::initialised(cx, variable, init)?,
        None if variable.attributes.iter().any(kernel::is_thread_attribute) => {
            return thread_variable(cx, variable);
        }
        None if kernel::is_resource(variable) => {
            let ty = resolve_type::resolve(cx, &variable.ty);
            if ty.ty.is_error() {
                return None;
            }
            let value = kernel::resource_of_variable(cx, variable, ty);
            return Some((ty, value.map_or(GlobalValue::Failed, GlobalValue::Resource)));
        }
        None => {
            // A constant object of a class with a default constructor is fine without an initialiser.
            let ty = resolve_type::resolve(cx, &variable.ty);
            if !variable.align.is_empty() && record::complete_type(cx, ty.ty, variable.span) {
                alignment::check_variable(cx, variable, ty);
            }
            if variable.is_extern || cx.types.as_record(ty.ty).is_none() {
                return Some((ty, without_initialiser(cx, variable, ty)));
            }
            let is_complete = record::complete_type(cx, ty.ty, variable.span);
            if !is_complete || local::refuse_unset_constant(cx, variable, ty) {
                return Some((ty, GlobalValue::Failed));
            }
            (ty, init::value_init(cx, ty.ty, variable.span))
        }
    };
    finish_global(cx, ty, value, variable)
}

/// Reports a constant without an initialiser.
fn without_initialiser(cx: &mut Checker<'_>, variable: &ast::Variable, ty: QualTy) -> GlobalValue {
    if ty.ty.is_error() {
        return GlobalValue::Failed;
    }
    let (name, span) = (variable.declarator.name, variable.span);
    cx.error("uninitialised-constant", span, format!("constant `{name}` has no initialiser"));
    if cx.types.referent(ty.ty).is_some() {
        return GlobalValue::Failed;
    }
    let global = hir::Global { name: name.to_string(), ty: ty.ty, bytes: Vec::new(), span };
    GlobalValue::Unset(cx.data.add_global(global))
}

/// `uint gid [[thread_position_in_grid]];`: as a parameter of the kernel would be, for all functions.
fn thread_variable<'a>(cx: &mut Checker<'a>, variable: &'a ast::Variable) -> Option<(QualTy, GlobalValue)> {
    let ty = resolve_type::resolve(cx, &variable.ty);
    let attribute = variable.attributes.iter().find(|a| kernel::is_thread_attribute(a))?;
    if ty.ty.is_error() {
        return None;
    }
    let Some((query, components)) = kernel::global_thread_attribute(attribute) else {
        let message = format!("`{}` of a variable outside of functions is not supported", attribute.name);
        let hint = "make it a parameter of the kernel";
        let span = attribute.span;
        cx.report(Diagnostic::error("unsupported-feature", span, message).with_hint(hint));
        return None;
    };
    let name = attribute.name.as_str();
    let (elem, len) =
        kernel::thread_fact_type(&cx.types, &mut cx.diagnostics, name, components, ty, variable.span)?;
    let fact = ExprKind::ThreadFact { query, elem, len };
    let value = Expr::value(fact, ty.ty, variable.span);
    Some((ty, GlobalValue::Derived(Rc::new(value))))
}

fn finish_global<'a>(
    cx: &mut Checker<'a>,
    ty: QualTy,
    value: Expr,
    variable: &'a ast::Variable,
) -> Option<(QualTy, GlobalValue)> {
    if value.ty.ty.is_error() {
        return None;
    }
    alignment::check_variable(cx, variable, ty);
    let span = variable.span;
    let constant = match variable.is_constexpr {
        true => evaluate::strict_value_of(cx, &value),
        false => evaluate::value_of(cx, &value),
    };
    match constant {
        Ok(constant) if evaluate::has_address(&cx.types, ty.ty, &constant) => {
            let repr = value.ty.ty;
            let Some(value) = evaluate::written_out(&mut cx.types, repr, constant, span) else {
                cx.unsupported(
                    span,
                    "a constant union, bit-field or matrix next to addresses is not supported",
                );
                return Some((ty, GlobalValue::Failed));
            };
            Some((ty, GlobalValue::Derived(Rc::new(value))))
        }
        Ok(constant) => {
            let bytes = evaluate::value_to_bytes(&cx.types, ty.ty, &constant);
            let name = variable.declarator.name.to_string();
            let id = cx.data.add_global(hir::Global { name, ty: ty.ty, bytes, span });
            Some((ty, GlobalValue::Constant(id)))
        }
        Err(problem) => {
            if evaluate::mentions_function_constant(&value) && cx.function.locals.is_empty() {
                return Some((ty, GlobalValue::Derived(Rc::new(value))));
            }
            let name = variable.declarator.name;
            let what = if variable.is_constexpr { "constexpr " } else { "" };
            let message = format!("the initialiser of {what}`{name}` is not a constant expression");
            evaluate::report_not_constant(&mut cx.diagnostics, span, message, problem);
            Some((ty, GlobalValue::Failed))
        }
    }
}

/// A declaration of a static member outside of its class.
struct StaticDefinition<'a> {
    variable: &'a ast::Variable,
    /// To check it in.
    scope: ScopeId,
    /// An explicit specialisation without an initialiser defines nothing (C++14 [temp.expl.spec.13]).
    is_declaration: bool,
}

/// `const int S::x = 1;` for a static member, with at least that fit.
fn static_definition<'a>(
    cx: &mut Checker<'a>,
    decl: &VarDecl<'a>,
    least: Fit,
) -> Option<StaticDefinition<'a>> {
    let record = cx.scopes.record(decl.scope).filter(|_| decl.template.is_none())?;
    let class = cx.records.get(record).name?;
    let mut best: Option<((Fit, bool), StaticDefinition<'a>)> = None;
    for item in cx.table.out_of_line(class) {
        let entry = cx.table.entry(item);
        let ItemKind::Variable(variable) = &entry.item.kind else { continue };
        let declarator = &variable.declarator;
        if declarator.name != decl.variable.declarator.name {
            continue;
        }
        if let Some(Position { fit, scope, own: None }) =
            out_of_line::position(cx, item, declarator.scope.as_ref(), record)
        {
            let has_init = variable.init.is_some();
            let is_specialisation =
                entry.item.template.as_ref().is_some_and(|template| template.params.is_empty());
            let rank = (fit, has_init);
            // The initialiser may be in the class.
            let defines = has_init || is_specialisation || decl.variable.init.is_none();
            if defines && fit >= least && best.as_ref().is_none_or(|(known, _)| *known < rank) {
                let is_declaration = is_specialisation && !has_init;
                best = Some((rank, StaticDefinition { variable, scope, is_declaration }));
            }
        }
    }
    best.map(|(_, found)| found)
}

/// A use of a variable with static storage.
pub(in crate::sema) fn global_value(cx: &mut Checker<'_>, id: GlobalVarId, span: Span) -> Expr {
    let global = cx.globals.get(id);
    let ty = global.ty;
    match &global.value {
        GlobalValue::Constant(constant) => {
            let qual = QualTy { is_const: true, space: Space::Constant, ..ty };
            Expr::place(ExprKind::Global(*constant), qual, span)
        }
        GlobalValue::FunctionConstant(constant) => {
            Expr::value(ExprKind::FunctionConstant(*constant), ty.ty, span)
        }
        GlobalValue::Resource(resource) => {
            let resource = ExprKind::Resource(*resource);
            match cx.types.referent(ty.ty) {
                Some(to) => {
                    let pointer = Expr::value(resource, cx.types.pointer(to), span);
                    Expr::place(ExprKind::Deref(Box::new(pointer)), to, span)
                }
                None => Expr::value(resource, ty.ty, span),
            }
        }
        GlobalValue::Derived(expr) => {
            let value = Expr { span, ..Expr::clone(expr) };
            match cx.types.referent(ty.ty) {
                Some(to) => Expr::place(ExprKind::Deref(Box::new(value)), to, span),
                None if cx.types.as_array(ty.ty).is_some() => expr::materialize(value),
                None => value,
            }
        }
        GlobalValue::Unset(global) => Expr::place(ExprKind::Global(*global), ty, span),
        GlobalValue::Failed if ty.ty.is_error() => cx.poison(span),
        // Reported; that its type is known finds further errors.
        GlobalValue::Failed => Expr::place(ExprKind::Undef, ty, span),
        GlobalValue::Pending => {
            let name = global.decl.variable.declarator.name;
            cx.error("recursive-constant", span, format!("the value of `{name}` depends on itself"));
            cx.poison(span)
        }
    }
}

/// A constant table that has no name.
pub(in crate::sema) fn constant_table(data: &mut ProgramData, ty: Ty, bytes: Vec<u8>, span: Span) -> Expr {
    let id = data.table(ty, bytes, span);
    let qual = QualTy { is_const: true, ..QualTy::in_space(ty, Space::Constant) };
    Expr::place(ExprKind::Global(id), qual, span)
}

//! Checks a whole program, whether a kernel reaches it or not.
//!
//! Everything that can be checked without template arguments is: functions, the members of classes,
//! variables, enumerations, aliases, explicit instantiations and specialisations. Start with [`check`].

use super::checker::Checker;
use super::entities::{FnDeclId, Found, VarDecl};
use super::explicit::{self, History};
use super::kernel::{self, Entrance, EntranceKind};
use super::scopes::ScopeId;
use super::table::{Entry, ItemId, Layer, Tag, function_key, tag_of};
use super::{
    access, call, collect, default_arguments, defaulted, enumeration, function, guides, init, lookup,
    noexcept, out_of_line, overload, path, record, redeclare, resolve_type, specialise, stage,
    static_members, uninstantiated, using_rules, variable,
};
use crate::ast::{self, FunctionBody, Item, ItemKind};
use crate::hir::{FuncId, QualTy, RecordId, Ty, TyKind};
use crate::token::Name;
use anymetal_diagnostics::Span;
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// Checks all declarations of the program's layer, then its entry points.
pub(super) fn check<'a>(cx: &mut Checker<'a>, layer: &'a Layer, entrances: &[Entrance]) {
    cx.checks_everything = true;
    super::check_static_assertions(cx, layer);
    redeclare::check_functions(cx, layer);
    redeclare::check_aliases(cx, layer);
    redeclare::check_variables(cx, layer);
    redeclare::templates::check_aliases(cx, layer);
    redeclare::templates::check_partials(cx, layer);
    redeclare::templates::check_definitions(cx, layer);
    guides::check(cx, layer);
    using_rules::check_namespaces(cx, layer);
    let mut history = History::default();
    for (id, entry) in layer.own_items() {
        if cx.diagnostics.gave_up() {
            return;
        }
        check_item(cx, &mut history, id, entry);
    }
    for (id, entry) in layer.own_items() {
        explicit::check_definition(cx, id, entry);
    }
    redeclare::friends::check(cx, layer);
    check_served(cx, layer);
    static_members::check_definitions(cx, layer);
    // These may call instances of templates, whose bodies are not checked yet.
    let checked = cx.functions.with_bodies();
    collect::check_defined(cx, checked);
    explicit::check_uses(cx, &history);
    check_kernels(cx, entrances);
}

/// Checks the kernels and what they reach.
pub(super) fn check_kernels(cx: &mut Checker<'_>, entrances: &[Entrance]) {
    for entrance in entrances.iter().filter(|entrance| entrance.kind == EntranceKind::Kernel) {
        if cx.diagnostics.gave_up() {
            return;
        }
        if let Some(func) = kernel::function(cx, entrance) {
            kernel::check_params(cx, func);
            let max_threads = kernel::max_threads(cx, func);
            kernel::required_threads(cx, func, max_threads);
            kernel::check_result(&cx.functions, &mut cx.diagnostics, func, entrance.span);
            collect::check_reachable(cx, func);
        }
    }
}

/// Checks the graphics functions and what they reach.
pub(super) fn check_graphics(cx: &mut Checker<'_>, entrances: &[Entrance]) {
    for entrance in entrances.iter().filter(|entrance| matches!(entrance.kind, EntranceKind::Graphics(_))) {
        if cx.diagnostics.gave_up() {
            return;
        }
        if let Some(func) = kernel::function(cx, entrance) {
            check_stage(cx, func);
            collect::check_reachable(cx, func);
        }
    }
}

fn check_item<'a>(cx: &mut Checker<'a>, history: &mut History, id: ItemId, entry: &'a Entry) {
    let scope = cx.scopes.of_item(id);
    let item = &entry.item;
    if let Some(template) = &item.template {
        match template.params.is_empty() {
            // Access is not checked in their declarations (C++ [temp.spec]).
            true => cx.without_access(|cx| explicit::check_specialisation(cx, history, id)),
            false => {
                uninstantiated::check(cx, item, template, scope, None);
            }
        }
        return;
    }
    match &item.kind {
        ItemKind::Function(function) => check_function(cx, function, scope),
        ItemKind::Variable(variable) => {
            check_tag(cx, &variable.ty, scope);
            if variable.declarator.scope.is_none() && variable.declarator.specialisation.is_none() {
                let decl = VarDecl { variable, template: None, scope };
                variable::global_of(cx, decl, None, variable.span);
            }
        }
        ItemKind::Alias(alias) => {
            check_tag(cx, &alias.ty, scope);
            cx.in_scope(scope, |cx| lookup::alias_found(cx, alias, None, scope));
        }
        ItemKind::Record(record) if record.specialisation.is_none() && record.scope.is_none() => {
            check_record_of(cx, record, scope);
        }
        ItemKind::Enum(enumeration) => {
            enumeration::type_of(cx, enumeration, scope);
        }
        ItemKind::UsingDeclaration(using) => cx.in_scope(scope, |cx| check_using(cx, using)),
        ItemKind::ExplicitInstantiation(instantiation) => {
            cx.without_access(|cx| explicit::check_instantiation(cx, history, instantiation, id));
        }
        _ => {}
    }
}

/// A friend that is defined in a class is a function of the namespace around, by its plain name.
pub(super) fn check_friend<'a>(cx: &mut Checker<'a>, function: &'a ast::Function) {
    let is_defined = !matches!(function.body, FunctionBody::None);
    if is_defined && function.scope.is_some() {
        let message = "a friend that is defined here cannot have a qualified name";
        cx.error("bad-friend", function.span, message);
    } else if let Some(path) = &function.scope
        && let Some(key) = function_key(&function.name)
    {
        check_qualified_friend(cx, function, path, key);
    }
}

/// A friend with a qualified name is declared before.
fn check_qualified_friend<'a>(
    cx: &mut Checker<'a>,
    function: &'a ast::Function,
    path: &'a ast::Path,
    key: Name,
) {
    let from = cx.scopes.enclosing_namespace(cx.scopes.current());
    let found = match cx.table.find_namespace(from, path) {
        Some(ns) => lookup::in_namespace(cx, ns, key),
        None => {
            let class = cx.without_access(|cx| path::resolve_type(cx, path));
            let Some(class) = class.and_then(|ty| cx.types.as_record(ty.ty)) else { return };
            if cx.is_dependent(cx.records.get(class).ty) {
                return;
            }
            // Members of bases are not members of the class.
            cx.without_access(|cx| record::lookup_in_class(cx, class, key))
        }
    };
    let params = cx.quietly(|cx| function::signature(cx, function));
    let Ok(Some((params, _))) = params else { return };
    let may_fit = |decl: &FnDeclId| {
        let ast = cx.functions.decl(*decl).ast;
        ast.params.len() == function.params.len() || ast.params.iter().any(overload::is_pack)
    };
    let is_open = match &found {
        Some(Found::Functions(decls)) => decls.iter().any(may_fit),
        found => found.is_some() || function.name.ordinary().is_none(),
    };
    let depends = params.iter().any(|param| cx.is_dependent(param.ty));
    if (depends && is_open) || function.specialisation.is_some() {
        return;
    }
    let fits = match found {
        Some(Found::Functions(decls)) => decls.iter().any(|&decl| {
            let is_template = cx.functions.decl(decl).template.is_some();
            if is_template {
                let signature = kernel::Signature::of(function);
                let scope = cx.scopes.current();
                let instance = |cx: &mut Checker<'a>| {
                    kernel::instantiated_by_signature(cx, &[decl], signature, scope, function.span)
                };
                matches!(cx.quietly(instance), Ok(Some(_)))
            } else {
                let func = cx.quietly(|cx| function::instantiate(cx, decl, Rc::from([]), function.span));
                let Ok(Some(func)) = func else { return true };
                let is_same = function::are_same_params(&cx.functions.inst(func).params, &params);
                // The instances of a template may be friends.
                let may_be_friend = cx.diagnostics.in_template() && has_friends(cx, decl);
                if is_same && !may_be_friend {
                    // The name of a friend is checked like any other (C++14 [class.friend.9]).
                    access::check_function(cx, func, None, function.span);
                }
                is_same
            }
        }),
        Some(_) => false,
        // Special member functions need no declaration.
        None => function.name.ordinary().is_none(),
    };
    let is_assignment = matches!(function.name, ast::FunctionName::Operator(ast::OperatorName::Assign(_)));
    let fits = fits || is_assignment;
    if !fits {
        let message = "no declaration fits this friend with a qualified name";
        cx.error("bad-friend", function.span, message);
    }
}

/// Whether the class of a member function has friends.
fn has_friends(cx: &Checker<'_>, decl: FnDeclId) -> bool {
    let owner = cx.functions.decl(decl).owner;
    owner.is_some_and(|owner| !cx.records.get(owner).access.befriended.is_empty())
}

/// Reports definitions of members outside of their class that no declaration in the class fits.
fn check_served<'a>(cx: &mut Checker<'a>, layer: &'a Layer) {
    let mut defined = FxHashMap::default();
    for (id, entry) in layer.own_items() {
        let ItemKind::Function(function) = &entry.item.kind else { continue };
        let Some(path) = &function.scope else { continue };
        if matches!(function.body, FunctionBody::Default) && entry.item.template.is_none() {
            defaulted::check_outside(cx, id, function, path);
        }
        default_arguments::check_outside(cx, id, function, entry.item.template.as_ref());
        if entry.item.template.is_none() {
            defaulted::check_redefinition(cx, id, function, path, &mut defined);
        }
        let is_special = matches!(function.name, ast::FunctionName::Destructor);
        let has_body = matches!(function.body, FunctionBody::Block(_));
        if is_special || !has_body || cx.functions.served.contains(&function.id) {
            continue;
        }
        if let Some(template) = &entry.item.template {
            if !template.params.is_empty() {
                check_member_of_template(cx, id, function, path);
                uninstantiated::check_definition(cx, id, function, template, path);
            }
            continue;
        }
        let scope = cx.scopes.of_item(id);
        if cx.table.find_namespace(entry.ns, path).is_some() {
            continue;
        }
        let resolve = |cx: &mut Checker<'a>| cx.in_scope(scope, |cx| path::resolve_type(cx, path));
        let Some(class) = cx.without_access(resolve) else { continue };
        // The members of an incomplete class, or of a class in error, are not known.
        let is_complete = record::complete_type(cx, class.ty, path.span);
        let record = cx.types.as_record(class.ty).filter(|_| is_complete);
        // A member of an instance is reported for its missing `template<>`.
        if record.is_some_and(|record| !explicit::needs_head(cx, record, function.span)) {
            let shown = cx.show(class);
            let message = format!("no member of `{shown}` is declared as this definition has it");
            cx.error("no-such-member", function.span, message);
        }
    }
}

/// Reports a member function of a class template, defined outside, for which the template and its
/// specialisations declare nothing of that name and number of parameters; of the template itself, nothing of
/// these types, since that would be checked with it.
fn check_member_of_template<'a>(
    cx: &mut Checker<'a>,
    id: ItemId,
    function: &'a ast::Function,
    path: &'a ast::Path,
) {
    let Some((class, is_primary)) = class_of_definition(cx, id, path) else {
        return check_member_template(cx, id, function, path);
    };
    let (name, key) = (super::spelling::function(&function.name), function_key(&function.name));
    let class_name = class.name.expect("a class with members outside has a name");
    let Some(members) = &class.members else {
        if is_primary {
            let message = format!("definition of `{name}` from class `{class_name}` without definition");
            cx.error("no-such-member", function.span, message);
        }
        return;
    };
    let is_open = |function: &ast::Function| function.params.iter().any(overload::is_pack);
    let declares = |items: &[Item]| {
        items.iter().any(|item| match &item.kind {
            ItemKind::Function(other) => {
                let is_alike = other.params.len() == function.params.len();
                function_key(&other.name) == key && (is_alike || is_open(other) || is_open(function))
            }
            _ => false,
        })
    };
    // Of templates and packs a fitting definition may not be found, as not all their forms are compared.
    let may_declare = |item: &Item| match &item.kind {
        ItemKind::Function(other) => item.template.is_some() || is_open(other) || is_open(function),
        _ => true,
    };
    let specialised = cx.table.specialisations(class_name);
    let known = specialised.into_iter().any(|id| match &cx.table.entry(id).item.kind {
        ItemKind::Record(record) => record.members.as_deref().is_none_or(declares),
        _ => false,
    });
    let mut own = members.iter().map(std::slice::from_ref).filter(|item| declares(item));
    let is_declared =
        if is_primary { own.any(|item| may_declare(&item[0])) } else { known || declares(members) };
    if !is_declared {
        let message = format!("no member `{name}` of `{class_name}` is declared as this definition has it");
        cx.error("no-such-member", function.span, message);
    }
}

/// Reports a template that is defined outside of a class which is no template and declares none of that name.
fn check_member_template<'a>(
    cx: &mut Checker<'a>,
    id: ItemId,
    function: &'a ast::Function,
    path: &'a ast::Path,
) {
    let scope = cx.scopes.of_item(id);
    // A namespace, or a class in error.
    let Some(class) = path::class_of_path(cx, path, scope) else { return };
    let record = cx.records.get(class);
    let Some(members) = record.ast.and_then(|ast| ast.members.as_ref()) else { return };
    if record.template.is_some() || cx.scopes.class_of_scope(record.decl_scope).is_some() {
        return;
    }
    let is_alike = |other: &ast::Function| {
        std::mem::discriminant(&other.name) == std::mem::discriminant(&function.name)
            && function_key(&other.name) == function_key(&function.name)
    };
    let mut templates = members.iter().filter(|item| item.template.is_some());
    if !templates.any(|item| matches!(&item.kind, ItemKind::Function(other) if is_alike(other))) {
        let (name, shown) = (super::spelling::function(&function.name), cx.types.record(class).name.clone());
        let message = format!("no member template `{name}` of `{shown}` is declared for this definition");
        cx.error("no-such-member", function.span, message);
    }
}

/// The class template that a definition of a member names, perhaps in another one, and whether it is named
/// with
/// its own parameters.
fn class_of_definition<'a>(
    cx: &mut Checker<'a>,
    id: ItemId,
    path: &'a ast::Path,
) -> Option<(&'a ast::Record, bool)> {
    let scope = cx.scopes.of_item(id);
    let (first, rest) = path.segments.split_first()?;
    let found = cx.in_scope(scope, |cx| lookup::unqualified(cx, first.name));
    let Some(Found::ClassTemplate(class)) = found else { return None };
    let heads = cx.table.entry(id).item.template.as_ref()?.heads();
    let mut heads = heads.into_iter();
    let mut is_next_primary = |segment: &ast::PathSegment| {
        let args = segment.args.as_ref()?;
        Some(heads.next().is_some_and(|head| out_of_line::names_all(head, args)))
    };
    let mut is_primary = is_next_primary(first)?;
    let mut class = class.primary;
    for segment in rest {
        // Partial specialisations may have other members.
        if !is_primary {
            return None;
        }
        let (inner, is_template) = class.members.iter().flatten().find_map(|item| match &item.kind {
            ItemKind::Record(record)
                if record.specialisation.is_none() && record.name == Some(segment.name) =>
            {
                Some((&**record, item.template.is_some()))
            }
            _ => None,
        })?;
        if is_template {
            is_primary = is_next_primary(segment)?;
        }
        // A class that is defined outside is found there.
        class = Some(inner).filter(|inner| inner.members.is_some())?;
    }
    Some((class, is_primary))
}

/// A function that is neither a template nor a member.
fn check_function<'a>(cx: &mut Checker<'a>, function: &'a ast::Function, scope: ScopeId) {
    let scope = match &function.scope {
        None => scope,
        Some(path) => {
            let from = cx.scopes.enclosing_namespace(scope);
            // A member's definition is checked with its class.
            let Some(ns) = cx.table.find_namespace(from, path) else { return };
            cx.scopes.namespace(ns)
        }
    };
    let decl = cx.functions.declare(function, None, scope, None);
    check_declared(cx, decl, function.span);
    if function.specifiers.graphics.is_some()
        && let Some(func) = function::instantiate(cx, decl, Rc::from([]), function.span)
    {
        check_stage(cx, func);
    }
}

/// What a graphics function has beside its body.
pub(super) fn check_stage(cx: &mut Checker<'_>, func: FuncId) {
    let decl = cx.functions.inst(func).origin.decl();
    if let Some(stage) = decl.and_then(|decl| cx.functions.decl(decl).ast.specifiers.graphics) {
        stage::check(cx, func, stage);
    }
}

/// The signature, the default arguments, and the body if there is one.
fn check_declared(cx: &mut Checker<'_>, decl: FnDeclId, span: Span) {
    let Some(func) = function::instantiate(cx, decl, Rc::from([]), span) else { return };
    let scope = cx.functions.inst(func).scope;
    check_operator(cx, decl, func);
    call::check_default_arguments(cx, func, scope);
    noexcept::check_specifier(cx, decl, func);
    defaulted::check(cx, decl, func);
    defaulted::check_copy(cx, decl, func);
    if function::has_code(cx, func) {
        check_complete(cx, func, span);
        function::ensure_body(cx, func);
    }
}

/// An operator that is not a member takes a class or an enumeration (C++14 [over.oper.6]).
fn check_operator(cx: &mut Checker<'_>, decl: FnDeclId, func: FuncId) {
    use ast::OperatorName as Operator;
    let data = cx.functions.decl(decl);
    let ast::FunctionName::Operator(operator) = &data.ast.name else { return };
    let is_free = data.owner.is_none() && data.template.is_none();
    if !is_free || matches!(operator, Operator::Conversion(_) | Operator::Literal(_)) {
        return;
    }
    let (span, name) = (data.ast.span, super::spelling::function(&data.ast.name));
    let params = cx.functions.inst(func).params.clone();
    let is_user_defined = |param: &QualTy| {
        let ty = cx.types.referent(param.ty).map_or(param.ty, |to| to.ty);
        matches!(cx.types.kind(ty), TyKind::Record(_) | TyKind::Enum(_)) || cx.is_dependent(ty)
    };
    if !params.iter().any(is_user_defined) {
        let message =
            format!("overloaded `{name}` must have at least one parameter of class or enumeration type");
        cx.error("operator-operands", span, message);
    }
}

/// A function that is defined has complete parameters and a complete result (C++14 [dcl.fct.9]).
pub(super) fn check_complete(cx: &mut Checker<'_>, func: FuncId, span: Span) {
    let inst = cx.functions.inst(func);
    if inst.trace.is_some() {
        // Types of an instance are complete where it is requested.
        return;
    }
    let types: Vec<Ty> = inst.ret.iter().chain(inst.params.iter()).map(|ty| ty.ty).collect();
    for ty in types {
        if cx.types.as_record(ty).is_some() && !cx.is_dependent(ty) {
            record::complete_type(cx, ty, span);
        }
    }
}

/// The class or enumeration that is defined within the type of a declaration.
fn check_tag<'a>(cx: &mut Checker<'a>, ty: &'a ast::Type, scope: ScopeId) {
    match tag_of(ty) {
        Some(Tag::Record(record)) => check_record_of(cx, record, scope),
        Some(Tag::Enum(enumeration)) => {
            enumeration::type_of(cx, enumeration, scope);
        }
        None => {}
    }
}

fn check_record_of<'a>(cx: &mut Checker<'a>, ast: &'a ast::Record, scope: ScopeId) {
    let ty = record::plain(&mut cx.types, &mut cx.records, ast, scope);
    let id = cx.types.as_record(ty).expect("a class's type is a record");
    let owner = cx.scopes.record(scope);
    if ast.members.is_none() && owner.is_some_and(|owner| specialise::is_known_instance(cx, owner)) {
        // A definition outside of the class is checked where it is used: it may follow an instantiation.
        return;
    }
    record::declare_members(cx, id);
    if let Some(definition) = cx.records.get(id).ast.filter(|ast| ast.members.is_some()) {
        check_record(cx, ty, definition.span);
    }
}

/// A class and all its members.
pub(super) fn check_record(cx: &mut Checker<'_>, ty: Ty, span: Span) {
    record::complete_type(cx, ty, span);
    let Some(id) = cx.types.as_record(ty) else { return };
    redeclare::check_members(cx, id);
    redeclare::check_methods(cx, id);
    redeclare::templates::check_member_partials(cx, id);
    let (scope, ast) = (cx.records.get(id).scope, cx.records.get(id).ast);
    if let Some(ast) = ast.filter(|_| is_in_unnamed(cx, id)) {
        static_members::refuse(cx, ast, "an anonymous union or struct");
    }
    let mut guides = guides::Guides::default();
    for item in ast.and_then(|ast| ast.members.as_ref()).into_iter().flatten() {
        if cx.diagnostics.gave_up() {
            return;
        }
        guides::check_item(cx, &mut guides, item, scope);
        match &item.template {
            // Members of an explicit specialisation have access control, unlike its name.
            None => cx.with_access(|cx| cx.deeper(span, |cx| check_member(cx, id, item, scope))),
            Some(template) if template.params.is_empty() => {
                check_specialised_member(cx, id, item);
                None
            }
            Some(template) => {
                cx.deeper(span, |cx| uninstantiated::check(cx, item, template, scope, Some(id)))
            }
        };
    }
}

/// Whether a class, or one around it, has no name.
fn is_in_unnamed(cx: &Checker<'_>, class: RecordId) -> bool {
    let around = |&class: &RecordId| cx.scopes.class_of_scope(cx.records.get(class).decl_scope);
    std::iter::successors(Some(class), around)
        .any(|class| cx.records.get(class).ast.is_some_and(|ast| ast.name.is_none()))
}

/// A specialisation in a class is of a template of the class.
fn check_specialised_member<'a>(cx: &mut Checker<'a>, owner: RecordId, item: &'a Item) {
    let (name, span) = match &item.kind {
        ItemKind::Record(record) if record.scope.is_none() => (record.name, record.span),
        ItemKind::Variable(variable) if variable.declarator.scope.is_none() => {
            (Some(variable.declarator.name), variable.span)
        }
        ItemKind::Function(function) if function.scope.is_none() && !function.specifiers.is_friend => {
            (function_key(&function.name), function.span)
        }
        _ => return,
    };
    let Some(name) = name else { return };
    let is_template = match record::lookup_in_class(cx, owner, name) {
        Some(Found::Functions(decls)) => decls.iter().any(|&decl| {
            let decl = cx.functions.decl(decl);
            let fits = match &item.kind {
                ItemKind::Function(function) => function.method == decl.ast.method,
                _ => true,
            };
            decl.template.is_some() && fits
        }),
        Some(Found::Variable(variable)) => variable.template.is_some(),
        Some(Found::ClassTemplate(_)) => true,
        // Constructors are not found by name.
        _ => matches!(&item.kind, ItemKind::Function(function) if function.name.ordinary().is_none()),
    };
    if !is_template {
        cx.error("no-matching-template", span, format!("the class has no template `{name}` to specialise"));
    }
}

fn check_member<'a>(cx: &mut Checker<'a>, owner: RecordId, item: &'a Item, scope: ScopeId) {
    match &item.kind {
        ItemKind::Function(function) => {
            let owner = (!function.specifiers.is_friend).then_some(owner);
            if owner.is_none() {
                cx.in_scope(scope, |cx| check_friend(cx, function));
            }
            let is_mere_friend = owner.is_none() && matches!(function.body, FunctionBody::None);
            let is_destructor = matches!(function.name, ast::FunctionName::Destructor);
            if is_mere_friend && function.scope.is_none() {
                let decl = cx.functions.declare(function, None, scope, None);
                if let Some(func) = function::instantiate(cx, decl, Rc::from([]), function.span) {
                    noexcept::check_specifier(cx, decl, func);
                }
            }
            if !is_mere_friend && !is_destructor {
                let decl = cx.functions.declare(function, None, scope, owner);
                default_arguments::check_single(cx, function);
                check_declared(cx, decl, function.span);
            }
        }
        ItemKind::Variable(variable) => {
            check_tag(cx, &variable.ty, scope);
            cx.in_scope(scope, |cx| static_members::check(cx, variable));
            if variable.init.is_some() && variable.declarator.scope.is_none() {
                let decl = VarDecl { variable, template: None, scope };
                variable::global_of(cx, decl, None, variable.span);
            } else {
                let ty = cx.in_scope(scope, |cx| resolve_type::resolve(cx, &variable.ty));
                if variable.is_inline && !cx.is_dependent(ty.ty) {
                    // It is a definition (C++17 [class.static.data.2]).
                    record::complete_type(cx, ty.ty, variable.span);
                }
            }
        }
        ItemKind::Field(field) => {
            check_tag(cx, &field.ty, scope);
            if let (Some(_), Some(name)) = (&field.init, field.name) {
                init::check_field_initialiser(cx, owner, name, field.span);
            }
        }
        ItemKind::Alias(alias) => {
            check_tag(cx, &alias.ty, scope);
            cx.in_scope(scope, |cx| lookup::alias_found(cx, alias, None, scope));
        }
        ItemKind::Record(record) if record.specialisation.is_none() => check_record_of(cx, record, scope),
        ItemKind::Enum(enumeration) => {
            enumeration::type_of(cx, enumeration, scope);
        }
        ItemKind::Friend(ty) => cx.in_scope(scope, |cx| check_friend_class(cx, ty)),
        _ => {}
    }
}

/// Reports a friend that is declared as another kind of class; one that is not declared before is fine.
fn check_friend_class<'a>(cx: &mut Checker<'a>, ty: &'a ast::Type) {
    let ast::TypeKind::Path(path) = &ty.kind else { return };
    let found = cx.without_access(|cx| cx.quietly(|cx| path::resolve(cx, path)));
    if let Ok(Ok(target)) = found
        && let Some(ty) = path::type_of_found(&cx.records, &target.found)
        && !cx.is_dependent(ty.ty)
    {
        path::check_tag(cx, path, ty);
    }
}

/// Checks the name in a using-declaration at namespace scope.
fn check_using<'a>(cx: &mut Checker<'a>, using: &'a ast::UsingDeclaration) {
    match path::resolve(cx, &using.path) {
        Ok(_) => using_rules::outside_of_classes(cx, &using.path),
        Err(miss) => path::report_miss(&cx.scopes, &cx.records, &mut cx.diagnostics, miss, "name"),
    }
}

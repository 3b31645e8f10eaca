//! Members defined outside of their class: `template <typename T> int S<T>::f() { … }`, nested classes and
//! member templates likewise, and explicit specialisations of members, `template <> int S<float>::f() { … }`,
//! which take precedence over the definition in the class.
//!
//! Each class template around the member takes one `template<…>`, the outermost class the first; the head
//! that is left is the member's (C++14 [temp.mem], [temp.expl.spec]).
//!
//! Invariant: a definition serves a class only if the scope it is written with leads to that very class.

use super::checker::Checker;
use super::entities::{FnDeclId, Found, TArg};
use super::function::Definition;
use super::scopes::{ScopeId, ScopeKind};
use super::table::{ItemId, function_key};
use super::{deduce, function, lookup, path, pattern, specialise, template_args};
use crate::ast::{self, FunctionBody, ItemKind, TemplateParams};
use crate::hir::{FuncId, RecordId};
use anymetal_diagnostics::Span;
use std::rc::Rc;

/// How well a definition's scope fits a class; the greater one wins.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Fit {
    /// `S<T>::f`, for all arguments.
    Any,
    /// `S<T *>::f`, for some.
    Some,
    /// `S<float>::f`, for this class alone.
    Exact,
}

/// A definition outside of a class, seen from the class.
#[derive(Clone, Copy, Debug)]
pub(super) struct Position<'a> {
    pub(super) fit: Fit,
    /// The scope of the class's members, with the parameters of the classes' heads.
    pub(super) scope: ScopeId,
    /// The head of the member itself.
    pub(super) own: Option<&'a TemplateParams>,
}

/// The definition of a member function outside of its class, with at least that fit. An explicit
/// specialisation that is only declared has no body.
pub(super) fn definition<'a>(
    cx: &mut Checker<'a>,
    id: FuncId,
    decl_id: FnDeclId,
    owner: RecordId,
    least: Fit,
) -> Option<Definition<'a>> {
    let declared = cx.functions.decl(decl_id).ast;
    let key = function_key(&declared.name);
    let class = cx.records.get(owner).name?;
    let mut best: Option<((Fit, bool), Definition<'a>)> = None;
    for item in cx.table.out_of_line(class) {
        let entry = cx.table.entry(item);
        let ItemKind::Function(ast) = &entry.item.kind else { continue };
        if function_key(&ast.name) != key
            || matches!(ast.body, FunctionBody::Default)
            || ast.method != declared.method
        {
            continue;
        }
        let Some(position) = position(cx, item, ast.scope.as_ref(), owner) else {
            continue;
        };
        let has_body = matches!(ast.body, FunctionBody::Block(_));
        // An explicit specialisation may be declared alone, and counts.
        let is_specialisation = position.fit == Fit::Exact && entry.item.template.is_some();
        let rank = (position.fit, has_body);
        if position.fit < least
            || !(has_body || is_specialisation)
            || best.as_ref().is_some_and(|(known, _)| *known >= rank)
        {
            continue;
        }
        if let Some(scope) = scope_of_body(cx, ast, position, id, decl_id) {
            best = Some((rank, Definition { ast, scope }));
        }
    }
    let (_, definition) = best?;
    cx.functions.served.insert(definition.ast.id);
    Some(definition)
}

/// The scope for the body of a definition, if it defines that function.
fn scope_of_body<'a>(
    cx: &mut Checker<'a>,
    ast: &'a ast::Function,
    position: Position<'a>,
    id: FuncId,
    decl_id: FnDeclId,
) -> Option<ScopeId> {
    let scope = match (position.own, cx.functions.decl(decl_id).template) {
        (None, None) => position.scope,
        (Some(own), Some(_)) if own.params.is_empty() => {
            let fits = function::specialises(cx, ast, position.scope, id, decl_id);
            return fits.then_some(position.scope);
        }
        (Some(own), Some(declared)) if own.params.len() == declared.params.len() => {
            let args = cx.functions.inst(id).args.clone();
            cx.scopes.template_scope(&own.params, &args, position.scope)
        }
        _ => return None,
    };
    let params = cx.functions.inst(id).params.clone();
    let signature = cx.quietly(|cx| cx.in_scope(scope, |cx| function::signature(cx, ast)));
    let fits = matches!(signature, Ok(Some((own, _))) if function::are_same_params(&own, &params));
    fits.then_some(scope)
}

/// The definition of a class that is only declared in the class around it, or the explicit specialisation
/// that replaces its definition there; and the scope for its members. `template` is its own head.
pub(super) fn class_definition<'a>(
    cx: &mut Checker<'a>,
    declared: &'a ast::Record,
    template: Option<&TemplateParams>,
    owner: RecordId,
) -> Option<(&'a ast::Record, Position<'a>)> {
    let class = cx.records.get(owner).name?;
    let least = if declared.members.is_none() { Fit::Any } else { Fit::Exact };
    let mut best: Option<(&'a ast::Record, Position<'a>)> = None;
    for item in cx.table.out_of_line(class) {
        let ItemKind::Record(ast) = &cx.table.entry(item).item.kind else { continue };
        if ast.name != declared.name || ast.specialisation.is_some() {
            continue;
        }
        let Some(position) = position(cx, item, ast.scope.as_ref(), owner) else { continue };
        let is_alike = position.own.map(|own| own.params.len()) == template.map(|own| own.params.len());
        let is_defined = ast.members.is_some();
        // A specialisation that is declared alone leaves the class without a definition.
        let is_specialisation = position.fit == Fit::Exact && cx.table.entry(item).item.template.is_some();
        let rank = |ast: &ast::Record, position: &Position<'_>| (position.fit, ast.members.is_some());
        let is_better = best.as_ref().is_none_or(|(known, at)| rank(known, at) < rank(ast, &position));
        if is_alike && position.fit >= least && is_better && (is_defined || is_specialisation) {
            best = Some((ast, position));
        }
    }
    best
}

/// Where a definition written with this scope (`S<T>` in `S<T>::f`) belongs, if it serves the class.
pub(super) fn position<'a>(
    cx: &mut Checker<'a>,
    item: ItemId,
    written: Option<&'a ast::Path>,
    owner: RecordId,
) -> Option<Position<'a>> {
    let written = written?;
    let heads = cx.table.entry(item).item.template.as_ref().map_or_else(Vec::new, TemplateParams::heads);
    let around = cx.scopes.of_item(item);
    let inside = cx.records.get(owner).scope;
    let classes = classes_around(cx, owner);
    let is_instance = |cx: &Checker<'a>, &class: &RecordId| cx.records.get(class).template.is_some();
    if heads.iter().all(|head| head.params.is_empty()) {
        let is_class = path::class_of_path(cx, written, around) == Some(owner);
        let taken = classes.iter().filter(|class| is_instance(cx, class)).count();
        let own = heads.get(taken).copied();
        return is_class.then_some(Position { fit: Fit::Exact, scope: inside, own });
    }
    if !may_name_class(cx, written, around, owner) {
        return None;
    }
    // The names before those of the classes are of namespaces.
    let first = written.segments.len().checked_sub(classes.len())?;
    let mut bound = Bound { fit: None, scope: cx.records.get(classes[0]).decl_scope, around };
    let mut heads = heads.into_iter();
    for (segment, &class) in written.segments[first..].iter().zip(&classes) {
        if let (Some(args), true) = (&segment.args, is_instance(cx, &class)) {
            bind_head(cx, heads.next()?, args, class, segment.span, &mut bound)?;
        }
        // The members of a class hide the parameters of its head (C++14 [temp.local.8]).
        bound.scope = cx.scopes.add(bound.scope, ScopeKind::Record(class));
    }
    let own = heads.next();
    // Without heads that are bound, the class is an instance that an alias names.
    let scope = bound.fit.map_or(inside, |_| bound.scope);
    heads.next().is_none().then_some(Position { fit: bound.fit.unwrap_or(Fit::Any), scope, own })
}

/// The heads that were matched so far.
struct Bound {
    fit: Option<Fit>,
    /// For the definition.
    scope: ScopeId,
    /// For the arguments that are written.
    around: ScopeId,
}

/// Matches the arguments that are written for a class with those that it has.
fn bind_head<'a>(
    cx: &mut Checker<'a>,
    head: &'a TemplateParams,
    written: &'a [ast::TemplateArg],
    class: RecordId,
    span: Span,
    bound: &mut Bound,
) -> Option<()> {
    let args = cx.records.get(class).args.clone();
    let around = bound.around;
    let fit = if head.params.is_empty() {
        let template = cx.records.get(class).template.clone().expect("the class has arguments");
        let same = cx.quietly(|cx| {
            cx.in_scope(around, |cx| {
                let explicit = template_args::explicit(cx, written);
                let (params, others) = (&template.params.params, &template.others);
                template_args::bind(cx, params, others, explicit, template.scope, span)
            })
        });
        (same.ok().flatten()? == args).then_some(Fit::Exact)?
    } else {
        let (fit, given) = match in_order(head, written, &args) {
            Some(given) => (Fit::Any, given),
            None => (Fit::Some, deduced_from_written(cx, head, written, around, &args, span)?),
        };
        bound.scope = cx.scopes.template_scope(&head.params, &given, bound.scope);
        bound.around = cx.scopes.template_scope(&head.params, &given, around);
        fit
    };
    // For some arguments of one class and all of another is for some.
    bound.fit = Some(match bound.fit {
        Some(known) if known != fit => Fit::Some,
        _ => fit,
    });
    Some(())
}

/// The arguments of a class for the parameters of a head, if what is written names each parameter once and
/// nothing else.
fn in_order(head: &TemplateParams, written: &[ast::TemplateArg], args: &[TArg]) -> Option<Rc<[TArg]>> {
    if written.len() != args.len() || head.params.len() != args.len() {
        return None;
    }
    let mut given: Vec<Option<TArg>> = vec![None; args.len()];
    for (arg, value) in written.iter().zip(args) {
        let n = named_parameter(arg, head)?;
        if head.params[n].is_pack != matches!(value, TArg::Pack(_)) {
            return None;
        }
        given[n] = Some(value.clone());
    }
    given.into_iter().collect()
}

/// Whether arguments name each parameter of a head once, in order, and nothing else.
pub(super) fn names_all(head: &TemplateParams, written: &[ast::TemplateArg]) -> bool {
    head.params.len() == written.len()
        && written.iter().enumerate().all(|(n, arg)| named_parameter(arg, head) == Some(n))
}

/// A class and the classes around it, the outermost first.
fn classes_around(cx: &Checker<'_>, class: RecordId) -> Vec<RecordId> {
    let mut classes = vec![class];
    let mut at = class;
    while let Some(outer) = cx.scopes.class_of_scope(cx.records.get(at).decl_scope) {
        classes.push(outer);
        at = outer;
    }
    classes.reverse();
    classes
}

/// False if the path leads to another class template of the same name, in another namespace.
fn may_name_class<'a>(
    cx: &mut Checker<'a>,
    written: &'a ast::Path,
    around: ScopeId,
    owner: RecordId,
) -> bool {
    let Some(known) = cx.records.get(owner).template.as_ref().map(|known| known.primary.id) else {
        return true;
    };
    let mut within = None;
    let last = written.segments.len() - 1;
    for (n, segment) in written.segments.iter().enumerate() {
        let found = match within {
            Some(ns) => lookup::in_namespace(cx, ns, segment.name),
            None => cx.in_scope(around, |cx| lookup::unqualified(cx, segment.name)),
        };
        match found {
            Some(Found::Namespace(ns)) => within = Some(ns),
            // A class around it: its members are not looked into here.
            Some(Found::ClassTemplate(_)) if n < last => return true,
            Some(Found::ClassTemplate(template)) => return template.primary.id == known,
            _ => return true,
        }
    }
    true
}

/// The template's arguments with which what is written gives those arguments.
pub(super) fn deduced_from_written<'a>(
    cx: &mut Checker<'a>,
    template: &'a TemplateParams,
    written: &'a [ast::TemplateArg],
    scope: ScopeId,
    args: &[TArg],
    span: Span,
) -> Option<Rc<[TArg]>> {
    let params = &template.params;
    let patterns: Vec<_> =
        cx.in_scope(scope, |cx| written.iter().map(|arg| pattern::of_arg(cx, arg, params)).collect());
    let mut deduced = deduce::Deduced::none(params.len());
    if !deduce::from_args(cx, &patterns, args, &mut deduced) {
        return None;
    }
    specialise::finish_deduction(cx, params, deduced, scope, span)
}

/// The parameter that a written argument is, and nothing else.
pub(super) fn named_parameter(arg: &ast::TemplateArg, template: &TemplateParams) -> Option<usize> {
    let path = match arg {
        ast::TemplateArg::Type(ast::Type { kind: ast::TypeKind::Path(path), quals, .. })
            if *quals == ast::Qualifiers::default() =>
        {
            path
        }
        ast::TemplateArg::Type(ast::Type { kind: ast::TypeKind::Pack(inner), .. }) => match &inner.kind {
            ast::TypeKind::Path(path) => path,
            _ => return None,
        },
        ast::TemplateArg::Expr(expr) => match &expr.kind {
            ast::ExprKind::Path(path) => path,
            ast::ExprKind::PackExpansion(inner) => match &inner.kind {
                ast::ExprKind::Path(path) => path,
                _ => return None,
            },
            _ => return None,
        },
        ast::TemplateArg::Type(_) => return None,
    };
    let [only] = path.segments.as_slice() else { return None };
    if only.args.is_some() {
        return None;
    }
    template.params.iter().position(|param| param.name == Some(only.name))
}

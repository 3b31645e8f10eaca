//! Specialisations of class templates: which one a set of arguments selects.

use super::checker::Checker;
use super::deduce::Deduced;
use super::entities::{ClassTemplate, Found, TArg};
use super::out_of_line::Position;
use super::pattern::ArgPat;
use super::record::Records;
use super::scopes::{ScopeId, Scopes};
use super::table::ItemId;
use super::template_template::Templates;
use super::{deduce, lookup, out_of_line, pattern, record, template_args};
use crate::ast::{self, ItemKind, TemplateArg, TemplateParams};
use crate::hir::{RecordId, Ty, Types};
use anymetal_diagnostics::{Diagnostic, Span};
use std::rc::Rc;

/// A full or partial specialisation.
#[derive(Clone, Debug)]
pub(super) struct ClassSpecialisation<'a> {
    pub(super) record: &'a ast::Record,
    params: &'a TemplateParams,
    /// The arguments as written.
    written: &'a [TemplateArg],
    scope: ScopeId,
    patterns: Vec<ArgPat<'a>>,
}

/// Whether a class is made from a full specialisation of its template.
pub(super) fn is_full(cx: &mut Checker<'_>, class: RecordId) -> bool {
    let Some(template) = cx.records.get(class).template.clone() else { return false };
    record::declare_members(cx, class);
    let chosen = cx.records.get(class).ast.map(|ast| ast.id);
    let all = of_class(cx, &template);
    all.iter().any(|known| Some(known.record.id) == chosen && known.params.params.is_empty())
}

/// Whether a class, or one around it, is made from a template with arguments that are known.
pub(super) fn is_known_instance(cx: &Checker<'_>, class: RecordId) -> bool {
    let record = cx.records.get(class);
    let is_known = record.template.is_some() && !record.args.iter().any(TArg::is_unknown);
    is_known || cx.scopes.class_of_scope(record.decl_scope).is_some_and(|outer| is_known_instance(cx, outer))
}

/// The definition that serves these arguments, and the scope its members are declared in.
pub(super) fn select<'a>(
    cx: &mut Checker<'a>,
    template: &ClassTemplate<'a>,
    args: &Rc<[TArg]>,
) -> (&'a ast::Record, ScopeId) {
    let specialisations = of_class(cx, template);
    let mut best: Option<(usize, Rc<[TArg]>)> = None;
    for (n, candidate) in specialisations.iter().enumerate() {
        let Some(bound) = match_specialisation(cx, template, candidate, args) else { continue };
        let better = match &best {
            None => true,
            Some((known, _)) => {
                let known = &specialisations[*known];
                let mut is_more = |a, b| is_more_special(&cx.types, &cx.records, &mut cx.templates, a, b);
                // Of two declarations of one specialisation, the definition.
                let is_defined = known.record.members.is_none() && candidate.record.members.is_some();
                is_more(candidate, known) || (is_defined && !is_more(known, candidate))
            }
        };
        if better {
            best = Some((n, bound));
        }
    }
    match best {
        Some((n, bound)) => {
            let chosen = &specialisations[n];
            let scope = cx.scopes.template_scope(&chosen.params.params, &bound, chosen.scope);
            (chosen.record, scope)
        }
        None => primary(cx, template, args),
    }
}

/// The definition of the template itself, which may be outside of the class that declares the template.
fn primary<'a>(
    cx: &mut Checker<'a>,
    template: &ClassTemplate<'a>,
    args: &Rc<[TArg]>,
) -> (&'a ast::Record, ScopeId) {
    if let Some(owner) = cx.scopes.record(template.scope)
        && let Some((ast, Position { scope, own: Some(own), .. })) =
            out_of_line::class_definition(cx, template.primary, Some(template.params), owner)
    {
        return (ast, cx.scopes.template_scope(&own.params, args, scope));
    }
    (template.primary, cx.scopes.template_scope(&template.params.params, args, template.scope))
}

fn of_class<'a>(cx: &mut Checker<'a>, template: &ClassTemplate<'a>) -> Rc<[ClassSpecialisation<'a>]> {
    let key = (template.primary.id, template.scope);
    if let Some(known) = cx.records.specialisations.get(&key) {
        return known.clone();
    }
    // While the patterns are made, the template may already be in use: then without specialisations.
    cx.records.specialisations.insert(key, Rc::from([]));
    let mut found = Vec::new();
    for id in template.primary.name.map_or_else(Vec::new, |name| cx.table.specialisations(name)) {
        if let Some(specialisation) = specialisation_of_item(cx, template, id) {
            found.push(specialisation);
        }
    }
    for item in member_specialisations(&cx.scopes, &cx.records, template) {
        if let (ItemKind::Record(record), Some(params)) = (&item.kind, &item.template) {
            found.extend(class_specialisation(cx, record, params, template.scope));
        }
    }
    let found: Rc<[ClassSpecialisation<'a>]> = found.into();
    cx.records.specialisations.insert(key, found.clone());
    found
}

/// Specialisations of a member template, written in the class around it.
fn member_specialisations<'a>(
    scopes: &Scopes<'a>,
    records: &Records<'a>,
    template: &ClassTemplate<'a>,
) -> Vec<&'a ast::Item> {
    let Some(id) = scopes.record(template.scope) else { return Vec::new() };
    let items = records.get(id).ast.and_then(|ast| ast.members.as_ref());
    let matches = |item: &&'a ast::Item| match &item.kind {
        ItemKind::Record(record) => record.specialisation.is_some() && record.name == template.primary.name,
        _ => false,
    };
    items.into_iter().flatten().filter(matches).collect()
}

fn specialisation_of_item<'a>(
    cx: &mut Checker<'a>,
    template: &ClassTemplate<'a>,
    id: ItemId,
) -> Option<ClassSpecialisation<'a>> {
    let entry = cx.table.entry(id);
    let (ItemKind::Record(record), Some(params)) = (&entry.item.kind, &entry.item.template) else {
        return None;
    };
    let from = cx.scopes.of_item(id);
    let name = record.name?;
    let found = match &record.scope {
        Some(path) => {
            if let Some(owner) = cx.scopes.record(template.scope) {
                let position = out_of_line::position(cx, id, Some(path), owner)?;
                return class_specialisation(cx, record, position.own?, position.scope);
            }
            let ns = cx.table.find_namespace(entry.ns, path)?;
            lookup::in_namespace(cx, ns, name)
        }
        None => cx.in_scope(from, |cx| lookup::unqualified(cx, name)),
    };
    match found {
        Some(Found::ClassTemplate(own)) if super::pattern::same_template(&own, template) => {}
        _ => return None,
    }
    // Inside `struct n::S<…>` names are looked up in `n` first.
    let scope = if record.scope.is_some() { template.scope } else { from };
    class_specialisation(cx, record, params, scope)
}

fn class_specialisation<'a>(
    cx: &mut Checker<'a>,
    record: &'a ast::Record,
    params: &'a TemplateParams,
    scope: ScopeId,
) -> Option<ClassSpecialisation<'a>> {
    let written = record.specialisation.as_deref()?;
    let patterns =
        cx.in_scope(scope, |cx| written.iter().map(|arg| pattern::of_arg(cx, arg, &params.params)).collect());
    Some(ClassSpecialisation { record, params, written, scope, patterns })
}

fn match_specialisation<'a>(
    cx: &mut Checker<'a>,
    template: &ClassTemplate<'a>,
    candidate: &ClassSpecialisation<'a>,
    args: &Rc<[TArg]>,
) -> Option<Rc<[TArg]>> {
    let params = &candidate.params.params;
    let mut deduced = Deduced::none(params.len());
    if !deduce::from_args(cx, &candidate.patterns, args, &mut deduced) {
        return None;
    }
    let span = candidate.record.span;
    let bound = finish_deduction(cx, params, deduced, candidate.scope, span)?;
    // Placeholders must succeed and give back the very arguments (`enable_if`, `void_t`).
    let scope = cx.scopes.template_scope(params, &bound, candidate.scope);
    let again = cx.quietly(|cx| {
        cx.in_scope(scope, |cx| {
            let explicit = template_args::explicit(cx, candidate.written);
            template_args::bind(cx, &template.params.params, &template.others, explicit, template.scope, span)
        })
    });
    (again.ok().flatten()? == *args).then_some(bound)
}

/// Turns deduced arguments into a complete list, using defaults; `None` if one is missing.
pub(super) fn finish_deduction<'a>(
    cx: &mut Checker<'a>,
    params: &'a [ast::TemplateParam],
    deduced: Deduced,
    scope: ScopeId,
    span: Span,
) -> Option<Rc<[TArg]>> {
    let mut bound: Vec<TArg> = Vec::with_capacity(params.len());
    let value_types = deduced.value_types();
    for (n, (param, arg)) in params.iter().zip(deduced.into_args()).enumerate() {
        let arg = match arg {
            None | Some(TArg::Pack(_)) if param.is_pack => {
                let elements = match arg {
                    Some(TArg::Pack(elements)) => elements,
                    _ => Rc::from([]),
                };
                let count = elements.len();
                if !template_args::is_pack_complete(cx, params, &bound, param, count, scope) {
                    return None;
                }
                TArg::Pack(elements)
            }
            Some(TArg::Pack(elements)) => TArg::Pack(elements),
            Some(arg) => {
                let known = super::template_args::ExplicitArg::Known(arg);
                cx.quietly(|cx| template_args::bind_one(cx, params, &bound, param, known, scope, span))
                    .ok()
                    .flatten()
                    .filter(|arg| has_type(arg, n, &value_types))?
            }
            None => cx
                .quietly(|cx| template_args::default_arg(cx, params, &[], n, &bound, scope, span))
                .ok()
                .flatten()?,
        };
        bound.push(arg);
    }
    Some(bound.into())
}

/// Whether a deduced value has the type that it was deduced with (C++14 [temp.deduct.type.17]).
fn has_type(arg: &TArg, n: usize, value_types: &[(usize, Ty)]) -> bool {
    let deduced = value_types.iter().find(|(known, _)| *known == n);
    match (arg, deduced) {
        (TArg::Value(ty, _), Some((_, deduced))) => ty == deduced,
        _ => true,
    }
}

/// Reports a class that several partial specialisations fit equally (C++14 [temp.class.spec.match]).
pub(super) fn check_unambiguous(cx: &mut Checker<'_>, class: RecordId, span: Span) {
    let inst = cx.records.get(class);
    let (Some(template), args, chosen) = (inst.template.clone(), inst.args.clone(), inst.ast) else { return };
    let all = of_class(cx, &template);
    let chosen = all.iter().find(|known| chosen.is_some_and(|chosen| chosen.id == known.record.id));
    let Some(chosen) = chosen.filter(|known| !known.params.params.is_empty() && all.len() > 1) else {
        return;
    };
    for other in all.iter() {
        // Partial ordering ignores computed arguments, so it proves nothing about them.
        let is_comparable =
            [chosen, other].iter().all(|known| known.patterns.iter().all(|arg| !arg.is_open()));
        let is_rival = other.patterns != chosen.patterns
            && is_comparable
            && !is_more_special(&cx.types, &cx.records, &mut cx.templates, chosen, other)
            && match_specialisation(cx, &template, other, &args).is_some();
        if is_rival {
            let name = cx.types.record(class).name.clone();
            let message = format!("ambiguous partial specializations of `{name}`");
            let diagnostic = Diagnostic::error("ambiguous-specialisation", span, message);
            let notes = diagnostic.with_note(chosen.record.span, "this one fits");
            return cx.report(notes.with_note(other.record.span, "this one fits as well"));
        }
    }
}

fn is_more_special<'a>(
    types: &Types,
    records: &Records<'a>,
    templates: &mut Templates<'a>,
    a: &ClassSpecialisation<'a>,
    b: &ClassSpecialisation<'a>,
) -> bool {
    if a.params.params.is_empty() != b.params.params.is_empty() {
        return a.params.params.is_empty();
    }
    let b_covers_a = deduce::pattern_order(types, records, templates).covers_args(
        &b.patterns,
        &a.patterns,
        &mut Vec::new(),
    );
    let a_covers_b = deduce::pattern_order(types, records, templates).covers_args(
        &a.patterns,
        &b.patterns,
        &mut Vec::new(),
    );
    b_covers_a && !a_covers_b
}

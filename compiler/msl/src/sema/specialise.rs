//! Specialisations of class templates: which one a set of arguments selects.

use super::checker::{Checker, TArg};
use super::lookup::{ClassTemplate, Found};
use super::pattern::ArgPat;
use super::scopes::ScopeId;
use super::table::ItemId;
use crate::ast::{self, ItemKind, TemplateArg, TemplateParams};
use anymetal_diagnostics::Span;
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

impl<'a> Checker<'a> {
    /// The definition that serves these arguments, and the scope its members are declared in.
    pub(super) fn select_specialisation(
        &mut self,
        template: &ClassTemplate<'a>,
        args: &Rc<[TArg]>,
    ) -> (&'a ast::Record, ScopeId) {
        let specialisations = self.class_specialisations_of(template);
        let mut best: Option<(usize, Rc<[TArg]>)> = None;
        for (n, candidate) in specialisations.iter().enumerate() {
            let Some(bound) = self.match_specialisation(template, candidate, args) else { continue };
            let better = match &best {
                None => true,
                Some((known, _)) => self.is_more_special(candidate, &specialisations[*known]),
            };
            if better {
                best = Some((n, bound));
            }
        }
        match best {
            Some((n, bound)) => {
                let chosen = &specialisations[n];
                let scope = self.scopes.template_scope(&chosen.params.params, &bound, chosen.scope);
                (chosen.record, scope)
            }
            None => {
                let scope = self.scopes.template_scope(&template.params.params, args, template.scope);
                (template.primary, scope)
            }
        }
    }

    fn class_specialisations_of(&mut self, template: &ClassTemplate<'a>) -> Rc<[ClassSpecialisation<'a>]> {
        let key = (template.primary.id, template.scope);
        if let Some(known) = self.records.specialisations.get(&key) {
            return known.clone();
        }
        // While the patterns are made, the template may already be in use: then without specialisations.
        self.records.specialisations.insert(key, Rc::from([]));
        let mut found = Vec::new();
        for id in template.primary.name.map_or_else(Vec::new, |name| self.table.specialisations(name)) {
            if let Some(specialisation) = self.specialisation_of_item(template, id) {
                found.push(specialisation);
            }
        }
        for item in self.member_specialisations(template) {
            if let (ItemKind::Record(record), Some(params)) = (&item.kind, &item.template) {
                found.extend(self.class_specialisation(record, params, template.scope));
            }
        }
        let found: Rc<[ClassSpecialisation<'a>]> = found.into();
        self.records.specialisations.insert(key, found.clone());
        found
    }

    /// Specialisations of a member template, written in the class around it.
    fn member_specialisations(&self, template: &ClassTemplate<'a>) -> Vec<&'a ast::Item> {
        let Some(id) = self.scopes.record(template.scope) else { return Vec::new() };
        let items = self.records.get(id).ast.and_then(|ast| ast.members.as_ref());
        let matches = |item: &&'a ast::Item| match &item.kind {
            ItemKind::Record(record) => {
                record.specialisation.is_some() && record.name == template.primary.name
            }
            _ => false,
        };
        items.into_iter().flatten().filter(matches).collect()
    }

    fn specialisation_of_item(
        &mut self,
        template: &ClassTemplate<'a>,
        id: ItemId,
    ) -> Option<ClassSpecialisation<'a>> {
        let entry = self.table.entry(id);
        let (ItemKind::Record(record), Some(params)) = (&entry.item.kind, &entry.item.template) else {
            return None;
        };
        let from = self.scopes.of_item(id);
        let name = record.name?;
        let found = match &record.scope {
            Some(path) => {
                let ns = self.table.find_namespace(entry.ns, path)?;
                self.lookup_in_namespace(ns, name)
            }
            None => self.in_scope(from, |s| s.lookup(name)),
        };
        match found {
            Some(Found::ClassTemplate(own)) if super::pattern::same_template(&own, template) => {}
            _ => return None,
        }
        // Inside `struct n::S<…>` names are looked up in `n` first.
        let scope = if record.scope.is_some() { template.scope } else { from };
        self.class_specialisation(record, params, scope)
    }

    fn class_specialisation(
        &mut self,
        record: &'a ast::Record,
        params: &'a TemplateParams,
        scope: ScopeId,
    ) -> Option<ClassSpecialisation<'a>> {
        let written = record.specialisation.as_deref()?;
        let patterns =
            self.in_scope(scope, |s| written.iter().map(|arg| s.arg_pattern(arg, &params.params)).collect());
        Some(ClassSpecialisation { record, params, written, scope, patterns })
    }

    fn match_specialisation(
        &mut self,
        template: &ClassTemplate<'a>,
        candidate: &ClassSpecialisation<'a>,
        args: &Rc<[TArg]>,
    ) -> Option<Rc<[TArg]>> {
        let params = &candidate.params.params;
        let mut deduced = vec![None; params.len()];
        if !self.deduce_args(&candidate.patterns, args, &mut deduced) {
            return None;
        }
        let span = candidate.record.span;
        let bound = self.finish_deduction(params, deduced, candidate.scope, span)?;
        // Placeholders must succeed and give back the very arguments (`enable_if`, `void_t`).
        let scope = self.scopes.template_scope(params, &bound, candidate.scope);
        let again = self.quietly(|s| {
            s.in_scope(scope, |s| {
                let explicit = s.explicit_args(candidate.written);
                s.bind_args(&template.params.params, &template.others, explicit, template.scope, span)
            })
        });
        (again.ok().flatten()? == *args).then_some(bound)
    }

    /// Turns deduced arguments into a complete list, using defaults; `None` if one is missing.
    pub(super) fn finish_deduction(
        &mut self,
        params: &'a [ast::TemplateParam],
        deduced: super::deduce::Deduced,
        scope: ScopeId,
        span: Span,
    ) -> Option<Rc<[TArg]>> {
        let mut bound: Vec<TArg> = Vec::with_capacity(params.len());
        for (n, (param, arg)) in params.iter().zip(deduced).enumerate() {
            let arg = match arg {
                Some(TArg::Pack(elements)) => TArg::Pack(elements),
                Some(arg) => {
                    let known = super::template_args::ExplicitArg::Known(arg);
                    self.quietly(|s| s.bind_one(params, &bound, param, known, scope, span)).ok().flatten()?
                }
                None if param.is_pack => TArg::Pack(Rc::from([])),
                None => {
                    self.quietly(|s| s.default_arg(params, &[], n, &bound, scope, span)).ok().flatten()?
                }
            };
            bound.push(arg);
        }
        Some(bound.into())
    }

    fn is_more_special(&mut self, a: &ClassSpecialisation<'a>, b: &ClassSpecialisation<'a>) -> bool {
        if a.params.params.is_empty() != b.params.params.is_empty() {
            return a.params.params.is_empty();
        }
        let b_covers_a = self.pattern_order().covers_args(&b.patterns, &a.patterns, &mut Vec::new());
        let a_covers_b = self.pattern_order().covers_args(&a.patterns, &b.patterns, &mut Vec::new());
        b_covers_a && !a_covers_b
    }
}

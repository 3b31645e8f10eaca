//! What stays of a source: kernels and all that they name, directly or through others.

use std::collections::{BTreeMap, BTreeSet};

use super::items::{Function, Items, Kind, NAMESPACE};
use crate::token::Text;

/// What stays.
#[derive(Debug, Default)]
pub(super) struct Reached {
    /// By item.
    pub(super) items: Vec<bool>,
    /// By function.
    pub(super) functions: Vec<bool>,
}

impl Reached {
    /// `more` are words that stay with what they name, as in instantiations.
    pub(super) fn of(text: &Text<'_>, items: &Items, more: &BTreeSet<String>) -> Self {
        let mut reached =
            Self { items: vec![false; items.items.len()], functions: vec![false; items.functions.len()] };
        let mut by_name: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        let mut pending = Vec::new();
        for (number, item) in items.items.iter().enumerate() {
            for name in &item.names {
                by_name.entry(name).or_default().push(number);
            }
            match item.kind {
                Kind::Function(function) if items.functions[function].is_kernel => pending.push(number),
                // Conditions may be about any macro.
                Kind::Alias
                    if item.names.first().is_some_and(|name| is_used_namespace(text, items, name)) =>
                {
                    pending.push(number);
                }
                _ if item.names.iter().any(|name| more.contains(name)) => pending.push(number),
                Kind::Directive if text.at(item.first + 1) != "define" => pending.push(number),
                _ => {}
            }
        }
        let mut seen = BTreeSet::new();
        loop {
            let Some(number) = pending.pop() else {
                pending = reached.operators(text, items, &by_name);
                if pending.is_empty() {
                    break;
                }
                continue;
            };
            if std::mem::replace(&mut reached.items[number], true) {
                continue;
            }
            for token in reached.tokens(items, number) {
                let word = text.at(token);
                if !text.is_word(token) || !seen.insert(word) {
                    continue;
                }
                for &named in by_name.get(word).map(Vec::as_slice).unwrap_or_default() {
                    let is_host = matches!(items.items[named].kind, Kind::Function(function)
                        if !items.functions[function].is_device && !items.functions[function].is_kernel);
                    if !is_host {
                        pending.push(named);
                    }
                }
            }
        }
        for (number, item) in items.items.iter().enumerate() {
            if let Kind::Function(function) = item.kind {
                reached.functions[function] = reached.items[number];
            }
        }
        reached
    }

    /// The operators of types that stay: expressions do not name them.
    fn operators(&self, text: &Text<'_>, items: &Items, by_name: &BTreeMap<&str, Vec<usize>>) -> Vec<usize> {
        let is_type = |word: &str| {
            let named = by_name.get(word).map(Vec::as_slice).unwrap_or_default();
            named.iter().any(|&item| {
                self.items[item] && matches!(items.items[item].kind, Kind::Record(_) | Kind::Alias)
            })
        };
        let is_used = |function: &Function| {
            let types = function.params.iter().filter_map(|param| Some(param.declarator.as_ref()?.ty));
            types.into_iter().any(|(first, last)| (first..=last).any(|token| is_type(text.at(token))))
        };
        let is_operator = |number: &usize| match items.items[*number].kind {
            Kind::Function(function) => {
                let function = &items.functions[function];
                function.is_device && function.name.starts_with("operator") && is_used(function)
            }
            _ => false,
        };
        (0..items.items.len()).filter(|number| !self.items[*number]).filter(is_operator).collect()
    }

    /// The tokens of an item that stay if it does; notes the methods.
    fn tokens(&mut self, items: &Items, number: usize) -> Vec<usize> {
        let item = &items.items[number];
        let Kind::Record(_) = item.kind else { return (item.first..=item.last).collect() };
        let mut dropped = BTreeSet::new();
        for (function, method) in items.functions.iter().enumerate() {
            if method.record.is_none() || method.first < item.first || method.last > item.last {
                continue;
            }
            match method.is_device {
                true => self.functions[function] = true,
                false => dropped.extend(method.first..=method.last),
            }
        }
        (item.first..=item.last).filter(|token| !dropped.contains(token)).collect()
    }
}

/// Whether `using namespace` is of one that the source has, or the prelude.
fn is_used_namespace(text: &Text<'_>, items: &Items, name: &str) -> bool {
    let Some(name) = name.strip_prefix(NAMESPACE) else { return false };
    matches!(name, "cooperative_groups" | super::cub::NAMESPACE) || {
        let is_it = |token: usize| text.at(token) == "namespace" && text.at(token + 1) == name;
        items.items.iter().any(|item| item.kind == Kind::Open && (item.first..item.last).any(is_it))
    }
}

//! Which declarations are written, and the conditionals around them.

use std::collections::BTreeSet;

use super::Translator;
use super::items::{Function, Kind};
use super::words;
use crate::token::Changes;

impl Translator<'_, '_> {
    /// Which items are written: of those that are reached not those that have become parameters, and of
    /// directives and namespaces those with something in them.
    pub(super) fn kept(&self) -> Vec<bool> {
        let mut kept: Vec<bool> = (0..self.items.items.len()).map(|number| self.is_written(number)).collect();
        let mut open: Vec<(Vec<usize>, bool)> = Vec::new();
        let finish = |kept: &mut Vec<bool>, open: &mut Vec<(Vec<usize>, bool)>| {
            let Some((items, has_content)) = open.pop() else { return };
            items.iter().for_each(|&item| kept[item] &= has_content);
            if let Some(outer) = open.last_mut() {
                outer.1 |= has_content;
            }
        };
        for (number, item) in self.items.items.iter().enumerate() {
            let word = if item.kind == Kind::Directive { self.text.at(item.first + 1) } else { "" };
            match (item.kind, word) {
                (Kind::Directive, "if" | "ifdef" | "ifndef") | (Kind::Open | Kind::OpenC, _) => {
                    kept[number] = item.kind != Kind::OpenC;
                    open.push((vec![number], false));
                }
                (Kind::Directive, "else" | "elif") => {
                    kept[number] = true;
                    if let Some(last) = open.last_mut() {
                        last.0.push(number);
                    }
                }
                (Kind::Directive, "endif") | (Kind::Close, _) => {
                    let is_c = open.last().is_some_and(|(items, _)| {
                        items.first().is_some_and(|&first| self.items.items[first].kind == Kind::OpenC)
                    });
                    kept[number] = !is_c;
                    if let Some(last) = open.last_mut() {
                        last.0.push(number);
                    }
                    finish(&mut kept, &mut open);
                }
                _ => {
                    if let Some(last) = open.last_mut() {
                        last.1 |= kept[number];
                    }
                    if item.kind == Kind::Directive {
                        continue;
                    }
                    for token in self.unmatched(item.first, item.last) {
                        if let Some(last) = open.last_mut() {
                            last.1 = true;
                        }
                        match self.text.at(token + 1) {
                            "endif" => finish(&mut kept, &mut open),
                            "if" | "ifdef" | "ifndef" => open.push((Vec::new(), true)),
                            _ => {}
                        }
                    }
                }
            }
        }
        while !open.is_empty() {
            finish(&mut kept, &mut open);
        }
        kept
    }

    fn is_written(&self, number: usize) -> bool {
        let item = &self.items.items[number];
        if !self.reached.items[number] {
            return false;
        }
        match item.kind {
            Kind::Directive => match self.text.at(item.first + 1) {
                "define" | "undef" => !words::is_builtin_type(self.text.at(item.first + 2)),
                "pragma" => self.text.at(item.first + 2) == "unroll",
                _ => false,
            },
            Kind::Function(function) => {
                let function = &self.items.functions[function];
                !(function.is_kernel && function.body.is_none()) && !self.is_builtin_function(function)
            }
            Kind::Variable => super::needs::variable_space(&self.text, item).is_none(),
            // `typedef unsigned int uint;`
            Kind::Alias => !item.names.last().is_some_and(|name| words::is_builtin_type(name)),
            Kind::Other => false,
            Kind::Open | Kind::OpenC | Kind::Close | Kind::Record(_) => true,
        }
    }

    /// `make_float3(…)` and operators of vectors, which Metal has.
    fn is_builtin_function(&self, function: &Function) -> bool {
        let is_vector = |name: &str| words::vector(name).is_some_and(|(_, width)| width > 1);
        if super::is_for_doubles(&self.text, function) {
            return true;
        }
        if let Some(ty) = function.name.strip_prefix("make_") {
            return is_vector(ty);
        }
        let types = || function.params.iter().filter_map(|param| Some(param.declarator.as_ref()?.ty));
        let is_builtin = |(first, last): (usize, usize)| {
            (first..=last).all(|token| {
                words::is_builtin_type(self.text.at(token))
                    || super::declarator::is_qualifier(self.text.at(token))
            })
        };
        function.name.starts_with("operator")
            && function.record.is_none()
            && types().all(is_builtin)
            && types().any(|(_, last)| is_vector(self.text.at(last)))
    }

    /// Conditionals in what is dropped that are not whole.
    pub(super) fn conditionals_of(&self, out: &mut String, first: usize, last: usize, kind: Kind) {
        if kind == Kind::Directive {
            return;
        }
        for token in self.unmatched(first, last) {
            out.push('\n');
            self.text.write(out, token..=self.text.directive_end(token), &Changes::default());
            out.push('\n');
        }
    }

    /// The directives of conditionals in some tokens that begin or end elsewhere.
    fn unmatched(&self, first: usize, last: usize) -> Vec<usize> {
        let mut open: Vec<Vec<usize>> = Vec::new();
        let mut whole = BTreeSet::new();
        let mut all = Vec::new();
        let mut token = first;
        while token <= last {
            if self.text.in_directive(token) {
                match self.text.at(token + 1) {
                    "if" | "ifdef" | "ifndef" => open.push(vec![token]),
                    "else" | "elif" => open.last_mut().into_iter().for_each(|items| items.push(token)),
                    "endif" => {
                        if let Some(items) = open.pop() {
                            whole.extend(items);
                            whole.insert(token);
                        }
                    }
                    _ => drop(whole.insert(token)),
                }
                all.push(token);
                token = self.text.directive_end(token);
            }
            token += 1;
        }
        all.retain(|token| !whole.contains(token));
        all
    }
}

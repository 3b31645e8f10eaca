//! Parameters of kernels and functions, and the calls of functions.

use std::collections::BTreeMap;

use super::Translator;
use super::declarations::Function;
use super::images::{Resource, resource};
use super::positions::{Needs, parameter};

/// One parameter: its tokens and what they say.
struct Param {
    /// Whether another branch of a conditional has a parameter in the same position before it.
    is_alternative: bool,
    first: usize,
    last: usize,
    name: usize,
    is_pointer: bool,
    is_local: bool,
}

impl Translator<'_> {
    /// Rewrites functions: their parameters, and what they pass on.
    pub(super) fn functions(&mut self) {
        let needs = self.needs();
        self.positions();
        let functions = self.declarations.functions.clone();
        for function in &functions {
            let own = needs.get(&function.name).cloned().unwrap_or_default();
            if function.is_kernel {
                self.kernel(function, &own);
            } else {
                self.add_parameters(function, own.iter().map(|name| parameter(name)).collect());
            }
        }
        self.calls(&needs);
    }

    /// The parameters, without directives around them and without those of branches that are not taken.
    fn params(&self, function: &Function) -> Vec<Param> {
        let mut params = Vec::new();
        for (first, last) in self.text.parts(function.open, function.close) {
            let is_left_out = |token: usize| {
                self.text.in_directive(token)
                    || self.declarations.is_dead(token) && !self.declarations.is_dead(function.open)
            };
            let (mut token, mut is_alternative) = (first, false);
            while token <= last {
                if is_left_out(token) {
                    token += 1;
                    continue;
                }
                let end = (token..=last).find(|&end| is_left_out(end)).unwrap_or(last + 1);
                params.push(Param { is_alternative, ..self.param(token, end - 1) });
                (token, is_alternative) = (end, true);
            }
        }
        params.retain(|param| param.first != param.last || self.text.at(param.first) != "void");
        params
    }

    fn param(&self, first: usize, last: usize) -> Param {
        let mut name = last;
        let mut is_pointer = false;
        for token in (first..=last).rev() {
            match self.text.at(token) {
                "]" => is_pointer = true,
                "[" => name = token.saturating_sub(1),
                "*" => is_pointer = true,
                _ => {}
            }
        }
        let is_local = (first..=last).any(|token| matches!(self.text.at(token), "local" | "__local"));
        Param { is_alternative: false, first, last, name, is_pointer, is_local }
    }

    fn kernel(&mut self, function: &Function, needs: &Needs) {
        let (mut buffers, mut groups, mut textures, mut samplers) = (0, 0, 0, 0);
        let mut copies = String::new();
        let mut before = (0, 0, 0, 0);
        for param in self.params(function) {
            if param.is_alternative {
                (buffers, groups, textures, samplers) = before;
            }
            before = (buffers, groups, textures, samplers);
            if param.is_local {
                self.text.insert_after(param.last, &format!(" [[threadgroup({groups})]]"));
                groups += 1;
                continue;
            }
            let types = (param.first..=param.last).map(|token| self.text.at(token));
            if let Some(kind) = types.filter_map(resource).next() {
                let (attribute, number) = match kind {
                    Resource::Texture => ("texture", &mut textures),
                    Resource::Sampler => ("sampler", &mut samplers),
                };
                self.text.insert_after(param.last, &format!(" [[{attribute}({number})]]"));
                *number += 1;
                continue;
            }
            if !param.is_pointer {
                self.value(function, &param, &mut copies);
            }
            self.text.insert_after(param.last, &format!(" [[buffer({buffers})]]"));
            buffers += 1;
        }
        let inputs = needs.iter().map(|name| format!("{} [[{name}]]", parameter(name))).collect();
        self.add_parameters(function, inputs);
        if let (Some((open, _)), false) = (function.body, copies.is_empty()) {
            self.text.insert_after(open, &copies);
        }
    }

    /// A number or structure comes in constant memory; where the kernel changes it, a copy does.
    fn value(&mut self, function: &Function, param: &Param, copies: &mut String) {
        for token in param.first..param.name {
            if self.text.at(token) == "const" {
                self.text.remove(token);
            }
        }
        self.text.insert_before(param.first, "constant ");
        let name = self.text.at(param.name).to_owned();
        if param.name > param.first {
            self.text.insert_after(param.name - 1, "&");
        }
        if function.body.is_some_and(|body| self.is_changed(&name, body)) {
            let ty: Vec<&str> = (param.first..param.name)
                .map(|token| self.text.replacement(token).unwrap_or(self.text.at(token)))
                .filter(|word| !word.is_empty())
                .collect();
            let between = if self.options.line_directive { " " } else { "\n    " };
            copies.push_str(&format!("{between}{} {name} = {name}_;", ty.join(" ")));
            self.text.replace(param.name, format!("{name}_"));
        }
    }

    /// Whether a variable is assigned to, stepped, or its address taken.
    fn is_changed(&self, name: &str, (open, close): (usize, usize)) -> bool {
        (open..close).filter(|&token| self.text.at(token) == name).any(|token| {
            let before = self.text.at(token.wrapping_sub(1));
            if matches!(before, "." | "->") {
                return false;
            }
            // A part may be meant: `size.x = 1`, `all.values[2] = 1`.
            let mut next = token + 1;
            loop {
                next = match self.text.at(next) {
                    "." => next + 2,
                    "[" => self.text.closing(next).unwrap_or(next) + 1,
                    _ => break,
                };
            }
            let after = self.text.at(next);
            let is_assigned = after == "="
                || (after.len() >= 2 && after.ends_with('=') && !matches!(after, "==" | "!=" | "<=" | ">="));
            let two = token.wrapping_sub(2);
            let is_address = before == "&" && !self.text.is_word(two) && self.text.at(two) != ")";
            is_assigned || matches!(after, "++" | "--") || matches!(before, "++" | "--") || is_address
        })
    }

    fn add_parameters(&mut self, function: &Function, parameters: Vec<String>) {
        if parameters.is_empty() {
            return;
        }
        let given = self.params(function);
        let has_any = !given.is_empty();
        if !has_any && self.text.at(function.open + 1) == "void" {
            self.text.remove(function.open + 1);
        }
        // Lines stay those of the source where the text says so.
        let comma = match self.options.line_directive {
            true => ", ".to_owned(),
            false => format!(",\n{}", " ".repeat(self.text.column(function.open) + 1)),
        };
        let between = if has_any { &*comma } else { "" };
        let rest = parameters.join(&comma);
        let last = given.last().map_or(function.open, |param| param.last);
        // Behind directives: these parameters are there in every branch.
        if last + 1 < function.close {
            self.text.insert_before(function.close, &format!("{between}{rest}"));
        } else {
            self.text.insert_after(last, &format!("{between}{rest}"));
        }
    }

    /// Calls of functions pass on what these need.
    fn calls(&mut self, needs: &BTreeMap<String, Needs>) {
        let functions = self.declarations.functions.clone();
        for token in 0..self.text.len() {
            if self.text.at(token + 1) != "(" || !self.text.is_word(token) {
                continue;
            }
            let word = self.text.at(token);
            let Some(function) = functions.iter().find(|function| function.name == word) else { continue };
            if functions.iter().any(|function| function.at == token) {
                continue;
            }
            if function.is_kernel {
                self.refuse(
                    token,
                    format!("the kernel `{word}` is called"),
                    "make a function of what both do",
                );
                continue;
            }
            let Some(own) = needs.get(word).filter(|own| !own.is_empty()) else { continue };
            let Some(close) = self.text.closing(token + 1) else { continue };
            let names: Vec<&str> = own.iter().copied().collect();
            let comma = if close > token + 2 { ", " } else { "" };
            self.text.insert_before(close, &format!("{comma}{}", names.join(", ")));
        }
    }
}

//! Parameters of kernels and functions, and the calls of functions.

use std::collections::{BTreeMap, BTreeSet};

use anymetal_diagnostics::Diagnostic;

use super::Translator;
use super::declarations::{Function, is_kernel_word};
use super::images::{Resource, resource};
use super::positions::{Needs, parameter};
use crate::flatten::line_directive;
use crate::token::Changes;

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
        let called = self.called_kernels(&functions);
        for function in &functions {
            let own = needs.get(&function.name).cloned().unwrap_or_default();
            if let Some(body_name) = called.get(&function.name) {
                self.called_kernel(function, &own, body_name);
            } else if function.is_kernel {
                self.kernel(function, &own);
            } else {
                self.add_parameters(function, own.iter().map(|name| parameter(name)).collect());
            }
        }
        self.calls(&needs, &called);
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

    /// Kernels that functions call, which OpenCL C allows, each with a name for the function that gets its
    /// body.
    fn called_kernels(&self, functions: &[Function]) -> BTreeMap<String, String> {
        let kernels: BTreeSet<&str> =
            functions.iter().filter(|one| one.is_kernel).map(|one| &*one.name).collect();
        let heads: BTreeSet<usize> = functions.iter().map(|function| function.at).collect();
        let calls = (0..self.text.len()).filter(|&token| {
            self.text.at(token + 1) == "(" && kernels.contains(self.text.at(token)) && !heads.contains(&token)
        });
        let called: BTreeSet<&str> = calls.map(|token| self.text.at(token)).collect();
        let words: BTreeSet<&str> = match called.is_empty() {
            true => BTreeSet::new(),
            false => (0..self.text.len()).map(|token| self.text.at(token)).collect(),
        };
        let body_name = |kernel: &str| {
            let mut name = format!("{kernel}_body");
            while words.contains(&*name) {
                name.push('_');
            }
            name
        };
        called.into_iter().map(|kernel| (kernel.to_owned(), body_name(kernel))).collect()
    }

    /// Makes a kernel that is called a function, and adds a kernel of its name that calls this function.
    fn called_kernel(&mut self, function: &Function, needs: &Needs, body_name: &str) {
        let Some(first) = self.head(function) else {
            let hint = "write `kernel` before the function";
            return self.refuse(function.at, "a macro makes a kernel of a function that is called", hint);
        };
        if let Some((open, close)) = function.body {
            let outer = self.text.changes_of(first..=open);
            self.kernel(function, needs);
            let mut kernel = String::new();
            self.text.write(&mut kernel, first..=function.close, &Changes::default());
            let params = self.params(function);
            let names = params
                .iter()
                .map(|param| self.text.replacement(param.name).unwrap_or(self.text.at(param.name)));
            let arguments: Vec<&str> = names.chain(needs.iter().copied()).collect();
            kernel.push_str(&format!(" {{\n    {body_name}({});\n}}", arguments.join(", ")));
            self.text.restore(first..=open, outer);
            self.text.insert_after(close, &format!("\n{kernel}{}", self.line_after(close)));
            let is_shared = |&token: &usize| matches!(self.text.at(token), "local" | "__local");
            if let Some(shared) = (open..close).find(is_shared) {
                let message = "shared memory of a kernel that is called stays in the function";
                let diagnostic = Diagnostic::warning("shared-in-function", self.span(shared), message);
                self.tell(diagnostic.with_hint("Metal's own compiler allows it in kernels only".to_owned()));
            }
        }
        for token in first..function.at {
            let is_attribute = self.text.replacement(token).is_some_and(|text| text.starts_with("[["));
            if is_kernel_word(self.text.at(token)) || is_attribute {
                self.text.remove(token);
            }
        }
        self.text.replace(function.at, body_name);
        self.add_parameters(function, needs.iter().map(|name| parameter(name)).collect());
    }

    /// A `#line` directive after a token, where the translation has the lines of the source.
    fn line_after(&self, token: usize) -> String {
        let place = self.flat.map.location(self.span(token)).filter(|_| self.options.line_directive);
        place.map_or_else(String::new, |(file, at)| format!("\n{}", line_directive(at.line as usize, file)))
    }

    /// The first token of a kernel's declaration, if the text says there that it is a kernel.
    fn head(&self, function: &Function) -> Option<usize> {
        let is_end =
            |token: &usize| matches!(self.text.at(*token), ";" | "}") || self.text.in_directive(*token);
        let first = (0..function.at).rev().find(is_end).map_or(0, |end| end + 1);
        (first..function.at).find(|&token| is_kernel_word(self.text.at(token)))
    }

    /// A number or structure comes in constant memory; where the kernel changes it, a copy does.
    fn value(&mut self, function: &Function, param: &Param, copies: &mut String) {
        for token in param.first..param.name {
            if matches!(self.text.at(token), "const" | "private" | "__private") {
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
    fn calls(&mut self, needs: &BTreeMap<String, Needs>, called: &BTreeMap<String, String>) {
        let functions = self.declarations.functions.clone();
        for token in 0..self.text.len() {
            if self.text.at(token + 1) != "(" || !self.text.is_word(token) {
                continue;
            }
            let word = self.text.at(token);
            if !functions.iter().any(|function| function.name == word)
                || functions.iter().any(|function| function.at == token)
            {
                continue;
            }
            if let Some(body_name) = called.get(word) {
                self.text.replace(token, body_name.clone());
            }
            let Some(own) = needs.get(word).filter(|own| !own.is_empty()) else { continue };
            let Some(close) = self.text.closing(token + 1) else { continue };
            let names: Vec<&str> = own.iter().copied().collect();
            let comma = if close > token + 2 { ", " } else { "" };
            self.text.insert_before(close, &format!("{comma}{}", names.join(", ")));
        }
    }
}

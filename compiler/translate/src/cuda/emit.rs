//! The translation's text: declarations that stay, functions once for each combination of address spaces.

use std::collections::BTreeSet;

use super::Translator;
use super::items::{Function, Kind};
use super::space::Space;
use super::spaces::pointer;
use super::typename::plain_type;
use super::words::call_parens;
use crate::token::{Changes, Text};

/// The method that stands for a conversion to a pointer that needs hidden parameters.
const CONVERSION: &str = "converted";

impl Translator<'_, '_> {
    /// The changes of an instance with its parameters and the calls that pass hidden ones.
    pub(super) fn finished(&mut self, number: usize, mut changes: Changes) -> Changes {
        let function = self.items.functions[number].clone();
        // Which conversion of a type is called is not known, so that all take the same.
        let name = function.converted(&self.text, self.items).unwrap_or(&function.name);
        let hidden: Vec<_> = self.needs.of_function(name).cloned().collect();
        if function.is_kernel {
            self.kernel(&function, &hidden, &mut changes);
        } else if !hidden.is_empty() {
            if function.converted(&self.text, self.items).is_some() {
                // A conversion takes no parameters.
                changes.remove(function.at);
                changes.insert_after(function.open - 1, &format!(" {CONVERSION}"));
            }
            let all: Vec<&str> = hidden.iter().map(|hidden| &*hidden.parameter).collect();
            let has_more = function.close > function.open + 1;
            let has_void = function.params.is_empty() && self.text.at(function.open + 1) == "void";
            if has_void {
                changes.remove(function.open + 1);
            }
            let comma = if has_more && !has_void { ", " } else { "" };
            changes.insert_after(function.open, &format!("{}{comma}", all.join(", ")));
        }
        for ty in self.values_of_pointed_types(&function) {
            let name = self.text.at(ty).to_owned();
            changes.replace(ty, format!("enable_if_t<true, {name}>"));
        }
        for param in function.params.iter().filter(|param| !function.is_kernel && param.end < param.last) {
            if function.body.is_some() && self.is_declared_before(&function) {
                changes.remove_all(param.end + 1..=param.last);
            }
        }
        changes
    }

    /// The types of parameters by value that are parameters of the function's template, where pointers decide
    /// what these are: memory has packed vectors, and values that are computed are not packed.
    fn values_of_pointed_types(&self, function: &Function) -> Vec<usize> {
        let Some((open, close)) = function.template.filter(|_| !function.is_kernel) else {
            return Vec::new();
        };
        let declarators: Vec<_> =
            function.params.iter().filter_map(|param| param.declarator.as_ref()).collect();
        let is_parameter = |ty: &str| (open..close).any(|token| self.text.at(token) == ty);
        let is_pointed_to = |ty: &str| {
            let mut pointers = declarators.iter().filter(|one| !one.stars.is_empty() || one.arrays > 0);
            pointers.any(|one| (one.ty.0..=one.ty.1).any(|token| self.text.at(token) == ty))
        };
        let by_value = declarators.iter().filter(|one| {
            let is_plain = one.ty.0 == one.ty.1 && one.stars.is_empty() && one.arrays == 0;
            let ty = self.text.at(one.ty.0);
            is_plain && one.reference.is_none() && is_parameter(ty) && is_pointed_to(ty)
        });
        by_value.map(|one| one.ty.0).collect()
    }

    /// Whether a declaration that has the defaults of parameters stands before the function.
    fn is_declared_before(&self, function: &Function) -> bool {
        let mut others = self.items.functions.iter();
        others.any(|other| {
            other.name == function.name
                && other.first < function.first
                && other.body.is_none()
                && other.is_device
        })
    }

    /// Variables that are made by constructors pass on what these need.
    fn construct(&mut self) {
        let found: Vec<_> =
            self.bodies.iter().flatten().flat_map(|body| body.constructions(&self.text)).collect();
        for (name, open, close) in found {
            let word = self.text.at(name);
            if self.text.at(open) != "(" || !self.own_methods.contains(word) {
                continue;
            }
            let names: Vec<String> = self.needs.of_function(word).map(|hidden| hidden.name.clone()).collect();
            if !names.is_empty() {
                let comma = if close > open + 1 { ", " } else { "" };
                self.text.insert_after(open, &format!("{}{comma}", names.join(", ")));
            }
        }
    }

    /// Calls pass on what functions need.
    pub(super) fn pass_on(&mut self) {
        self.construct();
        let heads: BTreeSet<usize> = self.items.functions.iter().map(|function| function.at).collect();
        for token in 0..self.text.len() {
            let word = self.text.at(token);
            if !self.text.is_word(token) || heads.contains(&token) {
                continue;
            }
            let Some((open, close)) = call_parens(&self.text, token) else { continue };
            let mut names: Vec<String> = Vec::new();
            names.extend(self.needs.of_object(token).map(|hidden| hidden.name.clone()));
            if self.collectives.contains(&token) {
                names.extend(super::cub::NEEDS.map(str::to_owned));
            } else if self.own_functions.contains(word) {
                names.extend(self.needs.of_function(word).map(|hidden| hidden.name.clone()));
            } else if !self.is_own(word) {
                names.extend(super::prelude::needs(word).map(str::to_owned));
            }
            if !names.is_empty() {
                let comma = if close > open + 1 { ", " } else { "" };
                self.text.insert_after(open, &format!("{}{comma}", names.join(", ")));
            }
            self.convert(token, close);
        }
    }

    /// An object that is made for its conversion to a pointer, which needs parameters.
    fn convert(&mut self, name: usize, close: usize) {
        let word = self.text.at(name);
        let mut functions = self.items.functions.iter();
        if !functions.any(|function| function.converted(&self.text, self.items) == Some(word)) {
            return; // No object of this type converts to a pointer.
        }
        let needed: Vec<&str> = self.needs.of_function(word).map(|hidden| &*hidden.name).collect();
        let follows = matches!(self.text.at(close + 1), "." | "{" | ":");
        if !needed.is_empty() && !follows {
            let call = format!(".{CONVERSION}({})", needed.join(", "));
            self.text.insert_after(close, &call);
        }
    }

    /// The text of all that stays.
    pub(super) fn emit(&mut self, changes: &[(usize, Changes)]) -> String {
        self.pass_on();
        let mut out = String::new();
        let (mut end, mut was_kept) = (0, true);
        let kept = self.kept();
        for (number, item) in self.items.items.iter().enumerate() {
            let range = self.text.range(item.first).start..self.text.range(item.last).end;
            if kept[number] {
                let gap = self.text.source().get(end..range.start).unwrap_or_default();
                out.push_str(if was_kept { gap } else { attached(gap) });
                self.line(&mut out, item.first, item.kind);
                self.item(&mut out, number, changes);
            } else {
                self.conditionals_of(&mut out, item.first, item.last, item.kind);
            }
            was_kept = kept[number];
            end = range.end;
        }
        if was_kept {
            out.push_str(self.text.source().get(end..).unwrap_or_default());
        }
        if !out.ends_with('\n') {
            out.push('\n');
        }
        out
    }

    fn line(&self, out: &mut String, token: usize, kind: Kind) {
        if !self.options.line_directive || matches!(kind, Kind::Directive | Kind::Close) {
            return;
        }
        let span = self.span(token);
        let Some((file, at)) = self.flat.map.location(span) else { return };
        let name = file.replace(['\\', '"', '\n'], "_");
        let newline = if out.is_empty() || out.ends_with('\n') { "" } else { "\n" };
        out.push_str(&format!("{newline}#line {} \"{name}\"\n", at.line));
    }

    fn item(&mut self, out: &mut String, number: usize, changes: &[(usize, Changes)]) {
        let item = &self.items.items[number];
        match item.kind {
            Kind::Function(function) => self.copies(out, function, changes),
            Kind::Record(record) => self.record(out, number, record, changes),
            Kind::Alias => {
                let is_inside = |&&(first, last): &&(usize, usize)| item.first < first && last < item.last;
                let members = self.items.alias_members.iter().filter(is_inside);
                self.text.write(out, item.first..=item.last, &self.member_spaces(members));
            }
            _ => self.text.write(out, item.first..=item.last, &Changes::default()),
        }
    }

    /// A function once for each instance, and the instantiations of a template.
    fn copies(&self, out: &mut String, number: usize, changes: &[(usize, Changes)]) {
        let function = &self.items.functions[number];
        let mut written = BTreeSet::new();
        for (_, changes) in changes.iter().filter(|(function, _)| *function == number) {
            let mut text = String::new();
            self.text.write(&mut text, function.first..=function.last, changes);
            if written.contains(&text) {
                continue;
            }
            if !written.is_empty() {
                out.push_str("\n\n");
                self.line(out, function.first, Kind::Function(number));
            }
            out.push_str(&text);
            written.insert(text);
        }
        let is_template = function.is_kernel && function.template.is_some() && function.body.is_some();
        let name = &function.name;
        let new = self.text.replacement(function.at).unwrap_or(name);
        for (_, arguments) in self.instantiations.iter().filter(|(kernel, _)| is_template && kernel == name) {
            let msl = msl_arguments(arguments);
            out.push_str(&format!(
                "\ntemplate [[host_name(\"{name}<{arguments}>\")]] kernel decltype({new}<{msl}>) {new}<{msl}>;"
            ));
        }
    }

    /// The address spaces of data members, each given by its first and last token.
    fn member_spaces<'a>(&self, all: impl Iterator<Item = &'a (usize, usize)>) -> Changes {
        let mut members = Changes::default();
        for &(first, last) in all {
            let found = super::declarator::declarators(&self.text, first, last);
            let Some(one) = found.and_then(|found| found.all.into_iter().next()) else { continue };
            let is_static = (first..one.ty.0).any(|token| self.text.at(token) == "static");
            if is_static {
                members.insert_after(one.ty.0 - 1, " constant");
            } else if !one.stars.is_empty() {
                pointer(&self.text, &mut members, (first, (Space::Device, Space::Device)), &one.stars);
            }
        }
        members
    }

    /// A record with the copies of its methods; those of the host are left out.
    fn record(&self, out: &mut String, item: usize, record: usize, changes: &[(usize, Changes)]) {
        let (first, last) = (self.items.items[item].first, self.items.items[item].last);
        let members = self.member_spaces(self.items.records[record].members.iter());
        let mut start = first;
        let methods: Vec<usize> = (0..self.items.functions.len())
            .filter(|&number| {
                let function = &self.items.functions[number];
                function.record.is_some() && function.first >= first && function.last <= last
            })
            .collect();
        for number in methods {
            let function = &self.items.functions[number];
            if function.first < start {
                continue;
            }
            if function.first > start {
                self.text.write(out, start..=function.first - 1, &members);
                let gap = self.text.range(function.first - 1).end..self.text.range(function.first).start;
                out.push_str(self.text.source().get(gap).unwrap_or_default());
            }
            if self.reached.functions[number] {
                self.copies(out, number, changes);
            }
            start = function.last + 1;
            let gap = self.text.range(function.last).end..self.text.range(start).start;
            out.push_str(self.text.source().get(gap).unwrap_or_default());
        }
        if start <= last {
            self.text.write(out, start..=last, &members);
        }
    }
}

/// What directly precedes a declaration: its comment, without those of what was dropped before.
fn attached(gap: &str) -> &str {
    let (mut at, mut blank) = (0, 0);
    while let Some(byte) = gap.as_bytes().get(at) {
        let rest = &gap.as_bytes()[at..];
        let length = match byte {
            b'/' if rest.starts_with(b"/*") => find(&rest[2..], b"*/").map(|length| length + 4),
            b'/' if rest.starts_with(b"//") => find(rest, b"\n"),
            b'\n' if rest.starts_with(b"\n\n") => {
                blank = at;
                Some(1)
            }
            _ => Some(1),
        };
        at += length.unwrap_or(rest.len());
    }
    &gap[blank..]
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

/// Template arguments in MSL.
fn msl_arguments(arguments: &str) -> String {
    let text = Text::new(arguments);
    match text.len().checked_sub(1) {
        Some(last) => plain_type(&text, (0, last)).replace(" ,", ","),
        None => String::new(),
    }
}

//! The translation's text: declarations that stay, functions once for each combination of address spaces.

use std::collections::BTreeSet;

use super::Translator;
use super::expression::{Names, Reader};
use super::inference::{Inference, Instance, Spaces};
use super::items::{Function, Kind};
use super::kernel::is_changed;
use super::needs::Origin;
use super::space::{Space, Value};
use super::words::{self, call_parens};
use crate::token::{Changes, Text};

/// The text of a type without words that are CUDA's.
pub(super) fn plain_type(text: &Text<'_>, (first, last): (usize, usize)) -> String {
    let mut out = Vec::new();
    for token in first..=last {
        let word = text.at(token);
        let is_second_long = word == "long" && token > first && text.at(token - 1) == "long";
        let vector3 = words::vector(word).filter(|(_, width)| *width == 3);
        match words::word(word) {
            _ if is_second_long || word.starts_with("__shared") || word == "__constant__" => {}
            Some("") => {}
            Some(msl) => out.push(msl.to_owned()),
            None if vector3.is_some() => out.push(format!("packed_{}", word.replace("double", "float"))),
            None => out.push(word.replace("double", "float")),
        }
    }
    out.join(" ").replace(" < ", "<").replace(" >", ">").replace(" : : ", "::")
}

/// Names mean nothing: for questions of shape.
struct NoNames;

impl Names for NoNames {
    fn name(&self, _: usize) -> Option<Value> {
        None
    }
    fn member(&self, _: usize, _: Space) -> Value {
        Value::default()
    }
    fn call(&self, _: usize, _: usize, _: usize, _: usize) -> Value {
        Value::default()
    }
}

/// The address spaces of an instance as changes, and pointers that have none.
pub(super) fn spaces(inference: &Inference<'_, '_>, instance: &Instance) -> (Changes, Vec<(usize, String)>) {
    let program = &inference.program;
    let (text, function) = (program.text, &program.items.functions[instance.function]);
    let (mut changes, mut unclear) = (Changes::default(), Vec::new());
    let Some(body) = &program.bodies[instance.function] else { return (changes, unclear) };
    for (slot, &spaces) in body.slots.iter().zip(&instance.slots) {
        let Some(one) = slot.declarators.first() else { continue };
        let is_auto = text.at(one.ty.0) == "auto";
        if is_auto {
            one.stars.iter().for_each(|&star| changes.replace(star, " "));
            let consts =
                (slot.first..one.ty.0).filter(|&token| text.at(token) == "const" && !one.stars.is_empty());
            consts.for_each(|token| changes.remove(token));
            continue;
        }
        let levels = slot.levels();
        if levels == 0 && !slot.is_reference() && !slot.is_array_parameter() {
            continue;
        }
        let name = text.at(one.name);
        match spaces.0 {
            Space::Mixed => unclear.push((
                one.name,
                format!("the pointer `{name}` refers to memory of more than one address space"),
            )),
            Space::Unknown if levels > 0 => {
                unclear.push((one.name, format!("what memory the pointer `{name}` refers to is not seen")));
            }
            _ => {}
        }
        // A pointer that is shared is in threadgroup memory itself.
        let first = if slot.is_shared { one.ty.0 } else { slot.first };
        if let (true, Some(&star)) = (slot.is_shared, one.stars.last()) {
            (slot.first..=one.ty.1)
                .filter(|&token| text.at(token) == "__shared__")
                .for_each(|token| changes.remove(token));
            changes.insert_after(star, " threadgroup");
        }
        if !slot.is_shared {
            packed(text, &mut changes, one.ty, spaces.0);
        }
        pointer(text, &mut changes, (first, spaces), &one.stars);
        separated(text, &mut changes, slot, spaces.0);
        if levels > 0
            && let Some(reference) = one.reference
        {
            changes.insert_before(reference, " thread");
        }
    }
    if instance.this != Space::Thread && function.record.is_some() {
        let is_const = text.at(function.close + 1) == "const";
        changes.insert_after(function.close + usize::from(is_const), &format!(" {}", instance.this.word()));
    }
    returned(text, function, instance.returns, &mut changes);
    casts(inference, instance, &mut changes);
    (changes, unclear)
}

/// Vectors of three take 12 bytes in CUDA's memory; those of a thread's own variables are Metal's.
fn packed(text: &Text<'_>, changes: &mut Changes, (first, last): (usize, usize), space: Space) {
    if space == Space::Thread {
        return;
    }
    for token in first..=last {
        if let Some(name) = words::packed(text.at(token)) {
            changes.replace(token, name);
        }
    }
}

/// `T *p, n` to two declarations: what is before the type is about both.
fn separated(text: &Text<'_>, changes: &mut Changes, slot: &super::body::Slot, space: Space) {
    if slot.param.is_some() || slot.declarators.iter().all(|one| !one.stars.is_empty()) {
        return;
    }
    for one in slot.declarators.iter().skip(1) {
        let comma = one.stars.first().copied().unwrap_or(one.name) - 1;
        let space = if one.stars.is_empty() { "" } else { space.word() };
        changes.replace(comma, format!("; {space} {}", plain_type(text, one.ty)));
    }
}

/// `T** p` to `device T* device* p`.
fn pointer(text: &Text<'_>, changes: &mut Changes, (first, spaces): (usize, Spaces), stars: &[usize]) {
    let (outer, inner) = (spaces.0.word(), spaces.1.word());
    match stars.len() {
        0 | 1 => changes.insert_before(first, &format!("{outer} ")),
        _ => {
            changes.insert_before(first, &format!("{inner} "));
            changes.insert_after(stars[0], &format!(" {outer}"));
            stars[1..stars.len() - 1].iter().for_each(|&star| changes.insert_after(star, " device"));
        }
    }
    debug_assert!(!text.at(first).is_empty());
}

fn returned(text: &Text<'_>, function: &Function, returns: Spaces, changes: &mut Changes) {
    let stars = function.returned_stars(text);
    if stars == 0 && !function.returns_reference(text) {
        return;
    }
    let Some((first, last)) = function.returned_type(text) else { return };
    let stars: Vec<usize> = (last + 1..function.at).filter(|&token| text.at(token) == "*").collect();
    packed(text, changes, (first, last), returns.0);
    pointer(text, changes, (first, returns), &stars);
}

/// Casts to pointers say the address space of what they are given.
fn casts(inference: &Inference<'_, '_>, instance: &Instance, changes: &mut Changes) {
    let program = &inference.program;
    let text = program.text;
    let Some((open, close)) = program.items.functions[instance.function].body else { return };
    let reader = Reader { text, names: &NoNames };
    for token in open..close {
        if text.at(token) == "(" {
            let Some((end, true)) = reader.cast(token) else { continue };
            let value = inference.value(instance, end + 1, reader.operand_end(end));
            cast(text, changes, (token + 1, end), value);
        } else if matches!(text.at(token), "reinterpret_cast" | "static_cast" | "const_cast") {
            let Some(angle) = text.angle_closing(token + 1) else { continue };
            let Some(end) = text.closing(angle + 1) else { continue };
            let value = inference.value(instance, angle + 2, end.saturating_sub(1));
            cast(text, changes, (token + 2, angle), value);
        }
    }
}

fn cast(text: &Text<'_>, changes: &mut Changes, (first, end): (usize, usize), value: Value) {
    let stars: Vec<usize> = (first..end).filter(|&token| text.at(token) == "*").collect();
    packed(text, changes, (first, end), if stars.is_empty() { value.lives } else { value.points });
    if !stars.is_empty() {
        pointer(text, changes, (first, (value.points, value.then)), &stars);
    } else if (first..end).any(|token| text.at(token) == "&") {
        pointer(text, changes, (first, (value.lives, Space::Any)), &stars);
    }
}

impl Translator<'_, '_> {
    /// The changes of an instance with its parameters and the calls that pass hidden ones.
    pub(super) fn finished(&mut self, number: usize, mut changes: Changes) -> Changes {
        let function = self.items.functions[number].clone();
        let hidden: Vec<_> = self.needs.of_function(&function.name).cloned().collect();
        if function.is_kernel {
            self.kernel(&function, &hidden, &mut changes);
        } else if !hidden.is_empty() {
            let all: Vec<&str> = hidden.iter().map(|hidden| &*hidden.parameter).collect();
            let has_more = function.close > function.open + 1;
            let has_void = function.params.is_empty() && self.text.at(function.open + 1) == "void";
            if has_void {
                changes.remove(function.open + 1);
            }
            let comma = if has_more && !has_void { ", " } else { "" };
            changes.insert_after(function.open, &format!("{}{comma}", all.join(", ")));
        }
        for param in function.params.iter().filter(|param| !function.is_kernel && param.end < param.last) {
            if function.body.is_some() && self.is_declared_before(&function) {
                changes.remove_all(param.end + 1..=param.last);
            }
        }
        changes
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

    fn kernel(&mut self, function: &Function, hidden: &[super::needs::Hidden], changes: &mut Changes) {
        let (mut buffers, mut groups, mut start) = (0, 0, String::new());
        for (number, param) in function.params.iter().enumerate() {
            let Some(one) = &param.declarator else {
                if function.body.is_none() {
                    continue;
                }
                self.refuse(
                    param.first,
                    "a parameter without a name, or of a type that is not understood",
                    "name it",
                );
                continue;
            };
            if param.end < param.last {
                changes.remove_all(param.end + 1..=param.last);
            }
            if one.stars.is_empty() && one.arrays == 0 {
                self.value(function, number, changes, &mut start);
            } else if one.arrays > 0 && one.reference.is_none() {
                let extent = self.text.closing(one.name + 1).unwrap_or(one.name);
                changes.insert_before(one.name, if one.arrays == 1 { "*" } else { "(*" });
                changes.remove_all(one.name + 1..=extent);
                if one.arrays > 1 {
                    changes.insert_after(one.name, ")");
                }
            }
            changes.insert_after(param.end, &format!(" [[buffer({buffers})]]"));
            buffers += 1;
        }
        let mut more = Vec::new();
        for one in hidden {
            more.push(match &one.origin {
                Origin::Attribute(attribute) => format!("{} [[{attribute}]]", one.parameter),
                Origin::Buffer => {
                    buffers += 1;
                    format!("{} [[buffer({})]]", one.parameter, buffers - 1)
                }
                Origin::Dynamic => {
                    groups += 1;
                    format!("{} [[threadgroup({})]]", one.parameter, groups - 1)
                }
                Origin::Local(declaration) => {
                    start.push_str(&format!(" {declaration}"));
                    continue;
                }
            });
        }
        let column = self.text.column(function.open) + 1;
        let between = match self.options.line_directive {
            true => ", ".to_owned(),
            false => format!(",\n{}", " ".repeat(column)),
        };
        let comma = if function.params.is_empty() || more.is_empty() { "" } else { &*between };
        if self.text.at(function.open + 1) == "void" && function.params.is_empty() {
            changes.remove(function.open + 1);
        }
        changes.insert_before(function.close, &format!("{comma}{}", more.join(&between)));
        if let (Some((open, _)), false) = (function.body, start.is_empty()) {
            changes.insert_after(open, &start);
        }
    }

    /// A number or structure comes in constant memory; where the kernel changes it, a copy does.
    fn value(&self, function: &Function, number: usize, changes: &mut Changes, start: &mut String) {
        let param = &function.params[number];
        let Some(one) = &param.declarator else { return };
        for token in param.first..one.name {
            if matches!(self.text.at(token), "const" | "&") {
                changes.remove(token);
            }
        }
        changes.insert_before(param.first, "constant ");
        changes.insert_after(one.name - 1, "&");
        if is_changed(&self.text, function, number) {
            let name = self.text.at(one.name);
            let ty = plain_type(&self.text, one.ty).replace("const ", "").replace("packed_", "");
            start.push_str(&format!(" {ty} {name} = {name}_;"));
            changes.replace(one.name, format!("{name}_"));
        }
    }

    /// Calls pass on what functions need.
    pub(super) fn pass_on(&mut self) {
        let heads: BTreeSet<usize> = self.items.functions.iter().map(|function| function.at).collect();
        for token in 0..self.text.len() {
            let word = self.text.at(token);
            if !self.text.is_word(token) || heads.contains(&token) {
                continue;
            }
            let Some((open, close)) = call_parens(&self.text, token) else { continue };
            let mut names: Vec<String> = Vec::new();
            if self.own_functions.contains(word) {
                names.extend(self.needs.of_function(word).map(|hidden| hidden.name.clone()));
            } else if !self.is_own(word) {
                names.extend(super::prelude::needs(word).map(str::to_owned));
            }
            if !names.is_empty() {
                let comma = if close > open + 1 { ", " } else { "" };
                self.text.insert_after(open, &format!("{}{comma}", names.join(", ")));
            }
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

    /// Which items are written: of those that are reached not those that have become parameters, and of
    /// directives and namespaces those with something in them.
    fn kept(&self) -> Vec<bool> {
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
    fn conditionals_of(&self, out: &mut String, first: usize, last: usize, kind: Kind) {
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

    fn item(&mut self, out: &mut String, number: usize, changes: &[(usize, Changes)]) {
        let item = &self.items.items[number];
        match item.kind {
            Kind::Function(function) => self.copies(out, function, changes),
            Kind::Record(record) => self.record(out, number, record, changes),
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

    /// A record with the copies of its methods; those of the host are left out.
    fn record(&self, out: &mut String, item: usize, record: usize, changes: &[(usize, Changes)]) {
        let (first, last) = (self.items.items[item].first, self.items.items[item].last);
        let mut members = Changes::default();
        for &(first, last) in &self.items.records[record].members {
            let found = super::declarator::declarators(&self.text, first, last);
            let Some(one) = found.and_then(|found| found.all.into_iter().next()) else { continue };
            let is_static = (first..one.ty.0).any(|token| self.text.at(token) == "static");
            if is_static {
                members.insert_after(one.ty.0 - 1, " constant");
            } else if !one.stars.is_empty() {
                pointer(&self.text, &mut members, (first, (Space::Device, Space::Device)), &one.stars);
            }
        }
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
    match gap.rfind("\n\n") {
        Some(blank) => &gap[blank..],
        None => gap,
    }
}

/// Template arguments in MSL.
fn msl_arguments(arguments: &str) -> String {
    let text = Text::new(arguments);
    match text.len().checked_sub(1) {
        Some(last) => plain_type(&text, (0, last)).replace("packed_", "").replace(" ,", ","),
        None => String::new(),
    }
}

//! Changes that do not depend on address spaces: words, calls, types, literals.

use super::Translator;
use super::declarator::Declarator;
use super::items::Kind;
use super::needs;
use super::words::{self, call_parens, vector};
use anymetal_diagnostics::Diagnostic;

impl Translator<'_, '_> {
    /// Rewrites what stays.
    pub(super) fn rewrite(&mut self) {
        for number in 0..self.items.items.len() {
            if !self.reached.items[number] {
                continue;
            }
            let item = &self.items.items[number];
            let start = match item.kind {
                Kind::Directive if self.text.at(item.first + 1) == "define" => item.first + 3,
                Kind::Directive => continue,
                _ => item.first,
            };
            self.rewrite_tokens(start, item.last);
            if item.kind == Kind::Variable {
                self.variable(item.first, item.last);
            }
        }
        for number in 0..self.items.functions.len() {
            if self.bodies[number].is_some() {
                self.function_words(number);
                self.locals(number);
            }
        }
        let of_records = self.items.records.iter().flat_map(|record| &record.members);
        let members: Vec<(usize, usize)> = of_records.chain(&self.items.alias_members).copied().collect();
        for (first, last) in members {
            self.aligned(first, last);
        }
    }

    fn rewrite_tokens(&mut self, first: usize, last: usize) {
        let mut token = first;
        while token <= last {
            let is_inner = self.text.at(token) == "#" && self.text.in_directive(token) && token > first;
            if is_inner {
                if self.text.at(token + 1) == "pragma" && self.text.at(token + 2) != "unroll" {
                    self.text.remove_all(token..=self.text.directive_end(token));
                }
                token = self.text.directive_end(token) + 1;
                continue;
            }
            if self.text.is_word(token) && self.text.replacement(token).is_none() {
                token = self.word(token);
            }
            token += 1;
        }
    }

    /// Rewrites a word; gives the last token that was looked at.
    fn word(&mut self, token: usize) -> usize {
        let word = self.text.at(token);
        let before = self.text.at(token.wrapping_sub(1));
        if matches!(before, "." | "->") && token > 0 {
            if words::is_taken(word) {
                self.text.replace(token, format!("{word}_"));
            }
            return token;
        }
        match word {
            _ if self.registers.contains_key(&token) => return self.register(token),
            _ if self.fetches.contains(&token) => drop(self.helpers.insert(word.to_owned())),
            _ if self.is_of_library(token) => self.refuse_library(token),
            "__launch_bounds__" | "__attribute__" | "__cluster_dims__" => return self.attribute(token),
            "__align__" => self.text.replace(token, "alignas"),
            "long" if self.text.at(token + 1) == "long" => {
                self.text.remove(token + 1);
                return token + 1;
            }
            "__syncthreads" if self.text.at(token + 1) == "(" => {
                self.text.replace(token, "threadgroup_barrier");
                self.text.insert_after(token + 1, "mem_flags::mem_device | mem_flags::mem_threadgroup");
            }
            _ if self.aliases.contains_key(word) && self.text.at(token + 1) == ":" => {
                let namespace = self.aliases[word].clone();
                self.helpers.insert(namespace.clone());
                self.text.replace(token, namespace);
            }
            "namespace"
                if self.text.at(token + 2) == "=" && self.aliases.contains_key(self.text.at(token + 1)) =>
            {
                self.text.remove_all(token..=token + 4);
                return token + 4;
            }
            "__global__" => self.text.replace(token, "kernel"),
            "__shared__" => self.text.replace(token, "threadgroup"),
            "__constant__" => self.text.replace(token, "constant"),
            "double" => self.double(token),
            _ if vector(word).is_some_and(|(scalar, _)| scalar == "double") => self.double(token),
            _ if self.is_shadowed(word) => {
                if self.is_overload(word) {
                    self.forwarded.insert(word.to_owned());
                }
                self.text.replace(token, format!("{word}_"));
            }
            _ if words::is_taken(word) && !self.is_type_of_metals(word) => {
                self.text.replace(token, format!("{word}_"));
            }
            "cooperative_groups" | super::cub::NAMESPACE => drop(self.helpers.insert(word.to_owned())),
            _ if self.is_own(word) => {
                let is_macro = self.items.macros.contains_key(word);
                if super::prelude::has(word) && (is_macro || self.is_overload(word)) {
                    self.helpers.insert(word.to_owned());
                }
            }
            _ if call_parens(&self.text, token).is_some() => self.called(token),
            _ => self.plain(token),
        }
        token
    }

    /// Whether the source defines a function or macro of the name.
    pub(super) fn is_own(&self, word: &str) -> bool {
        self.items.macros.contains_key(word) || self.own_functions.contains(word)
    }

    /// Whether a function of the source has the name of one of Metal's.
    fn is_shadowed(&self, word: &str) -> bool {
        words::is_taken_function(word)
            && self.own_functions.contains(word)
            && !self.own_methods.contains(word)
    }

    fn plain(&mut self, token: usize) {
        let word = self.text.at(token);
        match words::word(word) {
            Some(msl) if msl.is_empty() => self.text.remove(token),
            Some(msl) => {
                if super::prelude::has(&msl) {
                    self.helpers.insert(msl.clone().into_owned());
                }
                self.text.replace(token, msl);
            }
            None if words::is_taken(word) && !self.is_type_of_metals(word) => {
                self.text.replace(token, format!("{word}_"));
            }
            // A macro that names a function.
            None if self.text.in_directive(token) && super::prelude::has(word) => {
                self.helpers.insert(word.to_owned());
            }
            None if matches!(word, "goto" | "asm" | "__asm__" | "new" | "delete") => self.refuse_word(token),
            None => {}
        }
    }

    /// `half` and `uint` as types, which CUDA has under the same names, unless variables have them.
    fn is_type_of_metals(&self, word: &str) -> bool {
        matches!(word, "half" | "uint" | "bfloat") && !self.variables.contains(word)
    }

    /// Whether functions of the source take no numbers where those of CUDA that have the name do.
    fn is_overload(&self, word: &str) -> bool {
        let is_other = |function: &super::items::Function| {
            let types = function.params.iter().filter_map(|param| Some(param.declarator.as_ref()?.ty));
            types.into_iter().any(|(_, last)| {
                let ty = self.text.at(last);
                !words::is_builtin_type(ty) || vector(ty).is_some()
            })
        };
        let mut own = self.items.functions.iter().filter(|function| function.name == word).peekable();
        own.peek().is_some() && own.all(is_other)
    }

    fn refuse_word(&mut self, token: usize) {
        let word = self.text.at(token);
        if let Some(hint) = words::refused(word) {
            self.refuse(token, format!("Metal has no `{word}`"), hint);
        }
    }

    /// Whether a name of one of CUDA's libraries of templates begins here, whose text is not there.
    fn is_of_library(&self, token: usize) -> bool {
        let name = self.text.at(token);
        let is_qualified = self.text.at(token + 1) == ":" && self.text.at(token + 2) == ":";
        is_qualified && words::library(name).is_some() && {
            let is_it = |token: usize| self.text.at(token) == "namespace" && self.text.at(token + 1) == name;
            let mut opened = self.items.items.iter().filter(|item| item.kind == Kind::Open);
            !opened.any(|item| (item.first..item.last).any(is_it))
        }
    }

    fn refuse_library(&mut self, token: usize) {
        let Some(hint) = words::library(self.text.at(token)) else { return };
        let mut last = token;
        while self.text.at(last + 1) == ":" && self.text.at(last + 2) == ":" && self.text.is_word(last + 3) {
            last += 3;
        }
        let name = self.text.between(token, last).to_owned();
        self.refuse(token, format!("`{name}` is of a library that is not translated"), hint);
    }

    fn called(&mut self, token: usize) {
        let word = self.text.at(token);
        // Atomics of the whole system or of a block are those of the device.
        let atomic = word.strip_suffix("_system").or_else(|| word.strip_suffix("_block"));
        if let Some(atomic) =
            atomic.filter(|atomic| atomic.starts_with("atomic") && super::prelude::has(atomic))
        {
            self.text.replace(token, atomic);
            self.helpers.insert(atomic.to_owned());
            self.check_atomic(token);
            return;
        }
        if let Some(ty) = word.strip_prefix("make_").and_then(words::vector_type) {
            let is_structure = super::prelude::has(&ty);
            self.text.replace(token, if is_structure { format!("make_{ty}") } else { ty.clone() });
            if is_structure {
                self.helpers.insert(ty);
            }
        } else if let Some(msl) = words::call(word) {
            self.text.replace(token, msl);
            if super::prelude::has(msl) {
                self.helpers.insert(msl.to_owned());
            }
        } else if words::refused(word).is_some() {
            self.refuse_word(token);
        } else if super::prelude::has(word) {
            self.helpers.insert(word.to_owned());
            self.check_atomic(token);
        } else {
            self.plain(token);
        }
    }

    /// An assignment instead of a statement that reads a register; returns its last token.
    fn register(&mut self, token: usize) -> usize {
        let read = self.registers[&token].clone();
        self.text.remove_all(token..=read.last);
        let to = self.text.between(read.to.0, read.to.1).to_owned();
        self.text.replace(token, format!("{to} = {}", read.value));
        read.last
    }

    /// Gives the last token of it.
    fn attribute(&mut self, token: usize) -> usize {
        match self.text.closing(token + 1) {
            Some(close) => {
                self.text.remove_all(token..=close);
                self.text.remove(close);
                close
            }
            None => token,
        }
    }

    fn double(&mut self, token: usize) {
        let word = self.text.at(token);
        if !self.has_doubles {
            self.tell(self.options.doubles.diagnostic(self.span(token)));
            self.has_doubles = true;
        }
        let msl = words::vector_type(word).unwrap_or_else(|| word.replace("double", "float"));
        self.text.replace(token, msl);
    }

    /// A constant outside of functions is in constant memory.
    fn variable(&mut self, first: usize, last: usize) {
        let says = |word: &str| (first..=last).take(8).any(|token| self.text.at(token) == word);
        let (is_const, is_marked) = (says("const") || says("constexpr"), says("__constant__"));
        for token in first..(first + 4).min(last) {
            if matches!(self.text.at(token), "static" | "extern") {
                self.text.remove(token);
            }
        }
        if is_const && !is_marked {
            self.text.insert_before(first, "constant ");
        }
    }

    /// Gives a member of a structure the alignment that its type has in CUDA.
    fn aligned(&mut self, first: usize, last: usize) {
        // Methods and nested structures are not declarations of variables; their members come separately.
        let Some(found) = super::declarator::declarators(&self.text, first, last) else { return };
        let Some(one) = found.all.first().filter(|one| one.stars.is_empty() && one.reference.is_none())
        else {
            return; // A pointer has the same alignment in both languages.
        };
        if words::needs_alignment(self.text.at(one.ty.1)) {
            self.text.insert_before(first, words::WIDE_ALIGNMENT);
        }
    }

    /// Words of a function's head.
    fn function_words(&mut self, number: usize) {
        let function = self.items.functions[number].clone();
        if function.is_kernel {
            for token in function.first..function.at {
                if matches!(self.text.at(token), "static" | "extern" | "inline" | "__forceinline__") {
                    self.text.remove(token);
                    if self.text.at(token + 1).starts_with('"') {
                        self.text.remove(token + 1);
                    }
                }
            }
            let bounds =
                (function.first..function.at).find(|&token| self.text.at(token) == "__launch_bounds__");
            if let Some((open, close)) = bounds.and_then(|bounds| call_parens(&self.text, bounds))
                && let Some(&(first, last)) = self.text.parts(open, close).first()
            {
                let most = self.text.between(first, last).to_owned();
                self.text
                    .insert_before(function.head, &format!("[[max_total_threads_per_threadgroup({most})]] "));
            }
        }
        for token in function.first..function.at {
            if self.text.at(token) == "extern" && self.text.at(token + 1).starts_with('"') {
                self.text.remove_all(token..=token + 1);
                self.text.remove(token + 1);
            }
        }
        if function.is_kernel && self.text.replacement(function.at) == Some(&format!("{}_", function.name)) {
            let name = format!("[[host_name(\"{}\")]] ", function.name);
            if function.template.is_none() {
                self.text.insert_before(function.head, &name);
            }
        }
    }

    /// Variables of a function.
    fn locals(&mut self, number: usize) {
        let Some(body) = &self.bodies[number] else { return };
        let is_kernel = self.items.functions[number].is_kernel;
        let slots = body.slots.clone();
        for slot in slots {
            let Some(one) = slot.declarators.first().cloned() else { continue };
            for token in slot.first..one.ty.0 {
                match self.text.at(token) {
                    "static" => self.text.remove(token),
                    "__align__" | "alignas" if slot.is_shared => drop(self.attribute(token)),
                    _ => {}
                }
            }
            if needs::is_hoisted(&self.text, &self.items.functions[number], &slot) {
                self.hoisted(&slot, number);
            } else if slot.is_shared && !is_kernel {
                let message = "shared memory whose type is a function's own stays in the function";
                let diagnostic = Diagnostic::warning("shared-in-function", self.span(one.name), message);
                self.tell(diagnostic.with_hint("Metal's own compiler allows it in kernels only".to_owned()));
            }
        }
        let function = &self.items.functions[number];
        let Some((open, close)) = function.body else { return };
        for token in open..close {
            if self.text.at(token) == "<<" && self.text.at(token + 1) == "<" {
                self.refuse(token, "a kernel launches kernels", "launch them from the host");
            }
        }
    }

    /// Takes away the declaration of a variable that comes as a parameter; its uses get that one's name.
    fn hoisted(&mut self, slot: &super::body::Slot, number: usize) {
        self.text.remove_all(slot.first..=slot.last);
        if slot.is_extern {
            if self.needs.is_declared(slot) {
                let declare = |one: &Declarator| {
                    let pointer = |name| needs::pointer_to(&self.text, one, name);
                    format!("{} = ({}){};", pointer(self.text.at(one.name)), pointer(""), needs::DYNAMIC)
                };
                let all: Vec<String> = slot.declarators.iter().map(declare).collect();
                self.text.replace(slot.first, all.join(" "));
            }
            return;
        }
        let Some((open, close)) = self.items.functions[number].body else { return };
        for one in &slot.declarators {
            let name = self.text.at(one.name);
            let unique = needs::unique(&self.items.functions[number], name);
            for token in open..close {
                let is_it = self.text.at(token) == name
                    && !(slot.first..=slot.last).contains(&token)
                    && !matches!(self.text.at(token - 1), "." | "->");
                if is_it {
                    self.text.replace(token, unique.clone());
                }
            }
        }
    }
}

//! Atomics on 64-bit integers.
//!
//! Metal has their minimum and maximum, without a result. All others are refused here, by the type that the
//! source declares for what the pointer refers to; of a template's own type the compiler refuses them.

use super::Translator;
use super::declarator::{declarators, is_qualifier};
use super::expression::Reader;
use super::items::Kind;
use super::spaces::NoNames;
use super::words::call_parens;

/// Aliases of aliases are followed as far.
const MAX_ALIASES: usize = 8;

/// Pointers in more parentheses count as unknown.
const MAX_DEPTH: usize = 40;

/// What begins the names of CUDA's atomics.
const PREFIX: &str = "atomic";

impl Translator<'_, '_> {
    /// Refuses the call of an atomic at a token if it is one on a 64-bit integer that Metal lacks.
    pub(super) fn check_atomic(&mut self, token: usize) {
        let word = self.text.at(token);
        let Some((open, close)) = call_parens(&self.text, token).filter(|_| word.starts_with(PREFIX)) else {
            return;
        };
        // Overloads for `double` are not translated: those of `float` take their place.
        let function = self.function_around(token).map(|number| &self.items.functions[number]);
        if function.is_some_and(|function| super::is_for_doubles(&self.text, function)) {
            return;
        }
        let Some(&(first, last)) = self.text.parts(open, close).first() else { return };
        let Some(is_unsigned) = self.refers_to_wide(first, last, 0) else { return };
        let is_statement = matches!(self.text.at(token.wrapping_sub(1)), ";" | "{" | "}" | ")" | "else")
            && self.text.at(close + 1) == ";";
        let is_there = is_unsigned && matches!(word, "atomicMin" | "atomicMax");
        if is_there && is_statement {
            return;
        }
        let message = match is_there {
            true => format!("Metal's `{word}` of 64-bit integers does not return the old value"),
            false => format!("Metal has no `{word}` of 64-bit integers"),
        };
        self.refuse(token, message, "use 32-bit integers, or one element for each thread and a reduction");
    }

    /// If a pointer refers to a 64-bit integer, as far as the source declares it: whether that is unsigned.
    fn refers_to_wide(&self, first: usize, last: usize, depth: usize) -> Option<bool> {
        let reader = Reader { text: &self.text, names: &NoNames };
        match (self.text.at(first), reader.cast(first)) {
            ("(", Some((close, _))) => self.wide(first + 1, close - 1, 0),
            _ if depth > MAX_DEPTH => None,
            ("(", None) => {
                let inner = self.text.closing(first).filter(|&close| close <= last);
                inner.and_then(|close| self.refers_to_wide(first + 1, close - 1, depth + 1))
            }
            ("reinterpret_cast" | "static_cast" | "const_cast", _) => {
                let close = self.text.angle_closing(first + 1)?;
                self.wide(first + 2, close - 1, 0)
            }
            ("&" | "*", _) => self.refers_to_wide(first + 1, last, depth + 1),
            _ => self.named(first, last).and_then(|(first, last)| self.wide(first, last, 0)),
        }
    }

    /// The type of the variable or the member that an expression names.
    fn named(&self, first: usize, last: usize) -> Option<(usize, usize)> {
        let (mut name, mut is_member, mut token) = (first, false, first + 1);
        while token <= last {
            match self.text.at(token) {
                "[" => token = self.text.closing(token)? + 1,
                "." | "->" => (name, is_member, token) = (token + 1, true, token + 2),
                _ => break,
            }
        }
        if is_member { self.member(name) } else { self.variable_type(name) }
    }

    fn function_around(&self, token: usize) -> Option<usize> {
        let is_inside = |function: &super::items::Function| function.first <= token && token <= function.last;
        self.items.functions.iter().rposition(is_inside)
    }

    fn variable_type(&self, name: usize) -> Option<(usize, usize)> {
        let body = self.bodies[self.function_around(name)?].as_ref()?;
        if let Some(local) = body.find(&self.text, name) {
            return Some(body.declarator(local).ty);
        }
        let word = self.text.at(name);
        let is_it = |item: &&super::items::Item| {
            item.kind == Kind::Variable && item.names.iter().any(|name| name == word)
        };
        let global = self.items.items.iter().find(is_it).map(|item| (item.first, item.last));
        global.and_then(|(first, last)| self.declared(first, last, word)).or_else(|| self.member(name))
    }

    /// The type of the members of that name, if it is the same in all records.
    fn member(&self, name: usize) -> Option<(usize, usize)> {
        let word = self.text.at(name);
        let all = self.items.records.iter().flat_map(|record| &record.members);
        let all = all.chain(&self.items.alias_members);
        let mut types = all.filter_map(|&(first, last)| self.declared(first, last, word));
        let one = types.next()?;
        let is_same =
            |other: (usize, usize)| self.text.between(other.0, other.1) == self.text.between(one.0, one.1);
        types.all(is_same).then_some(one)
    }

    fn declared(&self, first: usize, last: usize, word: &str) -> Option<(usize, usize)> {
        let found = declarators(&self.text, first, last)?;
        found.all.iter().find(|one| self.text.at(one.name) == word).map(|one| one.ty)
    }

    /// If a type is an integer of 64 bits, whether it is unsigned.
    fn wide(&self, first: usize, last: usize, depth: usize) -> Option<bool> {
        let words = || {
            let tokens = (first..=last).filter(|&token| self.text.is_word(token));
            tokens.map(|token| self.text.at(token)).filter(|word| !is_qualifier(word))
        };
        let is_wide = |word: &str| {
            matches!(
                word,
                "long" | "ulong" | "uint64_t" | "int64_t" | "size_t" | "uintptr_t" | "intptr_t" | "ptrdiff_t"
            )
        };
        if words().any(is_wide) {
            return Some(words().any(|word| word.starts_with('u') || word == "size_t"));
        }
        // One alias at a time, so that the work is bounded.
        words().next_back().filter(|_| depth < MAX_ALIASES).and_then(|word| self.wide_alias(word, depth))
    }

    fn wide_alias(&self, name: &str, depth: usize) -> Option<bool> {
        let is_it =
            |item: &&super::items::Item| item.kind == Kind::Alias && item.names.iter().any(|one| one == name);
        let alias = self.items.items.iter().find(is_it)?;
        let tokens = alias.first..alias.last;
        // Structures, enumerations and pointers are not integers.
        let is_plain = !tokens.clone().any(|token| matches!(self.text.at(token), "{" | "*" | "<"));
        let is_declared = |&token: &usize| self.text.at(token) == name;
        let declared = tokens.clone().find(is_declared).filter(|_| is_plain)?;
        // `using NAME = TYPE;` or `typedef TYPE NAME;`
        let (first, last) = match self.text.at(declared + 1) {
            "=" => (declared + 2, alias.last),
            _ => (alias.first + 1, declared - 1),
        };
        self.wide(first, last, depth + 1)
    }
}

//! Types where the text names them: by a word, or with the members of a structure.

use std::collections::BTreeMap;

use super::super::types::{Record, Type, enumeration, is_qualifier, stars};
use super::{Macro, Reader};

/// The most macros that a name of a type stands for, one after the other.
const MAX_NAMES: usize = 12;

impl Reader<'_, '_> {
    /// The type that begins at a token, and the token after it.
    pub(super) fn type_at(&mut self, first: usize) -> Option<(Type, usize)> {
        let mut token = first;
        while token < self.end
            && (is_qualifier(self.text.at(token)) || self.text.at(token) == "__attribute__")
        {
            token = if self.text.at(token) == "__attribute__" {
                self.text.closing(token + 1)? + 1
            } else {
                token + 1
            };
        }
        if token >= self.end || self.is_variable(self.text.at(token)) {
            return None;
        }
        let is_const = (first..token).any(|word| self.text.at(word) == "const");
        if matches!(self.text.at(token), "struct" | "union") {
            return self.record_at(token, is_const);
        }
        if self.text.at(token) == "enum"
            && let Some(open) = [token + 1, token + 2].into_iter().find(|&open| self.text.at(open) == "{")
        {
            return Some((enumeration(self.text, token + 1), self.text.closing(open)? + 1));
        }
        if let Some(ty) = self.names.named(self.spelled(token)) {
            self.names.types.entry(self.text.at(token).to_owned()).or_insert(ty);
        }
        self.names.type_at(self.text, token, is_const).filter(|(_, next)| *next <= self.end)
    }

    /// The word that a name stands for, by macros without parameters.
    pub(super) fn spelled(&self, token: usize) -> &str {
        let mut word = self.text.at(token);
        for _ in 0..MAX_NAMES {
            let definitions = self.macros.get(word).map(Vec::as_slice).unwrap_or_default();
            let mut bodies = definitions.iter().filter_map(|&definition| {
                let Macro { params, first, end, .. } = &self.definitions[definition];
                (params.is_none() && end - first == 1).then(|| self.text.at(*first))
            });
            let Some(next) = bodies.next() else { break };
            word = next;
        }
        word
    }

    /// A structure or union, with its members if they stand there; `is_const` if `const` precedes it.
    fn record_at(&mut self, token: usize, is_const: bool) -> Option<(Type, usize)> {
        let mut next = token + 1;
        while self.text.at(next) == "__attribute__" {
            next = self.text.closing(next + 1)? + 1;
        }
        let tag = self.text.is_word(next).then(|| self.text.at(next).to_owned());
        if tag.is_some() {
            next += 1;
        }
        let known = tag.as_ref().and_then(|tag| self.names.tags.get(tag).copied());
        let record = known.unwrap_or_else(|| {
            self.names.records.push(Record::default());
            self.names.records.len() - 1
        });
        if let Some(tag) = tag {
            self.names.tags.insert(tag, record);
        }
        if self.text.at(next) == "{" {
            let close = self.text.closing(next)?;
            let outer = (self.at, self.end, std::mem::take(&mut self.declared));
            (self.at, self.end) = (next, close);
            self.advance();
            self.scopes.push(BTreeMap::new());
            while self.at < self.end {
                if !self.declaration() {
                    self.advance();
                }
            }
            let members = self.scopes.pop().unwrap_or_default();
            let order;
            (self.at, self.end, order) = (outer.0, outer.1, std::mem::replace(&mut self.declared, outer.2));
            self.names.records[record] = Record { members, order };
            next = close + 1;
        }
        let ty = Type::Record(record);
        Some(stars(self.text, next, if is_const { Type::constant(ty) } else { ty }))
    }
}

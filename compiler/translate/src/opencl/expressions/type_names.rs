//! Types where the text names them: by a word, a macro's call, or with the members of a structure.

use std::collections::BTreeMap;

use super::super::types::{Type, is_qualifier};
use super::{Macro, Reader};

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
        if matches!(self.text.at(token), "struct" | "union") {
            return self.record_at(token);
        }
        if self.text.at(token) == "enum"
            && let Some(open) = [token + 1, token + 2].into_iter().find(|&open| self.text.at(open) == "{")
        {
            return Some((Type::scalar("int"), self.text.closing(open)? + 1));
        }
        let (words, next) = self.spelled(token)?;
        if let Some(ty) = self.names.named(&words) {
            self.names.types.entry(self.text.at(token).to_owned()).or_insert_with(|| ty.clone());
            if next > token + 1 {
                return Some(self.names.stars(self.text, next, ty));
            }
        }
        self.names.type_at(self.text, token).filter(|(_, next)| *next <= self.end)
    }

    /// The word that a name or a macro's call stands for: `CAT(float, 4)` of `a ## b`.
    pub(super) fn spelled(&self, token: usize) -> Option<(String, usize)> {
        let word = self.text.at(token);
        if !self.text.is_word(token) {
            return None;
        }
        let mut tokens = vec![word.to_owned()];
        let mut next = token + 1;
        let has_params = |name: &str| {
            let definitions = self.macros.get(name)?;
            definitions.iter().find(|&&definition| self.definitions[definition].params.is_some())
        };
        if has_params(word).is_some() && self.text.at(next) == "(" {
            let close = self.text.closing(next)?;
            tokens.extend((next..=close).map(|token| self.text.at(token).to_owned()));
            next = close + 1;
        }
        let mut words = self.expanded(tokens, 0)?;
        (words.len() == 1).then(|| (words.remove(0), next))
    }

    /// Words with the macros in them replaced; `None` where that takes too long.
    fn expanded(&self, tokens: Vec<String>, depth: u32) -> Option<Vec<String>> {
        if depth > 12 || tokens.len() > 40 {
            return None;
        }
        let Some(at) = tokens.iter().position(|token| self.macros.contains_key(token)) else {
            return Some(tokens);
        };
        for &definition in &self.macros[&tokens[at]] {
            let Macro { params, first, end } = &self.definitions[definition];
            let (args, after) = match params {
                None => (Vec::new(), at + 1),
                Some(_) => match arguments(&tokens, at + 1) {
                    Some(found) => found,
                    None => continue,
                },
            };
            let names = params.as_deref().unwrap_or_default();
            if args.len() != names.len() || end - first > 40 {
                continue;
            }
            let mut body: Vec<String> = tokens[..at].to_vec();
            let mut pastes = false;
            for token in *first..*end {
                let word = self.text.at(token);
                if word == "##" {
                    pastes = true;
                    continue;
                }
                let is_pasted = pastes || self.text.at(token + 1) == "##";
                let given = names.iter().position(|name| name == word).map(|n| args[n].clone());
                let words = match given {
                    Some(arg) if is_pasted => arg,
                    Some(arg) => self.expanded(arg, depth + 1)?,
                    None => vec![word.to_owned()],
                };
                for (n, word) in words.into_iter().enumerate() {
                    match body.last_mut() {
                        Some(last) if pastes && n == 0 => last.push_str(&word),
                        _ => body.push(word),
                    }
                }
                pastes = false;
            }
            body.extend(tokens[after..].iter().cloned());
            return self.expanded(body, depth + 1);
        }
        None
    }

    /// A structure or union, with its members if they stand there.
    fn record_at(&mut self, token: usize) -> Option<(Type, usize)> {
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
            self.names.records.push(BTreeMap::new());
            self.names.records.len() - 1
        });
        if let Some(tag) = tag {
            self.names.tags.insert(tag, record);
        }
        if self.text.at(next) == "{" {
            let close = self.text.closing(next)?;
            let outer = (self.at, self.end);
            (self.at, self.end) = (next, close);
            self.advance();
            self.scopes.push(BTreeMap::new());
            while self.at < self.end {
                if !self.declaration() {
                    self.advance();
                }
            }
            let members = self.scopes.pop().unwrap_or_default();
            self.names.records[record] = members;
            (self.at, self.end) = outer;
            next = close + 1;
        }
        Some(self.names.stars(self.text, next, Type::Record(record)))
    }
}

/// The arguments of a macro's call, of which the parenthesis is at `open`, and what comes after them.
fn arguments(tokens: &[String], open: usize) -> Option<(Vec<Vec<String>>, usize)> {
    if tokens.get(open)? != "(" {
        return None;
    }
    let (mut args, mut depth) = (vec![Vec::new()], 0u32);
    for (n, token) in tokens.iter().enumerate().skip(open + 1) {
        match &**token {
            ")" if depth == 0 => return Some((args, n + 1)),
            "," if depth == 0 => {
                args.push(Vec::new());
                continue;
            }
            "(" => depth += 1,
            ")" => depth -= 1,
            _ => {}
        }
        args.last_mut()?.push(token.clone());
    }
    None
}

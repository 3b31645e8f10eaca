//! Pointers without an address space: in OpenCL C 1.2 they are to private memory, which MSL says.

use super::Translator;

/// Words that may stand before the type of a declaration.
fn is_qualifier(word: &str) -> bool {
    is_space(word)
        || matches!(
            word,
            "const"
                | "volatile"
                | "restrict"
                | "__restrict"
                | "__restrict__"
                | "static"
                | "inline"
                | "__inline"
                | "extern"
                | "struct"
                | "union"
                | "enum"
                | "typedef"
        )
}

fn is_space(word: &str) -> bool {
    matches!(
        word,
        "global" | "__global" | "local" | "__local" | "constant" | "__constant" | "private" | "__private"
    )
}

impl Translator<'_> {
    /// Gives each pointer to private memory its address space.
    pub(super) fn pointers(&mut self) {
        let params: Vec<usize> = self
            .declarations
            .functions
            .iter()
            .flat_map(|function| self.text.parts(function.open, function.close))
            .map(|(first, _)| first)
            .collect();
        for token in 0..self.text.len() {
            let before = if token == 0 { ";" } else { self.text.at(token - 1) };
            let starts = matches!(before, ";" | "{" | "}" | "(")
                || params.contains(&token)
                || (token > 0 && self.text.in_directive(token - 1) && !self.text.in_directive(token));
            if !starts || self.text.in_directive(token) {
                continue;
            }
            let Some((star, has_space)) = self.pointer_type(token) else { continue };
            if has_space {
                continue;
            }
            let is_cast = before == "(" && self.text.at(star + 1) == ")";
            if is_cast && self.text.at(star + 2) == "0" {
                // A null pointer, which has no address space.
                continue;
            }
            let is_declared = self.text.is_word(star + 1) && !self.text.at(star + 1).is_empty();
            let is_call = before == "(" && !is_cast && !params.contains(&token) && !is_for(&self.text, token);
            if is_call || !(is_cast || is_declared) {
                continue;
            }
            self.text.insert_before(token, "thread ");
        }
    }

    /// If a type and stars begin at the token: the last star, and whether an address space is named.
    fn pointer_type(&self, mut token: usize) -> Option<(usize, bool)> {
        let (mut has_space, mut has_type, first) = (false, false, token);
        loop {
            let word = self.text.at(token);
            if is_qualifier(word) {
                has_space |= is_space(word);
            } else if self.declarations.is_type(word)
                || (!has_type && self.text.is_word(token) && self.looks_like_type(token, first))
            {
                has_type = true;
            } else {
                break;
            }
            token += 1;
        }
        if !has_type || self.text.at(token) != "*" {
            return None;
        }
        while matches!(self.text.at(token + 1), "*" | "const" | "restrict" | "__restrict" | "volatile") {
            token += 1;
        }
        Some((token, has_space))
    }

    /// An unknown word at the start of a statement, a star, and a name: a declaration, since a product by
    /// itself has no use.
    fn looks_like_type(&self, token: usize, first: usize) -> bool {
        let before = if first == 0 { ";" } else { self.text.at(first - 1) };
        matches!(before, ";" | "{" | "}")
            && self.text.at(token + 1) == "*"
            && self.text.is_word(token + 2)
            && matches!(self.text.at(token + 3), "=" | ";" | ",")
            && !matches!(self.text.at(token), "return" | "else" | "case" | "goto")
    }
}

/// Whether the token is the first in the parentheses of a `for`.
fn is_for(text: &crate::token::Text<'_>, token: usize) -> bool {
    token >= 2 && text.at(token - 2) == "for"
}

//! Text to tokens and back.
//!
//! Owns [`Text`]: the tokens of a source with their spaces and comments, and the changes to them. Invariant:
//! without changes the text comes back byte for byte. Tokens are numbered without spaces and comments.

use std::collections::BTreeMap;
use std::ops::{Range, RangeInclusive};

use crate::brackets::Brackets;

/// What a token is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Word,
    Number,
    /// A string or a character.
    Quoted,
    Mark,
}

#[derive(Clone, Debug)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    /// In bytes.
    pub(crate) range: Range<usize>,
    /// The number of the preprocessor directive that it is part of, from 1; 0 of none.
    pub(crate) directive: u32,
}

/// Longer lists of template arguments are not taken for such.
const MAX_ARGUMENT_TOKENS: usize = 2000;

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Text<'s> {
    source: &'s str,
    tokens: Vec<Token>,
    brackets: Brackets,
    changes: Changes,
}

/// Changes to tokens: what stands before each, instead of it, and after it.
#[derive(Default, Clone, Debug)]
pub(crate) struct Changes(BTreeMap<usize, Change>);

#[derive(Default, Clone, Debug)]
struct Change {
    before: String,
    instead: Option<String>,
    after: String,
    eats_space: bool,
}

impl<'s> Text<'s> {
    pub(crate) fn new(source: &'s str) -> Self {
        let tokens = tokens(source);
        let brackets = Brackets::of(source, &tokens);
        Self { source, tokens, brackets, changes: Changes::default() }
    }

    pub(crate) fn len(&self) -> usize {
        self.tokens.len()
    }

    /// The token's text; empty behind the end.
    pub(crate) fn at(&self, token: usize) -> &'s str {
        self.tokens.get(token).map_or("", |token| &self.source[token.range.clone()])
    }

    /// What a token before the end is.
    pub(crate) fn kind(&self, token: usize) -> Kind {
        self.tokens[token].kind
    }

    pub(crate) fn is_word(&self, token: usize) -> bool {
        self.tokens.get(token).is_some_and(|token| token.kind == Kind::Word)
    }

    pub(crate) fn is_number(&self, token: usize) -> bool {
        self.tokens.get(token).is_some_and(|token| token.kind == Kind::Number)
    }

    pub(crate) fn in_directive(&self, token: usize) -> bool {
        self.tokens.get(token).is_some_and(|token| token.directive != 0)
    }

    /// The last token of the directive that the token is part of; the token itself if there is none.
    pub(crate) fn directive_end(&self, token: usize) -> usize {
        let Some(number) = self.tokens.get(token).map(|token| token.directive) else { return token };
        let rest = &self.tokens[token..];
        token + rest.iter().take_while(|other| number != 0 && other.directive == number).count().max(1) - 1
    }

    /// The text that the tokens are of.
    pub(crate) fn source(&self) -> &'s str {
        self.source
    }

    pub(crate) fn range(&self, token: usize) -> Range<usize> {
        let end = self.source.len();
        self.tokens.get(token).map_or(end..end, |token| token.range.clone())
    }

    /// The source between two tokens, both included; empty if they are the other way round.
    pub(crate) fn between(&self, first: usize, last: usize) -> &'s str {
        self.source.get(self.range(first).start..self.range(last).end).unwrap_or_default()
    }

    /// Columns before the token, in bytes.
    pub(crate) fn column(&self, token: usize) -> usize {
        let start = self.range(token).start;
        start - self.source[..start].rfind('\n').map_or(0, |newline| newline + 1)
    }

    /// The token that closes the bracket at `open`, if it is closed. Of the branches of a conditional that is
    /// open in between the first one counts.
    pub(crate) fn closing(&self, open: usize) -> Option<usize> {
        self.brackets.partner(open).filter(|&partner| partner > open)
    }

    /// The token that opens the bracket at `close`, if there is one.
    pub(crate) fn opening(&self, close: usize) -> Option<usize> {
        self.brackets.partner(close).filter(|&partner| partner < close)
    }

    /// The token that closes the template arguments or parameters at `open`; `>>` may close two.
    pub(crate) fn angle_closing(&self, open: usize) -> Option<usize> {
        if self.at(open) != "<" {
            return None;
        }
        let (mut token, mut depth) = (open, 0u32);
        while token < self.len().min(open + MAX_ARGUMENT_TOKENS) {
            match self.at(token) {
                "<" => depth += 1,
                ">" => depth -= 1,
                ">>" => depth = depth.saturating_sub(2),
                "(" | "[" => token = self.closing(token)?,
                ";" | "{" | "}" | ")" | "]" | "<<" => return None,
                _ => {}
            }
            if depth == 0 {
                return Some(token);
            }
            token += 1;
        }
        None
    }

    /// The parts between commas of the brackets at `open` and `close`, as first and last token.
    pub(crate) fn parts(&self, open: usize, close: usize) -> Vec<(usize, usize)> {
        let mut parts = Vec::new();
        let (mut start, mut depth) = (open + 1, 0u32);
        for token in open + 1..=close {
            match self.at(token) {
                _ if token == close => {}
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth = depth.saturating_sub(1),
                "," if depth == 0 => {}
                _ => continue,
            }
            let ends = token == close || (depth == 0 && self.at(token) == ",");
            if ends {
                if start < token {
                    parts.push((start, token - 1));
                }
                start = token + 1;
            }
        }
        parts
    }

    pub(crate) fn replace(&mut self, token: usize, with: impl Into<String>) {
        self.changes.replace(token, with);
    }

    /// Takes it away with the spaces behind it.
    pub(crate) fn remove(&mut self, token: usize) {
        self.changes.remove(token);
    }

    /// Takes tokens away; the spaces behind the last stay.
    pub(crate) fn remove_all(&mut self, tokens: RangeInclusive<usize>) {
        self.changes.remove_all(tokens);
    }

    pub(crate) fn insert_before(&mut self, token: usize, text: &str) {
        self.changes.insert_before(token, text);
    }

    /// Inserts before the token and what is inserted there already.
    pub(crate) fn insert_outside(&mut self, token: usize, text: &str) {
        self.changes.change(token).before.insert_str(0, text);
    }

    pub(crate) fn insert_after(&mut self, token: usize, text: &str) {
        self.changes.insert_after(token, text);
    }

    /// What the token is replaced by so far.
    pub(crate) fn replacement(&self, token: usize) -> Option<&str> {
        self.changes.0.get(&token)?.instead.as_deref()
    }

    /// The changes to some tokens so far, for [`Text::restore`].
    pub(crate) fn changes_of(&self, tokens: RangeInclusive<usize>) -> Changes {
        Changes(self.changes.0.range(tokens).map(|(token, change)| (*token, change.clone())).collect())
    }

    /// Replaces the changes to some tokens by earlier ones.
    pub(crate) fn restore(&mut self, tokens: RangeInclusive<usize>, changes: Changes) {
        tokens.for_each(|token| drop(self.changes.0.remove(&token)));
        self.changes.0.extend(changes.0);
    }

    /// The text with all changes.
    pub(crate) fn finish(&self) -> String {
        let mut out = String::with_capacity(self.source.len() + self.source.len() / 8);
        let Some(last) = self.len().checked_sub(1) else { return self.source.to_owned() };
        out.push_str(&self.source[..self.range(0).start]);
        self.write(&mut out, 0..=last, &Changes::default());
        out.push_str(&self.source[self.range(last).end..]);
        out
    }

    /// Writes some tokens with all changes, and with more that are made in this place only.
    pub(crate) fn write(&self, out: &mut String, tokens: RangeInclusive<usize>, more: &Changes) {
        let (first, mut end, mut removed) = (*tokens.start(), 0, false);
        for number in tokens {
            let Some(token) = self.tokens.get(number) else { return };
            let own = &self.source[token.range.clone()];
            let gap = if number == first { "" } else { &self.source[end..token.range.start] };
            if !(removed && gap.bytes().all(|byte| byte == b' ')) {
                out.push_str(gap);
            }
            end = token.range.end;
            let (base, more) = (self.changes.0.get(&number), more.0.get(&number));
            let all = || base.into_iter().chain(more);
            all().for_each(|change| out.push_str(&change.before));
            out.push_str(all().rev().find_map(|change| change.instead.as_deref()).unwrap_or(own));
            all().for_each(|change| out.push_str(&change.after));
            removed = all().any(|change| change.eats_space);
        }
    }
}

impl Changes {
    fn change(&mut self, token: usize) -> &mut Change {
        self.0.entry(token).or_default()
    }

    pub(crate) fn replace(&mut self, token: usize, with: impl Into<String>) {
        self.change(token).instead = Some(with.into());
    }

    /// Takes it away with the spaces behind it.
    pub(crate) fn remove(&mut self, token: usize) {
        self.replace(token, "");
        self.change(token).eats_space = true;
    }

    /// Takes tokens away; the spaces behind the last stay.
    pub(crate) fn remove_all(&mut self, tokens: RangeInclusive<usize>) {
        let last = *tokens.end();
        tokens.for_each(|token| self.remove(token));
        self.change(last).eats_space = false;
    }

    pub(crate) fn insert_before(&mut self, token: usize, text: &str) {
        self.change(token).before.push_str(text);
    }

    pub(crate) fn insert_after(&mut self, token: usize, text: &str) {
        self.change(token).after.push_str(text);
    }
}

fn tokens(source: &str) -> Vec<Token> {
    let bytes = source.as_bytes();
    let mut tokens: Vec<Token> = Vec::new();
    let (mut at, mut directive, mut directives, mut line_is_empty) = (0, 0, 0, true);
    while at < bytes.len() {
        let start = at;
        let kind = match bytes[at] {
            b'\n' => {
                directive = 0;
                line_is_empty = true;
                at += 1;
                continue;
            }
            b'\\' if bytes.get(at + 1) == Some(&b'\n') => {
                at += 2;
                continue;
            }
            b'\\' if bytes[at + 1..].starts_with(b"\r\n") => {
                at += 3;
                continue;
            }
            byte if byte.is_ascii_whitespace() => {
                at += 1;
                continue;
            }
            b'/' if bytes.get(at + 1) == Some(&b'/') => {
                at = find(bytes, at, b"\n").unwrap_or(bytes.len());
                continue;
            }
            b'/' if bytes.get(at + 1) == Some(&b'*') => {
                at = find(bytes, at + 2, b"*/").map_or(bytes.len(), |end| end + 2);
                continue;
            }
            b'"' | b'\'' => {
                at = quoted(bytes, at);
                Kind::Quoted
            }
            byte if byte.is_ascii_digit()
                || (byte == b'.' && bytes.get(at + 1).is_some_and(u8::is_ascii_digit)) =>
            {
                at = number(bytes, at);
                Kind::Number
            }
            byte if is_word(byte) => {
                while bytes.get(at).copied().is_some_and(|byte| is_word(byte) || byte.is_ascii_digit()) {
                    at += 1;
                }
                Kind::Word
            }
            byte => {
                if byte == b'#' && line_is_empty {
                    directives += 1;
                    directive = directives;
                }
                at += mark(&bytes[at..]);
                Kind::Mark
            }
        };
        line_is_empty = false;
        tokens.push(Token { kind, range: start..at, directive });
    }
    tokens
}

/// Bytes outside of ASCII count as letters, so that text is cut between characters only.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte == b'$' || byte >= 0x80
}

fn find(bytes: &[u8], from: usize, what: &[u8]) -> Option<usize> {
    bytes.get(from..)?.windows(what.len()).position(|window| window == what).map(|at| from + at)
}

fn quoted(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < bytes.len() && bytes[at] != b'\n' {
        match bytes[at] {
            // A character outside of ASCII is left whole.
            b'\\' if bytes.get(at + 1).is_some_and(u8::is_ascii) => at += 2,
            byte if byte == bytes[start] => return at + 1,
            _ => at += 1,
        }
    }
    at.min(bytes.len())
}

fn number(bytes: &[u8], start: usize) -> usize {
    let mut at = start;
    while let Some(&byte) = bytes.get(at) {
        let is_sign = matches!(byte, b'+' | b'-')
            && at > start
            && matches!(bytes[at - 1], b'e' | b'E' | b'p' | b'P')
            && (matches!(bytes[at - 1], b'p' | b'P') || !bytes[start..].starts_with(b"0x"));
        if !(byte.is_ascii_alphanumeric() || byte == b'.' || byte == b'_' || is_sign) {
            break;
        }
        at += 1;
    }
    at
}

/// The length of a punctuation mark; those that matter here, the longest first.
fn mark(bytes: &[u8]) -> usize {
    const MARKS: &[&[u8]] = &[
        b"<<=", b">>=", b"...", b"->", b"++", b"--", b"<<", b">>", b"<=", b">=", b"==", b"!=", b"&&", b"||",
        b"+=", b"-=", b"*=", b"/=", b"%=", b"&=", b"|=", b"^=", b"##",
    ];
    MARKS.iter().find(|mark| bytes.starts_with(mark)).map_or(1, |mark| mark.len())
}

#[cfg(test)]
mod tests;

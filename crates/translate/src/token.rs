//! Text to tokens and back.
//!
//! Owns [`Text`]: the tokens of a source with their spaces and comments, and the changes to them. Invariant:
//! without changes the text comes back byte for byte. Tokens are numbered without spaces and comments.

use std::collections::BTreeMap;
use std::ops::Range;

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
    /// Of a preprocessor directive.
    pub(crate) in_directive: bool,
}

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Text<'s> {
    source: &'s str,
    tokens: Vec<Token>,
    /// By token: what stands before it, instead of it, and after it.
    changes: BTreeMap<usize, Change>,
}

#[derive(Default, Debug)]
struct Change {
    before: String,
    instead: Option<String>,
    after: String,
    eats_space: bool,
}

impl<'s> Text<'s> {
    pub(crate) fn new(source: &'s str) -> Self {
        Self { source, tokens: tokens(source), changes: BTreeMap::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.tokens.len()
    }

    /// The token's text; empty behind the end.
    pub(crate) fn at(&self, token: usize) -> &'s str {
        self.tokens.get(token).map_or("", |token| &self.source[token.range.clone()])
    }

    pub(crate) fn is_word(&self, token: usize) -> bool {
        self.tokens.get(token).is_some_and(|token| token.kind == Kind::Word)
    }

    pub(crate) fn in_directive(&self, token: usize) -> bool {
        self.tokens.get(token).is_some_and(|token| token.in_directive)
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

    /// The token that closes the bracket at `open`, if it is closed.
    pub(crate) fn closing(&self, open: usize) -> Option<usize> {
        let mut depth = 0u32;
        for token in open..self.len() {
            match self.at(token) {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => {
                    depth = depth.checked_sub(1)?;
                    if depth == 0 {
                        return Some(token);
                    }
                }
                _ => {}
            }
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

    fn change(&mut self, token: usize) -> &mut Change {
        self.changes.entry(token).or_default()
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
    pub(crate) fn remove_all(&mut self, tokens: std::ops::RangeInclusive<usize>) {
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

    /// What the token is replaced by so far.
    pub(crate) fn replacement(&self, token: usize) -> Option<&str> {
        self.changes.get(&token)?.instead.as_deref()
    }

    /// The text with all changes.
    pub(crate) fn finish(&self) -> String {
        let mut out = String::with_capacity(self.source.len() + self.source.len() / 8);
        let mut end = 0;
        let mut removed = false;
        for (number, token) in self.tokens.iter().enumerate() {
            let gap = &self.source[end..token.range.start];
            let is_plain = gap.bytes().all(|byte| byte == b' ');
            if !(removed && is_plain) {
                out.push_str(gap);
            }
            end = token.range.end;
            removed = false;
            match self.changes.get(&number) {
                None => out.push_str(&self.source[token.range.clone()]),
                Some(change) => {
                    out.push_str(&change.before);
                    out.push_str(change.instead.as_deref().unwrap_or(&self.source[token.range.clone()]));
                    out.push_str(&change.after);
                    removed = change.eats_space;
                }
            }
        }
        out.push_str(&self.source[end..]);
        out
    }
}

fn tokens(source: &str) -> Vec<Token> {
    let bytes = source.as_bytes();
    let mut tokens: Vec<Token> = Vec::new();
    let (mut at, mut in_directive, mut line_is_empty) = (0, false, true);
    while at < bytes.len() {
        let start = at;
        let kind = match bytes[at] {
            b'\n' => {
                in_directive = false;
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
                in_directive |= byte == b'#' && line_is_empty;
                at += mark(&bytes[at..]);
                Kind::Mark
            }
        };
        line_is_empty = false;
        tokens.push(Token { kind, range: start..at, in_directive });
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
mod tests {
    use super::*;

    #[test]
    fn text_comes_back_unchanged() {
        let sources = [
            "a /* b",
            "\"x\\",
            "'",
            "#define F(x) \\\n  x // y\nint é = 1.5e+3f + .5;",
            "\\",
            "a\\\r\nb",
            "0x1.8p-3 0xe+1",
        ];
        for source in sources {
            assert_eq!(Text::new(source).finish(), source);
        }
    }

    #[test]
    fn tokens_are_told_apart() {
        let text = Text::new("#if 1 // x\na->b += 0xe+1;");
        let all: Vec<&str> = (0..text.len()).map(|token| text.at(token)).collect();
        assert_eq!(all, ["#", "if", "1", "a", "->", "b", "+=", "0xe", "+", "1", ";"]);
        assert!(text.in_directive(2) && !text.in_directive(3));
    }

    #[test]
    fn parts_are_between_commas_of_one_depth() {
        let text = Text::new("f(a, g(b, c), d[1, 2])");
        let parts: Vec<&str> = text.parts(1, 17).iter().map(|&(a, b)| text.between(a, b)).collect();
        assert_eq!(parts, ["a", "g(b, c)", "d[1, 2]"]);
        assert_eq!(text.closing(1), Some(text.len() - 1));
    }

    #[test]
    fn a_token_is_taken_away_with_the_space_behind_it() {
        let mut text = Text::new("a restrict b");
        text.remove(1);
        text.insert_after(2, "!");
        assert_eq!(text.finish(), "a b!");
    }
}

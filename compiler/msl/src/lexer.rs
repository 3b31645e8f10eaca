//! Text to preprocessing tokens, one at a time.
//!
//! The scanner knows characters only: no macros, no keywords. Literals keep their spelling (the
//! preprocessor pastes and stringises spellings); `number.rs` and `literal.rs` convert them at the
//! end. Line continuations are honoured everywhere but in raw strings. Invariant: the position only
//! grows, offsets are character boundaries, and no input is an error that stops the scanner. Start
//! with [`Scanner::next`].

mod literal;
mod number;
mod scan_literal;
mod scan_punct;
mod universal;

#[cfg(test)]
mod tests;

pub(crate) use literal::{decode_char, decode_string};
pub(crate) use number::parse_number;

use crate::token::{Name, Punct};
use std::borrow::Cow;
use universal::Part;

/// A preprocessing token without its place in the world.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct RawToken {
    pub(crate) kind: RawKind,
    /// First byte.
    pub(crate) lo: u32,
    /// One past the last byte.
    pub(crate) hi: u32,
    /// The spelling of identifiers and literals, line continuations removed.
    pub(crate) name: Name,
    /// Whether white space precedes it.
    pub(crate) space: bool,
    /// Whether it is the first on its line.
    pub(crate) line_start: bool,
    /// What is wrong with it.
    pub(crate) problem: Option<Problem>,
}

/// What a preprocessing token is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RawKind {
    Ident,
    Number,
    Str,
    Char,
    Punct(Punct),
    /// A character that starts no token.
    Other(char),
    /// The end of the line; only in [`Lines::Stop`] mode.
    LineEnd,
    /// The end of the text.
    End,
}

/// What is wrong with a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Problem {
    /// A string or character literal without its closing quote.
    OpenLiteral,
    /// A raw string without its closing delimiter.
    OpenRawString,
    /// A block comment before this token that never ends; where it begins.
    CommentBefore(u32),
    /// A character in an identifier that cannot be part of one, and where it is.
    RefusedInIdentifier(char, u32),
    /// A universal character name of a control character or of a character that needs none.
    BasicName(char),
    /// A universal character name of a surrogate.
    SurrogateName,
}

/// Whether line ends are tokens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Lines {
    /// They are white space.
    Cross,
    /// The scanner stays before them and says [`RawKind::LineEnd`]: within directives.
    Stop,
}

/// Reads tokens from a text, starting anywhere.
#[derive(Clone, Debug)]
pub(crate) struct Scanner<'a> {
    text: &'a str,
    bytes: &'a [u8],
    pos: usize,
}

/// White space and comments between two tokens.
#[derive(Default)]
struct Blank {
    space: bool,
    line_start: bool,
    stopped: bool,
    unterminated: Option<u32>,
}

impl<'a> Scanner<'a> {
    /// A scanner of `text` from byte `pos` on.
    pub(crate) fn new(text: &'a str, pos: usize) -> Self {
        Self { text, bytes: text.as_bytes(), pos }
    }

    /// The byte the next call continues at.
    pub(crate) fn position(&self) -> usize {
        self.pos
    }

    /// The next token.
    pub(crate) fn next(&mut self, lines: Lines) -> RawToken {
        let at_start = self.pos == 0;
        let blank = self.skip_blank(lines);
        let lo = self.pos;
        let (kind, name, problem) =
            if blank.stopped { (RawKind::LineEnd, Name::EMPTY, None) } else { self.token() };
        RawToken {
            kind,
            lo: lo as u32,
            hi: self.pos as u32,
            name,
            space: blank.space,
            line_start: blank.line_start || at_start,
            problem: problem.or(blank.unterminated.map(Problem::CommentBefore)),
        }
    }

    fn token(&mut self) -> (RawKind, Name, Option<Problem>) {
        let lo = self.pos;
        let Some(&first) = self.bytes.get(lo) else { return (RawKind::End, Name::EMPTY, None) };
        match first {
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => self.word(),
            b'0'..=b'9' => self.number(),
            b'.' if self.logical(lo + 1).0.is_ascii_digit() => self.number(),
            b'"' | b'\'' => self.quoted(lo, first),
            _ => match self.punct() {
                Some(punct) => (RawKind::Punct(punct), Name::EMPTY, None),
                None => self.other(),
            },
        }
    }

    /// An identifier that begins outside of ASCII, or a character that starts nothing.
    fn other(&mut self) -> (RawKind, Name, Option<Problem>) {
        let Some(char) = self.text[self.pos..].chars().next() else {
            return (RawKind::End, Name::EMPTY, None);
        };
        if let Some(name) = self.universal_name(self.pos) {
            if name.character().is_some_and(|char| !char.is_ascii() && universal::is_identifier_start(char)) {
                return self.word();
            }
            self.pos = name.end;
            let char = name.character().unwrap_or(char::REPLACEMENT_CHARACTER);
            return (RawKind::Other(char), Name::EMPTY, name.problem());
        }
        if universal::is_identifier_start(char) {
            return self.word();
        }
        self.pos += char.len_utf8();
        (RawKind::Other(char), Name::EMPTY, None)
    }

    /// An identifier, or a literal with an encoding prefix.
    fn word(&mut self) -> (RawKind, Name, Option<Problem>) {
        let lo = self.pos;
        let (dirty, problem) = self.skip_ident_chars();
        if let Some(&quote @ (b'"' | b'\'')) = self.bytes.get(self.pos)
            && !dirty
        {
            match (&self.text[lo..self.pos], quote) {
                ("R" | "uR" | "u8R" | "UR" | "LR", b'"') => return self.raw_string(lo),
                ("u" | "u8" | "U" | "L", _) => return self.quoted(lo, quote),
                _ => {}
            }
        }
        if !dirty {
            return (RawKind::Ident, self.spelling(lo, false), problem);
        }
        let text = without_continuations(&self.text[lo..self.pos]);
        (RawKind::Ident, Name::new(&universal::without_universal_names(&text)), problem)
    }

    /// Skips the characters of an identifier; whether line continuations or universal character names were
    /// among them, and what is wrong with it.
    fn skip_ident_chars(&mut self) -> (bool, Option<Problem>) {
        let (mut dirty, mut problem) = (false, None);
        loop {
            while let Some(b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_') = self.bytes.get(self.pos) {
                self.pos += 1;
            }
            // A continuation belongs to the word only when the word goes on after it.
            let at = self.skip_continuations(self.pos);
            let (part, end) = self.word_part(at);
            match part {
                Part::None => return (dirty, problem),
                Part::Refused(char) => {
                    problem = problem.or(Some(Problem::RefusedInIdentifier(char, at as u32)));
                }
                Part::Character => {}
            }
            dirty |= at != self.pos || self.bytes[at] == b'\\';
            self.pos = end;
        }
    }

    /// What the character at a position is in a word, and the position after it.
    fn word_part(&self, at: usize) -> (Part, usize) {
        match self.bytes.get(at) {
            Some(b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_') => (Part::Character, at + 1),
            Some(b'\\') => match self.universal_name(at) {
                Some(name) => (name.part(), name.end),
                None => (Part::None, at),
            },
            Some(0x80..) => match self.text[at..].chars().next() {
                Some(char) => (universal::part(char), at + char.len_utf8()),
                None => (Part::None, at),
            },
            _ => (Part::None, at),
        }
    }

    /// A preprocessing number: anything that begins like a number and runs on like a word.
    fn number(&mut self) -> (RawKind, Name, Option<Problem>) {
        let lo = self.pos;
        let mut dirty = false;
        let mut last = b'0';
        loop {
            let (byte, next) = self.logical(self.pos);
            let continues = match byte {
                b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'.' => true,
                b'+' | b'-' => matches!(last, b'e' | b'E' | b'p' | b'P'),
                b'\'' => self.logical(next).0.is_ascii_alphanumeric(),
                _ => false,
            };
            if !continues {
                return (RawKind::Number, self.spelling(lo, dirty), None);
            }
            dirty |= next != self.pos + 1;
            self.pos = next;
            last = byte;
        }
    }

    /// The interned text from `lo` to here.
    fn spelling(&self, lo: usize, dirty: bool) -> Name {
        let text = &self.text[lo..self.pos];
        Name::new(&if dirty { without_continuations(text) } else { Cow::Borrowed(text) })
    }

    /// The byte at `pos`, continuations skipped, and the position after it; 0 at the end.
    fn logical(&self, pos: usize) -> (u8, usize) {
        let mut pos = pos;
        if self.bytes.get(pos) == Some(&b'\\') {
            pos = self.skip_continuations(pos);
        }
        match self.bytes.get(pos) {
            Some(&byte) => (byte, pos + 1),
            None => (0, pos),
        }
    }

    /// The position after the line continuations at `pos`; `pos` when there are none.
    fn skip_continuations(&self, pos: usize) -> usize {
        let mut pos = pos;
        while let Some(length) = continuation_length(&self.bytes[pos..]) {
            pos += length;
        }
        pos
    }

    fn skip_blank(&mut self, lines: Lines) -> Blank {
        let mut blank = Blank::default();
        loop {
            match self.bytes.get(self.pos) {
                Some(b' ' | b'\t' | b'\x0b' | b'\x0c' | b'\r' | 0) => {
                    self.pos += 1;
                    blank.space = true;
                }
                Some(b'\n') if lines == Lines::Stop => {
                    blank.stopped = true;
                    return blank;
                }
                Some(b'\n') => {
                    self.pos += 1;
                    blank.line_start = true;
                    blank.space = true;
                }
                Some(b'\\') => {
                    let after = self.skip_continuations(self.pos);
                    if after == self.pos {
                        return blank;
                    }
                    self.pos = after;
                }
                Some(b'/') => match self.logical(self.pos + 1) {
                    (b'/', after) => {
                        self.pos = after;
                        self.skip_line_comment();
                        blank.space = true;
                    }
                    (b'*', after) => {
                        let lo = self.pos as u32;
                        self.pos = after;
                        if !self.skip_block_comment() {
                            blank.unterminated = Some(lo);
                        }
                        blank.space = true;
                    }
                    _ => return blank,
                },
                // A byte order mark.
                Some(0xEF) if self.bytes[self.pos..].starts_with(b"\xEF\xBB\xBF") => self.pos += 3,
                Some(0xC2 | 0xE1..=0xE3) => match self.text[self.pos..].chars().next() {
                    Some(char) if universal::is_blank(char) => {
                        self.pos += char.len_utf8();
                        blank.space = true;
                    }
                    _ => return blank,
                },
                None if lines == Lines::Stop => {
                    blank.stopped = true;
                    return blank;
                }
                _ => return blank,
            }
        }
    }

    /// Stops before the line end.
    fn skip_line_comment(&mut self) {
        while let Some(&byte) = self.bytes.get(self.pos) {
            match byte {
                b'\n' => return,
                b'\\' => self.pos = self.skip_continuations(self.pos).max(self.pos + 1),
                _ => self.pos += 1,
            }
        }
    }

    /// Skips past the end mark; `false` when there is none.
    fn skip_block_comment(&mut self) -> bool {
        while let Some(star) = self.bytes[self.pos..].iter().position(|&byte| byte == b'*') {
            self.pos += star + 1;
            let (byte, after) = self.logical(self.pos);
            if byte == b'/' {
                self.pos = after;
                return true;
            }
        }
        self.pos = self.bytes.len();
        false
    }

    /// Skips the rest of the line without reading its tokens, comments included; stays before its end.
    pub(crate) fn skip_line(&mut self) {
        while !matches!(self.next(Lines::Stop).kind, RawKind::LineEnd | RawKind::End) {}
    }
}

/// The length of a backslash and line break at the start of `bytes`. Blanks between the two are
/// tolerated, as all the usual compilers do.
fn continuation_length(bytes: &[u8]) -> Option<usize> {
    if bytes.first() != Some(&b'\\') {
        return None;
    }
    let blanks = bytes[1..].iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r')).count();
    (bytes.get(1 + blanks) == Some(&b'\n')).then_some(blanks + 2)
}

/// The text with its line continuations removed.
fn without_continuations(text: &str) -> Cow<'_, str> {
    let mut clean = String::with_capacity(text.len());
    let mut copied = 0;
    let mut pos = 0;
    while let Some(offset) = text.as_bytes()[pos..].iter().position(|&byte| byte == b'\\') {
        pos += offset;
        match continuation_length(&text.as_bytes()[pos..]) {
            Some(length) => {
                clean.push_str(&text[copied..pos]);
                pos += length;
                copied = pos;
            }
            None => pos += 1,
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    clean.push_str(&text[copied..]);
    Cow::Owned(clean)
}

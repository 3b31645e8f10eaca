//! Scanning of string and character literals.

use super::{Problem, RawKind, Scanner, continuation_length};
use crate::token::Name;

/// The standard's bound on a raw string's delimiter.
const LONGEST_DELIMITER: usize = 16;

impl Scanner<'_> {
    /// A literal in quotes; the position is at the opening quote, `lo` at its prefix.
    ///
    /// Without a closing quote the literal ends with the line.
    pub(super) fn quoted(&mut self, lo: usize, quote: u8) -> (RawKind, Name, Option<Problem>) {
        let kind = if quote == b'"' { RawKind::Str } else { RawKind::Char };
        self.pos += 1;
        let mut dirty = false;
        let problem = loop {
            match self.bytes.get(self.pos) {
                None | Some(b'\n') => break Some(Problem::OpenLiteral),
                Some(&byte) if byte == quote => {
                    self.pos += 1;
                    break None;
                }
                Some(b'\\') => match continuation_length(&self.bytes[self.pos..]) {
                    Some(length) => {
                        self.pos += length;
                        dirty = true;
                    }
                    None => dirty |= self.escaped_char(),
                },
                Some(_) => self.pos += 1,
            }
        };
        // Offsets inside a character can only come from bytes below 0x80, all of which are whole ones.
        (kind, self.spelling(lo, dirty), problem)
    }

    /// Skips a backslash and the character it escapes; whether continuations lay between them.
    fn escaped_char(&mut self) -> bool {
        let after = self.skip_continuations(self.pos + 1);
        let dirty = after != self.pos + 1;
        self.pos = after;
        if let Some(char) = self.text[after..].chars().next()
            && char != '\n'
        {
            self.pos += char.len_utf8();
        }
        dirty
    }

    /// A raw string; the position is at the opening quote, `lo` at its prefix.
    pub(super) fn raw_string(&mut self, lo: usize) -> (RawKind, Name, Option<Problem>) {
        self.pos += 1;
        let rest = &self.text[self.pos..];
        let open = rest.bytes().take(LONGEST_DELIMITER + 1).position(|byte| byte == b'(');
        let delimiter = open.map(|open| &rest[..open]).filter(|delimiter| {
            !delimiter.bytes().any(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b')' | b'\\' | b'"'))
        });
        let end = delimiter.and_then(|delimiter| {
            let close = format!("){delimiter}\"");
            rest.find(&close).map(|at| at + close.len())
        });
        let problem = match end {
            Some(end) => {
                self.pos += end;
                None
            }
            None => {
                self.pos += rest.find('\n').unwrap_or(rest.len());
                Some(Problem::OpenRawString)
            }
        };
        (RawKind::Str, self.spelling(lo, false), problem)
    }
}

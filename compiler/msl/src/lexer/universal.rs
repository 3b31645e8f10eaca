//! The characters of identifiers, and universal character names (C++17 [lex.charset], [lex.name]).
//!
//! As in clang, identifiers are those of Unicode (UAX 31) with the mathematical characters of its profile,
//! and `\u{…}` is accepted before C++23.

use super::{Problem, Scanner};

/// `\u1234`, `\U00012345` or `\u{12345}`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct UniversalName {
    /// The code, which need not be a character's.
    code: u32,
    /// The position after it.
    pub(super) end: usize,
}

/// A character that an identifier may go on with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Part {
    /// It belongs to the identifier.
    Character,
    /// It is part of the word, but allowed in no identifier.
    Refused(char),
    /// The identifier ends before it.
    None,
}

impl UniversalName {
    pub(super) fn character(self) -> Option<char> {
        char::from_u32(self.code)
    }

    /// The mistake that it is anywhere outside of literals.
    pub(super) fn problem(self) -> Option<Problem> {
        match self.character() {
            None if self.code <= u32::from(char::MAX) => Some(Problem::SurrogateName),
            Some(char) if is_basic(char) => Some(Problem::BasicName(char)),
            None | Some(_) => None,
        }
    }

    /// Its part in a word.
    pub(super) fn part(self) -> Part {
        match self.character() {
            None => Part::Refused(char::REPLACEMENT_CHARACTER),
            Some(char) if is_basic(char) => Part::None,
            Some(char) => part(char),
        }
    }
}

/// Whether a character has no universal character name.
fn is_basic(char: char) -> bool {
    u32::from(char) < 0xA0
}

/// The part of a character outside of ASCII in a word.
pub(super) fn part(char: char) -> Part {
    match char {
        _ if is_identifier_part(char) => Part::Character,
        // Of bytes that are not UTF-8, and a byte order mark.
        char::REPLACEMENT_CHARACTER | '\u{FEFF}' => Part::None,
        _ if is_blank(char) => Part::None,
        _ => Part::Refused(char),
    }
}

pub(super) fn is_identifier_start(char: char) -> bool {
    char == '_' || unicode_ident::is_xid_start(char) || is_mathematical_start(char)
}

pub(super) fn is_identifier_part(char: char) -> bool {
    unicode_ident::is_xid_continue(char) || is_mathematical_start(char) || is_mathematical_part(char)
}

/// Nabla, the partial differential and infinity, in all styles.
fn is_mathematical_start(char: char) -> bool {
    let styled = [0x1D6C1, 0x1D6DB, 0x1D6FB, 0x1D715, 0x1D735, 0x1D74F, 0x1D76F, 0x1D789, 0x1D7A9, 0x1D7C3];
    matches!(char, '\u{2202}' | '\u{2207}' | '\u{221E}') || styled.contains(&u32::from(char))
}

/// Superscripts and subscripts.
fn is_mathematical_part(char: char) -> bool {
    matches!(
        char,
        '\u{B2}' | '\u{B3}' | '\u{B9}' | '\u{2070}' | '\u{2074}'..='\u{207E}' | '\u{2080}'..='\u{208E}'
    )
}

/// White space outside of ASCII.
pub(super) fn is_blank(char: char) -> bool {
    matches!(
        char,
        '\u{85}' | '\u{A0}' | '\u{1680}' | '\u{180E}' | '\u{2000}'
            ..='\u{200A}' | '\u{2028}' | '\u{2029}' | '\u{202F}' | '\u{205F}' | '\u{3000}'
    )
}

/// The spelling of an identifier with its universal character names replaced.
pub(super) fn without_universal_names(text: &str) -> String {
    let scanner = Scanner::new(text, 0);
    let mut clean = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(offset) = text[at..].find('\\') {
        clean.push_str(&text[at..at + offset]);
        at += offset;
        match scanner.universal_name(at) {
            Some(name) => {
                clean.push(name.character().unwrap_or(char::REPLACEMENT_CHARACTER));
                at = name.end;
            }
            None => {
                clean.push('\\');
                at += 1;
            }
        }
    }
    clean.push_str(&text[at..]);
    clean
}

impl Scanner<'_> {
    /// The universal character name whose backslash is at `pos`. One without enough digits is none.
    pub(super) fn universal_name(&self, pos: usize) -> Option<UniversalName> {
        if self.bytes.get(pos) != Some(&b'\\') {
            return None;
        }
        let (kind, at) = self.logical(pos + 1);
        let digits = match kind {
            b'u' if self.logical(at).0 == b'{' => return self.delimited_name(self.logical(at).1),
            b'u' => 4,
            b'U' => 8,
            _ => return None,
        };
        let (mut code, mut at) = (0u32, at);
        for _ in 0..digits {
            let (byte, next) = self.logical(at);
            code = code << 4 | char::from(byte).to_digit(16)?;
            at = next;
        }
        Some(UniversalName { code, end: at })
    }

    /// The rest of `\u{…}`, from its first digit on.
    fn delimited_name(&self, first: usize) -> Option<UniversalName> {
        let (mut code, mut at) = (0u32, first);
        loop {
            let (byte, next) = self.logical(at);
            if byte == b'}' {
                return (at > first).then_some(UniversalName { code, end: next });
            }
            let digit = char::from(byte).to_digit(16)?;
            // Too large a code remains too large.
            code = if code >> 28 == 0 { code << 4 | digit } else { u32::MAX };
            at = next;
        }
    }
}

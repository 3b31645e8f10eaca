//! Splits the text form into tokens.

use super::ParseError;

/// A token. Words hold letters, digits, `_` and `.`; numbers keep their spelling.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Token<'a> {
    Word(&'a str),
    Number(&'a str),
    Text(String),
    Punct(char),
    End,
}

impl std::fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Token::Word(text) | Token::Number(text) => write!(f, "`{text}`"),
            Token::Text(text) => write!(f, "{text:?}"),
            Token::Punct(c) => write!(f, "`{c}`"),
            Token::End => f.write_str("the end"),
        }
    }
}

/// Invariant: `at` is a character boundary.
pub(super) struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// The next token and where it begins.
    pub(super) fn next(&mut self) -> Result<(Token<'a>, usize), ParseError> {
        self.skip_blanks();
        let start = self.at;
        let rest = &self.text[start..];
        let Some(c) = rest.chars().next() else { return Ok((Token::End, start)) };
        let next_is_digit = rest[c.len_utf8()..].starts_with(|c: char| c.is_ascii_digit());
        let token = match c {
            'a'..='z' | 'A'..='Z' | '_' => {
                self.advance(rest, |c, _| c.is_ascii_alphanumeric() || c == '_' || c == '.');
                Token::Word(&self.text[start..self.at])
            }
            '0'..='9' => self.number(start),
            '-' if next_is_digit => self.number(start),
            '"' => Token::Text(self.string(start)?),
            '-' | '>' | '=' | ',' | ':' | '@' | '(' | ')' | '{' | '}' | '[' | ']' | '+' | '*' => {
                self.at += 1;
                Token::Punct(c)
            }
            other => return Err(self.error(start, format!("{other:?} begins no token"))),
        };
        Ok((token, start))
    }

    fn skip_blanks(&mut self) {
        loop {
            let rest = &self.text[self.at..];
            let trimmed = rest.trim_start();
            self.at += rest.len() - trimmed.len();
            if !trimmed.starts_with(';') {
                return;
            }
            self.at += trimmed.find('\n').unwrap_or(trimmed.len());
        }
    }

    fn advance(&mut self, rest: &str, keep: impl Fn(char, char) -> bool) {
        let mut before = ' ';
        for c in rest.chars() {
            if !keep(c, before) {
                return;
            }
            self.at += c.len_utf8();
            before = c;
        }
    }

    fn number(&mut self, start: usize) -> Token<'a> {
        self.at += 1;
        let hexadecimal = self.text[start..].starts_with("0x");
        let rest = &self.text[self.at..];
        self.advance(rest, |c, before| {
            c.is_ascii_alphanumeric() || c == '.' || (matches!(c, '+' | '-') && before == 'e' && !hexadecimal)
        });
        Token::Number(&self.text[start..self.at])
    }

    fn string(&mut self, start: usize) -> Result<String, ParseError> {
        let mut value = String::new();
        let mut chars = self.text[start + 1..].char_indices();
        while let Some((n, c)) = chars.next() {
            match c {
                '"' => {
                    self.at = start + 1 + n + 1;
                    return Ok(value);
                }
                '\\' => {
                    let escaped = chars.next().map(|(_, c)| c);
                    let c = match escaped {
                        Some(c @ ('"' | '\\')) => Some(c),
                        Some('u') => code_point(&mut chars),
                        _ => None,
                    };
                    value.push(c.ok_or_else(|| self.error(start + 1 + n, "an unknown escape".to_owned()))?);
                }
                c => value.push(c),
            }
        }
        Err(self.error(start, "the string does not end".to_owned()))
    }

    /// An error at a byte offset.
    pub(super) fn error(&self, at: usize, message: String) -> ParseError {
        let before = &self.text[..at];
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|&c| c != '\n').count() + 1;
        ParseError { line: line as u32, column: column as u32, message }
    }
}

/// The rest of `\u{hex}`.
fn code_point(chars: &mut std::str::CharIndices<'_>) -> Option<char> {
    if chars.next()?.1 != '{' {
        return None;
    }
    let mut code = 0u32;
    loop {
        match chars.next()?.1 {
            '}' => return char::from_u32(code),
            c => code = code.checked_mul(16)?.checked_add(c.to_digit(16)?)?,
        }
    }
}

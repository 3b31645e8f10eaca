//! The meaning of string and character literals: escapes, raw strings, prefixes.

use std::iter::Peekable;
use std::str::Chars;

/// A literal's value and what to complain about.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Decoded<T> {
    pub(crate) value: T,
    /// Messages for the user; the value is usable all the same.
    pub(crate) problems: Vec<String>,
}

/// The content of a string literal as spelled, prefix and quotes included (a missing closing quote is
/// tolerated: the scanner has reported it).
pub(crate) fn decode_string(spelling: &str) -> Decoded<String> {
    let open = spelling.find('"').unwrap_or(0);
    let body = spelling.get(open + 1..).unwrap_or("");
    if spelling[..open].ends_with('R') {
        return Decoded { value: raw_content(body).to_owned(), problems: Vec::new() };
    }
    let mut problems = Vec::new();
    let body = strip_closing(body, '"');
    if !body.contains('\\') {
        return Decoded { value: body.to_owned(), problems };
    }
    let mut value = String::with_capacity(body.len());
    let mut chars = body.chars().peekable();
    while let Some(char) = chars.next() {
        let code = if char == '\\' { escape(&mut chars, &mut problems) } else { char as u32 };
        value.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
    }
    Decoded { value, problems }
}

/// The code of a character literal as spelled.
pub(crate) fn decode_char(spelling: &str) -> Decoded<u32> {
    let open = spelling.find('\'').unwrap_or(0);
    let body = strip_closing(spelling.get(open + 1..).unwrap_or(""), '\'');
    let mut problems = Vec::new();
    let mut codes = Vec::new();
    let mut chars = body.chars().peekable();
    while let Some(char) = chars.next() {
        codes.push(if char == '\\' { escape(&mut chars, &mut problems) } else { char as u32 });
    }
    let value = match codes[..] {
        [] => {
            problems.push("empty character literal".to_owned());
            0
        }
        [code] => code,
        // The usual value of C's multi-character literals.
        _ => {
            problems.push("character literal holds more than one character".to_owned());
            codes.iter().fold(0u32, |value, code| value << 8 | code & 0xFF)
        }
    };
    Decoded { value, problems }
}

fn strip_closing(body: &str, quote: char) -> &str {
    body.strip_suffix(quote).unwrap_or(body)
}

/// `body` is `delimiter(content)delimiter"`.
fn raw_content(body: &str) -> &str {
    let Some(open) = body.find('(') else { return "" };
    let close = body.len().saturating_sub(open + 2);
    body.get(open + 1..close).unwrap_or("")
}

/// The code of an escape sequence whose backslash was read.
fn escape(chars: &mut Peekable<Chars<'_>>, problems: &mut Vec<String>) -> u32 {
    let Some(char) = chars.next() else { return '\\' as u32 };
    let simple = match char {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        'a' => '\x07',
        'b' => '\x08',
        'f' => '\x0c',
        'v' => '\x0b',
        'e' => '\x1b',
        '\\' | '\'' | '"' | '?' => char,
        '0'..='7' => return octal(char, chars, problems),
        'o' if chars.peek() == Some(&'{') => return delimited(chars, 8, problems),
        'x' if chars.peek() == Some(&'{') => return in_byte(delimited(chars, 16, problems), problems),
        'u' if chars.peek() == Some(&'{') => return universal(delimited(chars, 16, problems), problems),
        'x' => {
            let code = hexadecimal(chars, usize::MAX, problems);
            return in_byte(code, problems);
        }
        'u' | 'U' => {
            let length = if char == 'u' { 4 } else { 8 };
            let digits = chars.clone().take(length).take_while(char::is_ascii_hexdigit).count();
            if (1..length).contains(&digits) {
                problems.push("incomplete universal character name".to_owned());
            }
            let code = hexadecimal(chars, length, problems);
            return universal(code, problems);
        }
        _ => {
            problems.push(format!("unknown escape sequence `\\{}`", char.escape_default()));
            char
        }
    };
    simple as u32
}

fn octal(first: char, chars: &mut Peekable<Chars<'_>>, problems: &mut Vec<String>) -> u32 {
    let mut value = first.to_digit(8).unwrap_or(0);
    for _ in 0..2 {
        let Some(digit) = chars.peek().and_then(|char| char.to_digit(8)) else { break };
        value = value * 8 + digit;
        chars.next();
    }
    in_byte(value, problems)
}

/// The code of `{…}` after `\o`, `\x` or `\u`.
fn delimited(chars: &mut Peekable<Chars<'_>>, radix: u32, problems: &mut Vec<String>) -> u32 {
    chars.next();
    let (mut value, mut is_empty, mut too_large) = (0u32, true, false);
    loop {
        match chars.peek() {
            Some('}') => {
                chars.next();
                break;
            }
            Some(&char) if char.is_ascii_alphanumeric() => match char.to_digit(radix) {
                Some(digit) => {
                    let next = value.checked_mul(radix).and_then(|value| value.checked_add(digit));
                    too_large |= next.is_none();
                    value = next.unwrap_or(value);
                    is_empty = false;
                    chars.next();
                }
                None => {
                    problems.push(format!("invalid digit `{char}` in an escape sequence"));
                    is_empty = false;
                    chars.next();
                }
            },
            _ => {
                problems.push("expected `}` to end an escape sequence".to_owned());
                return value;
            }
        }
    }
    if is_empty {
        problems.push("an escape sequence in braces cannot be empty".to_owned());
    }
    if too_large {
        problems.push("escape sequence out of range".to_owned());
    }
    value
}

/// A code that must fit a character of one byte.
fn in_byte(code: u32, problems: &mut Vec<String>) -> u32 {
    if code > 0xFF {
        problems.push("escape sequence out of range".to_owned());
    }
    code
}

/// A code that must be a character's.
fn universal(code: u32, problems: &mut Vec<String>) -> u32 {
    if char::from_u32(code).is_none() {
        problems.push("a universal character name outside of Unicode's characters".to_owned());
    }
    code
}

fn hexadecimal(chars: &mut Peekable<Chars<'_>>, most: usize, problems: &mut Vec<String>) -> u32 {
    let mut value = 0u32;
    let mut digits = 0;
    let mut too_large = false;
    while digits < most {
        let Some(digit) = chars.peek().and_then(|char| char.to_digit(16)) else { break };
        too_large |= value >> 28 != 0;
        value = value << 4 | digit;
        digits += 1;
        chars.next();
    }
    if digits == 0 {
        problems.push("escape sequence without digits".to_owned());
    }
    if too_large {
        problems.push("escape sequence out of range".to_owned());
    }
    value
}

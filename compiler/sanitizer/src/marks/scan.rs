//! Finds marks in the comments of source text: one pass that knows comments and literals.

use super::{MAX_MARKS, Mark, parse};

/// The marks, and the wrong ones as line and message.
pub(super) fn scan(text: &str) -> (Vec<Mark>, Vec<(u32, String)>) {
    let mut scanner = Scanner { text, line: 1, ..Scanner::default() };
    while scanner.at < text.len() {
        scanner.step();
    }
    (scanner.marks, scanner.errors)
}

#[derive(Default)]
struct Scanner<'a> {
    text: &'a str,
    at: usize,
    /// Of `at`, 1-based.
    line: u32,
    /// Whether code stands on this line before `at`.
    code_on_line: bool,
    marks: Vec<Mark>,
    errors: Vec<(u32, String)>,
    /// The first mark whose last line is the next line of code.
    alone_from: usize,
}

impl<'a> Scanner<'a> {
    fn byte(&self, at: usize) -> u8 {
        self.text.as_bytes().get(at).copied().unwrap_or(0)
    }

    fn advance_to(&mut self, end: usize) {
        let end = end.min(self.text.len());
        self.line += self.text.as_bytes()[self.at..end].iter().filter(|&&byte| byte == b'\n').count() as u32;
        self.at = end;
    }

    fn step(&mut self) {
        match (self.byte(self.at), self.byte(self.at + 1)) {
            (b'/', b'/') => self.comment(line_comment_end(self.text.as_bytes(), self.at), 0),
            (b'/', b'*') => {
                let end = self.text.get(self.at + 2..).and_then(|rest| rest.find("*/"));
                self.comment(end.map_or(self.text.len(), |end| self.at + 2 + end + 2), 2);
            }
            (b'\\', b'\n') => self.advance_to(self.at + 2),
            (b'\n', _) => {
                self.advance_to(self.at + 1);
                self.code_on_line = false;
            }
            (b' ' | b'\t' | b'\r', _) => self.at += 1,
            _ => self.code(),
        }
    }

    /// `tail` are the bytes that close it.
    fn comment(&mut self, end: usize, tail: usize) {
        let end_of_text = end.saturating_sub(tail).max(self.at + 2).min(self.text.len());
        let text = self.text.get(self.at + 2..end_of_text).unwrap_or("").trim_start_matches(['/', '*', '!']);
        if let Some(mark) = text.trim_start().strip_prefix("anymetal:") {
            self.mark(mark.lines().next().unwrap_or(""));
            if self.code_on_line {
                self.alone_from = self.marks.len();
            }
        }
        let line = self.line;
        self.advance_to(end);
        self.code_on_line &= line == self.line;
    }

    fn mark(&mut self, text: &str) {
        let error = match parse(text) {
            Ok(_) if self.marks.len() == MAX_MARKS => format!("more than {MAX_MARKS} marks in a file"),
            Ok((allows, reason)) => {
                let (first_line, last_line) = (self.line, self.line);
                return self.marks.push(Mark { first_line, last_line, allows, reason });
            }
            Err(error) => error,
        };
        if self.errors.len() <= MAX_MARKS && self.errors.last().is_none_or(|(_, last)| *last != error) {
            self.errors.push((self.line, error));
        }
    }

    fn code(&mut self) {
        self.code_on_line = true;
        let line = self.line;
        self.marks[self.alone_from..].iter_mut().for_each(|mark| mark.last_line = line);
        self.alone_from = self.marks.len();
        match self.byte(self.at) {
            quote @ (b'"' | b'\'') => self.advance_to(literal_end(self.text.as_bytes(), self.at, quote)),
            byte if byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80 => self.word(),
            _ => self.at += 1,
        }
    }

    fn word(&mut self) {
        let bytes = self.text.as_bytes();
        let more = |&at: &usize| {
            let byte = bytes.get(at).copied().unwrap_or(0);
            byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
        };
        let end = (self.at..).take_while(more).last().map_or(self.at + 1, |last| last + 1);
        let word = &self.text[self.at..end];
        self.at = end;
        if matches!(word, "R" | "u8R" | "LR" | "uR" | "UR") && self.byte(end) == b'"' {
            let rest = &self.text[end + 1..];
            let raw_end = rest.split_once('(').and_then(|(delimiter, body)| {
                let close = format!("){delimiter}\"");
                let valid = delimiter.len() <= 16 && !delimiter.contains(['"', '\n', ')']);
                let at = if valid { body.find(&close)? } else { return None };
                Some(end + 1 + delimiter.len() + 1 + at + close.len())
            });
            // One that never ends is an error of the source; what follows is not searched.
            self.advance_to(raw_end.unwrap_or(self.text.len()));
        }
    }
}

/// After the end of the line that is not continued.
fn line_comment_end(bytes: &[u8], start: usize) -> usize {
    let ends = |&at: &usize| bytes[at] == b'\n' && !(at > 0 && bytes[at - 1] == b'\\');
    (start..bytes.len()).find(ends).unwrap_or(bytes.len())
}

/// After the closing quote; before the end of the line if there is none.
fn literal_end(bytes: &[u8], start: usize, quote: u8) -> usize {
    let mut at = start + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 1,
            b'\n' => return at,
            byte if byte == quote => return at + 1,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

//! The text form, read. See [`crate::print_module`] for what it looks like.
//!
//! The reader checks spelling, that entities are declared in order, and that values are defined
//! before they are used, in the order of the text; everything else is the verifier's business. It
//! accepts any text: it stops at the first error, nests at most [`crate::MAX_NESTING`] deep, and
//! needs memory proportional to the text and to [`MAX_ID`].

mod declaration;
mod function;
mod lexer;
mod operands;
mod operation;
#[cfg(test)]
mod tests;

use std::fmt;

use crate::limits::MAX_ID;
use crate::{Module, Scalar, Space, Type};
use lexer::{Lexer, Token};

/// Where and why the text is no module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParseError {
    /// 1-based.
    pub line: u32,
    /// 1-based, in characters.
    pub column: u32,
    /// The message.
    pub message: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)
    }
}

impl std::error::Error for ParseError {}

type Parsed<T> = Result<T, ParseError>;

/// Reads a module.
///
/// # Errors
/// The first thing that is not the text form.
pub fn parse_module(text: &str) -> Result<Module, ParseError> {
    let mut lexer = Lexer::new(text);
    let (token, at) = lexer.next()?;
    let mut parser = Parser { lexer, token, at, module: Module::new() };
    while parser.token != Token::End {
        parser.declaration()?;
    }
    Ok(parser.module)
}

/// One token of look-ahead, and the module read so far.
struct Parser<'a> {
    lexer: Lexer<'a>,
    token: Token<'a>,
    at: usize,
    module: Module,
}

impl<'a> Parser<'a> {
    fn error<T>(&self, message: impl Into<String>) -> Parsed<T> {
        Err(self.lexer.error(self.at, message.into()))
    }

    fn expected<T>(&self, what: &str) -> Parsed<T> {
        self.error(format!("expected {what}, found {}", self.token))
    }

    fn bump(&mut self) -> Parsed<Token<'a>> {
        let (token, at) = self.lexer.next()?;
        self.at = at;
        Ok(std::mem::replace(&mut self.token, token))
    }

    /// Takes the punctuation if it is next.
    fn eat(&mut self, c: char) -> Parsed<bool> {
        let found = self.token == Token::Punct(c);
        if found {
            self.bump()?;
        }
        Ok(found)
    }

    fn expect(&mut self, c: char) -> Parsed<()> {
        if self.eat(c)? { Ok(()) } else { self.expected(&format!("`{c}`")) }
    }

    /// Takes the word if it is next.
    fn eat_word(&mut self, word: &str) -> Parsed<bool> {
        let found = self.token == Token::Word(word);
        if found {
            self.bump()?;
        }
        Ok(found)
    }

    fn expect_word(&mut self, word: &str) -> Parsed<()> {
        if self.eat_word(word)? { Ok(()) } else { self.expected(&format!("`{word}`")) }
    }

    fn text(&mut self) -> Parsed<String> {
        if !matches!(self.token, Token::Text(_)) {
            return self.expected("a string");
        }
        let Token::Text(text) = self.bump()? else { return Ok(String::new()) };
        Ok(text)
    }

    /// A decimal number of type `T`.
    fn number<T: std::str::FromStr>(&mut self) -> Parsed<T> {
        let Token::Number(spelling) = self.token else { return self.expected("a number") };
        match spelling.parse() {
            Ok(number) => {
                self.bump()?;
                Ok(number)
            }
            Err(_) => self.error(format!("{spelling} is not a number that fits here")),
        }
    }

    /// A word of a table.
    fn named<T>(&mut self, what: &str, from_name: impl Fn(&str) -> Option<T>) -> Parsed<T> {
        let found = if let Token::Word(word) = self.token { from_name(word) } else { None };
        match found {
            Some(found) => {
                self.bump()?;
                Ok(found)
            }
            None => self.expected(what),
        }
    }

    /// An entity such as `v12`: the prefix and a number without sign or leading zeros.
    fn entity(&mut self, prefix: &str) -> Parsed<u32> {
        match self.peek_entity(prefix) {
            Some(number) => {
                self.bump()?;
                Ok(number)
            }
            None => self.expected(&format!("`{prefix}` and a number")),
        }
    }

    fn peek_entity(&self, prefix: &str) -> Option<u32> {
        let Token::Word(word) = self.token else {
            // Entities are words.
            return None;
        };
        let digits = word.strip_prefix(prefix)?;
        let canonical =
            digits.bytes().all(|b| b.is_ascii_digit()) && (digits.len() == 1 || !digits.starts_with('0'));
        if canonical { digits.parse().ok() } else { None }
    }

    /// An entity that must be the next of its table.
    fn declared(&mut self, prefix: &str, count: usize) -> Parsed<()> {
        let number = self.peek_entity(prefix);
        if number.map(|n| n as usize) != Some(count) {
            return self.expected(&format!("`{prefix}{count}`"));
        }
        self.bump()?;
        Ok(())
    }

    fn scalar(&mut self) -> Parsed<Scalar> {
        self.named("a scalar type", Scalar::from_name)
    }

    fn ty(&mut self) -> Parsed<Type> {
        self.named("a type", |word| {
            if let Some(space) = word.strip_prefix("ptr.") {
                return Space::from_name(space).map(Type::Ptr);
            }
            if let Some(scalar) = Scalar::from_name(word) {
                return Some(Type::Scalar(scalar));
            }
            let (scalar, count) = word.rsplit_once('x')?;
            let count = count.parse().ok().filter(|n| (2..=4).contains(n))?;
            Some(Type::Vector(Scalar::from_name(scalar)?, count))
        })
    }
}

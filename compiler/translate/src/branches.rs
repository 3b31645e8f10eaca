//! Branches of conditionals that are not taken, as far as macros tell.
//!
//! Truths are `Some`, and `None` where it is not known whether a condition holds.
//! `msl::pp` knows every macro, and decides every condition; a source that is translated may be compiled
//! later with other definitions, so that conditions over unknown macros stay undecided.

use std::collections::{BTreeMap, BTreeSet};

use crate::token::Text;

/// A conditional that is open.
struct Conditional {
    /// Whether the text around it is taken.
    outer: Option<bool>,
    /// Whether one of the branches so far is taken, if the text around is.
    earlier: Option<bool>,
}

/// The most macros in macros that a condition may name.
const MAX_DEPTH: u32 = 16;

/// The longest bodies of macros that are evaluated.
const MAX_BODY: usize = 40;

/// The macros that are defined at some point of a source.
struct Macros {
    /// With the words of their bodies, if they have no parameters.
    certain: BTreeMap<String, Option<Vec<String>>>,
    /// Those that the source defines, somewhere.
    possible: BTreeSet<String>,
    /// Whether all others are undefined.
    complete: bool,
}

/// By token: whether it is in a branch that is certainly not taken. `defined` are the macros that are defined
/// before the source, with their values; if they are `complete`, no other is.
pub(crate) fn not_taken(text: &Text<'_>, defined: &BTreeMap<String, String>, complete: bool) -> Vec<bool> {
    let starts: Vec<bool> = (0..text.len()).map(|token| begins_directive(text, token)).collect();
    let defines = |token: &usize| starts[*token] && text.at(token + 1) == "define";
    let mut macros = Macros {
        complete,
        certain: defined.iter().map(|(name, value)| (name.clone(), Some(words_of(value)))).collect(),
        possible: (0..text.len()).filter(defines).map(|token| text.at(token + 2).to_owned()).collect(),
    };
    let mut dead = vec![false; text.len()];
    let mut open: Vec<Conditional> = Vec::new();
    let mut taken = Some(true);
    for token in 0..text.len() {
        if starts[token] {
            match text.at(token + 1) {
                "if" | "ifdef" | "ifndef" => {
                    let truth = macros.condition(text, token);
                    open.push(Conditional { outer: taken, earlier: truth });
                    taken = and(taken, truth);
                }
                word @ ("elif" | "else") => {
                    let truth = if word == "else" { Some(true) } else { macros.condition(text, token) };
                    if let Some(conditional) = open.last_mut() {
                        let none_before = conditional.earlier.map(|earlier| !earlier);
                        taken = and(conditional.outer, and(none_before, truth));
                        conditional.earlier = and(none_before, truth.map(|truth| !truth)).map(|none| !none);
                    }
                }
                "endif" => taken = open.pop().map_or(Some(true), |conditional| conditional.outer),
                "define" if taken == Some(true) => {
                    macros.certain.insert(text.at(token + 2).to_owned(), body(text, token));
                }
                "undef" if taken != Some(false) => {
                    macros.certain.remove(text.at(token + 2));
                    macros.possible.insert(text.at(token + 2).to_owned());
                }
                _ => {}
            }
        }
        dead[token] = taken == Some(false);
    }
    dead
}

fn and(a: Option<bool>, b: Option<bool>) -> Option<bool> {
    match (a, b) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

pub(crate) fn begins_directive(text: &Text<'_>, token: usize) -> bool {
    let is_inner = token > 0 && text.in_directive(token - 1) && text.directive_end(token - 1) >= token;
    text.in_directive(token) && text.at(token) == "#" && !is_inner
}

/// The words of the body of a macro without parameters.
fn body(text: &Text<'_>, hash: usize) -> Option<Vec<String>> {
    let first = hash + 3;
    let has_parameters = text.at(first) == "(" && text.range(first).start == text.range(hash + 2).end;
    let words: Vec<String> =
        (first..=text.directive_end(hash)).map(|token| text.at(token).to_owned()).collect();
    (!has_parameters && words.len() <= MAX_BODY).then_some(words)
}

fn words_of(value: &str) -> Vec<String> {
    let text = Text::new(value);
    (0..text.len()).map(|token| text.at(token).to_owned()).collect()
}

/// How tight a binary operator of C binds.
pub(crate) fn precedence(word: &str) -> Option<u32> {
    Some(match word {
        "||" => 1,
        "&&" => 2,
        "|" => 3,
        "^" => 4,
        "&" => 5,
        "==" | "!=" => 6,
        "<" | ">" | "<=" | ">=" => 7,
        "<<" | ">>" => 8,
        "+" | "-" => 9,
        "*" | "/" | "%" => 10,
        _ => return None,
    })
}

/// The value of an integer as the preprocessor reads it.
fn number(word: &str) -> Option<i64> {
    let digits = word.trim_end_matches(['u', 'U', 'l', 'L']);
    match digits.strip_prefix("0x").or(digits.strip_prefix("0X")) {
        Some(hex) => i64::from_str_radix(hex, 16).ok(),
        None if digits.len() > 1 && digits.starts_with('0') => i64::from_str_radix(digits, 8).ok(),
        None => digits.parse().ok(),
    }
}

impl Macros {
    fn has(&self, name: &str) -> Option<bool> {
        match (self.certain.contains_key(name), self.possible.contains(name)) {
            (true, _) => Some(true),
            (false, false) if self.complete => Some(false),
            (false, _) => None,
        }
    }

    /// Whether the condition of a directive holds.
    fn condition(&self, text: &Text<'_>, hash: usize) -> Option<bool> {
        let words: Vec<&str> = (hash + 2..=text.directive_end(hash)).map(|token| text.at(token)).collect();
        match (text.at(hash + 1), &words[..]) {
            ("ifdef", [name]) => self.has(name),
            ("ifndef", [name]) => self.has(name).map(|truth| !truth),
            ("ifdef" | "ifndef", _) => None,
            _ => self.value(&words, MAX_DEPTH).map(|value| value != 0),
        }
    }

    fn value(&self, words: &[&str], depth: u32) -> Option<i64> {
        let mut reader = Condition { macros: self, words, at: 0, depth };
        let value = reader.binary(1);
        // Words that are left over are of something that is not understood, as a call of a macro.
        value.filter(|_| reader.at == words.len())
    }
}

/// A condition that is being read. An operand that is not known does not matter where the other decides.
struct Condition<'a> {
    macros: &'a Macros,
    words: &'a [&'a str],
    at: usize,
    depth: u32,
}

impl Condition<'_> {
    fn word(&self) -> &str {
        self.words.get(self.at).copied().unwrap_or_default()
    }

    fn takes(&mut self, word: &str) -> bool {
        let is_it = self.word() == word;
        self.at += usize::from(is_it);
        is_it
    }

    fn binary(&mut self, least: u32) -> Option<i64> {
        let mut left = self.unary();
        while let Some(level) = precedence(self.word()).filter(|level| *level >= least) {
            let operator = self.word().to_owned();
            self.at += 1;
            let right = self.binary(level + 1);
            left = operation(&operator, left, right);
        }
        left
    }

    fn unary(&mut self) -> Option<i64> {
        self.depth = self.depth.checked_sub(1)?;
        let value = self.operand();
        self.depth += 1;
        value
    }

    fn operand(&mut self) -> Option<i64> {
        if self.takes("!") {
            return self.unary().map(|value| i64::from(value == 0));
        }
        if self.takes("-") {
            return self.unary().map(i64::wrapping_neg);
        }
        if self.takes("(") {
            let value = self.binary(1);
            return if self.takes(")") { value } else { None };
        }
        if self.takes("defined") {
            let has_parenthesis = self.takes("(");
            let truth = self.macros.has(self.word());
            self.at += 1;
            let is_closed = !has_parenthesis || self.takes(")");
            return truth.filter(|_| is_closed).map(i64::from);
        }
        let word = self.word().to_owned();
        self.at += 1;
        if !word.starts_with(|c: char| c.is_alphabetic() || c == '_') {
            return number(&word);
        }
        match self.macros.certain.get(&word) {
            Some(body) => {
                let body: Vec<&str> = body.as_ref()?.iter().map(String::as_str).collect();
                self.macros.value(&body, self.depth)
            }
            None if self.macros.possible.contains(&word) => None,
            None => Some(0),
        }
    }
}

fn operation(operator: &str, left: Option<i64>, right: Option<i64>) -> Option<i64> {
    let truth = |value: Option<i64>| value.map(|value| value != 0);
    match operator {
        "&&" => return and(truth(left), truth(right)).map(i64::from),
        "||" => {
            let neither = and(truth(left).map(|truth| !truth), truth(right).map(|truth| !truth));
            return neither.map(|neither| i64::from(!neither));
        }
        _ => {}
    }
    let (left, right) = (left?, right?);
    Some(match operator {
        "|" => left | right,
        "^" => left ^ right,
        "&" => left & right,
        "==" => i64::from(left == right),
        "!=" => i64::from(left != right),
        "<" => i64::from(left < right),
        ">" => i64::from(left > right),
        "<=" => i64::from(left <= right),
        ">=" => i64::from(left >= right),
        "<<" => left.checked_shl(u32::try_from(right).ok()?)?,
        ">>" => left.checked_shr(u32::try_from(right).ok()?)?,
        "+" => left.wrapping_add(right),
        "-" => left.wrapping_sub(right),
        "*" => left.wrapping_mul(right),
        "/" => left.checked_div(right)?,
        "%" => left.checked_rem(right)?,
        operator => unreachable!("`{operator}` has a precedence and no value"),
    })
}

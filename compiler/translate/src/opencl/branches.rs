//! Branches of conditionals that are not taken, as far as macros tell.
//!
//! Truths are `Some`, and `None` where it is not known whether a condition holds.

use std::collections::BTreeSet;

use crate::token::Text;

/// A conditional that is open.
struct Conditional {
    /// Whether the text around it is taken.
    outer: Option<bool>,
    /// Whether one of the branches so far is taken, if the text around is.
    earlier: Option<bool>,
}

/// The macros that are defined at some point of a source.
struct Macros {
    certain: BTreeSet<String>,
    /// Those that the source defines, somewhere.
    possible: BTreeSet<String>,
}

/// By token: whether it is in a branch that is certainly not taken. Of conditions only numbers and whether
/// macros are defined are understood. `defined` are the macros that are defined before the source.
pub(super) fn not_taken(text: &Text<'_>, defined: &BTreeSet<String>) -> Vec<bool> {
    let starts: Vec<bool> = (0..text.len()).map(|token| begins_directive(text, token)).collect();
    let defines = |token: &usize| starts[*token] && text.at(token + 1) == "define";
    let mut macros = Macros {
        certain: defined.clone(),
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
                    macros.certain.insert(text.at(token + 2).to_owned());
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

pub(super) fn begins_directive(text: &Text<'_>, token: usize) -> bool {
    let is_inner = token > 0 && text.in_directive(token - 1) && text.directive_end(token - 1) >= token;
    text.in_directive(token) && text.at(token) == "#" && !is_inner
}

impl Macros {
    fn has(&self, name: &str) -> Option<bool> {
        match (self.certain.contains(name), self.possible.contains(name)) {
            (true, _) => Some(true),
            (false, true) => None,
            (false, false) => Some(false),
        }
    }

    /// Whether the condition of a directive holds.
    fn condition(&self, text: &Text<'_>, hash: usize) -> Option<bool> {
        let words: Vec<&str> = (hash + 2..=text.directive_end(hash)).map(|token| text.at(token)).collect();
        match (text.at(hash + 1), &words[..]) {
            ("ifdef", [name]) => self.has(name),
            ("ifndef", [name]) => self.has(name).map(|truth| !truth),
            (_, ["0"]) => Some(false),
            (_, ["1"]) => Some(true),
            (_, ["defined", "(", name, ")"] | ["defined", name]) => self.has(name),
            (_, ["!", "defined", "(", name, ")"] | ["!", "defined", name]) => {
                self.has(name).map(|truth| !truth)
            }
            _ => None,
        }
    }
}

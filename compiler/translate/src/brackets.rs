//! Which bracket closes which.
//!
//! Brackets are matched by depth, whatever their kind. The branches of a conditional (`#if`, `#else`) each
//! begin at the depth of the `#if`, and what follows `#endif` goes on from the first branch, so that text in
//! which both branches open a block is still matched. The brackets of a directive are matched within it.

use crate::token::Token;

/// The partner of each bracket.
#[derive(Debug)]
pub(crate) struct Brackets(Vec<u32>);

const NONE: u32 = u32::MAX;

/// An open bracket with those around it.
struct Open {
    token: u32,
    outer: u32,
}

/// A conditional: the innermost open bracket at its `#if`, and at the end of its first branch.
struct Conditional {
    start: u32,
    first: Option<u32>,
}

impl Brackets {
    pub(crate) fn of(source: &str, tokens: &[Token]) -> Self {
        let mut partners = vec![NONE; tokens.len()];
        let mut opened: Vec<Open> = Vec::new();
        let mut conditionals: Vec<Conditional> = Vec::new();
        // The innermost open bracket: of the text, and of the current directive.
        let (mut innermost, mut in_directive, mut directive) = (NONE, NONE, 0);
        for (number, token) in tokens.iter().enumerate() {
            let text = &source[token.range.clone()];
            if token.directive != directive {
                (directive, in_directive) = (token.directive, NONE);
                if directive != 0 {
                    let word = tokens.get(number + 1).map_or("", |token| &source[token.range.clone()]);
                    conditional(word, &mut conditionals, &mut innermost);
                }
            }
            let top = if directive == 0 { &mut innermost } else { &mut in_directive };
            match text {
                "(" | "[" | "{" => {
                    opened.push(Open { token: number as u32, outer: *top });
                    *top = opened.len() as u32 - 1;
                }
                ")" | "]" | "}" => {
                    let Some(open) = opened.get(*top as usize) else { continue };
                    partners[number] = open.token;
                    // A bracket that each branch closes belongs to the first.
                    if partners[open.token as usize] == NONE {
                        partners[open.token as usize] = number as u32;
                    }
                    *top = open.outer;
                }
                _ => {}
            }
        }
        Self(partners)
    }

    pub(crate) fn partner(&self, token: usize) -> Option<usize> {
        self.0.get(token).filter(|&&partner| partner != NONE).map(|&partner| partner as usize)
    }
}

fn conditional(word: &str, conditionals: &mut Vec<Conditional>, innermost: &mut u32) {
    match word {
        "if" | "ifdef" | "ifndef" => conditionals.push(Conditional { start: *innermost, first: None }),
        "else" | "elif" => {
            if let Some(conditional) = conditionals.last_mut() {
                conditional.first.get_or_insert(*innermost);
                *innermost = conditional.start;
            }
        }
        "endif" => {
            if let Some(Conditional { first: Some(first), .. }) = conditionals.pop() {
                *innermost = first;
            }
        }
        _ => {}
    }
}

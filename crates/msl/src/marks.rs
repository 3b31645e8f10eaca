//! Marks: attributes by which a source tells a sanitizer what it means.
//!
//! `[[anymetal::benign_race]]` and `__attribute__((annotate("anymetal_benign_race")))` say that races of the
//! statement or declaration that follows are meant. Other compilers ignore both. Marks are taken out of the
//! tokens before parsing, so that they may stand wherever a statement or declaration begins, and within a
//! declaration. Invariant: what is left parses as if they had never been there.

use crate::token::{Kw, Punct, Token, TokenKind};
use anymetal_diag::Span;

/// What a mark says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum MarkKind {
    /// Races are meant.
    BenignRace,
}

/// A mark and what it is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mark {
    /// What it says.
    pub kind: MarkKind,
    /// The mark itself.
    pub from: Span,
    /// The last token of the statement or declaration that it is about.
    pub to: Span,
}

/// Takes the marks out of the tokens.
pub(crate) fn take(tokens: &mut Vec<Token>) -> Vec<Mark> {
    let mut marks = Vec::new();
    let mut taken: Vec<std::ops::Range<usize>> = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let Some(len) = mark_length(&tokens[at..]) else {
            at += 1;
            continue;
        };
        let to = tokens[end_of_subject(tokens, at + len)].span;
        marks.push(Mark { kind: MarkKind::BenignRace, from: tokens[at].span, to });
        taken.push(at..at + len);
        at += len;
    }
    if !taken.is_empty() {
        let mut position = 0;
        let mut taken = taken.into_iter().peekable();
        tokens.retain(|_| {
            let here = position;
            position += 1;
            while taken.next_if(|range| range.end <= here).is_some() {}
            !taken.peek().is_some_and(|range| range.contains(&here))
        });
    }
    marks
}

/// How many tokens the mark has that the tokens begin with, if they do.
fn mark_length(tokens: &[Token]) -> Option<usize> {
    let is = |at: usize, punct| tokens.get(at).is_some_and(|token| token.kind == TokenKind::Punct(punct));
    let is_word = |at: usize, word: &str| {
        matches!(tokens.get(at)?.kind, TokenKind::Ident(name) if name.as_str() == word).then_some(())
    };
    match tokens.first()?.kind {
        TokenKind::Punct(Punct::LBracket) if is(1, Punct::LBracket) && is(3, Punct::ColonColon) => {
            is_word(2, "anymetal")?;
            is_word(4, "benign_race")?;
            (is(5, Punct::RBracket) && is(6, Punct::RBracket)).then_some(7)
        }
        TokenKind::Keyword(Kw::Attribute)
            if [1, 2, 4].iter().all(|&at| is(at, Punct::LParen))
                && [6, 7, 8].iter().all(|&at| is(at, Punct::RParen)) =>
        {
            is_word(3, "annotate").or_else(|| is_word(3, "__annotate__"))?;
            let TokenKind::Str(text) = tokens.get(5)?.kind else { return None };
            (text.as_str() == "anymetal_benign_race").then_some(9)
        }
        _ => None,
    }
}

/// The position of the last token of the statement or declaration that begins, or goes on, at `start`: its
/// first semicolon or closing brace outside of brackets, or the last token before the brackets around it end.
fn end_of_subject(tokens: &[Token], start: usize) -> usize {
    let last = tokens.len().saturating_sub(1);
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(start) {
        let TokenKind::Punct(punct) = token.kind else { continue };
        match punct {
            Punct::LParen | Punct::LBracket | Punct::LBrace => depth += 1,
            Punct::RParen | Punct::RBracket | Punct::RBrace if depth == 0 => {
                return at.saturating_sub(1).max(start.min(last));
            }
            Punct::RBrace if depth == 1 => return at,
            Punct::RParen | Punct::RBracket | Punct::RBrace => depth -= 1,
            Punct::Semi if depth == 0 => return at,
            _ => {}
        }
    }
    last
}

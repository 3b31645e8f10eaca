//! Marks: attributes by which a source tells a sanitizer what it means.
//!
//! `[[anymetal::benign_race]]`, `[[clang::annotate("anymetal: …")]]` and
//! `__attribute__((annotate("anymetal: …")))` are about the statement or declaration that follows. What they
//! say is not looked into here. Other compilers ignore them. Marks are taken out of the tokens before
//! parsing, so that they may stand wherever a statement or declaration begins, and within a declaration.
//! Invariant: what is left parses as if they had never been there.

use crate::token::{Kw, Punct, Token, TokenKind};
use anymetal_diagnostics::Span;

/// A mark and what it is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Mark {
    /// What it says, without `anymetal` and what separates it.
    pub(crate) text: String,
    /// The mark itself.
    pub(crate) from: Span,
    /// The last token of the statement or declaration that it is about.
    pub(crate) to: Span,
}

/// Takes the marks out of the tokens.
pub(crate) fn take(tokens: &mut Vec<Token>) -> Vec<Mark> {
    let mut marks = Vec::new();
    let mut taken: Vec<std::ops::Range<usize>> = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let Some((len, text)) = mark(&tokens[at..]) else {
            at += 1;
            continue;
        };
        let to = tokens[end_of_subject(tokens, at + len)].span;
        marks.push(Mark { text, from: tokens[at].span, to });
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

/// How many tokens the mark has that the tokens begin with, and what it says, if they do.
fn mark(tokens: &[Token]) -> Option<(usize, String)> {
    use Punct::{ColonColon, LBracket, LParen, RBracket, RParen};
    match tokens.first()?.kind {
        TokenKind::Punct(LBracket)
            if puncts(tokens, 0, &[LBracket, LBracket]) && puncts(tokens, 3, &[ColonColon]) =>
        {
            if is_word(tokens, 2, &["anymetal"]) {
                let word = word(tokens, 4)?;
                return puncts(tokens, 5, &[RBracket, RBracket]).then(|| (7, word.to_owned()));
            }
            let is_annotation = is_word(tokens, 2, &["clang"])
                && is_word(tokens, 4, &["annotate"])
                && puncts(tokens, 5, &[LParen])
                && puncts(tokens, 7, &[RParen, RBracket, RBracket]);
            Some((10, annotation(tokens.get(6).filter(|_| is_annotation)?)?))
        }
        TokenKind::Keyword(Kw::Attribute) => {
            let is_annotation = puncts(tokens, 1, &[LParen, LParen])
                && is_word(tokens, 3, &["annotate", "__annotate__"])
                && puncts(tokens, 4, &[LParen])
                && puncts(tokens, 6, &[RParen, RParen, RParen]);
            Some((9, annotation(tokens.get(5).filter(|_| is_annotation)?)?))
        }
        _ => None,
    }
}

/// What an annotation says, if it is one of ours.
fn annotation(token: &Token) -> Option<String> {
    let TokenKind::Str(text) = token.kind else { return None };
    let text = text.as_str().strip_prefix("anymetal")?.strip_prefix([':', '_'])?;
    Some(text.trim().to_owned())
}

fn word(tokens: &[Token], at: usize) -> Option<&'static str> {
    match tokens.get(at)?.kind {
        TokenKind::Ident(name) => Some(name.as_str()),
        _ => None,
    }
}

fn is_word(tokens: &[Token], at: usize, words: &[&str]) -> bool {
    word(tokens, at).is_some_and(|word| words.contains(&word))
}

fn puncts(tokens: &[Token], at: usize, wanted: &[Punct]) -> bool {
    let found = tokens.iter().skip(at).take(wanted.len());
    tokens.len() >= at + wanted.len()
        && found.zip(wanted).all(|(token, &punct)| token.kind == TokenKind::Punct(punct))
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

//! `#pragma` and `_Pragma`: those the parser must see become tokens, all others are dropped.

use super::pp_token::{PpKind, PpToken};
use super::state::Preprocessor;
use crate::lexer::{Lines, Scanner, decode_string};
use crate::token::{ContractMode, MathMode, Name, Pragma, Punct, UnrollHint};
use anymetal_diag::{Diagnostic, Span};

impl Preprocessor<'_> {
    pub(super) fn pragma_directive(&mut self, directive: PpToken) {
        let tokens = self.rest_of_line();
        if tokens.first().is_some_and(|token| token.kind == PpKind::Ident && token.name == "once") {
            self.mark_once();
            return;
        }
        let made = interpret(&tokens, directive.span);
        self.pending.extend(made);
    }

    /// `_Pragma("..")`, whose name was read from the expanded text.
    pub(super) fn pragma_operator(&mut self, name: PpToken) {
        let open = self.next_expanded();
        let text = if open.is_punct(Punct::LParen) { self.next_expanded() } else { open };
        let close = if text.kind == PpKind::Str { self.next_expanded() } else { text };
        if !close.is_punct(Punct::RParen) || text.kind != PpKind::Str {
            self.report(|| {
                Diagnostic::error(
                    "invalid-pragma",
                    name.span,
                    "`_Pragma` needs a string literal in parentheses",
                )
            });
            return;
        }
        let tokens = tokens_of(&decode_string(text.name.as_str()).value, text.span);
        let made = interpret(&tokens, name.span);
        for token in self.expand_list(&made) {
            self.emit(token);
        }
    }
}

/// The tokens of a text that stands in a string literal; all of them are placed there.
fn tokens_of(text: &str, span: Span) -> Vec<PpToken> {
    let mut scanner = Scanner::new(text, 0);
    let mut tokens = Vec::new();
    loop {
        let raw = scanner.next(Lines::Stop);
        let kind = PpKind::from(raw.kind);
        if matches!(kind, PpKind::LineEnd | PpKind::End) {
            return tokens;
        }
        tokens.push(PpToken { space: raw.space, ..PpToken::made(kind, raw.name, span) });
    }
}

/// What stands in the token stream for a pragma's tokens; nothing for those without a meaning here.
fn interpret(tokens: &[PpToken], span: Span) -> Vec<PpToken> {
    let words: Vec<&str> = tokens
        .iter()
        .take(3)
        .map(|token| if token.kind == PpKind::Ident { token.name.as_str() } else { "" })
        .collect();
    let mut made = Made { tokens: Vec::new(), span };
    match words[..] {
        ["unroll"] => made.pragma(Pragma::Unroll(UnrollHint::Enable)),
        ["unroll", ..] => made.unroll_count(&tokens[1..]),
        ["nounroll", ..] => made.pragma(Pragma::Unroll(UnrollHint::Disable)),
        ["clang", "loop", ..] => made.options(&tokens[2..], Made::loop_option),
        ["METAL" | "clang", "fp", ..] => made.options(&tokens[2..], Made::fp_option),
        ["STDC", "FP_CONTRACT", "ON" | "DEFAULT"] => made.pragma(Pragma::Contract(ContractMode::On)),
        ["STDC", "FP_CONTRACT", "OFF"] => made.pragma(Pragma::Contract(ContractMode::Off)),
        _ => {}
    }
    made.tokens
}

/// The tokens that stand for a pragma.
struct Made {
    tokens: Vec<PpToken>,
    span: Span,
}

impl Made {
    fn pragma(&mut self, pragma: Pragma) {
        self.tokens.push(PpToken::made(PpKind::Pragma(pragma), Name::EMPTY, self.span));
    }

    fn unroll_count(&mut self, expression: &[PpToken]) {
        self.pragma(Pragma::UnrollCountBegin);
        self.tokens.extend_from_slice(expression);
        self.pragma(Pragma::End);
    }

    /// Calls `option` with the name and the operand of every `name(operand)`.
    fn options(&mut self, tokens: &[PpToken], option: fn(&mut Self, &str, &[PpToken])) {
        let mut position = 0;
        while let Some(name) = tokens.get(position) {
            position += 1;
            if name.kind != PpKind::Ident
                || !tokens.get(position).is_some_and(|next| next.is_punct(Punct::LParen))
            {
                continue;
            }
            let length = balanced_length(&tokens[position..]);
            let operand = &tokens[position..position + length];
            position += length;
            option(self, name.name.as_str(), operand);
        }
    }

    fn loop_option(&mut self, name: &str, operand: &[PpToken]) {
        match (name, operand_word(operand)) {
            ("unroll", "full") => self.pragma(Pragma::Unroll(UnrollHint::Full)),
            ("unroll", "enable") => self.pragma(Pragma::Unroll(UnrollHint::Enable)),
            ("unroll", "disable") => self.pragma(Pragma::Unroll(UnrollHint::Disable)),
            ("unroll_count", _) => self.unroll_count(operand),
            _ => {}
        }
    }

    fn fp_option(&mut self, name: &str, operand: &[PpToken]) {
        let pragma = match (name, operand_word(operand)) {
            ("math_mode", "safe") => Pragma::MathMode(MathMode::Safe),
            ("math_mode", "relaxed") => Pragma::MathMode(MathMode::Relaxed),
            ("math_mode", "fast") => Pragma::MathMode(MathMode::Fast),
            ("contract", "off") => Pragma::Contract(ContractMode::Off),
            ("contract", "on") => Pragma::Contract(ContractMode::On),
            ("contract", "fast") => Pragma::Contract(ContractMode::Fast),
            _ => return,
        };
        self.pragma(pragma);
    }
}

/// The length of the parenthesised tokens at the start, parentheses included; all when never closed.
fn balanced_length(tokens: &[PpToken]) -> usize {
    let mut depth = 0usize;
    for (index, token) in tokens.iter().enumerate() {
        match token.kind {
            PpKind::Punct(Punct::LParen) => depth += 1,
            PpKind::Punct(Punct::RParen) => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return index + 1;
        }
    }
    tokens.len()
}

/// The single word in parentheses.
fn operand_word(operand: &[PpToken]) -> &'static str {
    match operand {
        [_, word, _] if word.kind == PpKind::Ident => word.name.as_str(),
        _ => "",
    }
}

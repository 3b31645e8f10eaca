//! `#pragma` and `_Pragma`: those the parser must see become tokens, all others are dropped.

use super::pp_token::{PpKind, PpToken};
use super::state::Preprocessor;
use super::{emit, expand, include};
use crate::lexer::{Lines, Scanner, decode_string};
use crate::token::{ContractMode, MathMode, Name, Pragma, Punct, UnrollHint};
use anymetal_diagnostics::{Diagnostic, Span};

pub(super) fn directive(pp: &mut Preprocessor<'_>, directive: PpToken) {
    let tokens = pp.rest_of_line();
    if tokens.first().is_some_and(|token| token.kind == PpKind::Ident && token.name == "once") {
        include::mark_once(pp);
        return;
    }
    let made = interpret(pp, &tokens, directive.span);
    pp.pending.extend(made);
}

/// `_Pragma("..")`, whose name was read from the expanded text.
pub(super) fn operator(pp: &mut Preprocessor<'_>, name: PpToken) {
    let open = expand::next_expanded(pp);
    let text = if open.is_punct(Punct::LParen) { expand::next_expanded(pp) } else { open };
    let close = if text.kind == PpKind::Str { expand::next_expanded(pp) } else { text };
    if !close.is_punct(Punct::RParen) || text.kind != PpKind::Str {
        pp.report(|| {
            Diagnostic::error("invalid-pragma", name.span, "`_Pragma` needs a string literal in parentheses")
        });
        return;
    }
    let tokens = tokens_of(&decode_string(text.name.as_str()).value, text.span);
    let made = interpret(pp, &tokens, name.span);
    for token in expand::expand_list(pp, &made) {
        emit::token(pp, token);
    }
}

/// The tokens that stand for a pragma in the token stream; none for those without a meaning here. Reports
/// floating-point pragmas in unknown forms, which are ignored.
fn interpret(pp: &mut Preprocessor<'_>, tokens: &[PpToken], span: Span) -> Vec<PpToken> {
    let mut made = Made { tokens: Vec::new(), ignored: Vec::new(), span };
    made.interpret(tokens);
    for (span, message) in made.ignored {
        pp.report(|| Diagnostic::warning("unknown-pragma", span, message));
    }
    made.tokens
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

/// The tokens that stand for a pragma.
struct Made {
    tokens: Vec<PpToken>,
    /// What is wrong with the pragma, and where.
    ignored: Vec<(Span, String)>,
    span: Span,
}

impl Made {
    fn interpret(&mut self, tokens: &[PpToken]) {
        let words: Vec<&str> = tokens.iter().take(2).map(word).collect();
        match words[..] {
            ["unroll"] => self.pragma(Pragma::Unroll(UnrollHint::Enable)),
            ["unroll", ..] => self.unroll_count(&tokens[1..]),
            ["nounroll", ..] => self.pragma(Pragma::Unroll(UnrollHint::Disable)),
            ["clang", "loop"] => self.options(&tokens[2..], Self::loop_option),
            ["METAL" | "clang", "fp"] => self.fp_options(&tokens[2..]),
            ["STDC", ..] => self.standard(&tokens[1..]),
            _ => {}
        }
    }

    fn ignore(&mut self, token: Option<&PpToken>, message: impl Into<String>) {
        let span = token.map_or(self.span, |token| token.span);
        self.ignored.push((span, format!("{}: the pragma is ignored", message.into())));
    }

    /// The standard's pragmas, after `STDC`.
    fn standard(&mut self, tokens: &[PpToken]) {
        match (tokens.first().map(word), tokens.get(1).map(word)) {
            (Some("FP_CONTRACT"), Some("ON")) => self.pragma(Pragma::Contract(ContractMode::On)),
            (Some("FP_CONTRACT"), Some("OFF")) => self.pragma(Pragma::Contract(ContractMode::Off)),
            (Some("FP_CONTRACT"), Some("DEFAULT")) => self.pragma(Pragma::Contract(ContractMode::default())),
            (Some("FP_CONTRACT"), _) => {
                self.ignore(tokens.get(1), "expected `ON`, `OFF` or `DEFAULT` after `FP_CONTRACT`");
            }
            // They have one setting here, the default.
            (Some("FENV_ACCESS" | "FENV_ROUND" | "CX_LIMITED_RANGE"), _) => {}
            _ => self.ignore(tokens.first(), "unknown pragma of the C standard"),
        }
    }

    /// One or more `option(argument)`.
    fn fp_options(&mut self, tokens: &[PpToken]) {
        if tokens.is_empty() {
            self.ignore(None, "expected `math_mode(…)` or `contract(…)` after `fp`");
        }
        let mut rest = tokens;
        while let Some((name, after)) = rest.split_first() {
            let length = balanced_length(after);
            let pragma = match (word(name), operand_word(&after[..length])) {
                ("math_mode", "safe") => Some(Pragma::MathMode(MathMode::Safe)),
                ("math_mode", "relaxed") => Some(Pragma::MathMode(MathMode::Relaxed)),
                ("math_mode", "fast") => Some(Pragma::MathMode(MathMode::Fast)),
                ("contract", "off") => Some(Pragma::Contract(ContractMode::Off)),
                ("contract", "on") => Some(Pragma::Contract(ContractMode::On)),
                ("contract", "fast") => Some(Pragma::Contract(ContractMode::Fast)),
                _ => None,
            };
            match (pragma, word(name)) {
                (Some(pragma), _) => self.pragma(pragma),
                (None, "math_mode") => {
                    self.ignore(
                        after.first(),
                        "expected `(safe)`, `(relaxed)` or `(fast)` after `math_mode`",
                    );
                }
                (None, "contract") => {
                    self.ignore(after.first(), "expected `(off)`, `(on)` or `(fast)` after `contract`");
                }
                (None, _) => self.ignore(Some(name), "expected `math_mode(…)` or `contract(…)` after `fp`"),
            }
            if pragma.is_none() {
                return;
            }
            rest = &after[length..];
        }
    }

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
}

/// The word, if it is one.
fn word(token: &PpToken) -> &'static str {
    if token.kind == PpKind::Ident { token.name.as_str() } else { "" }
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

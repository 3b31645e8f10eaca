//! The last step: preprocessing tokens to the parser's tokens.
//!
//! Literals are converted, keywords recognised and adjacent string literals joined. Mistakes in
//! literals are reported here, because text that is skipped or stringised may contain anything.

use super::has_query;
use super::pp_token::{PpKind, PpToken};
use super::state::Preprocessor;
use crate::lexer::{decode_char, decode_string, parse_number};
use crate::token::{IntLiteral, Kw, Name, Punct, Token, TokenKind};
use anymetal_diagnostics::{Diagnostic, Span};

/// The tokens made so far.
#[derive(Default)]
pub(super) struct Emitter {
    tokens: Vec<Token>,
    /// A string literal that the next one would be joined to.
    string: Option<(String, Span)>,
}

impl Emitter {
    pub(super) fn into_tokens(self) -> Vec<Token> {
        self.tokens
    }
}

/// Hands one token to the parser.
pub(super) fn token(pp: &mut Preprocessor<'_>, token: PpToken) {
    if token.kind == PpKind::Str {
        emit_string(pp, token);
        return;
    }
    flush_string(pp);
    if token.kind == PpKind::Ident && has_query::is_for_directives(&pp.known, token.name) {
        let message = format!("`{}` must be used within a preprocessing directive", token.name);
        pp.report(|| Diagnostic::error("invalid-condition", token.span, message));
        return;
    }
    let kind = match token.kind {
        PpKind::Ident => match (Kw::from_name(token.name), Punct::from_name(token.name)) {
            (Some(keyword), _) => TokenKind::Keyword(keyword),
            (_, Some(punct)) => TokenKind::Punct(punct),
            _ => TokenKind::Ident(token.name),
        },
        PpKind::Punct(punct) => TokenKind::Punct(punct),
        PpKind::Pragma(pragma) => TokenKind::Pragma(pragma),
        PpKind::Number => number_kind(pp, token),
        PpKind::Char => char_kind(pp, token),
        PpKind::Other(char) => {
            report_stray(pp, char, token.span);
            return;
        }
        PpKind::Str | PpKind::Placemarker | PpKind::LineEnd | PpKind::End => return,
    };
    push(pp, Token { kind, span: token.span });
}

/// Hands over the string literal that waits for neighbours.
pub(super) fn flush_string(pp: &mut Preprocessor<'_>) {
    if let Some((text, span)) = pp.emitter.string.take() {
        push(pp, Token { kind: TokenKind::Str(Name::new(&text)), span });
    }
}

fn push(pp: &mut Preprocessor<'_>, token: Token) {
    if pp.emitter.tokens.len() >= pp.options.limits.tokens {
        pp.stop("too-many-tokens", token.span, "the translation unit has too many tokens".to_owned());
        return;
    }
    pp.emitter.tokens.push(token);
}

fn emit_string(pp: &mut Preprocessor<'_>, token: PpToken) {
    let most = pp.options.limits.literal_bytes;
    let so_far = pp.emitter.string.as_ref().map_or(0, |(text, _)| text.len());
    // Before it is decoded. A short macro used often makes a long text as well.
    if so_far + token.name.as_str().len() > most {
        let message = format!("a string literal is longer than {most} bytes");
        return pp.stop("literal-too-long", token.span, message);
    }
    let decoded = decode_string(token.name.as_str());
    report_literal(pp, token.span, decoded.problems);
    match &mut pp.emitter.string {
        Some((text, span)) => {
            text.push_str(&decoded.value);
            *span = span.to(token.span);
        }
        string @ None => *string = Some((decoded.value, token.span)),
    }
}

fn number_kind(pp: &mut Preprocessor<'_>, token: PpToken) -> TokenKind {
    match parse_number(token.name.as_str()) {
        Ok(kind) => kind,
        Err(message) => {
            pp.report(|| Diagnostic::error("invalid-number", token.span, message));
            TokenKind::Int(IntLiteral { value: 0, unsigned: false, long: false, decimal: true })
        }
    }
}

fn char_kind(pp: &mut Preprocessor<'_>, token: PpToken) -> TokenKind {
    let decoded = decode_char(token.name.as_str());
    report_literal(pp, token.span, decoded.problems);
    TokenKind::Char(decoded.value)
}

fn report_literal(pp: &mut Preprocessor<'_>, span: Span, problems: Vec<String>) {
    for problem in problems {
        // Clang takes these with a warning.
        let is_usable = problem.starts_with("unknown") || problem.starts_with("character literal holds");
        pp.report(|| {
            if !is_usable {
                Diagnostic::error("invalid-literal", span, problem)
            } else {
                Diagnostic::warning("unknown-escape-sequence", span, problem)
            }
        });
    }
}

fn report_stray(pp: &mut Preprocessor<'_>, char: char, span: Span) {
    // The scanner has reported a universal character name that stands for no character.
    let is_basic = u32::from(char) < 0xA0 || char == char::REPLACEMENT_CHARACTER;
    if is_basic && span.hi - span.lo > char.len_utf8() as u32 {
        return;
    }
    pp.report(|| {
        let message = if char.is_control() || char == char::REPLACEMENT_CHARACTER {
            format!("stray character U+{:04X}", char as u32)
        } else {
            format!("stray character `{char}`")
        };
        Diagnostic::error("stray-character", span, message)
    });
}

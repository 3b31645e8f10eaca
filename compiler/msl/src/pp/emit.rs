//! The last step: preprocessing tokens to the parser's tokens.
//!
//! Literals are converted, keywords recognised and adjacent string literals joined. Mistakes in
//! literals are reported here, because text that is skipped or stringised may contain anything.

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

impl Preprocessor<'_> {
    /// Hands one token to the parser.
    pub(super) fn emit(&mut self, token: PpToken) {
        if token.kind == PpKind::Str {
            self.emit_string(token);
            return;
        }
        self.flush_string();
        let kind = match token.kind {
            PpKind::Ident => match (Kw::from_name(token.name), Punct::from_name(token.name)) {
                (Some(keyword), _) => TokenKind::Keyword(keyword),
                (_, Some(punct)) => TokenKind::Punct(punct),
                _ => TokenKind::Ident(token.name),
            },
            PpKind::Punct(punct) => TokenKind::Punct(punct),
            PpKind::Pragma(pragma) => TokenKind::Pragma(pragma),
            PpKind::Number => self.number(token),
            PpKind::Char => self.char(token),
            PpKind::Other(char) => {
                self.report_stray(char, token.span);
                return;
            }
            PpKind::Str | PpKind::Placemarker | PpKind::LineEnd | PpKind::End => return,
        };
        self.push(Token { kind, span: token.span });
    }

    /// Hands over the string literal that waits for neighbours.
    pub(super) fn flush_string(&mut self) {
        if let Some((text, span)) = self.emitter.string.take() {
            self.push(Token { kind: TokenKind::Str(Name::new(&text)), span });
        }
    }

    fn push(&mut self, token: Token) {
        if self.emitter.tokens.len() >= self.options.limits.tokens {
            self.stop("too-many-tokens", token.span, "the translation unit has too many tokens".to_owned());
            return;
        }
        self.emitter.tokens.push(token);
    }

    fn emit_string(&mut self, token: PpToken) {
        let most = self.options.limits.literal_bytes;
        let so_far = self.emitter.string.as_ref().map_or(0, |(text, _)| text.len());
        // Before it is decoded. A short macro used often makes a long text as well.
        if so_far + token.name.as_str().len() > most {
            let message = format!("a string literal is longer than {most} bytes");
            return self.stop("literal-too-long", token.span, message);
        }
        let decoded = decode_string(token.name.as_str());
        self.report_literal(token.span, decoded.problems);
        match &mut self.emitter.string {
            Some((text, span)) => {
                text.push_str(&decoded.value);
                *span = span.to(token.span);
            }
            string @ None => *string = Some((decoded.value, token.span)),
        }
    }

    fn number(&mut self, token: PpToken) -> TokenKind {
        match parse_number(token.name.as_str()) {
            Ok(kind) => kind,
            Err(message) => {
                self.report(|| Diagnostic::error("invalid-number", token.span, message));
                TokenKind::Int(IntLiteral { value: 0, unsigned: false, long: false, decimal: true })
            }
        }
    }

    fn char(&mut self, token: PpToken) -> TokenKind {
        let decoded = decode_char(token.name.as_str());
        self.report_literal(token.span, decoded.problems);
        TokenKind::Char(decoded.value)
    }

    fn report_literal(&mut self, span: Span, problems: Vec<String>) {
        for problem in problems {
            let empty = problem.starts_with("empty");
            self.report(|| {
                if empty {
                    Diagnostic::error("invalid-literal", span, problem)
                } else {
                    Diagnostic::warning("invalid-literal", span, problem)
                }
            });
        }
    }

    fn report_stray(&mut self, char: char, span: Span) {
        // The scanner has reported the literal or the file's end already.
        self.report(|| {
            let message = if char.is_control() || char == char::REPLACEMENT_CHARACTER {
                format!("stray character U+{:04X}", char as u32)
            } else {
                format!("stray character `{char}`")
            };
            Diagnostic::error("stray-character", span, message)
        });
    }
}

//! The token as it travels through macro expansion.

use crate::lexer::RawKind;
use crate::token::{Name, Pragma, Punct};
use anymetal_diagnostics::Span;

/// A preprocessing token: like the parser's, but literals keep their spelling.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct PpToken {
    pub(super) kind: PpKind,
    /// The spelling of identifiers and literals.
    pub(super) name: Name,
    pub(super) span: Span,
    /// Whether white space precedes it.
    pub(super) space: bool,
    /// Whether it is the first on its line.
    pub(super) line_start: bool,
    /// An identifier met while its macro was disabled: it is never expanded any more.
    pub(super) painted: bool,
}

/// What a preprocessing token is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum PpKind {
    Ident,
    Number,
    Str,
    Char,
    Punct(Punct),
    Other(char),
    Pragma(Pragma),
    /// Nothing: an empty operand of `##`. Never leaves a substitution.
    Placemarker,
    /// The end of a directive's line.
    LineEnd,
    /// The end of the file, or of an isolated list of tokens.
    End,
}

impl From<RawKind> for PpKind {
    fn from(kind: RawKind) -> Self {
        match kind {
            RawKind::Ident => Self::Ident,
            RawKind::Number => Self::Number,
            RawKind::Str => Self::Str,
            RawKind::Char => Self::Char,
            RawKind::Punct(punct) => Self::Punct(punct),
            RawKind::Other(char) => Self::Other(char),
            RawKind::LineEnd => Self::LineEnd,
            RawKind::End => Self::End,
        }
    }
}

impl PpToken {
    /// A token made by the preprocessor itself.
    pub(super) fn made(kind: PpKind, name: Name, span: Span) -> Self {
        Self { kind, name, span, space: false, line_start: false, painted: false }
    }

    pub(super) fn is_punct(&self, punct: Punct) -> bool {
        self.kind == PpKind::Punct(punct)
    }

    /// Whether no further token of the line, file or list follows.
    pub(super) fn is_end(&self) -> bool {
        matches!(self.kind, PpKind::LineEnd | PpKind::End)
    }

    /// Appends the spelling.
    pub(super) fn spell(&self, text: &mut String) {
        match self.kind {
            PpKind::Ident | PpKind::Number | PpKind::Str | PpKind::Char => text.push_str(self.name.as_str()),
            PpKind::Punct(punct) => text.push_str(punct.as_str()),
            PpKind::Other(char) => text.push(char),
            PpKind::Pragma(_) | PpKind::Placemarker | PpKind::LineEnd | PpKind::End => {}
        }
    }
}

/// The text of several tokens, one blank wherever there was white space.
pub(super) fn spell_all(tokens: &[PpToken]) -> String {
    let mut text = String::new();
    for (index, token) in tokens.iter().enumerate() {
        if token.space && index > 0 {
            text.push(' ');
        }
        token.spell(&mut text);
    }
    text
}

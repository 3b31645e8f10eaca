//! The operators of conditions that look like macros: `defined`, `__has_include` and their kin.

use super::pp_token::{PpKind, PpToken};
use super::state::Preprocessor;
use crate::token::{Kw, Name, Punct};
use anymetal_diagnostics::{Diagnostic, Span};

const OPERATORS: &[&str] = &[
    "__has_attribute",
    "__has_builtin",
    "__has_cpp_attribute",
    "__has_declspec_attribute",
    "__has_extension",
    "__has_feature",
    "__has_include",
    "__has_include_next",
    "__has_warning",
    "__is_identifier",
];

/// C++ features that MSL leaves out.
const MISSING_FEATURES: &[&str] = &["cxx_exceptions", "cxx_rtti", "cxx_thread_local"];

impl Preprocessor<'_> {
    /// Whether `defined` says yes.
    pub(super) fn name_is_defined(&self, name: Name) -> bool {
        self.macros.is_defined(name) || OPERATORS.contains(&name.as_str())
    }

    /// The answer of the operator that begins with this token of a condition, if it is one.
    pub(super) fn condition_operator(&mut self, token: PpToken) -> Option<PpToken> {
        let answer = if token.name == self.known.defined {
            self.defined_operator(token)
        } else {
            let text = token.name.as_str();
            if !text.starts_with("__") || !OPERATORS.contains(&text) || self.macros.is_defined(token.name) {
                return None;
            }
            self.has_operator(token, text)
        };
        let name = if answer { self.known.one } else { self.known.zero };
        Some(PpToken { kind: PpKind::Number, name, ..token })
    }

    fn defined_operator(&mut self, operator: PpToken) -> bool {
        let first = self.pull();
        let name = if first.is_punct(Punct::LParen) { self.pull() } else { first };
        if name.kind != PpKind::Ident {
            self.report(|| {
                Diagnostic::error("invalid-condition", operator.span, "`defined` needs the name of a macro")
            });
            return false;
        }
        if first.is_punct(Punct::LParen) {
            self.expect_close(operator.span);
        }
        self.name_is_defined(name.name)
    }

    fn expect_close(&mut self, operator: Span) {
        if !self.pull().is_punct(Punct::RParen) {
            self.report(|| Diagnostic::error("invalid-condition", operator, "missing `)` in the condition"));
        }
    }

    fn has_operator(&mut self, operator: PpToken, text: &str) -> bool {
        if !self.pull().is_punct(Punct::LParen) {
            self.report(|| {
                Diagnostic::error("invalid-condition", operator.span, format!("missing `(` after `{text}`"))
            });
            return false;
        }
        if text.starts_with("__has_include") {
            return self.has_include(operator);
        }
        let mut operand = self.pull();
        // The name may be qualified, as in `gnu::unused`.
        let mut depth = 0usize;
        loop {
            let token = self.pull();
            match token.kind {
                PpKind::Ident => operand = token,
                PpKind::Punct(Punct::LParen) => depth += 1,
                PpKind::Punct(Punct::RParen) if depth == 0 => break,
                PpKind::Punct(Punct::RParen) => depth -= 1,
                PpKind::End => {
                    self.report(|| {
                        Diagnostic::error("invalid-condition", operator.span, "missing `)` in the condition")
                    });
                    break;
                }
                _ => {}
            }
        }
        let word = operand.name.as_str();
        let plain = word.trim_matches('_');
        match text {
            "__has_builtin" => self.options.builtins.iter().any(|builtin| builtin == word),
            "__has_attribute" | "__has_cpp_attribute" => crate::parser::is_supported_attribute(word),
            "__has_feature" | "__has_extension" => {
                plain.starts_with("cxx_") && !MISSING_FEATURES.contains(&plain)
            }
            "__is_identifier" => operand.kind == PpKind::Ident && Kw::from_name(operand.name).is_none(),
            _ => false,
        }
    }

    fn has_include(&mut self, operator: PpToken) -> bool {
        let first = self.next_expanded();
        let header = match first.kind {
            PpKind::Str => Some((first.name.as_str().trim_matches('"').to_owned(), false)),
            PpKind::Punct(Punct::Less) => {
                let mut name = String::new();
                loop {
                    let token = self.pull();
                    if token.is_punct(Punct::Greater) {
                        break Some((name, true));
                    }
                    if token.kind == PpKind::End {
                        break None;
                    }
                    if token.space && !name.is_empty() {
                        name.push(' ');
                    }
                    token.spell(&mut name);
                }
            }
            _ => None,
        };
        let Some((name, angled)) = header else {
            self.report(|| {
                Diagnostic::error("invalid-condition", operator.span, "`__has_include` needs a header's name")
            });
            return false;
        };
        self.expect_close(operator.span);
        self.header_exists(&name, angled)
    }
}

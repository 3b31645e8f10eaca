//! The operators of conditions that look like macros: `defined`, `__has_include` and their kin.

use super::pp_token::{PpKind, PpToken};
use super::state::{Known, Preprocessor};
use super::{expand, include};
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

/// Whether a name means something in directives alone.
pub(super) fn is_for_directives(known: &Known, name: Name) -> bool {
    name == known.has_include || name == known.has_include_next
}

/// Whether a name is an operator outside of directives as well, as those about features and attributes are.
pub(super) fn is_for_text(known: &Known, name: Name) -> bool {
    let text = name.as_str();
    text.starts_with("__") && OPERATORS.contains(&text) && !is_for_directives(known, name)
}

/// Whether `defined` says yes.
pub(super) fn name_is_defined(pp: &Preprocessor<'_>, name: Name) -> bool {
    pp.macros.is_defined(name) || OPERATORS.contains(&name.as_str())
}

/// The answer of the operator that begins with this token of a condition, if it is one.
pub(super) fn condition_operator(pp: &mut Preprocessor<'_>, token: PpToken) -> Option<PpToken> {
    if token.name == pp.known.defined {
        let name = if defined_operator(pp, token) { pp.known.one } else { pp.known.zero };
        return Some(PpToken { kind: PpKind::Number, name, ..token });
    }
    let text = token.name.as_str();
    if !text.starts_with("__") || !OPERATORS.contains(&text) || pp.macros.is_defined(token.name) {
        return None;
    }
    Some(answer(pp, token))
}

/// The answer of an operator other than `defined`.
pub(super) fn answer(pp: &mut Preprocessor<'_>, operator: PpToken) -> PpToken {
    let name = match has_operator(pp, operator, operator.name.as_str()) {
        0 => pp.known.zero,
        1 => pp.known.one,
        version => Name::new(&version.to_string()),
    };
    PpToken { kind: PpKind::Number, name, ..operator }
}

/// The versions of standard attributes (C++17 [cpp.cond]).
fn attribute_version(name: &str) -> u32 {
    match name {
        "carries_dependency" | "noreturn" => 200_809,
        "deprecated" => 201_309,
        "fallthrough" | "maybe_unused" | "nodiscard" => 201_603,
        "likely" | "unlikely" => 201_803,
        _ => u32::from(crate::parser::is_supported_attribute(name)),
    }
}

fn defined_operator(pp: &mut Preprocessor<'_>, operator: PpToken) -> bool {
    let first = pp.pull();
    let name = if first.is_punct(Punct::LParen) { pp.pull() } else { first };
    if name.kind != PpKind::Ident {
        pp.report(|| {
            Diagnostic::error("invalid-condition", operator.span, "`defined` needs the name of a macro")
        });
        return false;
    }
    refuse_operator(pp, name);
    if first.is_punct(Punct::LParen) {
        expect_close(pp, operator.span);
    }
    name_is_defined(pp, name.name)
}

/// Reports a word that is an operator in the place of a macro's name, which it can be all the same.
pub(super) fn refuse_operator(pp: &mut Preprocessor<'_>, name: PpToken) {
    if Punct::from_name(name.name).is_some() {
        let message = format!("C++ operator `{}` used as a macro name", name.name);
        pp.report(|| Diagnostic::error("invalid-condition", name.span, message));
    }
}

fn expect_close(pp: &mut Preprocessor<'_>, operator: Span) {
    if !pp.pull().is_punct(Punct::RParen) {
        pp.report(|| Diagnostic::error("invalid-condition", operator, "missing `)` in the condition"));
    }
}

/// The number that an operator stands for.
fn has_operator(pp: &mut Preprocessor<'_>, operator: PpToken, text: &str) -> u32 {
    if !pp.pull().is_punct(Punct::LParen) {
        pp.report(|| {
            Diagnostic::error("invalid-condition", operator.span, format!("missing `(` after `{text}`"))
        });
        return 0;
    }
    if text.starts_with("__has_include") {
        return u32::from(has_include(pp, operator));
    }
    let mut operand = pp.pull();
    check_operand(pp, operator, text, operand);
    // The name may be qualified, as in `gnu::unused`.
    let (mut depth, mut is_reported) = (0usize, false);
    loop {
        let token = pp.pull();
        match token.kind {
            PpKind::Punct(Punct::RParen) if depth == 0 => break,
            _ if text == "__is_identifier" && depth == 0 && !is_reported => {
                is_reported = true;
                let message = "missing `)` after the operand of `__is_identifier`";
                pp.report(|| Diagnostic::error("invalid-condition", operator.span, message));
            }
            PpKind::Ident => operand = token,
            PpKind::Punct(Punct::LParen) => depth += 1,
            PpKind::Punct(Punct::RParen) => depth -= 1,
            PpKind::End => {
                pp.report(|| {
                    Diagnostic::error("invalid-condition", operator.span, "missing `)` in the condition")
                });
                break;
            }
            _ => {}
        }
    }
    let word = operand.name.as_str();
    let plain = word.trim_matches('_');
    u32::from(match text {
        "__has_cpp_attribute" => return attribute_version(word),
        "__has_builtin" => pp.options.builtins.iter().any(|builtin| builtin == word),
        "__has_attribute" => crate::parser::is_supported_attribute(word),
        "__has_feature" | "__has_extension" => {
            plain.starts_with("cxx_") && !MISSING_FEATURES.contains(&plain)
        }
        "__is_identifier" => operand.kind == PpKind::Ident && Kw::from_name(operand.name).is_none(),
        _ => false,
    })
}

/// Reports an operand that is neither a name nor, for `__has_warning`, a string.
fn check_operand(pp: &mut Preprocessor<'_>, operator: PpToken, text: &str, operand: PpToken) {
    let message = match text {
        "__has_warning" if operand.kind != PpKind::Str => {
            "expected string literal in `__has_warning`".to_owned()
        }
        "__has_feature" | "__has_extension" | "__has_builtin" if operand.kind != PpKind::Ident => {
            format!("`{text}` requires a parenthesized identifier")
        }
        _ => return,
    };
    pp.report(|| Diagnostic::error("invalid-condition", operator.span, message));
}

fn has_include(pp: &mut Preprocessor<'_>, operator: PpToken) -> bool {
    let first = expand::next_expanded(pp);
    let header = match first.kind {
        PpKind::Str => Some((first.name.as_str().trim_matches('"').to_owned(), false)),
        PpKind::Punct(Punct::Less) => {
            let mut name = String::new();
            loop {
                let token = pp.pull();
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
        pp.report(|| {
            Diagnostic::error("invalid-condition", operator.span, "`__has_include` needs a header's name")
        });
        return false;
    };
    expect_close(pp, operator.span);
    include::header_exists(pp, &name, angled)
}

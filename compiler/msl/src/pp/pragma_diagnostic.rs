//! Pragmas about diagnostics (`clang diagnostic`, `GCC diagnostic`, `message`), and unknown pragmas.
//!
//! A `_Pragma` in a macro holds from the place of the macro's use.

use super::pp_token::{PpKind, PpToken, spell_all};
use super::pragma::word;
use super::state::Preprocessor;
use super::{expand, include};
use crate::lexer::decode_string;
use crate::token::Punct;
use anymetal_diagnostics::{Diagnostic, Level, PragmaOutcome, Span};

/// The first words of pragmas that are not reported as unknown: those that mean something here, and those
/// that clang knows and that mean nothing for kernels.
const KNOWN: &[&str] = &[
    "GCC",
    "METAL",
    "OPENCL",
    "STDC",
    "align",
    "clang",
    "comment",
    "endregion",
    "mark",
    "message",
    "ms_struct",
    "nounroll",
    "nounroll_and_jam",
    "once",
    "options",
    "pack",
    "poison",
    "pop_macro",
    "push_macro",
    "redefine_extname",
    "region",
    "system_header",
    "unroll",
    "unroll_and_jam",
    "unused",
    "weak",
];

/// Obeys a pragma about diagnostics, and reports an unknown one; whether it was one of these.
pub(super) fn obey(pp: &mut Preprocessor<'_>, tokens: &[PpToken], span: Span) -> bool {
    let words: Vec<&str> = tokens.iter().take(2).map(word).collect();
    match words[..] {
        ["clang" | "GCC", "diagnostic"] => diagnostic(pp, &tokens[2..], span),
        ["message", ..] => message(pp, MessageKind::Message, &tokens[1..], span),
        ["GCC", "warning"] => message(pp, MessageKind::Warning, &tokens[2..], span),
        ["GCC", "error"] => message(pp, MessageKind::Error, &tokens[2..], span),
        ["GCC" | "clang", "poison"] => poison(pp, &tokens[2..]),
        ["clang", "optimize"] => optimize(pp, &tokens[2..], span),
        ["clang", name @ ("max_tokens_here" | "max_tokens_total")] => {
            max_tokens(pp, name, &tokens[2..], span)
        }
        ["GCC" | "clang", "dependency"] => dependency(pp, &tokens[2..], span),
        [first, ..] if KNOWN.contains(&first) => return false,
        [] => return false,
        _ => warn(pp, "unknown-pragmas", tokens[0].span, "unknown pragma ignored"),
    }
    true
}

/// `optimize on`, `optimize off`: nothing depends on it here.
fn optimize(pp: &mut Preprocessor<'_>, tokens: &[PpToken], span: Span) {
    let tokens = expand::expand_list(pp, tokens);
    let problem = match tokens.as_slice() {
        [] => "missing argument to `#pragma clang optimize`; expected `on` or `off`",
        [setting, ..] if !matches!(word(setting), "on" | "off") => {
            "unexpected argument to `#pragma clang optimize`; expected `on` or `off`"
        }
        [_] => return,
        [_, ..] => "unexpected extra argument to `#pragma clang optimize`",
    };
    pp.report(|| Diagnostic::error("invalid-pragma", span, problem));
}

/// A limit for a warning that does not exist here.
fn max_tokens(pp: &mut Preprocessor<'_>, name: &str, tokens: &[PpToken], span: Span) {
    if tokens.first().is_none_or(|token| token.kind != PpKind::Number) {
        let message = format!("expected an integer argument in `#pragma clang {name}`");
        pp.report(|| Diagnostic::error("invalid-pragma", span, message));
    }
}

/// Reports a file that a pragma names and that does not exist. Which file is newer does not matter here.
fn dependency(pp: &mut Preprocessor<'_>, tokens: &[PpToken], span: Span) {
    let (name, angled) = match tokens {
        [first, ..] if first.kind == PpKind::Str => (text(first).unwrap_or_default(), false),
        [first, rest @ ..] if first.is_punct(Punct::Less) => {
            let end = rest.iter().position(|token| token.is_punct(Punct::Greater)).unwrap_or(rest.len());
            (spell_all(&rest[..end]), true)
        }
        _ => {
            let message = "expected the name of a file after `dependency`";
            return pp.report(|| Diagnostic::error("invalid-pragma", span, message));
        }
    };
    if !include::header_exists(pp, &name, angled) {
        pp.report(|| Diagnostic::error("missing-include", span, format!("`{name}` is not found")));
    }
}

fn warn(pp: &mut Preprocessor<'_>, id: &'static str, span: Span, message: impl Into<String>) {
    pp.report(|| Diagnostic::warning(id, span, message));
}

/// The text of a string literal.
fn text(token: &PpToken) -> Option<String> {
    (token.kind == PpKind::Str).then(|| decode_string(token.name.as_str()).value)
}

/// The pragmas that print a text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MessageKind {
    Message,
    Warning,
    Error,
}

impl MessageKind {
    fn name(self) -> &'static str {
        match self {
            Self::Message => "message",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// Prints the text of a pragma: string literals, perhaps from macros and in parentheses.
fn message(pp: &mut Preprocessor<'_>, kind: MessageKind, tokens: &[PpToken], span: Span) {
    let tokens = expand::expand_list(pp, tokens);
    let (is_open, is_closed) = (
        tokens.first().is_some_and(|token| token.is_punct(Punct::LParen)),
        tokens.last().is_some_and(|token| token.is_punct(Punct::RParen)),
    );
    let name = kind.name();
    if tokens.is_empty() || is_open != is_closed {
        let message = format!("pragma {name} requires parenthesized string");
        return pp.report(|| Diagnostic::error("invalid-pragma", span, message));
    }
    let inner = if is_open { &tokens[1..tokens.len() - 1] } else { &tokens[..] };
    let Some(texts) =
        inner.iter().map(text).collect::<Option<Vec<String>>>().filter(|texts| !texts.is_empty())
    else {
        let message = format!("expected string literal in pragma {name}");
        return pp.report(|| Diagnostic::error("invalid-pragma", span, message));
    };
    let text = texts.concat();
    match kind {
        MessageKind::Message => warn(pp, "pragma-message", span, text),
        MessageKind::Warning => warn(pp, "warning-directive", span, text),
        MessageKind::Error => pp.report(|| Diagnostic::error("error-directive", span, text)),
    }
}

/// Makes later uses of names errors.
fn poison(pp: &mut Preprocessor<'_>, tokens: &[PpToken]) {
    pp.poisoned.extend(tokens.iter().filter(|token| token.kind == PpKind::Ident).map(|token| token.name));
}

fn diagnostic(pp: &mut Preprocessor<'_>, tokens: &[PpToken], span: Span) {
    let action = tokens.first().map_or("", word);
    let level = match action {
        "push" | "pop" => None,
        "ignored" => Some(Level::Ignored),
        "warning" => Some(Level::Warning),
        "error" | "fatal" => Some(Level::Error),
        _ => {
            let at = tokens.first().map_or(span, |token| token.span);
            let expected =
                "pragma diagnostic expected 'error', 'warning', 'ignored', 'fatal', 'push', or 'pop'";
            warn(pp, "diagnostic-pragma", at, expected);
            return;
        }
    };
    let place = pp.place_of_use(span);
    let Some(level) = level else {
        if let Some(surplus) = tokens.get(1) {
            warn(pp, "diagnostic-pragma", surplus.span, "unexpected token in pragma diagnostic");
            return;
        }
        let outcome = if action == "push" { pp.warnings.push() } else { pp.warnings.pop(place) };
        report(pp, outcome, "", span);
        return;
    };
    let at = tokens.get(1).map_or(span, |token| token.span);
    let name: String = tokens[1..].iter().filter_map(text).collect();
    let Some(group) = name.strip_prefix("-W") else {
        let expected = "pragma diagnostic expected option name (e.g. \"-Wundef\")";
        warn(pp, "diagnostic-pragma", at, expected);
        return;
    };
    let outcome = pp.warnings.set(group, level, place);
    report(pp, outcome, group, at);
}

fn report(pp: &mut Preprocessor<'_>, outcome: PragmaOutcome, group: &str, span: Span) {
    match outcome {
        PragmaOutcome::Done => {}
        PragmaOutcome::UnknownGroup => {
            let message = format!("unknown warning group '-W{group}', ignored");
            warn(pp, "unknown-warning-option", span, message);
        }
        PragmaOutcome::NothingToPop => {
            let message = "pragma diagnostic pop could not pop, no matching push";
            warn(pp, "diagnostic-pragma", span, message);
        }
        PragmaOutcome::TooMany => {
            warn(pp, "diagnostic-pragma", span, "too many diagnostic pragmas: this one is ignored");
        }
    }
}

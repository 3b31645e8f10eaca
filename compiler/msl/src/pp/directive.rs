//! Directives: which one a line is, and the small ones.

use super::pp_token::{PpKind, PpToken, spell_all};
use super::state::Preprocessor;
use super::{conditional, define, expand, include, pragma};
use crate::lexer::{Scanner, decode_string, parse_number};
use crate::token::{Name, TokenKind};
use anymetal_diagnostics::{Diagnostic, LineMark, Span, suggest};

/// The directives worth suggesting.
const NAMES: &[&str] = &[
    "define", "elif", "elifdef", "elifndef", "else", "endif", "error", "if", "ifdef", "ifndef", "include",
    "line", "pragma", "undef", "warning",
];

/// Obeys the directive whose `#` was read.
pub(super) fn obey(pp: &mut Preprocessor<'_>, hash: PpToken) {
    let name = pp.line_token();
    match name.kind {
        PpKind::LineEnd | PpKind::End => return,
        PpKind::Ident => {
            let text = name.name.as_str();
            if matches!(text, "include" | "import" | "include_next") {
                // Enters a file, so what follows here must not touch the line any more.
                include::directive(pp, hash, name, text == "import");
                return;
            }
            named_directive(pp, hash, name, text);
        }
        // What other preprocessors leave in their output.
        PpKind::Number => line_directive(pp, name, vec![name]),
        _ => pp.report(|| {
            Diagnostic::error("unknown-directive", name.span, "a preprocessor directive needs a name")
        }),
    }
    skip_line(pp);
}

fn named_directive(pp: &mut Preprocessor<'_>, hash: PpToken, name: PpToken, text: &str) {
    let span = hash.span.to(name.span);
    match text {
        "define" => define::define(pp),
        "undef" => define::undefine(pp),
        "if" => conditional::if_directive(pp, span),
        "ifdef" => conditional::ifdef_directive(pp, span, true),
        "ifndef" => conditional::ifdef_directive(pp, span, false),
        "elif" | "elifdef" | "elifndef" => conditional::elif_directive(pp, name),
        "else" => conditional::else_directive(pp, name),
        "endif" => conditional::endif_directive(pp, name),
        "pragma" => pragma::directive(pp, name),
        "line" => line_directive(pp, name, Vec::new()),
        "error" => message_directive(pp, span, true),
        "warning" => message_directive(pp, span, false),
        "ident" | "sccs" | "assert" | "unassert" => {}
        _ => unknown_directive(pp, name, text),
    }
}

fn unknown_directive(pp: &mut Preprocessor<'_>, name: PpToken, text: &str) {
    pp.report(|| {
        let message = format!("unknown directive `#{text}`");
        let diagnostic = Diagnostic::error("unknown-directive", name.span, message);
        match suggest(text, NAMES.iter().copied()) {
            Some(near) => diagnostic.with_hint(format!("did you mean `#{near}`?")).with_edit(name.span, near),
            None => diagnostic,
        }
    });
}

/// Skips what is left of the current line.
pub(super) fn skip_line(pp: &mut Preprocessor<'_>) {
    if let Some(frame) = pp.frames.last_mut() {
        let mut scanner = Scanner::new(&frame.file.text, frame.position);
        scanner.skip_line();
        frame.position = scanner.position();
    }
}

/// Warns when the line goes on although the directive is complete.
pub(super) fn expect_line_end(pp: &mut Preprocessor<'_>, directive: &str) {
    let token = pp.line_token();
    if !token.is_end() {
        pp.report(|| {
            let message = format!("extra tokens at the end of `#{directive}`");
            let before = Span { hi: token.span.lo, ..token.span };
            Diagnostic::warning("extra-tokens", token.span, message).with_edit(before, "// ")
        });
    }
}

fn message_directive(pp: &mut Preprocessor<'_>, span: Span, error: bool) {
    let start = pp.frames.last().map_or(0, |frame| frame.position);
    skip_line(pp);
    let Some(frame) = pp.frames.last() else { return };
    let text = frame.file.text[start..frame.position].trim().to_owned();
    let span = span.to(Span::new(frame.id, span.lo, frame.position as u32));
    pp.report(|| {
        if error {
            Diagnostic::error("error-directive", span, format!("#error {text}"))
        } else {
            Diagnostic::warning("warning-directive", span, format!("#warning {text}"))
        }
    });
}

/// `#line NUMBER ["FILE"]`; `read` is what was read of its operands.
fn line_directive(pp: &mut Preprocessor<'_>, name: PpToken, read: Vec<PpToken>) {
    let mut tokens = read;
    tokens.extend(pp.rest_of_line());
    let tokens = expand::expand_list(pp, &tokens);
    let line = match tokens.first() {
        Some(token) if token.kind == PpKind::Number => match parse_number(token.name.as_str()) {
            Ok(TokenKind::Int(literal)) => i64::try_from(literal.value).ok(),
            _ => None,
        },
        _ => None,
    };
    let Some(line) = line.filter(|&line| line <= i64::from(i32::MAX)) else {
        pp.report(|| {
            let message = format!("`#line` needs a line number, not `{}`", spell_all(&tokens));
            Diagnostic::error("invalid-line-directive", name.span, message)
        });
        return;
    };
    let shown_name = tokens.get(1).filter(|token| token.kind == PpKind::Str);
    let shown_name = shown_name.map(|token| Name::new(&decode_string(token.name.as_str()).value));
    let Some(frame) = pp.frames.last_mut() else { return };
    // The number is that of the following line.
    let number = frame.file.line_number(name.span.lo);
    frame.line_shift = line - i64::from(number) - 1;
    frame.shown_name = shown_name.or(frame.shown_name);
    let mark = LineMark {
        from: frame.file.line_start(number + 1),
        shift: frame.line_shift,
        name: frame.shown_name.map(|name| name.as_str().into()),
    };
    let id = frame.id;
    pp.map.add_line_mark(id, mark);
}

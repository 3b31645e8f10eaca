//! `#if` and its family.
//!
//! A group that is not taken is skipped in one go by [`skip_group`], so the rest of the
//! preprocessor only ever sees text that counts.

use super::expression::evaluate;
use super::pp_token::{PpKind, PpToken};
use super::state::{Conditional, Preprocessor};
use super::{directive, expand, has_query};
use crate::lexer::{Lines, Problem, RawKind};
use crate::token::Punct;
use anymetal_diagnostics::{Diagnostic, Span};

pub(super) fn if_directive(pp: &mut Preprocessor<'_>, span: Span) {
    let live = condition(pp, span);
    open_conditional(pp, span, live);
}

pub(super) fn ifdef_directive(pp: &mut Preprocessor<'_>, span: Span, wanted: bool) {
    let live = macro_is_defined(pp, span) == wanted;
    open_conditional(pp, span, live);
}

/// Whether the macro named on the rest of the line is defined.
fn macro_is_defined(pp: &mut Preprocessor<'_>, directive: Span) -> bool {
    let name = pp.line_token();
    if name.kind != PpKind::Ident {
        pp.report(|| {
            let span = if name.is_end() { directive } else { name.span };
            Diagnostic::error("invalid-condition", span, "a macro name is missing")
        });
        return false;
    }
    has_query::refuse_operator(pp, name);
    directive::expect_line_end(pp, "ifdef");
    has_query::name_is_defined(pp, name.name)
}

fn open_conditional(pp: &mut Preprocessor<'_>, span: Span, live: bool) {
    if let Some(frame) = pp.frames.last_mut() {
        frame.conditionals.push(Conditional { span, taken: live, seen_else: false });
    }
    if !live {
        skip_group(pp);
    }
}

/// Met at the end of a group that was taken: everything up to `#endif` is skipped.
pub(super) fn elif_directive(pp: &mut Preprocessor<'_>, name: PpToken) {
    if check_open(pp, name, false) {
        skip_group(pp);
    }
}

/// As [`elif_directive`].
pub(super) fn else_directive(pp: &mut Preprocessor<'_>, name: PpToken) {
    if check_open(pp, name, true) {
        directive::expect_line_end(pp, "else");
        skip_group(pp);
    }
}

pub(super) fn endif_directive(pp: &mut Preprocessor<'_>, name: PpToken) {
    let open = pp.frames.last_mut().and_then(|frame| frame.conditionals.pop());
    if open.is_none() {
        report_unmatched(pp, name);
    }
    directive::expect_line_end(pp, "endif");
}

/// Reports an `#else` or `#elif` out of place; whether there is an `#if` at all.
fn check_open(pp: &mut Preprocessor<'_>, name: PpToken, is_else: bool) -> bool {
    let Some(open) = pp.frames.last_mut().and_then(|frame| frame.conditionals.last_mut()) else {
        report_unmatched(pp, name);
        return false;
    };
    let Conditional { span, seen_else, .. } = *open;
    open.seen_else |= is_else;
    if seen_else {
        pp.report(|| {
            Diagnostic::error("unmatched-conditional", name.span, format!("`#{}` after `#else`", name.name))
                .with_note(span, "the conditional begins here")
        });
    }
    true
}

fn report_unmatched(pp: &mut Preprocessor<'_>, name: PpToken) {
    pp.report(|| {
        Diagnostic::error("unmatched-conditional", name.span, format!("`#{}` without `#if`", name.name))
    });
}

/// Skips to the group of the innermost conditional that is to be taken, or past its end.
fn skip_group(pp: &mut Preprocessor<'_>) {
    let mut depth = 0usize;
    while let Some(name) = skip_to_directive(pp) {
        match name.name.as_str() {
            "if" | "ifdef" | "ifndef" => depth += 1,
            "endif" if depth > 0 => depth -= 1,
            "endif" => {
                endif_directive(pp, name);
                return;
            }
            "else" if depth == 0 => {
                check_open(pp, name, true);
                if take_group(pp, true) {
                    directive::expect_line_end(pp, "else");
                    return;
                }
            }
            directive @ ("elif" | "elifdef" | "elifndef") if depth == 0 => {
                check_open(pp, name, false);
                let live = !is_taken(pp) && elif_condition(pp, directive, name.span);
                if take_group(pp, live) {
                    return;
                }
            }
            _ => {}
        }
    }
}

fn elif_condition(pp: &mut Preprocessor<'_>, directive: &str, span: Span) -> bool {
    match directive {
        "elif" => condition(pp, span),
        "elifdef" => macro_is_defined(pp, span),
        _ => !macro_is_defined(pp, span),
    }
}

fn is_taken(pp: &Preprocessor<'_>) -> bool {
    let frame = pp.frames.last();
    frame.and_then(|frame| frame.conditionals.last()).is_none_or(|open| open.taken)
}

/// Takes the group that begins here when it is live and none was taken before.
fn take_group(pp: &mut Preprocessor<'_>, live: bool) -> bool {
    let frame = pp.frames.last_mut();
    match frame.and_then(|frame| frame.conditionals.last_mut()) {
        Some(open) if live && !open.taken => {
            open.taken = true;
            true
        }
        _ => false,
    }
}

/// Skips to the name of the next directive; `None` at the end of the file.
fn skip_to_directive(pp: &mut Preprocessor<'_>) -> Option<PpToken> {
    loop {
        let token = pp.lex_quietly(Lines::Cross);
        match token.kind {
            RawKind::End => {
                if let (Some(Problem::CommentBefore(lo)), Some(frame)) = (token.problem, pp.frames.last()) {
                    let span = Span::new(frame.id, lo, lo + 2);
                    pp.report(|| {
                        Diagnostic::error("unterminated-comment", span, "comment is not terminated")
                    });
                }
                return None;
            }
            RawKind::Punct(Punct::Hash) if token.line_start => {
                let name = pp.lex_quietly(Lines::Stop);
                if name.kind == RawKind::Ident {
                    let file = pp.frames.last()?.id;
                    return Some(PpToken::made(PpKind::Ident, name.name, Span::new(file, name.lo, name.hi)));
                }
            }
            _ => {}
        }
    }
}

/// The value of the condition on the rest of the line; a wrong one counts as false.
fn condition(pp: &mut Preprocessor<'_>, directive: Span) -> bool {
    let tokens = pp.rest_of_line();
    let outer = std::mem::replace(&mut pp.in_condition, true);
    let tokens = expand::expand_list(pp, &tokens);
    pp.in_condition = outer;
    if pp.stopped {
        return false;
    }
    match evaluate(&tokens) {
        Ok(value) => value,
        Err(problem) => {
            let span = problem.span.unwrap_or(directive);
            pp.report(|| Diagnostic::error("invalid-condition", span, problem.message));
            false
        }
    }
}

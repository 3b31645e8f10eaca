//! `#if` and its family.
//!
//! A group that is not taken is skipped in one go by [`Preprocessor::skip_group`], so the rest of the
//! preprocessor only ever sees text that counts.

use super::expression::evaluate;
use super::pp_token::{PpKind, PpToken};
use super::state::{Conditional, Preprocessor};
use crate::lexer::{Lines, Problem, RawKind};
use crate::token::Punct;
use anymetal_diagnostics::{Diagnostic, Span};

impl Preprocessor<'_> {
    pub(super) fn if_directive(&mut self, span: Span) {
        let live = self.condition(span);
        self.open_conditional(span, live);
    }

    pub(super) fn ifdef_directive(&mut self, span: Span, wanted: bool) {
        let live = self.macro_is_defined(span) == wanted;
        self.open_conditional(span, live);
    }

    /// Whether the macro named on the rest of the line is defined.
    fn macro_is_defined(&mut self, directive: Span) -> bool {
        let name = self.line_token();
        if name.kind != PpKind::Ident {
            self.report(|| {
                let span = if name.is_end() { directive } else { name.span };
                Diagnostic::error("invalid-condition", span, "a macro name is missing")
            });
            return false;
        }
        self.expect_line_end("ifdef");
        self.name_is_defined(name.name)
    }

    fn open_conditional(&mut self, span: Span, live: bool) {
        if let Some(frame) = self.frames.last_mut() {
            frame.conditionals.push(Conditional { span, taken: live, seen_else: false });
        }
        if !live {
            self.skip_group();
        }
    }

    /// Met at the end of a group that was taken: everything up to `#endif` is skipped.
    pub(super) fn elif_directive(&mut self, name: PpToken) {
        if self.check_open(name, false) {
            self.skip_group();
        }
    }

    /// As [`Self::elif_directive`].
    pub(super) fn else_directive(&mut self, name: PpToken) {
        if self.check_open(name, true) {
            self.expect_line_end("else");
            self.skip_group();
        }
    }

    pub(super) fn endif_directive(&mut self, name: PpToken) {
        let open = self.frames.last_mut().and_then(|frame| frame.conditionals.pop());
        if open.is_none() {
            self.report_unmatched(name);
        }
        self.expect_line_end("endif");
    }

    /// Reports an `#else` or `#elif` out of place; whether there is an `#if` at all.
    fn check_open(&mut self, name: PpToken, is_else: bool) -> bool {
        let Some(open) = self.frames.last_mut().and_then(|frame| frame.conditionals.last_mut()) else {
            self.report_unmatched(name);
            return false;
        };
        let Conditional { span, seen_else, .. } = *open;
        open.seen_else |= is_else;
        if seen_else {
            self.report(|| {
                Diagnostic::error(
                    "unmatched-conditional",
                    name.span,
                    format!("`#{}` after `#else`", name.name),
                )
                .with_note(span, "the conditional begins here")
            });
        }
        true
    }

    fn report_unmatched(&mut self, name: PpToken) {
        self.report(|| {
            Diagnostic::error("unmatched-conditional", name.span, format!("`#{}` without `#if`", name.name))
        });
    }

    /// Skips to the group of the innermost conditional that is to be taken, or past its end.
    fn skip_group(&mut self) {
        let mut depth = 0usize;
        while let Some(name) = self.skip_to_directive() {
            match name.name.as_str() {
                "if" | "ifdef" | "ifndef" => depth += 1,
                "endif" if depth > 0 => depth -= 1,
                "endif" => {
                    self.endif_directive(name);
                    return;
                }
                "else" if depth == 0 => {
                    self.check_open(name, true);
                    if self.take_group(true) {
                        self.expect_line_end("else");
                        return;
                    }
                }
                directive @ ("elif" | "elifdef" | "elifndef") if depth == 0 => {
                    self.check_open(name, false);
                    let live = !self.is_taken() && self.elif_condition(directive, name.span);
                    if self.take_group(live) {
                        return;
                    }
                }
                _ => {}
            }
        }
    }

    fn elif_condition(&mut self, directive: &str, span: Span) -> bool {
        match directive {
            "elif" => self.condition(span),
            "elifdef" => self.macro_is_defined(span),
            _ => !self.macro_is_defined(span),
        }
    }

    fn is_taken(&self) -> bool {
        let frame = self.frames.last();
        frame.and_then(|frame| frame.conditionals.last()).is_none_or(|open| open.taken)
    }

    /// Takes the group that begins here when it is live and none was taken before.
    fn take_group(&mut self, live: bool) -> bool {
        let frame = self.frames.last_mut();
        match frame.and_then(|frame| frame.conditionals.last_mut()) {
            Some(open) if live && !open.taken => {
                open.taken = true;
                true
            }
            _ => false,
        }
    }

    /// Skips to the name of the next directive; `None` at the end of the file.
    fn skip_to_directive(&mut self) -> Option<PpToken> {
        loop {
            let token = self.lex_quietly(Lines::Cross);
            match token.kind {
                RawKind::End => {
                    if let (Some(Problem::CommentBefore(lo)), Some(frame)) =
                        (token.problem, self.frames.last())
                    {
                        let span = Span::new(frame.id, lo, lo + 2);
                        self.report(|| {
                            Diagnostic::error("unterminated-comment", span, "comment is not terminated")
                        });
                    }
                    return None;
                }
                RawKind::Punct(Punct::Hash) if token.line_start => {
                    let name = self.lex_quietly(Lines::Stop);
                    if name.kind == RawKind::Ident {
                        let file = self.frames.last()?.id;
                        return Some(PpToken::made(
                            PpKind::Ident,
                            name.name,
                            Span::new(file, name.lo, name.hi),
                        ));
                    }
                }
                _ => {}
            }
        }
    }

    /// The value of the condition on the rest of the line; a wrong one counts as false.
    fn condition(&mut self, directive: Span) -> bool {
        let tokens = self.rest_of_line();
        let outer = std::mem::replace(&mut self.in_condition, true);
        let tokens = self.expand_list(&tokens);
        self.in_condition = outer;
        if self.stopped {
            return false;
        }
        match evaluate(&tokens) {
            Ok(value) => value,
            Err(problem) => {
                let span = problem.span.unwrap_or(directive);
                self.report(|| Diagnostic::error("invalid-condition", span, problem.message));
                false
            }
        }
    }
}

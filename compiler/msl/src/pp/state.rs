//! The state of a run, and where its tokens come from.
//!
//! Tokens are pulled. [`Preprocessor::pull`] takes them from the innermost macro expansion that has
//! any left, then from those set aside by a lookahead, then from the current file, where directives
//! are obeyed on the way. Invariant: the end of a file is reported again and again until
//! [`super::preprocess`] leaves the file.

use super::emit::Emitter;
use super::expansions::Expansions;
use super::macro_table::MacroTable;
use super::pp_token::{PpKind, PpToken};
use super::resolved::Includes;
use super::{IncludeLoader, Options, directive};
use crate::lexer::{Lines, Problem, RawToken, Scanner};
use crate::token::{Name, Punct};
use anymetal_diagnostics::{Diagnostic, FileId, Sink, SourceFile, SourceMap, Span, Warnings};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;
use std::sync::Arc;

/// A run in progress.
pub(super) struct Preprocessor<'a> {
    pub(super) map: &'a mut SourceMap,
    pub(super) sink: &'a mut Sink,
    pub(super) loader: &'a mut dyn IncludeLoader,
    pub(super) options: &'a Options,
    pub(super) known: Known,
    pub(super) macros: MacroTable,
    pub(super) frames: Vec<Frame>,
    /// Tokens that come before the rest of the current file.
    pub(super) pending: VecDeque<PpToken>,
    pub(super) expansions: Expansions,
    /// Whether the tokens of an `#if` are being expanded.
    pub(super) in_condition: bool,
    pub(super) spent: Spent,
    /// A bound was exceeded: no more tokens.
    pub(super) stopped: bool,
    pub(super) once: FxHashSet<FileId>,
    pub(super) files_by_name: FxHashMap<String, FileId>,
    /// The names of `#pragma GCC poison`.
    pub(super) poisoned: FxHashSet<Name>,
    /// Whether a pragma is read, which may poison a name again.
    pub(super) in_pragma: bool,
    pub(super) counter: u64,
    pub(super) emitter: Emitter,
    pub(super) includes: Includes,
    pub(super) warnings: Warnings,
    reported: usize,
}

/// A file being read.
pub(super) struct Frame {
    pub(super) id: FileId,
    pub(super) file: Arc<SourceFile>,
    pub(super) position: usize,
    pub(super) conditionals: Vec<Conditional>,
    /// What `#line` said: added to the real line.
    pub(super) line_shift: i64,
    /// The file name `#line` gave.
    pub(super) shown_name: Option<Name>,
}

/// An `#if` that is open.
#[derive(Clone, Copy)]
pub(super) struct Conditional {
    pub(super) span: Span,
    /// Whether one of its groups was taken.
    pub(super) taken: bool,
    pub(super) seen_else: bool,
}

/// What was used of each bound.
#[derive(Default)]
pub(super) struct Spent {
    pub(super) expansions: usize,
    pub(super) substituted: usize,
    pub(super) spelled_bytes: usize,
    pub(super) source_bytes: usize,
    pub(super) includes: usize,
}

/// Names that mean something to the preprocessor.
pub(super) struct Known {
    pub(super) defined: Name,
    pub(super) has_include: Name,
    pub(super) has_include_next: Name,
    pub(super) pragma: Name,
    pub(super) va_args: Name,
    pub(super) va_opt: Name,
    pub(super) zero: Name,
    pub(super) one: Name,
}

impl Known {
    fn new() -> Self {
        Self {
            defined: Name::new("defined"),
            has_include: Name::new("__has_include"),
            has_include_next: Name::new("__has_include_next"),
            pragma: Name::new("_Pragma"),
            va_args: Name::new("__VA_ARGS__"),
            va_opt: Name::new("__VA_OPT__"),
            zero: Name::new("0"),
            one: Name::new("1"),
        }
    }
}

impl<'a> Preprocessor<'a> {
    /// A run that begins with the file `main`; the files before it in the map are the library's.
    pub(super) fn new(
        main: FileId,
        macros: MacroTable,
        options: &'a Options,
        loader: &'a mut dyn IncludeLoader,
        map: &'a mut SourceMap,
        sink: &'a mut Sink,
    ) -> Self {
        Self {
            map,
            sink,
            loader,
            options,
            known: Known::new(),
            macros,
            frames: Vec::new(),
            pending: VecDeque::new(),
            expansions: Expansions::default(),
            in_condition: false,
            spent: Spent::default(),
            stopped: false,
            once: FxHashSet::default(),
            files_by_name: FxHashMap::default(),
            poisoned: FxHashSet::default(),
            in_pragma: false,
            counter: 0,
            emitter: Emitter::default(),
            includes: Includes::default(),
            warnings: Warnings::new(&options.warnings, main.0),
            reported: 0,
        }
    }

    /// Obeys the directives of a file of definitions and drops its other tokens.
    pub(super) fn run_definitions(&mut self, file: FileId) {
        self.enter_file(file, Span::new(file, 0, 0));
        while self.source_token().kind != PpKind::End {}
        self.leave_file();
    }

    /// Starts reading a file; `place` is where it is included.
    pub(super) fn enter_file(&mut self, id: FileId, place: Span) {
        let Some(file) = self.map.file(id).cloned() else { return };
        self.spent.source_bytes += file.text.len();
        if file.text.len() > self.options.limits.file_bytes {
            let most = self.options.limits.file_bytes;
            self.stop("file-too-large", place, format!("`{}` is larger than {most} bytes", file.name));
        } else if self.spent.source_bytes > self.options.limits.source_bytes {
            let most = self.options.limits.source_bytes;
            self.stop("source-too-large", place, format!("more than {most} bytes of source text"));
        }
        let conditionals = Vec::new();
        self.warnings.enter(id);
        self.frames.push(Frame { id, file, position: 0, conditionals, line_shift: 0, shown_name: None });
    }

    pub(super) fn leave_file(&mut self) {
        let Some(frame) = self.frames.pop() else { return };
        if let Some(outer) = self.frames.last() {
            self.warnings.continue_in(outer.id, outer.position as u32);
        }
        if self.stopped {
            return;
        }
        for conditional in frame.conditionals {
            self.report(|| {
                Diagnostic::error(
                    "unterminated-conditional",
                    conditional.span,
                    "conditional directive without `#endif`",
                )
                .with_label("begins here")
            });
        }
    }

    /// The next token, before macro expansion.
    pub(super) fn pull(&mut self) -> PpToken {
        if !self.stopped
            && let Some(token) = self.expansions.next()
        {
            return token;
        }
        if self.expansions.isolation() > 0 { self.end_token() } else { self.source_token() }
    }

    /// Whether the next token is a parenthesis that makes a call of a function-like macro's name.
    pub(super) fn peek_is_open_paren(&mut self) -> bool {
        if let Some(token) = self.expansions.peek() {
            return token.is_punct(Punct::LParen);
        }
        if self.expansions.isolation() > 0 {
            return false;
        }
        let token = self.source_token();
        if token.kind != PpKind::End {
            self.pending.push_front(token);
        }
        token.is_punct(Punct::LParen)
    }

    /// The next token of the current file that is not part of a directive.
    pub(super) fn source_token(&mut self) -> PpToken {
        loop {
            if self.stopped {
                return self.end_token();
            }
            if let Some(token) = self.pending.pop_front() {
                return token;
            }
            let token = self.lex(Lines::Cross);
            if token.is_punct(Punct::Hash) && token.line_start {
                directive::obey(self, token);
            } else {
                return token;
            }
        }
    }

    /// The next token of the current line; the line's end again and again.
    pub(super) fn line_token(&mut self) -> PpToken {
        self.lex(Lines::Stop)
    }

    /// Those left on the current line.
    pub(super) fn rest_of_pragma(&mut self) -> Vec<PpToken> {
        let mut tokens = vec![self.line_token()];
        if tokens[0].is_end() {
            return Vec::new();
        }
        if tokens[0].kind == PpKind::Ident && tokens[0].name.as_str() == "mark" {
            // What follows is no code.
            while !matches!(PpKind::from(self.lex_quietly(Lines::Stop).kind), PpKind::LineEnd | PpKind::End) {
            }
            return tokens;
        }
        tokens.extend(self.rest_of_line());
        tokens
    }

    /// The tokens up to the end of the line.
    pub(super) fn rest_of_line(&mut self) -> Vec<PpToken> {
        let mut tokens = Vec::new();
        loop {
            let token = self.line_token();
            if token.is_end() {
                return tokens;
            }
            tokens.push(token);
        }
    }

    /// Reports an identifier that `#pragma GCC poison` forbids.
    pub(super) fn check_poisoned(&mut self, kind: PpKind, name: Name, span: Span) {
        if kind == PpKind::Ident && !self.in_pragma && self.poisoned.contains(&name) {
            self.report(|| Diagnostic::error("poisoned-name", span, "attempt to use a poisoned identifier"));
        }
    }

    fn lex(&mut self, lines: Lines) -> PpToken {
        let raw = self.lex_quietly(lines);
        let Some(frame) = self.frames.last() else { return self.end_token() };
        let span = Span::new(frame.id, raw.lo, raw.hi);
        if let Some(problem) = raw.problem {
            self.report_problem(problem, span);
        }
        if raw.name.is_overflow() {
            self.stop("too-many-names", span, "too many distinct names in this process".to_owned());
        }
        let kind = raw.kind.into();
        self.check_poisoned(kind, raw.name, span);
        PpToken { kind, name: raw.name, span, space: raw.space, line_start: raw.line_start, painted: false }
    }

    /// The next token of the file, saying nothing of what is wrong with it.
    pub(super) fn lex_quietly(&mut self, lines: Lines) -> RawToken {
        let Some(frame) = self.frames.last_mut() else { return Scanner::new("", 0).next(lines) };
        let mut scanner = Scanner::new(&frame.file.text, frame.position);
        let token = scanner.next(lines);
        frame.position = scanner.position();
        token
    }

    fn report_problem(&mut self, problem: Problem, span: Span) {
        self.report(|| match problem {
            Problem::OpenLiteral => Diagnostic::error("unterminated-literal", span, "missing closing quote"),
            Problem::OpenRawString => {
                Diagnostic::error("unterminated-literal", span, "raw string is not terminated")
            }
            Problem::CommentBefore(lo) => {
                let opening = Span { lo, hi: lo + 2, ..span };
                Diagnostic::error("unterminated-comment", opening, "comment is not terminated")
            }
            Problem::RefusedInIdentifier(char, lo) => {
                let message = format!("character U+{:04X} is not allowed in an identifier", u32::from(char));
                Diagnostic::error("stray-character", Span { lo, ..span }, message)
            }
            Problem::BasicName(char) if char.is_control() => {
                let message = "universal character name refers to a control character";
                Diagnostic::error("universal-name", span, message)
            }
            Problem::BasicName(char) => {
                let message = format!("character `{char}` cannot be specified by a universal character name");
                Diagnostic::error("universal-name", span, message)
            }
            Problem::SurrogateName => {
                Diagnostic::error("universal-name", span, "universal character name refers to a surrogate")
            }
        });
    }

    /// The end, placed where the current file has got to.
    pub(super) fn end_token(&self) -> PpToken {
        let span = self
            .frames
            .last()
            .map_or(Span::NONE, |frame| Span::new(frame.id, frame.position as u32, frame.position as u32));
        PpToken::made(PpKind::End, Name::EMPTY, span)
    }

    /// Reports a diagnostic. Beyond the sink's capacity it is not even made, so that a file full of
    /// mistakes is still read in linear time.
    pub(super) fn report(&mut self, make: impl FnOnce() -> Diagnostic) {
        self.reported += 1;
        if self.reported <= 2 * Sink::LIMIT || !self.sink.has_errors() {
            self.sink.push(make());
        }
    }

    /// Reports that a bound is exceeded and ends the run.
    pub(super) fn stop(&mut self, id: &'static str, span: Span, message: String) {
        if !self.stopped {
            self.sink.push(Diagnostic::error(id, span, message));
            self.stopped = true;
        }
    }

    /// Counts tokens collected or made by macro expansion.
    pub(super) fn spend_tokens(&mut self, count: usize, span: Span) {
        self.spent.substituted += count;
        if self.spent.substituted > self.options.limits.substituted {
            self.stop("expansion-limit", span, "macro expansion makes too many tokens".to_owned());
        }
    }

    /// Counts bytes made by `#` and `##`.
    pub(super) fn spend_bytes(&mut self, count: usize, span: Span) {
        self.spent.spelled_bytes += count;
        if self.spent.spelled_bytes > self.options.limits.spelled_bytes {
            self.stop("expansion-limit", span, "macro expansion makes too much text".to_owned());
        }
    }

    /// The place in a file that a token comes from in the end.
    pub(super) fn place_of_use(&self, span: Span) -> Span {
        self.map.outermost(span)
    }
}

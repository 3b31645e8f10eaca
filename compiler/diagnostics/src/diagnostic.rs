//! The diagnostic data type and the sink that collects them.

use crate::{Edit, Span, catalogue_entry};

/// How bad it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Severity {
    /// The program is wrong; no code is made.
    Error,
    /// Suspicious, but compiled.
    Warning,
    /// How something was compiled; shown on request only.
    Remark,
}

/// A further place that explains the primary one.
#[derive(Clone, Debug)]
pub struct Label {
    /// Where.
    pub span: Span,
    /// What to say there.
    pub text: String,
}

/// A follow-up: "in instantiation of …", "candidate: …", each with its own place.
#[derive(Clone, Debug)]
pub struct Note {
    /// Where; `Span::NONE` for a remark without a place.
    pub span: Span,
    /// The remark.
    pub text: String,
}

/// One message to the user.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    /// Error, warning or remark.
    pub severity: Severity,
    /// A stable id of words joined by hyphens, such as `unknown-name`; those of errors and
    /// warnings have a row in [`crate::CATALOGUE`].
    pub id: &'static str,
    /// The message, lower case, without a full stop.
    pub message: String,
    /// The primary place.
    pub span: Span,
    /// What to say under the caret; may be empty.
    pub label: String,
    /// Secondary places.
    pub labels: Vec<Label>,
    /// Instantiation traces, candidates.
    pub notes: Vec<Note>,
    /// What to try ("did you mean `x`?").
    pub hints: Vec<String>,
    /// Changes of the source that together mend it, with certainty; none if a person must decide.
    pub edits: Vec<Edit>,
    /// The group of a warning, and of an error that options made of a warning; set by
    /// [`crate::Warnings::apply`].
    pub group: Option<&'static str>,
}

impl Diagnostic {
    /// An error.
    pub fn error(id: &'static str, span: Span, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            id,
            message: message.into(),
            span,
            label: String::new(),
            labels: Vec::new(),
            notes: Vec::new(),
            hints: Vec::new(),
            edits: Vec::new(),
            group: None,
        }
    }

    /// A warning.
    pub fn warning(id: &'static str, span: Span, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(id, span, message) }
    }

    /// Sets the text under the caret.
    pub fn with_label(mut self, text: impl Into<String>) -> Self {
        self.label = text.into();
        self
    }

    /// Adds a secondary place.
    pub fn with_secondary(mut self, span: Span, text: impl Into<String>) -> Self {
        self.labels.push(Label { span, text: text.into() });
        self
    }

    /// Adds a note.
    pub fn with_note(mut self, span: Span, text: impl Into<String>) -> Self {
        self.notes.push(Note { span, text: text.into() });
        self
    }

    /// The options that it depends on, as clang shows them: `-Wunused-value`, `-Werror,-Wunused-value`.
    pub fn flag(&self) -> Option<String> {
        let is_strict =
            || catalogue_entry(self.id).and_then(|entry| entry.warning).is_some_and(|flag| flag.is_error);
        let by_error = if self.severity == Severity::Error && !is_strict() { "-Werror," } else { "" };
        self.group.map(|group| format!("{by_error}-W{group}"))
    }

    /// Adds a change that mends it: the text of the span is replaced.
    pub fn with_edit(mut self, span: Span, text: impl Into<String>) -> Self {
        self.edits.push(Edit { span, expected: None, text: text.into() });
        self
    }

    /// As [`Self::with_edit`], if the span has the expected text.
    pub fn with_edit_of(mut self, span: Span, expected: &str, text: &str) -> Self {
        self.edits.push(Edit { span, expected: Some(expected.to_owned()), text: text.to_owned() });
        self
    }

    /// Adds a hint at another name, and the change that follows it.
    pub fn with_other_name(self, span: Span, name: &str) -> Self {
        self.with_hint(format!("did you mean `{name}`?")).with_edit(span, name)
    }

    /// Adds a hint.
    pub fn with_hint(mut self, text: impl Into<String>) -> Self {
        self.hints.push(text.into());
        self
    }
}

/// Collects diagnostics, bounded so that hostile input cannot exhaust memory.
///
/// Invariant: at most [`Sink::LIMIT`] errors, and as many others, are kept; further ones are counted only.
#[derive(Clone, Debug, Default)]
pub struct Sink {
    diagnostics: Vec<Diagnostic>,
    errors: usize,
    /// The errors among those kept.
    kept_errors: usize,
    dropped: usize,
}

impl Sink {
    /// The most errors that are kept, and the most other diagnostics.
    pub const LIMIT: usize = 200;

    /// An empty sink.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reports one diagnostic. An exact repeat (same id, place and message) is dropped.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        if diagnostic.severity == Severity::Error {
            self.errors += 1;
        }
        let repeats = |d: &Diagnostic| {
            d.id == diagnostic.id && d.span == diagnostic.span && d.message == diagnostic.message
        };
        if self.diagnostics.iter().any(repeats) {
            return;
        }
        let is_error = diagnostic.severity == Severity::Error;
        let kept = if is_error { self.kept_errors } else { self.diagnostics.len() - self.kept_errors };
        if kept < Self::LIMIT {
            self.kept_errors += usize::from(is_error);
            self.diagnostics.push(diagnostic);
        } else {
            self.dropped += 1;
        }
    }

    /// Whether an error was reported.
    pub fn has_errors(&self) -> bool {
        self.errors > 0
    }

    /// The number of errors reported, repeats included.
    pub fn error_count(&self) -> usize {
        self.errors
    }

    /// How many were not kept.
    pub fn dropped(&self) -> usize {
        self.dropped
    }

    /// Those kept, in the order of reporting.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// Those kept.
    pub fn into_diagnostics(self) -> Vec<Diagnostic> {
        self.diagnostics
    }
}

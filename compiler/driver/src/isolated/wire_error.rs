//! The parts of a worker's errors that are not plain data: diagnostics, compiler bugs, errors of requests.
//!
//! Owns the modules that [`CompileError`](crate::error::CompileError) names for them. Invariant: the source
//! map that arrives has the files and macro expansions that the diagnostics show, and its chains of
//! expansions and includes end.

use std::collections::BTreeMap;
use std::sync::Arc;

use anymetal_diagnostics::{
    Diagnostic, Edit, Expansion, ExpansionId, FileId, Label, LineMark, Note, Severity, SourceMap, Span,
    catalogue_entry,
};
use anymetal_isolate::IsolationError;
use anymetal_msl::Diagnostics;
use anymetal_opt::pipeline::pass_names;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::bug::CompilerBug;

/// The stages that bugs are found in.
const STAGES: &[&str] = &[
    "LLVM",
    "analysis",
    "cache",
    "code generator",
    "compiler",
    "front end",
    "fusion",
    "inliner",
    "interpreter",
    "middle end",
    "optimiser",
    "printing",
    "reflection",
    "sanitizer",
];

/// [`Diagnostics`] of a [`CompileError`](crate::error::CompileError).
pub(crate) mod source {
    use serde::de::Error as _;

    use super::{Arc, Deserialize, Deserializer, Diagnostics, Serialize, Serializer, WireDiagnostics};

    pub(crate) fn serialize<S: Serializer>(value: &Arc<Diagnostics>, to: S) -> Result<S::Ok, S::Error> {
        WireDiagnostics::of(value).serialize(to)
    }

    pub(crate) fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<Arc<Diagnostics>, D::Error> {
        WireDiagnostics::deserialize(from)?.diagnostics().map(Arc::new).map_err(D::Error::custom)
    }
}

/// An [`IsolationError`] within a worker: the request cannot be answered.
pub(crate) mod request {
    use super::{Deserialize, Deserializer, IsolationError, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(value: &IsolationError, to: S) -> Result<S::Ok, S::Error> {
        value.to_string().serialize(to)
    }

    pub(crate) fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<IsolationError, D::Error> {
        String::deserialize(from).map(IsolationError::malformed)
    }
}

/// A [`CompilerBug`] without its reproducer, which the host writes: a worker has no files.
pub(crate) mod bug {
    use super::{CompilerBug, Deserialize, Deserializer, STAGES, Serialize, Serializer, pass_names};

    pub(crate) fn serialize<S: Serializer>(value: &CompilerBug, to: S) -> Result<S::Ok, S::Error> {
        let CompilerBug { stage, pass, kernel, message, place, reproducer: _ } = value;
        (stage, pass, kernel, message, place).serialize(to)
    }

    pub(crate) fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<Box<CompilerBug>, D::Error> {
        type Parts = (String, Option<String>, Option<String>, String, Option<String>);
        let (stage, pass, kernel, message, place) = Parts::deserialize(from)?;
        let known = STAGES.iter().find(|known| **known == stage);
        let mut bug = CompilerBug::new(known.copied().unwrap_or("worker"), message);
        bug.pass = pass.and_then(|pass| pass_names().find(|known| *known == pass));
        (bug.kernel, bug.place) = (kernel, place);
        Ok(Box::new(bug))
    }
}

/// Diagnostics with the parts of their source map that they show.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct WireDiagnostics {
    files: Vec<WireFile>,
    expansions: Vec<WireExpansion>,
    list: Vec<WireDiagnostic>,
}

/// File, first byte, one past the last byte, expansion.
type WireSpan = (u32, u32, u32, u32);

#[derive(Debug, Serialize, Deserialize)]
struct WireFile {
    name: String,
    text: String,
    included_from: WireSpan,
    /// From which byte, the shift, the name.
    line_marks: Vec<(u32, i64, Option<String>)>,
}

#[derive(Debug, Serialize, Deserialize)]
struct WireExpansion {
    macro_name: String,
    call_site: WireSpan,
    definition: WireSpan,
}

#[derive(Debug, Serialize, Deserialize)]
struct WireDiagnostic {
    is_error: bool,
    id: String,
    message: String,
    span: WireSpan,
    label: String,
    labels: Vec<(WireSpan, String)>,
    notes: Vec<(WireSpan, String)>,
    hints: Vec<String>,
    /// Where, the text expected there, the new text.
    edits: Vec<(WireSpan, Option<String>, String)>,
    /// Whether it has its id's group of warnings.
    has_group: bool,
}

/// The files and expansions that spans lead to.
#[derive(Default)]
struct Reached {
    files: BTreeMap<FileId, Span>,
    expansions: BTreeMap<ExpansionId, Expansion>,
}

impl Reached {
    fn add(&mut self, map: &SourceMap, span: Span) {
        let mut spans = vec![span];
        while let Some(span) = spans.pop() {
            if map.file(span.file).is_some() && !self.files.contains_key(&span.file) {
                let included_from = map.included_from(span.file);
                self.files.insert(span.file, included_from);
                spans.push(included_from);
            }
            if let Some(expansion) = map.expansion(span.expansion)
                && !self.expansions.contains_key(&span.expansion)
            {
                self.expansions.insert(span.expansion, expansion.clone());
                spans.extend([expansion.call_site, expansion.definition]);
            }
        }
    }

    /// The span with the numbers of the reached files and expansions.
    fn renumbered(&self, span: Span) -> WireSpan {
        let position = |at: Option<usize>| at.and_then(|at| u32::try_from(at).ok()).unwrap_or(u32::MAX);
        let file = position(self.files.keys().position(|file| *file == span.file));
        let expansion = position(self.expansions.keys().position(|known| *known == span.expansion));
        (file, span.lo, span.hi, expansion)
    }
}

fn span((file, lo, hi, expansion): WireSpan) -> Span {
    Span { file: FileId(file), lo, hi, expansion: ExpansionId(expansion) }
}

impl WireDiagnostics {
    pub(super) fn of(diagnostics: &Diagnostics) -> Self {
        let Diagnostics { map, list } = diagnostics;
        let mut reached = Reached::default();
        for diagnostic in list {
            reached.add(map, diagnostic.span);
            diagnostic.labels.iter().for_each(|label| reached.add(map, label.span));
            diagnostic.notes.iter().for_each(|note| reached.add(map, note.span));
            diagnostic.edits.iter().for_each(|edit| reached.add(map, edit.span));
        }
        let file = |(id, included_from): (&FileId, &Span)| {
            let file = map.file(*id).expect("the file was found before");
            let mark = |mark: &LineMark| (mark.from, mark.shift, mark.name.as_deref().map(str::to_owned));
            WireFile {
                name: file.name.clone(),
                text: file.text.clone(),
                included_from: reached.renumbered(*included_from),
                line_marks: map.line_marks(*id).iter().map(mark).collect(),
            }
        };
        let expansion = |expansion: &Expansion| WireExpansion {
            macro_name: expansion.macro_name.to_string(),
            call_site: reached.renumbered(expansion.call_site),
            definition: reached.renumbered(expansion.definition),
        };
        let diagnostic = |diagnostic: &Diagnostic| {
            let label = |label: &Label| (reached.renumbered(label.span), label.text.clone());
            let note = |note: &Note| (reached.renumbered(note.span), note.text.clone());
            let edit =
                |edit: &Edit| (reached.renumbered(edit.span), edit.expected.clone(), edit.text.clone());
            WireDiagnostic {
                is_error: diagnostic.severity == Severity::Error,
                id: diagnostic.id.to_owned(),
                message: diagnostic.message.clone(),
                span: reached.renumbered(diagnostic.span),
                label: diagnostic.label.clone(),
                labels: diagnostic.labels.iter().map(label).collect(),
                notes: diagnostic.notes.iter().map(note).collect(),
                hints: diagnostic.hints.clone(),
                edits: diagnostic.edits.iter().map(edit).collect(),
                has_group: diagnostic.group.is_some(),
            }
        };
        Self {
            files: reached.files.iter().map(file).collect(),
            expansions: reached.expansions.values().map(expansion).collect(),
            list: list.iter().map(diagnostic).collect(),
        }
    }

    pub(super) fn diagnostics(self) -> Result<Diagnostics, IsolationError> {
        let mut map = SourceMap::new();
        for WireFile { name, text, included_from, line_marks } in self.files {
            let id = map.add_file(name, text);
            map.set_included_from(id, span(included_from));
            for (from, shift, name) in line_marks {
                map.add_line_mark(id, LineMark { from, shift, name: name.map(Arc::from) });
            }
        }
        for (number, WireExpansion { macro_name, call_site, definition }) in (0..).zip(self.expansions) {
            // A macro is used before it is expanded, so chains of expansions end.
            if call_site.3 != ExpansionId::NONE.0 && call_site.3 >= number {
                return Err(IsolationError::malformed("a macro expansion that leads to itself"));
            }
            let (call_site, definition) = (span(call_site), span(definition));
            map.add_expansion(Expansion { macro_name: macro_name.into(), call_site, definition });
        }
        let list = self.list.into_iter().map(WireDiagnostic::diagnostic).collect::<Result<Vec<_>, _>>()?;
        Ok(Diagnostics { map, list })
    }
}

impl WireDiagnostic {
    fn diagnostic(self) -> Result<Diagnostic, IsolationError> {
        let edit = |(at, expected, text)| Edit { span: span(at), expected, text };
        let entry = catalogue_entry(&self.id)
            .ok_or_else(|| IsolationError::malformed(format!("no diagnostic has the id `{}`", self.id)))?;
        Ok(Diagnostic {
            severity: if self.is_error { Severity::Error } else { Severity::Warning },
            id: entry.id,
            message: self.message,
            span: span(self.span),
            label: self.label,
            labels: self.labels.into_iter().map(|(at, text)| Label { span: span(at), text }).collect(),
            notes: self.notes.into_iter().map(|(at, text)| Note { span: span(at), text }).collect(),
            hints: self.hints,
            edits: self.edits.into_iter().map(edit).collect(),
            group: entry.warning.filter(|_| self.has_group).map(|flag| flag.group),
        })
    }
}

//! Diagnostics as a JSON array.

use super::remarks;
use crate::{Diagnostic, LineCol, Severity, SourceMap, Span};
use serde::Serialize;

#[derive(Serialize)]
struct JsonDiagnostic<'a> {
    severity: &'static str,
    id: &'a str,
    flag: Option<String>,
    message: &'a str,
    #[serde(flatten)]
    place: JsonPlace<'a>,
    end_line: Option<u32>,
    end_column: Option<u32>,
    label: &'a str,
    labels: Vec<JsonRemark<'a>>,
    notes: Vec<JsonRemark<'a>>,
    hints: &'a [String],
    edits: Vec<JsonEdit<'a>>,
}

/// A change of the source; an editor makes all those of a diagnostic, or none.
#[derive(Serialize)]
struct JsonEdit<'a> {
    #[serde(flatten)]
    place: JsonPlace<'a>,
    end_line: Option<u32>,
    end_column: Option<u32>,
    text: &'a str,
}

#[derive(Serialize)]
struct JsonRemark<'a> {
    #[serde(flatten)]
    place: JsonPlace<'a>,
    message: String,
}

#[derive(Serialize)]
struct JsonPlace<'a> {
    file: Option<&'a str>,
    line: Option<u32>,
    column: Option<u32>,
}

/// Renders diagnostics as a JSON array. Places that do not exist are `null`.
pub fn render_json(map: &SourceMap, diagnostics: &[Diagnostic]) -> String {
    let all: Vec<JsonDiagnostic<'_>> =
        diagnostics.iter().map(|diagnostic| convert(map, diagnostic)).collect();
    serde_json::to_string_pretty(&all).unwrap_or_else(|_| "[]".to_owned())
}

fn convert<'a>(map: &'a SourceMap, diagnostic: &'a Diagnostic) -> JsonDiagnostic<'a> {
    let span = map.outermost(diagnostic.span);
    let end = end_of(map, span);
    let edits = diagnostic.edits.iter().map(|edit| {
        let span = map.outermost(edit.span);
        let end = end_of(map, span);
        JsonEdit {
            place: place(map, span),
            end_line: end.map(|end| end.line),
            end_column: end.map(|end| end.column),
            text: &edit.text,
        }
    });
    let labels = diagnostic.labels.iter().map(|label| JsonRemark {
        place: place(map, map.outermost(label.span)),
        message: label.text.clone(),
    });
    let notes = remarks(map, diagnostic)
        .into_iter()
        .map(|remark| JsonRemark { place: place(map, remark.span), message: remark.text });
    JsonDiagnostic {
        severity: match diagnostic.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Remark => "remark",
        },
        id: diagnostic.id,
        flag: diagnostic.flag(),
        message: &diagnostic.message,
        place: place(map, span),
        end_line: end.map(|end| end.line),
        end_column: end.map(|end| end.column),
        label: &diagnostic.label,
        labels: labels.collect(),
        notes: notes.collect(),
        hints: &diagnostic.hints,
        edits: edits.collect(),
    }
}

/// The place after a span.
fn end_of(map: &SourceMap, span: Span) -> Option<LineCol> {
    let last = span.hi.max(span.lo);
    map.location(Span { lo: last, hi: last, ..span }).map(|(_, end)| end)
}

fn place(map: &SourceMap, span: Span) -> JsonPlace<'_> {
    match map.location(span) {
        Some((file, LineCol { line, column })) => {
            JsonPlace { file: Some(file), line: Some(line), column: Some(column) }
        }
        None => JsonPlace { file: None, line: None, column: None },
    }
}

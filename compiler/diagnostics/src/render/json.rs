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
    region: JsonRegion<'a>,
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
    region: JsonRegion<'a>,
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

#[derive(Serialize)]
struct JsonRegion<'a> {
    #[serde(flatten)]
    place: JsonPlace<'a>,
    end_line: Option<u32>,
    end_column: Option<u32>,
}

/// Renders diagnostics as a JSON array. Places that do not exist are `null`.
pub fn render_json(map: &SourceMap, diagnostics: &[Diagnostic]) -> String {
    let all: Vec<JsonDiagnostic<'_>> =
        diagnostics.iter().map(|diagnostic| convert(map, diagnostic)).collect();
    serde_json::to_string_pretty(&all).unwrap_or_else(|_| "[]".to_owned())
}

fn convert<'a>(map: &'a SourceMap, diagnostic: &'a Diagnostic) -> JsonDiagnostic<'a> {
    let edits = diagnostic.edits.iter();
    let edits = edits.map(|edit| JsonEdit { region: region(map, edit.span), text: &edit.text });
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
        region: region(map, diagnostic.span),
        label: &diagnostic.label,
        labels: labels.collect(),
        notes: notes.collect(),
        hints: &diagnostic.hints,
        edits: edits.collect(),
    }
}

fn region(map: &SourceMap, span: Span) -> JsonRegion<'_> {
    let end = map.region(span).map(|region| region.end);
    JsonRegion {
        place: place(map, map.outermost(span)),
        end_line: end.map(|end| end.line),
        end_column: end.map(|end| end.column),
    }
}

fn place(map: &SourceMap, span: Span) -> JsonPlace<'_> {
    match map.location(span) {
        Some((file, LineCol { line, column })) => {
            JsonPlace { file: Some(file), line: Some(line), column: Some(column) }
        }
        None => JsonPlace { file: None, line: None, column: None },
    }
}

//! Reports as one JSON document for programs.

use serde::Serialize;

use super::{JSON_SCHEMA, Report, Summary, SuppressedFinding, Verdict};
use crate::{Finding, FindingKind, Severity};

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    tool: Tool,
    #[serde(flatten)]
    verdict: &'a Verdict,
    summary: &'a Summary,
    findings: Vec<JsonFinding<'a>>,
    suppressed: &'a [SuppressedFinding],
}

#[derive(Serialize)]
struct Tool {
    name: &'static str,
    version: &'static str,
}

#[derive(Serialize)]
struct JsonFinding<'a> {
    severity: Severity,
    group: &'static str,
    title: &'static str,
    #[serde(flatten)]
    finding: &'a Finding,
}

pub(super) fn render(report: &Report) -> String {
    let finding = |finding| {
        let &Finding { kind, .. } = finding;
        JsonFinding { severity: kind.severity(), group: group(kind), title: kind.title(), finding }
    };
    let document = Document {
        schema: JSON_SCHEMA,
        tool: Tool { name: "anymetal", version: env!("CARGO_PKG_VERSION") },
        verdict: &report.verdict,
        summary: &report.summary,
        findings: report.findings.iter().map(finding).collect(),
        suppressed: &report.suppressed,
    };
    // Strings and numbers only: this cannot fail.
    let mut text = serde_json::to_string_pretty(&document).unwrap_or_default();
    text.push('\n');
    text
}

fn group(kind: FindingKind) -> &'static str {
    kind.group().id()
}

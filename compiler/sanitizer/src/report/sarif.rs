//! Reports as SARIF 2.1.0: one run, a rule for each kind of finding.
//!
//! The place of a result is the access that completes the error; earlier accesses, macro uses and calls are
//! related locations. Fingerprints are made of the text of lines, not of their numbers.

use anymetal_diagnostics::formats::sarif::{self, Columns, Fingerprints, Run, artifact, slashes};
use serde_json::{Map, Value, json};

use super::excerpt::utf16_column;
use super::{Report, Sources, SuppressedBy, SuppressedFinding, Verdict, describe, rules};
use crate::{Finding, FindingKind, Severity, SourcePlace};

pub(super) fn render(report: &Report, sources: &dyn Sources) -> String {
    let mut writer = Writer { sources, fingerprints: Fingerprints::default() };
    let mut results: Vec<Value> =
        report.findings.iter().map(|finding| writer.result(finding, json!([]))).collect();
    for suppressed in &report.suppressed {
        results.push(writer.result(&suppressed.finding, json!([suppression(suppressed)])));
    }
    let rules = FindingKind::ALL.iter().map(|&kind| rule(kind)).collect();
    let root = "The folder that the check ran in.";
    sarif::document(Run { rules, invocation: invocation(report), columns: Columns::Utf16, root, results })
}

/// Whether the run finished, and what readers must know of it.
fn invocation(report: &Report) -> Value {
    let summary = &report.summary;
    let notification = |level: &str, text: &str| json!({ "level": level, "message": { "text": text } });
    let mut notifications = Vec::new();
    if let Verdict::Incomplete(reason) = &report.verdict {
        notifications.push(notification("error", &format!("check incomplete: {reason}")));
    }
    notifications.extend(summary.wrong_marks.iter().map(|mark| notification("warning", mark)));
    let unused = summary.unused_suppressions.iter();
    notifications.extend(unused.map(|rule| notification("note", &format!("unused suppression {rule}"))));
    notifications.extend(summary.sampled.map(|sampled| notification("note", &sampled.to_string())));
    notifications.extend(summary.notes.iter().map(|note| notification("note", note)));
    json!({
        "executionSuccessful": !matches!(report.verdict, Verdict::Incomplete(_)),
        "toolExecutionNotifications": notifications,
        "properties": { "launches": summary.launches, "findingsNotKept": summary.not_kept },
    })
}

fn rule(kind: FindingKind) -> Value {
    json!({
        "id": kind.id(),
        "shortDescription": { "text": kind.title() },
        "fullDescription": { "text": rules::help(kind) },
        "help": { "text": rules::help(kind) },
        "defaultConfiguration": { "enabled": kind.is_default(), "level": level(kind) },
        "properties": { "tags": [kind.group().id()] },
    })
}

fn level(kind: FindingKind) -> &'static str {
    match kind.severity() {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Lint => "note",
    }
}

fn suppression(suppressed: &SuppressedFinding) -> Value {
    let kind = match suppressed.by {
        SuppressedBy::File => "external",
        SuppressedBy::Mark => "inSource",
    };
    let mut value = json!({ "kind": kind });
    if let Some(reason) = &suppressed.reason {
        value["justification"] = json!(reason);
    }
    value
}

struct Writer<'a> {
    sources: &'a dyn Sources,
    fingerprints: Fingerprints,
}

impl Writer<'_> {
    fn result(&mut self, finding: &Finding, suppressions: Value) -> Value {
        let index = FindingKind::ALL.iter().position(|&kind| kind == finding.kind);
        let mut result = json!({
            "ruleId": finding.kind.id(),
            "ruleIndex": index.map_or(-1, |index| index as i64),
            "level": level(finding.kind),
            "kind": "fail",
            "message": { "text": message(finding) },
            "occurrenceCount": finding.count.clamp(1, i64::MAX.unsigned_abs()),
            "partialFingerprints": { "anymetalFinding/v1": self.fingerprint(finding) },
            "suppressions": suppressions,
            "properties": properties(finding),
        });
        let (mut locations, mut related) = (Vec::new(), Vec::new());
        for (text, side) in describe::sides(finding) {
            let Some(place) = self.place(&side.place) else { continue };
            if locations.is_empty() {
                locations.push(place);
            } else {
                related.push(with_message(place, &text));
            }
            for step in &side.place.through {
                let step_place = SourcePlace {
                    file: step.file.clone(),
                    line: step.line,
                    column: step.column,
                    ..SourcePlace::default()
                };
                related.extend(self.place(&step_place).map(|place| with_message(place, &step.what)));
            }
        }
        for (index, location) in related.iter_mut().enumerate() {
            location["id"] = json!(index + 1);
        }
        result["locations"] = json!(locations);
        result["relatedLocations"] = json!(related);
        result
    }

    /// None if the file is not known.
    fn place(&self, place: &SourcePlace) -> Option<Value> {
        if place.file.is_empty() {
            return None;
        }
        let mut physical = json!({ "artifactLocation": artifact(&place.file) });
        if place.line > 0 {
            physical["region"] = json!({ "startLine": place.line });
            if place.column > 0 {
                let column = utf16_column(self.sources, &place.file, place.line, place.column);
                physical["region"]["startColumn"] = json!(column);
            }
        }
        let mut location = json!({ "physicalLocation": physical });
        if !place.function.is_empty() {
            location["logicalLocations"] =
                json!([{ "fullyQualifiedName": place.function, "kind": "function" }]);
        }
        Some(location)
    }

    /// Equal for the same finding after lines moved: made of names and of the text of the lines.
    fn fingerprint(&mut self, finding: &Finding) -> String {
        let memory = finding.memory.as_ref().map_or("", |memory| &memory.name);
        let mut texts = vec![finding.kind.id().to_owned(), finding.kernel.clone(), memory.to_owned()];
        for side in &finding.sides {
            let place = &side.place;
            let line = self.sources.line(&place.file, place.line).unwrap_or_default();
            let words: Vec<&str> = line.split_whitespace().collect();
            texts.extend([slashes(&place.file), place.function.clone(), words.join(" ")]);
        }
        self.fingerprints.of(texts.iter().map(String::as_str))
    }
}

fn message(finding: &Finding) -> String {
    let mut lines = vec![format!("{} in kernel `{}`", capitalised(finding.kind.title()), finding.kernel)];
    if !finding.message.is_empty() {
        lines[0] = format!("{}: {}", lines[0], finding.message);
    }
    lines[0].push('.');
    lines.extend(describe::sides(finding).map(|(text, _)| format!("{text}.")));
    lines.extend(describe::memory(finding).map(|text| format!("Memory: {text}.")));
    lines.extend(finding.remedy.as_ref().map(|remedy| format!("Help: {remedy}.")));
    lines.join("\n")
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

fn properties(finding: &Finding) -> Value {
    let mut properties = Map::new();
    properties.insert("kernel".to_owned(), json!(finding.kernel));
    properties.insert("launch".to_owned(), json!(finding.launch));
    if let Some(seed) = finding.seed {
        properties.insert("seed".to_owned(), json!(seed.to_string()));
    }
    Value::Object(properties)
}

fn with_message(mut location: Value, text: &str) -> Value {
    location["message"] = json!({ "text": text });
    location
}

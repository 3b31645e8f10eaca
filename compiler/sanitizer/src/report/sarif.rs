//! Reports as SARIF 2.1.0: one run, a rule for each kind of finding.
//!
//! The place of a result is the access that completes the error; earlier accesses, macro uses and calls are
//! related locations. Fingerprints are made of the text of lines, not of their numbers.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::excerpt::utf16_column;
use super::{Report, Sources, SuppressedBy, SuppressedFinding, Verdict, describe, rules};
use crate::{Finding, FindingKind, Severity, SourcePlace};

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";
/// The folder that relative names of files start at.
const ROOT: &str = "%SRCROOT%";

pub(super) fn render(report: &Report, sources: &dyn Sources) -> String {
    let mut writer = Writer { sources, fingerprints: BTreeMap::new() };
    let mut results: Vec<Value> =
        report.findings.iter().map(|finding| writer.result(finding, json!([]))).collect();
    for suppressed in &report.suppressed {
        results.push(writer.result(&suppressed.finding, json!([suppression(suppressed)])));
    }
    let document = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "anymetal",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": FindingKind::ALL.iter().map(|&kind| rule(kind)).collect::<Vec<_>>(),
            } },
            "invocations": [invocation(report)],
            "columnKind": "utf16CodeUnits",
            "originalUriBaseIds": { ROOT: { "description": { "text": "The folder that the check ran in." } } },
            "results": results,
        }],
    });
    format!("{document:#}\n")
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
    /// How many results have a fingerprint so far.
    fingerprints: BTreeMap<u64, u32>,
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
        let mut hash = Fnv::default();
        hash.text(finding.kind.id());
        hash.text(&finding.kernel);
        hash.text(finding.memory.as_ref().map_or("", |memory| &memory.name));
        for side in &finding.sides {
            let place = &side.place;
            hash.text(&slashes(&place.file));
            hash.text(&place.function);
            let line = self.sources.line(&place.file, place.line).unwrap_or_default();
            let words: Vec<&str> = line.split_whitespace().collect();
            hash.text(&words.join(" "));
        }
        let before = self.fingerprints.entry(hash.0).or_default();
        *before += 1;
        format!("{:016x}:{before}", hash.0)
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

fn slashes(file: &str) -> String {
    file.replace('\\', "/")
}

/// A relative name is relative to the folder that the check ran in.
pub(super) fn artifact(file: &str) -> Value {
    let path = slashes(file);
    let bytes = path.as_bytes();
    let has_drive = bytes.len() > 2 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':' && bytes[2] == b'/';
    if path.starts_with('/') {
        json!({ "uri": format!("file://{}", encoded(&path)) })
    } else if has_drive {
        json!({ "uri": format!("file:///{}:{}", &path[..1], encoded(&path[2..])) })
    } else {
        json!({ "uri": encoded(path.trim_start_matches("./")), "uriBaseId": ROOT })
    }
}

/// Percent-encoded but for `/` and what URIs never reserve.
fn encoded(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'-' | b'.' | b'_' | b'~') {
            uri.push(char::from(byte));
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
    }
    uri
}

/// The 64-bit hash FNV-1a: the same on every machine and in every version.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    /// A text and its end.
    fn text(&mut self, text: &str) {
        for byte in text.bytes().chain([0xff]) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

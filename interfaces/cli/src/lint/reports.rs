//! Findings in the formats of other programs.

use std::collections::BTreeMap;

use anymetal_driver::catalogue_entry;
use anymetal_driver::formats::github::{self, Place};
use anymetal_driver::formats::sarif::{self, Columns, Fingerprints, Run};
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};
use serde_json::{Value, json};

use super::finding::{Finding, Level};

/// Workflow commands of GitHub Actions.
pub(super) fn github(findings: &[Finding<'_>]) -> String {
    let command = |finding: &Finding<'_>| {
        let [(line, column), _] = finding.place.unwrap_or_default();
        let place = Place { file: &finding.file, line, column };
        github::command(finding.level.word(), place, &title(finding), &finding.message)
    };
    findings.iter().map(command).collect()
}

/// The id, and the option that switches it.
fn title(finding: &Finding<'_>) -> String {
    let flag = finding.flag.as_ref().map(|flag| format!(" [{flag}]"));
    format!("{}{}", finding.id, flag.unwrap_or_default())
}

/// SARIF 2.1.0, with a rule for each id that was found.
pub(super) fn sarif(findings: &[Finding<'_>]) -> String {
    let mut rules: Vec<&str> = findings.iter().map(|finding| finding.id).collect();
    rules.sort_unstable();
    rules.dedup();
    let mut fingerprints = Fingerprints::default();
    let result = |finding: &Finding<'_>| {
        let mut physical = json!({ "artifactLocation": sarif::artifact(&finding.file) });
        if let Some([start, end]) = finding.place {
            physical["region"] =
                json!({ "startLine": start.0, "startColumn": start.1, "endLine": end.0, "endColumn": end.1 });
        }
        json!({
            "ruleId": finding.id,
            "ruleIndex": rules.binary_search(&finding.id).expect("each id has a rule"),
            "level": finding.level.word(),
            "message": { "text": finding.message },
            "locations": [{ "physicalLocation": physical }],
            "partialFingerprints": { "anymetalLint/v1": fingerprint(&mut fingerprints, finding) },
        })
    };
    let results = findings.iter().map(result).collect();
    let rule = |id: &&str| {
        let meaning = catalogue_entry(id).map_or("The file cannot be checked", |entry| entry.meaning);
        json!({ "id": id, "shortDescription": { "text": meaning } })
    };
    sarif::document(Run {
        rules: rules.iter().map(rule).collect(),
        invocation: json!({ "executionSuccessful": findings.iter().all(|finding| finding.place.is_some()) }),
        columns: Columns::CodePoints,
        root: "The folder of the repository, or the folder that the check ran in.",
        results,
    })
}

fn fingerprint(fingerprints: &mut Fingerprints, finding: &Finding<'_>) -> String {
    let words: Vec<&str> = finding.line.split_whitespace().collect();
    fingerprints.of([finding.id, &finding.file, &words.join(" ")])
}

/// GitLab's report of code quality.
pub(super) fn gitlab(findings: &[Finding<'_>]) -> String {
    let mut fingerprints = Fingerprints::default();
    let issue = |finding: &Finding<'_>| -> Value {
        let [(line, _), _] = finding.place.unwrap_or([(1, 1); 2]);
        json!({
            "description": finding.message,
            "check_name": finding.id,
            "fingerprint": fingerprint(&mut fingerprints, finding),
            "severity": match finding.level { Level::Error => "critical", Level::Warning => "minor" },
            "location": { "path": finding.file, "lines": { "begin": line } },
        })
    };
    format!("{:#}\n", Value::Array(findings.iter().map(issue).collect()))
}

/// A file as a test case.
#[derive(Default)]
struct Case<'a> {
    has_errors: bool,
    findings: Vec<&'a Finding<'a>>,
}

/// JUnit XML: a test case for each file, which fails if it has errors. The files that were checked come with
/// whether they have some, perhaps in a header.
pub(super) fn junit(files: &[(String, bool)], findings: &[Finding<'_>]) -> String {
    let case = |(file, has_errors): &'_ (String, bool)| {
        (file.clone(), Case { has_errors: *has_errors, findings: Vec::new() })
    };
    let mut cases: BTreeMap<String, Case<'_>> = files.iter().map(case).collect();
    for finding in findings {
        let case = cases.entry(finding.file.clone()).or_default();
        case.has_errors |= finding.level == Level::Error;
        case.findings.push(finding);
    }
    let failed = cases.values().filter(|case| case.has_errors).count();
    let (tests, failed) = (cases.len().to_string(), failed.to_string());
    let suite = [("name", "anymetal lint"), ("tests", &tests), ("failures", &failed)];
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
    let write_suite = |writer: &mut Writer<Vec<u8>>| {
        let suite = writer.create_element("testsuite").with_attributes(suite);
        suite
            .write_inner_content(|writer| cases.iter().try_for_each(|case| write_case(writer, case)))
            .map(drop)
    };
    let written = writer
        .write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))
        .and_then(|()| writer.create_element("testsuites").write_inner_content(write_suite).map(drop));
    written.expect("a report is written to memory");
    String::from_utf8(writer.into_inner()).expect("what was written is text") + "\n"
}

fn write_case(writer: &mut Writer<Vec<u8>>, (file, case): (&String, &Case<'_>)) -> std::io::Result<()> {
    let Case { has_errors, findings } = case;
    let lines: Vec<String> = findings.iter().map(|finding| line(finding)).collect();
    let text = in_xml(&lines.join("\n"));
    let case =
        writer.create_element("testcase").with_attributes([("classname", "lint"), ("name", &*in_xml(file))]);
    match findings.iter().find(|finding| finding.level == Level::Error) {
        first if *has_errors => case.write_inner_content(|writer| {
            let in_header = ("errors in files that it includes", "included");
            let (message, id) = first.map_or(in_header, |first| (&*first.message, first.id));
            let failure = writer.create_element("failure");
            let failure = failure.with_attributes([("message", &*in_xml(message)), ("type", id)]);
            failure.write_text_content(BytesText::new(&text)).map(drop)
        }),
        _ if lines.is_empty() => case.write_empty(),
        _ => case.write_inner_content(|writer| {
            writer.create_element("system-out").write_text_content(BytesText::new(&text)).map(drop)
        }),
    }
    .map(drop)
}

/// Without the control characters that XML cannot have.
fn in_xml(text: &str) -> String {
    text.chars().filter(|char| !char.is_control() || matches!(char, '\n' | '\t')).collect()
}

fn line(finding: &Finding<'_>) -> String {
    let [(line, column), _] = finding.place.unwrap_or_default();
    let at = if line > 0 { format!(":{line}:{column}") } else { String::new() };
    let (first, hints) = finding.message.split_once('\n').unwrap_or((&finding.message, ""));
    let hints = if hints.is_empty() { String::new() } else { format!("\n{hints}") };
    format!("{}{at}: {}: {first} [{}]{hints}", finding.file, finding.level.word(), finding.id)
}

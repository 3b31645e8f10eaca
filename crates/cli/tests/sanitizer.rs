//! The sanitizer's corpus: every file of `tests/sanitizer` has the findings that it marks, and no others.
//!
//! `tests/sanitizer/README.md` describes the marks.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Kind and lines.
type Found = (String, Vec<u64>);

struct Case {
    kernel: String,
    arguments: Vec<String>,
    expected: Vec<Found>,
}

/// Findings by kind and lines: expressions of one line are not told apart.
fn distinct(findings: impl Iterator<Item = Found>) -> Vec<Found> {
    let lines = |lines: Vec<u64>| lines.into_iter().collect::<BTreeSet<_>>().into_iter().collect();
    let all: BTreeSet<Found> = findings.map(|(kind, found)| (kind, lines(found))).collect();
    all.into_iter().collect()
}

fn parse(text: &str) -> Case {
    let header = |name: &str| {
        let lines = text.lines().filter_map(|line| line.strip_prefix("// ")?.strip_prefix(name));
        lines.flat_map(str::split_whitespace).map(str::to_owned).collect::<Vec<_>>()
    };
    let mut marks: BTreeMap<(String, String), Vec<u64>> = BTreeMap::new();
    for (number, line) in (1u64..).zip(text.lines()) {
        for mark in line.split("//~").skip(1) {
            let mut words = mark.split_whitespace();
            let kind = words.next().expect("a mark names a kind").to_owned();
            let sides: Vec<&str> = words.collect();
            // `a1` is side 1 of finding `a`.
            for side in if sides.is_empty() { vec!["1"] } else { sides } {
                let tag = side.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned();
                marks.entry((kind.clone(), tag)).or_default().push(number);
            }
        }
    }
    let expected = distinct(marks.into_iter().map(|((kind, _), lines)| (kind, lines)));
    let name = text.split("kernel void ").nth(1).and_then(|rest| rest.split('(').next());
    let kernel = name.unwrap_or_default().trim().to_owned();
    Case { kernel, arguments: [header("launch:"), header("options:")].concat(), expected }
}

fn found(file: &Path, case: &Case) -> Result<Vec<Found>, String> {
    let output = Command::new(env!("CARGO_BIN_EXE_anymetal"))
        .arg("check")
        .arg(file)
        .args(["-k", &case.kernel, "--json"])
        .args(&case.arguments)
        .output()
        .map_err(|error| error.to_string())?;
    let report: Value = serde_json::from_slice(&output.stdout)
        .map_err(|_| String::from_utf8_lossy(&output.stderr).into_owned())?;
    let findings = report["findings"].as_array().ok_or("no findings in the report")?;
    let code = output.status.code();
    // A kernel with threads at different barriers does not run to its end.
    if code != Some(if findings.is_empty() { 0 } else { 3 }) {
        return Err(format!("exit code {code:?} with {} findings", findings.len()));
    }
    let lines = |finding: &Value| {
        let sides = finding["sides"].as_array().into_iter().flatten();
        let lines = sides.filter_map(|side| side["place"]["line"].as_u64()).filter(|&line| line > 0);
        lines.collect::<Vec<u64>>()
    };
    let kind = |finding: &Value| finding["kind"].as_str().unwrap_or_default().to_owned();
    Ok(distinct(findings.iter().map(|finding| (kind(finding), lines(finding)))))
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the corpus is there") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "metal") {
            files.push(path);
        }
    }
}

#[test]
fn every_case_has_the_findings_that_it_marks() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/sanitizer");
    let mut files = Vec::new();
    collect(&folder, &mut files);
    files.sort();
    assert!(files.len() >= 120, "only {} cases", files.len());
    let mut wrong = Vec::new();
    for file in files {
        let case = parse(&std::fs::read_to_string(&file).expect("text"));
        let name = file.strip_prefix(&folder).unwrap_or(&file).display().to_string();
        match found(&file, &case) {
            Ok(found) if found == case.expected => {}
            Ok(found) => wrong.push(format!("{name}: found {found:?}, marked {:?}", case.expected)),
            Err(error) => wrong.push(format!("{name}: {error}")),
        }
    }
    assert!(wrong.is_empty(), "{} cases:\n{}", wrong.len(), wrong.join("\n"));
}

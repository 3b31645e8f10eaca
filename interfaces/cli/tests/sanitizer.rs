//! The sanitizer's corpus: every file of `tests/sanitizer` has the findings that it marks, and no others.
//!
//! `tests/sanitizer/README.md` describes the marks.

use std::path::{Path, PathBuf};
use std::process::Command;

use anymetal_harness::sanitizer_case::{SanitizerCase, findings_of};
use rayon::prelude::*;

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

/// What is wrong with a file or with what is found in it.
fn differences(file: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(file).expect("a text");
    let case = match SanitizerCase::parse(&text) {
        Ok(case) => case,
        Err(error) => return vec![error.to_string()],
    };
    let mut check = Command::new(env!("CARGO_BIN_EXE_anymetal"));
    let output = check.args(case.arguments(&file.to_string_lossy())).output().expect("anymetal runs");
    let Some(found) = findings_of(&String::from_utf8_lossy(&output.stdout)) else {
        return vec![String::from_utf8_lossy(&output.stderr).into_owned()];
    };
    let mut differences = case.difference(&found);
    let expected = if found.is_empty() { 0 } else { 3 };
    if output.status.code() != Some(expected) {
        differences.push(format!("{} with {} findings", output.status, found.len()));
    }
    differences
}

#[test]
fn every_case_has_the_findings_that_it_marks() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/sanitizer");
    let mut files = Vec::new();
    collect(&folder, &mut files);
    files.sort();
    assert!(files.len() >= 340, "only {} cases", files.len());
    let wrong_in = |file: &PathBuf| {
        let name = file.strip_prefix(&folder).unwrap_or(file).display();
        let differences = differences(file).into_iter();
        differences.map(|difference| format!("{name}: {difference}")).collect::<Vec<_>>()
    };
    let wrong: Vec<String> = files.par_iter().flat_map_iter(wrong_in).collect();
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
}

/// `docs/sanitizer.md` shows the report of a case after each `<!-- report: FILE -->`. `ANYMETAL_BLESS=1`
/// writes them.
#[test]
fn the_documentation_shows_the_reports() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = root.join("docs/sanitizer.md");
    let text = std::fs::read_to_string(&path).expect("the document is there");
    let mut shown = String::new();
    let mut parts = text.split("<!-- report: ");
    shown.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let (file, rest) = part.split_once(" -->").expect("a report's end");
        let rest = rest.trim_start_matches('\n');
        let after = match rest.strip_prefix("```text\n") {
            Some(old) => old.split_once("\n```\n").expect("a fence's end").1,
            None => rest,
        };
        shown.push_str(&format!("<!-- report: {file} -->\n```text\n{}\n```\n", report_of(&root, file)));
        shown.push_str(&format!("\n{}", after.trim_start_matches('\n')));
    }
    if std::env::var_os("ANYMETAL_BLESS").is_some() {
        std::fs::write(&path, &shown).expect("writable");
        return;
    }
    assert!(shown == text, "docs/sanitizer.md shows old reports: cargo xtask bless sanitizer");
}

fn report_of(root: &Path, file: &str) -> String {
    let text = std::fs::read_to_string(root.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
    let case = SanitizerCase::parse(&text).expect("a case");
    let arguments = case.arguments(file).into_iter().filter(|argument| argument != "--json");
    let mut check = Command::new(env!("CARGO_BIN_EXE_anymetal"));
    let output = check.args(arguments).current_dir(root).output().expect("anymetal runs");
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

//! Diagnostic ids: each has a row in the catalogue of `anymetal-diagnostics`, is reported, and is tested.
//!
//! Ids are found by their form: in the front end's source, outside of tests, a string literal of words joined
//! by hyphens is an id, and so is a single word that is the first argument of `error` or `warning`.
//! [`NOT_IDS`] are the exceptions.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use anymetal_diagnostics::{CATALOGUE, Entry, Proof, catalogue_entry};

use crate::source_tree::SourceFile;

/// The sources that report diagnostics.
const FRONT_ENDS: &[&str] =
    &["compiler/diagnostics/src/warnings.rs", "compiler/msl/src/", "compiler/translate/src/"];

/// Literals of the front end that look like ids.
const NOT_IDS: &[&str] = &["anymetal-compiler", "no-error", "no-everything"];

/// Where annotations `//~ id` are.
const UI_TESTS: &str = "tests/ui/";

/// The catalogue's file, for messages.
const CATALOGUE_FILE: &str = "compiler/diagnostics/src/catalogue.rs";

/// Ids without a row, rows that nothing reports, and rows without a test.
pub(crate) fn check(files: &[SourceFile]) -> Vec<String> {
    let mut findings = Vec::new();
    let mut reported = BTreeSet::new();
    for file in files.iter().filter(|file| is_front_end(&file.path)) {
        for (line, literal) in literals(&file.text) {
            let place = format!("{}:{line}", file.path);
            let is_reported = has_form_of_id(literal) || follows_error_call(&file.text, line, literal);
            if !is_reported || NOT_IDS.contains(&literal) {
                continue;
            }
            if catalogue_entry(literal).is_none() {
                let rule = format!("has no row in {CATALOGUE_FILE}: add it, then `cargo xtask gen`");
                findings.push(format!("{place}: id `{literal}` {rule}"));
            }
            reported.insert(literal);
        }
    }
    let annotated = annotations(files);
    let entries = CATALOGUE.iter().flat_map(|group| group.entries);
    findings.extend(entries.filter_map(|entry| problem_of(entry, &reported, &annotated, files)));
    findings
}

fn problem_of(
    entry: &Entry,
    reported: &BTreeSet<&str>,
    annotated: &BTreeSet<&str>,
    files: &[SourceFile],
) -> Option<String> {
    let id = entry.id;
    if !reported.contains(id) {
        return Some(format!("{CATALOGUE_FILE}: nothing reports `{id}`: remove its row"));
    }
    match entry.proof {
        Proof::UiFile if !annotated.contains(id) => {
            Some(format!("{UI_TESTS}: no file has `//~ {id}`; see docs/how-to/add-a-diagnostic.md"))
        }
        Proof::RustTest(path) => {
            let quoted = format!("\"{id}\"");
            let is_tested = files.iter().any(|file| file.path == path && file.text.contains(&quoted));
            (!is_tested).then(|| format!("{path}: does not test `{id}`"))
        }
        Proof::UiFile | Proof::Untested(_) => None,
    }
}

fn is_front_end(path: &str) -> bool {
    FRONT_ENDS.iter().any(|front_end| path.starts_with(front_end))
        && path.ends_with(".rs")
        && !path.contains("/tests/")
        && !path.ends_with("/tests.rs")
}

/// The string literals of a source file up to its test module, with their lines. Literals with escapes come
/// in pieces, none of which has the form of an id.
fn literals(text: &str) -> Vec<(usize, &str)> {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or(text);
    let lines = code.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//"));
    lines
        .flat_map(|(number, line)| line.split('"').skip(1).step_by(2).map(move |part| (number + 1, part)))
        .collect()
}

/// Two or more words of lower-case letters and digits, joined by single hyphens.
fn has_form_of_id(literal: &str) -> bool {
    let is_word =
        |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    literal.contains('-') && literal.split('-').all(is_word)
}

/// Whether a word stands where an id is expected: first in a call of `error` or `warning`.
fn follows_error_call(text: &str, line: usize, word: &str) -> bool {
    if word.is_empty() || !word.bytes().all(|b| b.is_ascii_lowercase()) {
        return false;
    }
    let lines: Vec<&str> = text.lines().skip(line.saturating_sub(2)).take(2.min(line)).collect();
    let (this, before) = match lines[..] {
        [this] => (this, ""),
        [before, this] => (this, before),
        _ => return false,
    };
    let calls = ["error(", "warning(", "warn("];
    calls.iter().any(|call| {
        this.contains(&format!("{call}\"{word}\""))
            || (before.ends_with(call) && this.trim_start().starts_with(&format!("\"{word}\"")))
    })
}

/// The ids of all annotations `//~ id`, of which a line may have several.
fn annotations(files: &[SourceFile]) -> BTreeSet<&str> {
    let ui_files =
        files.iter().filter(|file| file.path.starts_with(UI_TESTS) && !file.path.ends_with(".stderr"));
    ui_files
        .flat_map(|file| file.text.lines())
        .flat_map(|line| line.split("//~").skip(1))
        .map(|text| text.trim_start_matches('^').split(':').next().unwrap_or("").trim())
        .collect()
}

/// `docs/diagnostics.md`.
pub(crate) fn document() -> String {
    let mut text = String::from(
        "# Diagnostics\n\n\
         <!-- Generated by `cargo xtask gen` from compiler/diagnostics/src/catalogue.rs: do not edit. -->\n\n\
         Every message about a source has an id, shown in brackets (`error[unknown-name]: …`) and in the\n\
         JSON output. Ids are stable; messages are not. All are errors unless the meaning begins with\n\
         \"warning\".\n\
         \n\
         Warnings have the groups of clang: `-Wall`, `-Wextra`, `-Weverything`, `-WGROUP`, `-Wno-GROUP`,\n\
         `-Werror`, `-Werror=GROUP`, `-Wno-error=GROUP` and `-w` of `anymetal compile` work as there, and\n\
         so do `#pragma clang diagnostic` and `#pragma GCC diagnostic` with `push`, `pop`, `ignored`,\n\
         `warning` and `error`. Groups of clang that have no warning here are accepted. Nothing is\n\
         reported about the Metal library, and a template is warned about once.\n\
         \n\
         An example of each, with its rendering, is in `tests/ui`. \
         [How to add one](how-to/add-a-diagnostic.md).\n",
    );
    for group in CATALOGUE {
        let _ = write!(text, "\n## {}\n\n| id | meaning |\n|---|---|\n", group.stage);
        for entry in group.entries {
            let _ = writeln!(text, "| `{}` | {}{} |", entry.id, flag(entry), entry.meaning);
        }
    }
    text
}

/// How a warning is switched on or off, before its meaning.
fn flag(entry: &Entry) -> String {
    match entry.warning {
        Some(flag) if flag.is_error => format!("an error unless `-Wno-{}`: ", flag.group),
        Some(flag) if flag.is_default => format!("warning, `-Wno-{}`: ", flag.group),
        Some(flag) => format!("warning, only with `-W{}`: ", flag.group),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> SourceFile {
        SourceFile { path: path.to_owned(), text: text.to_owned() }
    }

    fn findings_about(files: &[SourceFile], what: &str) -> Vec<String> {
        check(files).into_iter().filter(|finding| finding.contains(what)).collect()
    }

    #[test]
    fn an_id_needs_a_row() {
        let source = file("compiler/msl/src/a.rs", "//! A\nself.error(\"no-such-id\", span, \"text\");\n");
        assert_eq!(
            findings_about(&[source], "no-such-id"),
            ["compiler/msl/src/a.rs:2: id `no-such-id` has no row in \
                 compiler/diagnostics/src/catalogue.rs: add it, then `cargo xtask gen`"]
        );
    }

    #[test]
    fn one_word_is_an_id_where_an_error_is_made() {
        for text in ["self.error(\"unclosed\", s, m);", "x.error(\n    \"unclosed\",\n    s);"] {
            let found = findings_about(&[file("compiler/msl/src/a.rs", text)], "`unclosed`");
            assert_eq!(found.len(), 1, "{text}");
        }
        let text = "let unclosed = \"unclosed\";";
        assert_eq!(
            findings_about(&[file("compiler/msl/src/a.rs", text)], "`unclosed`"),
            Vec::<String>::new()
        );
    }

    #[test]
    fn a_row_needs_a_report_and_an_annotation() {
        let source = file("compiler/msl/src/a.rs", "report(\"unknown-name\"); // \"no-double\"\n");
        let test = |text| file("tests/ui/a.metal", text);
        let found = findings_about(&[source], "`//~ unknown-name`");
        assert_eq!(found.len(), 1);
        let source = file("compiler/msl/src/a.rs", "report(\"unknown-name\");\n");
        let both = [source, test("x; //~ no-double //~^ unknown-name: x\n")];
        assert_eq!(findings_about(&both, "unknown-name`"), Vec::<String>::new());
        assert_eq!(findings_about(&both, "nothing reports `no-double`").len(), 1);
    }

    #[test]
    fn tests_report_nothing() {
        let text = "#[cfg(test)]\nmod tests {\n    let id = \"no-such-id\";\n}\n";
        assert_eq!(
            findings_about(&[file("compiler/msl/src/a.rs", text)], "no-such-id"),
            Vec::<String>::new()
        );
        let text = "let id = \"no-such-id\";\n";
        assert_eq!(
            findings_about(&[file("compiler/msl/src/a/tests.rs", text)], "no-such-id"),
            Vec::<String>::new()
        );
    }
}

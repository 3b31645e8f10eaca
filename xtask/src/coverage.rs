//! The document of the language's coverage: which tests compute values from each clause.
//!
//! Each test names the clauses that it covers (`//! covers:` in the first lines of a file of `tests/exec`, or
//! of a test of the crate where the host takes part) and the source of its expected values (`//! oracle:`),
//! so the document cannot claim more than there is.

mod clauses;

use std::fmt::Write as _;

use crate::source_tree::SourceFile;
use clauses::{CHAPTERS, Chapter};

const HEAD: &str = "\
# Coverage of the language

<!-- Made by `cargo xtask gen` from the `//! covers:` lines of tests/exec and anymetal/tests. -->

For people who change the compiler: which programs of `tests/exec`, and which tests of the crate
(`anymetal/tests`) where the host takes part, compute values from each clause of the Metal Shading Language
Specification (version 4, the clauses about compute functions) and of C++. All of them run on the
interpreter and on the CPU device. The oracle is where the expected values come from:

| oracle | meaning |
|---|---|
| clang | `clang++` runs the program as C++, with the same results (CI step `clang`) |
| exact | they follow from the text of the specification, in exact arithmetic |
| numpy, mpmath | that library computed them |
| by hand | the file does not say |
";

/// The folders of tests, and the extension of each.
const FOLDERS: &[(&str, &str)] = &[("tests/exec/", ".metal"), ("anymetal/tests/", ".rs")];

/// A program, what it covers and by which oracle.
struct Program<'f> {
    path: &'f str,
    name: &'f str,
    clauses: Vec<&'f str>,
    oracle: &'f str,
}

fn programs(files: &[SourceFile]) -> Vec<Program<'_>> {
    files.iter().filter_map(program).collect()
}

/// The program of a file; `None` for files outside of the folders.
fn program(file: &SourceFile) -> Option<Program<'_>> {
    let name = |(folder, extension): &(&str, &str)| file.path.strip_prefix(*folder)?.strip_suffix(*extension);
    Some(Program {
        path: &file.path,
        name: FOLDERS.iter().find_map(name)?,
        clauses: directives(&file.text, "covers").flat_map(|list| list.split(", ")).collect(),
        oracle: directives(&file.text, "oracle").next().unwrap_or("by hand"),
    })
}

/// The values of a directive in a file.
fn directives<'t>(text: &'t str, name: &'static str) -> impl Iterator<Item = &'t str> {
    text.lines().filter_map(move |line| {
        let (key, value) = line.strip_prefix("//!")?.split_once(':')?;
        (key.trim() == name).then(|| value.trim())
    })
}

/// `docs/language-coverage.md`.
pub(crate) fn document(files: &[SourceFile]) -> String {
    let programs = programs(files);
    let mut text = HEAD.to_owned();
    for Chapter { title, clauses } in CHAPTERS {
        let _ = write!(text, "\n## {title}\n\n| clause | about | tests | oracles |\n|---|---|---|---|\n");
        for (clause, about) in *clauses {
            let covering: Vec<&Program<'_>> =
                programs.iter().filter(|program| program.clauses.contains(clause)).collect();
            let names: Vec<String> =
                covering.iter().map(|program| format!("[{}](../{})", program.name, program.path)).collect();
            let mut oracles: Vec<&str> = covering.iter().map(|program| program.oracle).collect();
            oracles.sort_unstable();
            oracles.dedup();
            let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            let _ = writeln!(text, "| {clause} | {about} | {names} | {} |", oracles.join(", "));
        }
    }
    text
}

/// Clauses that no chapter has.
pub(crate) fn check(files: &[SourceFile]) -> Vec<String> {
    let is_known = |clause: &str| {
        CHAPTERS.iter().any(|chapter| chapter.clauses.iter().any(|(known, _)| *known == clause))
    };
    let mut findings = Vec::new();
    for program in programs(files) {
        for clause in program.clauses.iter().filter(|clause| !is_known(clause)) {
            let path = program.path;
            findings.push(format!("{path}: xtask/src/coverage/clauses.rs has no clause `{clause}`"));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, text: &str) -> SourceFile {
        SourceFile { path: name.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn clauses_name_the_programs_that_cover_them() {
        let files = [
            file("tests/exec/a.metal", "// A.\n//! covers: MSL 2.1, MSL 3.1\n//! oracle: clang\n"),
            file("anymetal/tests/b.rs", "//! B.\n//! covers: MSL 2.1\n"),
            file("tests/ui/c.metal", "//! covers: MSL 2.1\n"),
        ];
        assert_eq!(check(&files), Vec::<String>::new());
        let text = document(&files);
        let both = "[a](../tests/exec/a.metal), [b](../anymetal/tests/b.rs) | by hand, clang |";
        assert!(text.contains(both), "{text}");
        assert!(text.contains("| MSL 3.2 | operators of matrices | none |  |"), "{text}");
    }

    #[test]
    fn an_unknown_clause_is_found() {
        let found = check(&[file("tests/exec/a.metal", "//! covers: MSL 2.1, MSL 99\n")]);
        assert!(found.len() == 1 && found[0].contains("`MSL 99`"), "{found:?}");
    }

    #[test]
    fn no_clause_is_listed_twice() {
        let mut all: Vec<&str> =
            CHAPTERS.iter().flat_map(|chapter| chapter.clauses.iter().map(|(clause, _)| *clause)).collect();
        all.sort_unstable();
        assert!(all.windows(2).all(|pair| pair[0] != pair[1]), "{all:?}");
    }
}

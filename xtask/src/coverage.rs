//! The document of the language's coverage: which tests compute values from each clause.
//!
//! The tests themselves say what they cover (`//! covers:` in the first lines of a file of `tests/exec`) and
//! where their values come from (`//! oracle:`), so the document cannot claim more than there is.

mod clauses;

use std::fmt::Write as _;

use crate::source_tree::SourceFile;
use clauses::{CHAPTERS, Chapter};

const HEAD: &str = "\
# Coverage of the language

<!-- Made by `cargo xtask gen` from the `//! covers:` lines of tests/exec. -->

For people who change the compiler: which programs of `tests/exec` compute values from each clause of the
Metal Shading Language Specification (version 4, the clauses about compute functions) and of C++. All of
them run on the interpreter and on the CPU device. The oracle is where the expected values come from:

| oracle | meaning |
|---|---|
| clang | `clang++` runs the program as C++, with the same results (CI step `clang`) |
| exact | they follow from the text of the specification, in exact arithmetic |
| numpy, mpmath | that library computed them |
| by hand | the file does not say |
";

const FOLDER: &str = "tests/exec/";

/// A program, what it covers and by which oracle.
struct Program<'f> {
    name: &'f str,
    clauses: Vec<&'f str>,
    oracle: &'f str,
}

fn programs(files: &[SourceFile]) -> Vec<Program<'_>> {
    files.iter().filter_map(program).collect()
}

/// The program of a file; `None` for files outside of the folder.
fn program(file: &SourceFile) -> Option<Program<'_>> {
    Some(Program {
        name: file.path.strip_prefix(FOLDER)?.strip_suffix(".metal")?,
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
                covering.iter().map(|program| format!("[{0}](../{FOLDER}{0}.metal)", program.name)).collect();
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
            let path = format!("{FOLDER}{}.metal", program.name);
            findings.push(format!("{path}: `{clause}` is no clause of xtask/src/coverage/clauses.rs"));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, text: &str) -> SourceFile {
        SourceFile { path: format!("{FOLDER}{name}.metal"), text: text.to_owned() }
    }

    #[test]
    fn clauses_name_the_programs_that_cover_them() {
        let files = [
            file("a", "// A.\n//! covers: MSL 2.1, MSL 3.1\n//! oracle: clang\n"),
            file("b", "//! covers: MSL 2.1\n"),
        ];
        assert_eq!(check(&files), Vec::<String>::new());
        let text = document(&files);
        let both = "[a](../tests/exec/a.metal), [b](../tests/exec/b.metal) | by hand, clang |";
        assert!(text.contains(both), "{text}");
        assert!(text.contains("| MSL 3.2 | operators of matrices | none |  |"), "{text}");
    }

    #[test]
    fn an_unknown_clause_is_found() {
        let found = check(&[file("a", "//! covers: MSL 2.1, MSL 99\n")]);
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

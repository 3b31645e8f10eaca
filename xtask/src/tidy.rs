//! The rules on files and manifests that neither the compiler nor clippy checks.
//!
//! One function per rule, each from a file's text to findings, listed in [`check`]. A finding reads
//! `path:line: what is wrong`. Exceptions are lists in this file, each with its reason.

use std::path::Path;

use crate::source_tree::{SourceFile, text_files};
use crate::{
    coverage, cycles, diagnostics, documents, environment, facade, fallbacks, generated, layers, limits,
};

/// Files longer than this are split.
const MAXIMUM_LINES: usize = 900;

/// Files that may be longer, with the reason. Tables and generated text only.
const MAY_BE_LONGER: &[(&str, &str)] = &[];

/// File names that say nothing about what the file owns.
const NAMES_THAT_SAY_NOTHING: &[&str] =
    &["utils.rs", "util.rs", "common.rs", "base.rs", "misc.rs", "helpers.rs"];

/// Crates that may hold unsafe code; all others forbid it. `metal-abi` is an Objective-C runtime,
/// `libmetal` the same as a shared library; `python` and `c-api` take pointers of other languages,
/// which `hal` passes on; `bench-peers` calls OpenCL runtimes and CUDA, so that the command line need not,
/// and `host-gemm` the `gemm` crate; `math-ulp` calls compiled functions to measure them,
/// `misuse` the C library, and `metal-misuse` methods with arguments that are not allowed.
const MAY_BE_UNSAFE: &[&str] = &[
    "compiler/llvm",
    "runtime/hal",
    "interfaces/python",
    "interfaces/c-api",
    "devices/cpu",
    "devices/isolated",
    "devices/apple",
    "devices/nvidia",
    "interfaces/metal-abi",
    "interfaces/metal-abi/libmetal",
    "tools/bench-peers",
    "libraries/host-gemm",
    "testing/math-ulp",
    "testing/misuse",
    "testing/metal-misuse",
];

/// The `max_width` of `rustfmt.toml`, which rustfmt does not apply to comments and strings.
const MAXIMUM_WIDTH: usize = 110;

/// Folders in which only comments are checked against [`MAXIMUM_WIDTH`], without rows of tables: some string
/// literals are wider.
const MAY_BE_WIDER: &[&str] = &[
    "runtime/",
    "devices/",
    "compiler/",
    "anymetal/",
    "tools/",
    "libraries/",
    "service/",
    "interfaces/",
    "testing/",
    "fuzz/",
];

/// Marks of unfinished work that clippy does not know. In halves, so that this file does not find itself.
const UNFINISHED: &[&str] = &[concat!("FIX", "ME")];

/// Folders of a particular machine. In halves, as above.
const MACHINE_PATHS: &[&str] = &[concat!("/ro", "ot/"), concat!("/wo", "rk/")];

/// Everything that breaks a rule, in the order of the files.
pub(crate) fn check(root: &Path) -> Vec<String> {
    let files = match text_files(root) {
        Ok(files) => files,
        Err(error) => return vec![format!("the source tree cannot be read: {error}")],
    };
    let mut findings = Vec::new();
    for file in &files {
        check_file(file, &mut findings);
    }
    findings.extend(exceptions_without_need(&files));
    findings.extend(missing_readmes(&files));
    findings.extend(documents::check(root, &files));
    findings.extend(layers::check(root));
    findings.extend(cycles::check(&files));
    findings.extend(facade::check(&files));
    findings.extend(diagnostics::check(&files));
    findings.extend(environment::check(&files));
    findings.extend(fallbacks::check(&files));
    findings.extend(limits::check(&files));
    findings.extend(coverage::check(&files));
    findings.extend(generated::check(root, &files));
    findings
}

fn check_file(file: &SourceFile, findings: &mut Vec<String>) {
    machine_paths(file, findings);
    if file.path.ends_with(".rs") {
        module_doc(file, findings);
        length(file, findings);
        name(file, findings);
        unfinished(file, findings);
        glob_re_exports(file, findings);
        unsafe_is_forbidden(file, findings);
        width(file, findings);
    }
    if is_crate_manifest(&file.path) {
        lints(file, findings);
    }
}

fn module_doc(file: &SourceFile, findings: &mut Vec<String>) {
    // Cases of `trybuild` are programs; their names say what is refused.
    if file.path.contains("/tests/refusals/") {
        return;
    }
    if !file.text.starts_with("//!") {
        findings.push(format!("{}:1: a file begins with a //! doc: what it owns, its invariant", file.path));
    }
}

fn length(file: &SourceFile, findings: &mut Vec<String>) {
    let lines = file.text.lines().count();
    if lines > MAXIMUM_LINES && !MAY_BE_LONGER.iter().any(|(path, _)| *path == file.path) {
        findings.push(format!("{}: {lines} lines, more than {MAXIMUM_LINES}: split it", file.path));
    }
}

fn width(file: &SourceFile, findings: &mut Vec<String>) {
    let comments_only = MAY_BE_WIDER.iter().any(|folder| file.path.starts_with(folder));
    for (number, line) in file.text.lines().enumerate() {
        let width = line.chars().count();
        let comment = line.trim_start().trim_start_matches(['/', '!']).trim_start();
        let is_comment = line.trim_start().starts_with("//") && !comment.starts_with('|');
        if width > MAXIMUM_WIDTH && (!comments_only || is_comment) {
            let place = format!("{}:{}", file.path, number + 1);
            findings.push(format!("{place}: {width} characters, more than {MAXIMUM_WIDTH}"));
        }
    }
}

fn name(file: &SourceFile, findings: &mut Vec<String>) {
    let name = file.path.rsplit('/').next().unwrap_or(&file.path);
    if NAMES_THAT_SAY_NOTHING.contains(&name) {
        findings.push(format!("{}: the name does not say what the file owns", file.path));
    }
}

fn unfinished(file: &SourceFile, findings: &mut Vec<String>) {
    for_lines(file, UNFINISHED, "unfinished work", findings);
}

fn machine_paths(file: &SourceFile, findings: &mut Vec<String>) {
    for_lines(file, MACHINE_PATHS, "a path of one particular machine", findings);
}

fn for_lines(file: &SourceFile, marks: &[&str], what: &str, findings: &mut Vec<String>) {
    for (number, line) in file.text.lines().enumerate() {
        if let Some(mark) = marks.iter().find(|mark| line.contains(**mark)) {
            findings.push(format!("{}:{}: {what} ({mark})", file.path, number + 1));
        }
    }
}

fn glob_re_exports(file: &SourceFile, findings: &mut Vec<String>) {
    for (number, line) in file.text.lines().enumerate() {
        let line = line.trim();
        if line.starts_with("pub use ") && line.ends_with("::*;") {
            findings.push(format!("{}:{}: re-export by name, not by glob", file.path, number + 1));
        }
    }
}

fn unsafe_is_forbidden(file: &SourceFile, findings: &mut Vec<String>) {
    let root = ["/src/lib.rs", "/src/main.rs"].iter().find_map(|root| file.path.strip_suffix(root));
    let Some(folder) = root else { return };
    if !MAY_BE_UNSAFE.contains(&folder) && !file.text.contains("#![forbid(unsafe_code)]") {
        findings.push(format!("{}: lacks #![forbid(unsafe_code)]", file.path));
    }
}

/// A manifest of a crate: every `Cargo.toml` but the workspace's own, and those of test data and of programs
/// outside the workspace.
fn is_crate_manifest(path: &str) -> bool {
    let outside = ["tests/", "fuzz/", "testing/apple/", "testing/corpora/", "testing/candle-decoder/"];
    path.ends_with("/Cargo.toml") && !outside.iter().any(|folder| path.starts_with(folder))
}

fn lints(file: &SourceFile, findings: &mut Vec<String>) {
    let mut lines = file.text.lines().map(str::trim).skip_while(|line| *line != "[lints]").skip(1);
    if lines.next() != Some("workspace = true") {
        findings.push(format!("{}: lacks [lints] workspace = true", file.path));
    }
}

/// Crates that may be published without a README.
fn missing_readmes(files: &[SourceFile]) -> Vec<String> {
    let is_published =
        |path: &str| is_crate_manifest(path) && !["testing/", "xtask/"].iter().any(|f| path.starts_with(f));
    let folders = files
        .iter()
        .filter(|file| is_published(&file.path))
        .filter_map(|file| file.path.strip_suffix("Cargo.toml"));
    let has_readme =
        |folder: &str| files.iter().any(|file| file.path.strip_suffix("README.md") == Some(folder));
    folders
        .filter(|folder| !has_readme(folder))
        .map(|folder| format!("{folder}: a crate has a README.md"))
        .collect()
}

/// An exception that is no longer needed hides the next file that needs none.
fn exceptions_without_need(files: &[SourceFile]) -> Vec<String> {
    let needed =
        |path: &str| files.iter().any(|file| file.path == path && file.text.lines().count() > MAXIMUM_LINES);
    let stale = MAY_BE_LONGER.iter().filter(|(path, _)| !needed(path));
    stale.map(|(path, _)| format!("xtask/src/tidy.rs: {path} needs no exception any more")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(path: &str, text: &str) -> Vec<String> {
        let mut findings = Vec::new();
        check_file(&SourceFile { path: path.to_owned(), text: text.to_owned() }, &mut findings);
        findings
    }

    fn assert_found(path: &str, text: &str, what: &str) {
        let found = findings(path, text);
        assert!(found.len() == 1 && found[0].contains(what), "{path}: {found:?}");
    }

    #[test]
    fn a_tidy_file_passes() {
        assert_eq!(
            findings("compiler/ir/src/types.rs", "//! Types.\npub struct Type;\n"),
            Vec::<String>::new()
        );
        assert_eq!(findings("README.md", "# anymetal\n"), Vec::<String>::new());
    }

    #[test]
    fn a_crate_without_a_readme_is_found() {
        let file = |path: &str| SourceFile { path: path.to_owned(), text: String::new() };
        let mut files =
            vec![file("Cargo.toml"), file("compiler/ir/Cargo.toml"), file("testing/harness/Cargo.toml")];
        assert_eq!(missing_readmes(&files), ["compiler/ir/: a crate has a README.md"]);
        files.push(file("compiler/ir/README.md"));
        assert_eq!(missing_readmes(&files), Vec::<String>::new());
    }

    #[test]
    fn each_rule_finds_its_case() {
        assert_found("compiler/ir/src/types.rs", "// Types.\n", "//! doc");
        assert_found("compiler/ir/src/types.rs", &format!("//! T\n{}", "\n".repeat(900)), "901 lines");
        assert_found("compiler/ir/src/utils.rs", "//! Things.\n", "name");
        assert_found("compiler/ir/src/types.rs", concat!("//! T\n// FIX", "ME: finish\n"), ":2: unfinished");
        assert_found("xtask/src/a.rs", &format!("//! T\n// {}\n", "x".repeat(108)), ":2: 111 characters");
        assert_found("docs/a.md", concat!("see /ro", "ot/a\n"), "particular machine");
        assert_found("compiler/ir/src/types.rs", "//! T\npub use kind::*;\n", "glob");
        assert_found("compiler/ir/src/lib.rs", "//! T\n", "forbid(unsafe_code)");
        assert_found("compiler/ir/Cargo.toml", "[package]\n[lints]\n", "[lints]");
        assert_eq!(findings("compiler/ir/Cargo.toml", "[lints]\nworkspace = true\n"), Vec::<String>::new());
        assert_eq!(findings("compiler/llvm/src/lib.rs", "//! T\n"), Vec::<String>::new());
    }
}

//! Developer tasks. `cargo xtask` lists them.
//!
//! `tidy` holds the repository to the rules that no compiler checks; `ci` is exactly what continuous
//! integration runs, so a change that passes here passes there.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command line tool reports to its terminal")]

mod apple;
mod arrows;
mod ci;
mod diagnostics;
mod documents;
mod generated;
mod passes;
mod promtool;
mod ptxas;
mod source_tree;
mod tidy;
mod words;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const USAGE: &str = "\
usage: cargo xtask TASK

  tidy    check the rules on files, manifests and crate dependencies
  gen     write the generated documents (docs/diagnostics.md, docs/passes.md, docs/telemetry.md)
  bless   accept the expected output of file tests: `bless ir` (tests/ir), `bless codegen` (tests/codegen),
          `bless ui` (tests/ui), `bless family` (tests/family)
  ci      run what continuous integration runs: fmt, clippy, tidy, tests, doc tests
  corpus  compile every entry point of the public corpora (`cargo xtask corpus --help`)
  ptxas   assemble the PTX of all kernels with NVIDIA's assembler, which is downloaded
          (`cargo xtask ptxas --help`)
  apple   run Apple's device over Metal's API on this machine: its tests, the runtime's, the conformance suite
          compared with the CPU device (`--every N`, `--only TEXT`)
  mutate  put mistakes into kernels and count those that the sanitizer finds (`cargo xtask mutate --help`)
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let root = workspace_root();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["tidy"] => report(&tidy::check(&root)),
        ["gen"] => generated::write(&root),
        ["ci"] => ci::run(&root),
        ["bless", which] if let Some(test) = BLESSED.iter().find(|(name, _)| *name == which) => {
            bless(&root, test.1)
        }
        ["corpus", ref rest @ ..] => corpus(&root, rest),
        ["mutate", ref rest @ ..] => mutate(&root, rest),
        ["ptxas", ref rest @ ..] => judged("ptxas", ptxas::run(&root, rest)),
        ["apple", ref rest @ ..] => judged("apple", apple::run(&root, rest)),
        [] | ["help" | "--help" | "-h"] => {
            print!("{USAGE}");
            ExitCode::SUCCESS
        }
        _ => {
            eprint!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

/// The corpora's program is one of the harness, and wants an optimised compiler.
fn corpus(root: &Path, arguments: &[&str]) -> ExitCode {
    let program = ["run", "--release", "--quiet", "-p", "anymetal-harness", "--bin", "corpus", "--"];
    cargo(root, &[&program, arguments].concat())
}

/// Interpreter and sanitizer are optimised in development builds, too.
fn mutate(root: &Path, arguments: &[&str]) -> ExitCode {
    let program = ["run", "--quiet", "-p", "anymetal-mutation", "--"];
    cargo(root, &[&program, arguments].concat())
}

/// Whether all was well, or why it could not be found out.
fn judged(task: &str, result: Result<bool, String>) -> ExitCode {
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{task}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn cargo(root: &Path, arguments: &[&str]) -> ExitCode {
    match Command::new(env!("CARGO")).args(arguments).current_dir(root).status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("cargo does not start: {error}");
            ExitCode::FAILURE
        }
    }
}

/// File tests that can be blessed: the name, and the package and test program.
const BLESSED: &[(&str, [&str; 2])] = &[
    ("ir", ["anymetal-ir", "passes"]),
    ("codegen", ["anymetal-codegen", "files"]),
    ("ui", ["anymetal-compiler", "ui"]),
    ("sanitizer", ["anymetal-cli", "sanitizer"]),
    ("family", ["anymetal-compiler", "family"]),
];

/// Runs a test program so that it writes what came out; `git diff tests` shows what changed.
fn bless(root: &Path, [package, test]: [&str; 2]) -> ExitCode {
    let arguments = ["test", "--quiet", "-p", package, "--test", test];
    let mut command = Command::new(env!("CARGO"));
    match command.args(arguments).env("ANYMETAL_BLESS", "1").current_dir(root).status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("cargo does not start: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The folder above this crate's.
fn workspace_root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest).to_owned()
}

/// Prints what `tidy` found.
fn report(findings: &[String]) -> ExitCode {
    for finding in findings {
        eprintln!("{finding}");
    }
    if findings.is_empty() {
        println!("tidy: nothing to report");
        return ExitCode::SUCCESS;
    }
    eprintln!("tidy: {} findings", findings.len());
    ExitCode::FAILURE
}

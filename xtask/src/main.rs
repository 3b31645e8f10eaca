//! Developer tasks. `cargo xtask` lists them.
//!
//! `tidy` holds the repository to the rules that no compiler checks; `ci` is exactly what continuous
//! integration runs, so a change that passes here passes there.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command line tool reports to its terminal")]

mod apple;
mod c_library;
mod ci;
mod coverage;
mod cycles;
mod diagnostics;
mod documents;
mod environment;
mod explanations;
mod facade;
mod fallbacks;
mod generated;
mod gpu;
mod layers;
mod ledger;
mod libmetal;
mod limits;
mod passes;
mod promtool;
mod ptxas;
mod site;
mod source_tree;
mod tidy;
mod wheel;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const USAGE: &str = "\
usage: cargo xtask TASK

  tidy    check the rules on files, manifests and crate dependencies
  gen     write the generated documents: the diagram of ARCHITECTURE.md, and in docs/ diagnostics.md,
          language-coverage.md, reference/limits.md, reference/passes.md and telemetry.md
  bless   accept the expected output of file tests: `bless ir` (tests/ir), `bless codegen` (tests/codegen),
          `bless ui` (tests/ui), `bless family` (tests/family), `bless remarks` (tests/remarks)
  ci      run what continuous integration runs: tests, fmt, clippy, tidy, and what needs other tools
          (`--tested`: without the tests)
  corpus  compile every entry point of the public corpora (`cargo xtask corpus --help`)
  ptxas   assemble the PTX of all kernels with NVIDIA's assembler, which is downloaded
          (`cargo xtask ptxas --help`)
  libmetal  build libMetal.so and put it with its headers into target/libmetal
          (`--prefix FOLDER`, `--release`), or test it with clang (`--test`)
  gpu     pack what a machine with an NVIDIA GPU and no toolchain needs to test, into target/gpu
          (docs/nvidia.md)
  wheel   build the Python package (`cargo xtask wheel --help`)
  site    build the documentation site into target/site/html (`--serve` shows it)
  c-library PREFIX
          build the C library and install it there: header, shared library, pkg-config file
  apple   run Apple's device over Metal's API on this machine: its tests, the runtime's, the conformance suite
          compared with the CPU device (`--every N`, `--only TEXT`)
  ledger  measure kernels with and without each pass and each feature of the code generator
          (`cargo xtask ledger --help`)
  mutate  put mistakes into kernels and count those that the sanitizer finds (`cargo xtask mutate --help`)
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let root = workspace_root();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["tidy"] => report(&tidy::check(&root)),
        ["gen"] => generated::write(&root),
        ["ci"] => ci::run(&root, false),
        ["ci", "--tested"] => ci::run(&root, true),
        ["bless", which] if let Some(test) = BLESSED.iter().find(|(name, _)| *name == which) => {
            bless(&root, test.1)
        }
        ["corpus", ref rest @ ..] => corpus(&root, rest),
        ["wheel", ref rest @ ..] => told("wheel", wheel::run(&root, rest)),
        ["site", ref rest @ ..] => told("site", site::run(&root, rest)),
        ["c-library", prefix] => told("c-library", c_library::install(&root, Path::new(prefix))),
        ["ledger", ref rest @ ..] => told("ledger", ledger::run(&root, rest)),
        ["mutate", ref rest @ ..] => mutate(&root, rest),
        ["gpu"] => pack(&root),
        ["ptxas", ref rest @ ..] => assemble(&root, rest),
        ["libmetal", "--declared"] => told("libmetal", libmetal::write_declared(&root).map(|()| true)),
        ["libmetal", ref rest @ ..] => libmetal(&root, rest),
        ["apple", ref rest @ ..] => told("apple", apple::run(&root, rest)),
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

fn libmetal(root: &Path, arguments: &[&str]) -> ExitCode {
    if arguments == ["--test"] {
        return cargo(root, &libmetal::TESTS);
    }
    match libmetal::run(root, arguments) {
        Ok(prefix) => {
            println!("libMetal.so and its headers are in {}", prefix.display());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("libmetal: {error}");
            ExitCode::FAILURE
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

/// The code generator is optimised in development builds, too.
fn assemble(root: &Path, arguments: &[&str]) -> ExitCode {
    told("ptxas", ptxas::run(root, arguments))
}

/// How a task ended, with the reason if it could not be run.
fn told(task: &str, outcome: Result<bool, impl std::fmt::Display>) -> ExitCode {
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{task}: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Packs tests for a machine with a GPU.
fn pack(root: &Path) -> ExitCode {
    match gpu::pack(root) {
        Ok(bytes) => {
            println!("target/gpu: {:.1} MB", bytes as f64 / 1e6);
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("gpu: {error}");
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
    ("ir", ["anymetal-opt", "passes"]),
    ("codegen", ["anymetal-codegen", "files"]),
    ("ui", ["anymetal-driver", "ui"]),
    ("sanitizer", ["anymetal-cli", "sanitizer"]),
    ("remarks", ["anymetal-driver", "remarks"]),
    ("family", ["anymetal-driver", "family"]),
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

//! Compiles every entry point of the public corpora and says how far each got.
//!
//! `corpus [--package NAME] [--file TEXT] [--kernel TEXT] [--write docs/corpus.md] [--bless]`
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for people")]

use anymetal_harness::corpus::{self, CORPORA, CorpusFile};
use anymetal_harness::corpus_report::{CorpusRow, Floor, below, failures, levels, tables};
use anymetal_harness::corpus_tables::merged;
use anymetal_harness::machine_code;
use anymetal_harness::shard::{FileOutcome, Share, supervise, work};
use anymetal_harness::stages::Program;
use clap::Parser;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;

/// Compiles every entry point of the public corpora.
#[derive(Parser, Debug)]
struct Options {
    /// Only this crate.
    #[arg(long)]
    package: Option<String>,
    /// Only files whose name contains this.
    #[arg(long)]
    file: Option<String>,
    /// Compiles only this entry point (of the first file that has it) and shows the whole error.
    #[arg(long)]
    kernel: Option<String>,
    /// Stops before machine code.
    #[arg(long)]
    front_end: bool,
    /// Processes at once.
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// Puts the results into the tables of this file.
    #[arg(long)]
    write: Option<PathBuf>,
    /// Records the results as the new floor.
    #[arg(long)]
    bless: bool,
    /// Used by the program itself: compile a share, report to the parent.
    #[arg(long, hide = true, num_args = 2, value_names = ["FIRST", "STEP"])]
    share: Option<Vec<usize>>,
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("corpus: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(options: &Options) -> Result<ExitCode, Box<dyn Error>> {
    let files = selected(options)?;
    if let Some(share) = &options.share {
        let file = files.first().ok_or("no such file")?;
        let code = machine_code::Stage::new(file);
        let compile = |kernel: &str| code.compile(kernel);
        let code: Option<&dyn Fn(&str) -> Result<usize, String>> =
            if options.front_end { None } else { Some(&compile) };
        work(file, Share { first: share[0], step: share[1] }, code)?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(kernel) = &options.kernel {
        return one(&files, kernel, options.front_end);
    }
    let with_code = !options.front_end && machine_code::available();
    let rows = compile_all(&files, options, with_code)?;
    let table = tables(&rows, with_code);
    println!("{table}");
    println!("{}", failures(&rows));
    if let Some(path) = &options.write {
        let old = std::fs::read_to_string(path).unwrap_or_default();
        std::fs::write(path, format!("{INTRODUCTION}{}", merged(&old, &table)))?;
    }
    finish(&rows, options, with_code)
}

const INTRODUCTION: &str = "# Public kernels that compile\n\n\
    Every entry point of these crates, compiled for the CPU device with default options. Function constants \
    get `true` and 2. Written by `cargo xtask corpus --write \
    docs/corpus.md`, which keeps the lines of files that a run leaves out (`--file`); \
    `testing/harness/corpus-floor.toml` keeps the numbers from falling. Seconds are those of one process on a shared \
    machine, and differ between runs. With these constants the `fa_TYPE` kernels of llama.cpp do nothing (none of \
    their numbers of SIMD-groups is 2); docs/conformance.md says which are compiled and run as the host does.\n";

/// Compares with the floor, or records it.
fn finish(rows: &[CorpusRow], options: &Options, with_code: bool) -> Result<ExitCode, Box<dyn Error>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus-floor.toml");
    let mut floor: Floor = match std::fs::read_to_string(&path) {
        Ok(text) => toml::from_str(&text)?,
        Err(_) => Floor::new(),
    };
    if options.bless {
        for (package, files) in levels(rows, with_code) {
            floor.entry(package).or_default().extend(files);
        }
        std::fs::write(&path, toml::to_string(&floor)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let complaints = below(&floor, rows, with_code);
    for complaint in &complaints {
        eprintln!("below the floor: {complaint}");
    }
    Ok(if complaints.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn selected(options: &Options) -> Result<Vec<CorpusFile>, Box<dyn Error>> {
    let mut files = Vec::new();
    for corpus in CORPORA {
        if options.package.as_deref().is_none_or(|package| package == corpus.package) {
            files.extend(corpus::files(corpus.package)?);
        }
    }
    if let Some(text) = &options.file {
        // Children name their one file in full.
        let exact = files.iter().any(|file| file.name == *text);
        files.retain(|file| if exact { file.name == *text } else { file.name.contains(text.as_str()) });
    }
    Ok(files)
}

/// Compiles one entry point here, and shows all that is said.
fn one(files: &[CorpusFile], kernel: &str, front_end: bool) -> Result<ExitCode, Box<dyn Error>> {
    for file in files {
        let Ok(program) = Program::open(file) else { continue };
        if program.kernels().iter().all(|name| name != kernel) {
            continue;
        }
        let stage = machine_code::Stage::new(file);
        let compile = |kernel: &str| stage.compile(kernel);
        let code: Option<&dyn Fn(&str) -> Result<usize, String>> =
            if front_end || !machine_code::available() { None } else { Some(&compile) };
        let outcome = program.compile(kernel, code);
        println!("{}: {outcome:#?}", file.name);
        println!("{}", program.rendered_errors(kernel));
        return Ok(if outcome.failure.is_none() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    Err(format!("no parsed file has an entry point `{kernel}`").into())
}

/// All files, cut into shares, by a few supervising threads.
fn compile_all(
    files: &[CorpusFile],
    options: &Options,
    with_code: bool,
) -> Result<Vec<CorpusRow>, Box<dyn Error>> {
    let shares = options.jobs.max(1);
    let tasks: Vec<(usize, usize)> =
        (0..files.len()).flat_map(|file| (0..shares).map(move |share| (file, share))).collect();
    let next = Mutex::new(tasks.iter());
    let results: Mutex<Vec<(usize, std::io::Result<FileOutcome>)>> = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..shares {
            scope.spawn(|| {
                loop {
                    let task = next.lock().ok().and_then(|mut tasks| tasks.next().copied());
                    let Some((file, share)) = task else { return };
                    let arguments = |share: Share| child_arguments(&files[file], share, with_code);
                    let outcome = supervise(&arguments, Share { first: share, step: shares });
                    if let Ok(mut results) = results.lock() {
                        results.push((file, outcome));
                    }
                }
            });
        }
    });
    let mut rows: Vec<CorpusRow> = files
        .iter()
        .map(|file| CorpusRow {
            package: file.package,
            file: file.name.clone(),
            outcome: FileOutcome::default(),
        })
        .collect();
    for (file, outcome) in results.into_inner()? {
        let outcome = outcome?;
        let row = &mut rows[file].outcome;
        row.outcomes.extend(outcome.outcomes);
        row.failure = row.failure.take().or(outcome.failure);
        if row.kernels.is_empty() {
            row.kernels = outcome.kernels;
        }
    }
    for row in &mut rows {
        let order = &row.outcome.kernels;
        row.outcome.outcomes.sort_by_key(|outcome| order.iter().position(|name| *name == outcome.kernel));
    }
    Ok(rows)
}

fn child_arguments(file: &CorpusFile, share: Share, with_code: bool) -> Vec<String> {
    let mut arguments = vec!["--package".into(), file.package.into(), "--file".into(), file.name.clone()];
    if !with_code {
        arguments.push("--front-end".into());
    }
    arguments.extend(["--share".into(), share.first.to_string(), share.step.to_string()]);
    arguments
}

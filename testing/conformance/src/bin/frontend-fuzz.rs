//! Feeds mutated programs to the front end, for a while: no panic, no endless work.
//!
//! `frontend-fuzz [--seconds N] [--seed S]`; the starting texts are `tests/**/*.metal` and the public
//! corpora, or what is in the folders given with `--folder`. What fails is written to `tests/msl/fuzz`. A
//! crash of the process (a stack overflow, memory) loses nothing: the program that runs is in
//! `frontend-fuzz-N.metal` in the folder for temporary files.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for people")]

use anymetal_conformance::exec_file::files_below;
use anymetal_conformance::mutation::{Program, check, mutate};
use anymetal_harness::corpus::{self, CORPORA};
use clap::Parser;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Feeds mutated programs to the front end.
#[derive(Parser, Debug)]
struct Options {
    /// For so long.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// The first seed.
    #[arg(long)]
    seed: Option<u64>,
    /// Threads.
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// Only the repository's own programs, not the public corpora.
    #[arg(long)]
    own: bool,
    /// Starts from the `.metal` files below this folder instead; may be given several times.
    #[arg(long)]
    folder: Vec<PathBuf>,
    /// Checks this file as it is, and nothing else.
    #[arg(long)]
    file: Option<PathBuf>,
}

fn main() -> ExitCode {
    let options = Options::parse();
    if let Some(file) = &options.file {
        return one(file);
    }
    let programs = programs(&options);
    if programs.is_empty() {
        eprintln!("frontend-fuzz: no programs to start from");
        return ExitCode::FAILURE;
    }
    let since_epoch = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let first = options.seed.unwrap_or_else(|| since_epoch.map_or(1, |time| time.as_secs() << 24));
    println!("{} programs, seeds from {first}", programs.len());
    let end = Instant::now() + Duration::from_secs(options.seconds);
    let (next, found) = (AtomicU64::new(first), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for job in 0..options.jobs {
            let (programs, next, found) = (&programs, &next, &found);
            scope.spawn(move || {
                while Instant::now() < end && found.load(Ordering::Relaxed) < 40 {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    let text = mutate(programs, seed);
                    // What runs now, in case the process dies of it.
                    let _ = std::fs::write(
                        std::env::temp_dir().join(format!("frontend-fuzz-{job}.metal")),
                        &text,
                    );
                    if let Err(message) = check(&text) {
                        println!("seed {seed}: {message}");
                        keep(seed, &text);
                        found.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    let (ran, found) = (next.into_inner() - first, found.into_inner());
    println!("{ran} programs from seed {first} on, {found} failed; peak memory {}", peak_memory());
    if found == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn one(file: &Path) -> ExitCode {
    let text = String::from_utf8_lossy(&std::fs::read(file).unwrap_or_default()).into_owned();
    match check(&text) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            println!("{message}");
            ExitCode::FAILURE
        }
    }
}

/// The starting texts.
fn programs(options: &Options) -> Vec<Program> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests");
    let folders = if options.folder.is_empty() { vec![tests] } else { options.folder.clone() };
    let below = folders.iter().filter_map(|folder| files_below(folder).ok());
    let mut paths: Vec<PathBuf> = below.flatten().collect();
    if !options.own && options.folder.is_empty() {
        let corpora = CORPORA.iter().filter_map(|corpus| corpus::files(corpus.package).ok()).flatten();
        paths.extend(corpora.map(|file| file.path));
    }
    let texts = paths.iter().filter_map(|path| std::fs::read(path).ok());
    texts.map(|text| Program::new(&String::from_utf8_lossy(&text))).collect()
}

fn keep(seed: u64, text: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/msl/fuzz");
    let written = std::fs::create_dir_all(&folder)
        .and_then(|()| std::fs::write(folder.join(format!("seed-{seed}.metal")), text));
    if let Err(error) = written {
        eprintln!("frontend-fuzz: cannot write the program of seed {seed}: {error}");
    }
}

/// Peak memory of the process, as Linux reports it.
fn peak_memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or_else(|| "unknown".to_owned(), |value| value.trim().to_owned())
}

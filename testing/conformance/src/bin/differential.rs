//! Compares the interpreter and the CPU's code on random kernels, for a while.
//!
//! `differential [--seconds N] [--seed S] [--jobs N]`; what differs is written to `tests/ir/differential`.
//! `differential --reduce FILE` makes such a file smaller.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for people")]

use anymetal_conformance::differential::{check, check_seed, from_text, to_text};
use anymetal_conformance::machine::Machine;
use anymetal_conformance::reduce::reduce;
use anymetal_harness::panics;
use clap::Parser;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Compares the interpreter and the CPU's code on random kernels.
#[derive(Parser, Debug)]
struct Options {
    /// For so long.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// The first seed; by default one that no earlier run had.
    #[arg(long)]
    seed: Option<u64>,
    /// Threads.
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// Makes the kernel of this file smaller as long as it still differs, and writes it back.
    #[arg(long)]
    reduce: Option<PathBuf>,
    /// Does not write what differs.
    #[arg(long)]
    dry: bool,
}

fn main() -> ExitCode {
    let options = Options::parse();
    let machine = match Machine::of_process() {
        Ok(machine) => Some(machine),
        Err(error) => {
            eprintln!("differential: only the interpreter is checked: {error}");
            None
        }
    };
    if let Some(file) = &options.reduce {
        return reduce_file(file, machine.as_ref(), Duration::from_secs(options.seconds));
    }
    let since_epoch = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let first = options.seed.unwrap_or_else(|| since_epoch.map_or(1, |time| time.as_secs() << 24));
    let end = Instant::now() + Duration::from_secs(options.seconds);
    let (next, found) = (AtomicU64::new(first), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..options.jobs {
            scope.spawn(|| {
                while Instant::now() < end && found.load(Ordering::Relaxed) < 40 {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    let outcome = panics::caught(|| check_seed(seed, machine.as_ref()));
                    match outcome {
                        Ok(None) => continue,
                        Ok(Some((subject, why))) => {
                            println!("{why}");
                            if !options.dry {
                                keep(seed, &to_text(&subject, &why));
                            }
                        }
                        Err(panic) => println!("seed {seed}: panic at {}: {}", panic.place, panic.message),
                    }
                    found.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    let (ran, found) = (next.into_inner() - first, found.into_inner());
    println!("{ran} kernels from seed {first} on, {found} differ");
    if found == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn reduce_file(file: &Path, machine: Option<&Machine>, time: Duration) -> ExitCode {
    let read = std::fs::read_to_string(file).map_err(|error| error.to_string());
    let subject = match read.and_then(|text| from_text(&text)) {
        Ok(subject) => subject,
        Err(error) => {
            eprintln!("differential: {}: {error}", file.display());
            return ExitCode::FAILURE;
        }
    };
    let Some(message) = check(&subject, machine) else {
        println!("{} does not differ", file.display());
        return ExitCode::SUCCESS;
    };
    let (smaller, why) = reduce(subject, message, machine, time);
    println!("{why}");
    match std::fs::write(file, to_text(&smaller, &why)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("differential: cannot write {}: {error}", file.display());
            ExitCode::FAILURE
        }
    }
}

fn keep(seed: u64, text: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/ir/differential");
    let written = std::fs::create_dir_all(&folder)
        .and_then(|()| std::fs::write(folder.join(format!("seed-{seed}.ir")), text));
    if let Err(error) = written {
        eprintln!("differential: cannot write the kernel of seed {seed}: {error}");
    }
}

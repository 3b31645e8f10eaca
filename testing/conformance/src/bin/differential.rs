//! Compares the interpreter and the CPU's code on random kernels, for a while.
//!
//! `differential [--seconds N] [--seed S] [--jobs N]`; what differs is written to `tests/ir/differential`.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for people")]

use anymetal_conformance::differential::{check_seed, to_text};
use anymetal_conformance::machine::Machine;
use anymetal_harness::panics;
use clap::Parser;
use std::path::Path;
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

fn keep(seed: u64, text: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/ir/differential");
    let written = std::fs::create_dir_all(&folder)
        .and_then(|()| std::fs::write(folder.join(format!("seed-{seed}.ir")), text));
    if let Err(error) = written {
        eprintln!("differential: cannot write the kernel of seed {seed}: {error}");
    }
}

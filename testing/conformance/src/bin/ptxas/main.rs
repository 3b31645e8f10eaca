//! Compiles kernels to PTX and has NVIDIA's assembler judge it. No GPU is needed.
//!
//! `ptxas --assembler PATH [--every N] [--only TEXT] [--keep FOLDER]`; `cargo xtask ptxas` finds the
//! assembler. Kernels are those of the demo, of `tests/exec` and of the public corpora. Each is compiled for
//! sm_80 and any threadgroup size, and assembled for sm_80 and sm_90; and compiled and assembled for sm_90
//! and whole threadgroups of one size.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for people")]

mod assemble;
mod report;
mod subjects;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use clap::Parser;

use assemble::Assembler;
use report::Report;

/// Has the assembler judge the PTX of all kernels.
#[derive(Parser, Debug)]
struct Options {
    /// NVIDIA's `ptxas`.
    #[arg(long)]
    assembler: PathBuf,
    /// Of the corpora, only every so many-th kernel.
    #[arg(long, default_value_t = 1)]
    every: usize,
    /// Only subjects whose corpus, file or name contains this.
    #[arg(long)]
    only: Option<String>,
    /// Leaves the PTX of failures in this folder.
    #[arg(long)]
    keep: Option<PathBuf>,
}

fn main() -> ExitCode {
    let options = Options::parse();
    match judge(&options) {
        Ok(report) => {
            print!("{report}");
            if report.is_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            eprintln!("ptxas: {error}");
            ExitCode::from(2)
        }
    }
}

fn judge(options: &Options) -> Result<Report, String> {
    let mut subjects = subjects::all(options.every.max(1))?;
    if let Some(text) = &options.only {
        subjects.retain(|subject| subject.matches(text));
    }
    let assembler = Assembler::new(&options.assembler, options.keep.as_deref())?;
    let report = Mutex::new(Report::new());
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(subject) = subjects.get(next.fetch_add(1, Ordering::Relaxed)) {
            for variant in assemble::VARIANTS {
                let verdict = assembler.judge(subject, variant);
                report.lock().map_err(|_| "a worker panicked".to_owned())?.note(subject, variant, verdict);
            }
        }
        Ok(())
    };
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let ended: Vec<Result<(), String>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or_else(|_| Err("a worker panicked".to_owned()))
        };
        threads.into_iter().map(join).collect()
    });
    ended.into_iter().collect::<Result<(), String>>()?;
    report.into_inner().map_err(|_| "a worker panicked".to_owned())
}

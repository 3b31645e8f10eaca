//! `cargo xtask mutate`: puts mistakes into kernels at random and counts those that the sanitizer finds.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for people")]

use std::process::ExitCode;
use std::time::Duration;

use anymetal_mutation::campaign::{self, Plan};
use anymetal_mutation::report;
use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use regex_lite::Regex;

/// Puts mistakes into the demo's, candle's and llama.cpp's kernels, at random, and counts those that the
/// sanitizer finds.
///
/// The same seed chooses the same kernels and mistakes. What the time does not suffice for is left out, and
/// the report says how much that is.
#[derive(Parser, Debug)]
#[command(name = "cargo xtask mutate")]
struct Options {
    /// Chooses kernels and mistakes
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Mistakes for each kernel
    #[arg(long, value_name = "N", default_value_t = 4)]
    per_kernel: usize,
    /// Kernels of each source file
    #[arg(long, value_name = "N", default_value_t = 2)]
    per_file: usize,
    /// Only kernels whose name this regular expression matches
    #[arg(long, value_name = "REGEX")]
    kernels: Option<Regex>,
    /// Begin no kernel after that many seconds; 0 for no end
    #[arg(long, value_name = "SECONDS", default_value_t = 270)]
    time: u64,
}

fn main() -> ExitCode {
    let options = Options::parse();
    let plan = Plan {
        seed: options.seed,
        per_family: options.per_file,
        per_kernel: options.per_kernel,
        kernels: options.kernels,
        time: (options.time > 0).then(|| Duration::from_secs(options.time)),
    };
    let bar = progress();
    let tally = campaign::run(&plan, &|done, all| {
        bar.set_length(all as u64);
        bar.set_position(done as u64);
    });
    bar.finish_and_clear();
    if tally.tried.is_empty() {
        eprintln!("nothing was mutated: no kernel is selected, or none of them could be run");
        return ExitCode::FAILURE;
    }
    print!("{}", report::text(&tally, plan.seed));
    ExitCode::SUCCESS
}

/// A bar on a terminal, nothing elsewhere.
fn progress() -> ProgressBar {
    let bar = ProgressBar::new(1);
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} source files") {
        bar.set_style(style);
    }
    bar
}

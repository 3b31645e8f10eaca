//! Compares random pointer programs with a reference of memory, for a while.
//!
//! `pointer-fuzz [--seconds N] [--seed S]`; prints the first program that differs and ends with status 1.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, reason = "a program for people")]

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anymetal_conformance::execute::{Cpu, Executor, Interpreter};
use anymetal_conformance::pointer_programs::check_seed;
use clap::Parser;

/// Compares random pointer programs with a reference of memory.
#[derive(Parser, Debug)]
struct Options {
    /// For how long.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// The first seed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

fn main() -> ExitCode {
    let options = Options::parse();
    let executors: [&dyn Executor; 2] = [&Interpreter::default(), &Cpu];
    let end = Instant::now() + Duration::from_secs(options.seconds);
    let mut seed = options.seed;
    while Instant::now() < end {
        if let Some(why) = check_seed(seed, &executors) {
            println!("{why}");
            return ExitCode::FAILURE;
        }
        seed += 1;
    }
    println!("{} programs from seed {} on, none differs", seed - options.seed, options.seed);
    ExitCode::SUCCESS
}

//! Runs random programs that try to outlive their deadline, for a while.
//!
//! `deadline-fuzz [--seconds N] [--seed S] [--device NAME] [--deadline MS] [--compile-limit MS]`; prints the
//! first program that stays too long, and ends with status 1.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, reason = "a program for people")]

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anymetal::Device;
use anymetal_conformance::hostile_programs::{Kept, check_seed};
use clap::Parser;

/// Runs random programs that try to outlive their deadline.
#[derive(Parser, Debug)]
struct Options {
    /// For how long.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// The first seed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The device.
    #[arg(long, default_value = "cpu")]
    device: String,
    /// The deadline of each launch, in milliseconds.
    #[arg(long, default_value_t = 500)]
    deadline: u64,
    /// How long a program may be compiled, in milliseconds.
    #[arg(long, default_value_t = 20_000)]
    compile_limit: u64,
}

fn main() -> ExitCode {
    let options = Options::parse();
    let device = match Device::by_name(&options.device) {
        Ok(device) => device,
        Err(error) => {
            println!("{error}");
            return ExitCode::from(2);
        }
    };
    let [deadline, compile_limit] = [options.deadline, options.compile_limit].map(Duration::from_millis);
    let end = Instant::now() + Duration::from_secs(options.seconds);
    let (mut seed, mut refused) = (options.seed, 0);
    while Instant::now() < end {
        match check_seed(seed, &device, deadline, compile_limit) {
            Ok(kept) => refused += u64::from(kept == Kept::Refused),
            Err(why) => {
                println!("{why}");
                return ExitCode::FAILURE;
            }
        }
        seed += 1;
    }
    let (programs, first) = (seed - options.seed, options.seed);
    println!(
        "{programs} programs from seed {first} on, none outlived its deadline; {refused} were refused as too large"
    );
    ExitCode::SUCCESS
}

//! `metal-misuse`: random misuse of Metal's API for some seconds.
//!
//! ```text
//! cargo run -p anymetal-metal-misuse -- --seconds 600 --seed 1
//! ```
//!
//! Each seed is a child process of its own, and seeds follow each other. A fault is printed with its seed,
//! which alone makes it again: `--seed SEED --cases 1`. The exit code is 1 if there was a fault.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, reason = "it is a program")]

#[cfg(target_vendor = "apple")]
fn main() {}

#[cfg(not(target_vendor = "apple"))]
fn main() -> std::process::ExitCode {
    linux::main()
}

#[cfg(not(target_vendor = "apple"))]
mod linux {
    use std::process::{Command, ExitCode};
    use std::time::{Duration, Instant};

    use anymetal_metal_misuse::isolated::{self, Child};
    use anymetal_metal_misuse::{random, walk};

    /// How long a call may take.
    const PATIENCE: Duration = Duration::from_secs(60);

    /// How long to go on in seconds, the first seed, calls for each seed; the seeds at most, or the first
    /// call of the walk.
    #[derive(Debug)]
    struct Options {
        seconds: u64,
        seed: u64,
        calls: u64,
        cases: Option<u64>,
        walk: Option<u64>,
    }

    impl Options {
        /// Those of the command line: names with numbers.
        fn parse() -> Result<Options, String> {
            let mut options = Options { seconds: 60, seed: 1, calls: 4000, cases: None, walk: None };
            let mut words = std::env::args().skip(1);
            while let Some(name) = words.next() {
                let number = words.next().and_then(|word| word.parse().ok());
                let number = number.ok_or_else(|| format!("{name} takes a number"))?;
                match name.as_str() {
                    "--seconds" => options.seconds = number,
                    "--seed" => options.seed = number,
                    "--calls" => options.calls = number,
                    "--cases" => options.cases = Some(number),
                    "--walk" => options.walk = Some(number),
                    _ => return Err(format!("unknown option {name}")),
                }
            }
            Ok(options)
        }
    }

    /// Makes every call of the walk: after a fault the next child goes on with the next call.
    fn walk_all(program: &std::path::Path, mut from: u64) -> ExitCode {
        let mut faults = 0;
        loop {
            let ended = isolated::run(Command::new(program).arg("--walk").arg(from.to_string()), PATIENCE);
            let Some(fault) = ended.fault else {
                println!("{} calls, {faults} faults, {} MiB", ended.number + 1, ended.peak_bytes >> 20);
                return if faults == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE };
            };
            println!("call {}: {fault}", ended.number);
            faults += 1;
            assert!(ended.number >= from, "a child fails before its first call");
            from = ended.number + 1;
        }
    }

    pub(super) fn main() -> ExitCode {
        let options = match Options::parse() {
            Ok(options) => options,
            Err(problem) => {
                println!(
                    "{problem}\nmetal-misuse [--seconds N] [--seed S] [--calls N] [--cases N] | --walk CALL"
                );
                return ExitCode::FAILURE;
            }
        };
        if let Some(child) = Child::from_environment() {
            if let Some(from) = options.walk {
                walk::run(&child, from);
                return ExitCode::SUCCESS;
            }
            random::run(&child, options.seed, options.calls);
            return ExitCode::SUCCESS;
        }
        let program = std::env::current_exe().expect("programs have a path");
        if let Some(from) = options.walk {
            return walk_all(&program, from);
        }
        let (start, mut faults, mut calls, mut peak) = (Instant::now(), 0, 0, 0);
        let mut case = 0;
        while start.elapsed() < Duration::from_secs(options.seconds)
            && options.cases.is_none_or(|cases| case < cases)
        {
            let seed = options.seed + case;
            let mut command = Command::new(&program);
            command.arg("--seed").arg(seed.to_string()).arg("--calls").arg(options.calls.to_string());
            let ended = isolated::run(&mut command, PATIENCE);
            if let Some(fault) = ended.fault {
                println!("seed {seed}, call {}: {fault}", ended.number);
                faults += 1;
            }
            (calls, peak, case) = (calls + ended.number + 1, peak.max(ended.peak_bytes), case + 1);
        }
        println!(
            "{case} seeds, {calls} calls, {faults} faults, {} s, at most {} MiB",
            start.elapsed().as_secs(),
            peak >> 20
        );
        if faults == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

//! `anymetal-misuse [--seconds N] [--seed S]`: random misuse of the C library.
//!
//! Child processes run [`sequence`]s of calls; this program reports signals, panics, texts that admit a
//! bug, broken promises and memory that grows, each with the seed that `--one SEED` repeats.
//! `interfaces/python/tests/misuse.py` does the same with the Python package.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for people")]

mod abi;
mod sequence;

use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::time::{Duration, Instant, SystemTime};

use sequence::Counts;

/// Sequences of one child.
const SEQUENCES: u64 = 500;
/// Sequences after which all caches are filled.
const WARM: u64 = 100;
/// Growth of a child's memory from then on that is a leak.
const MAX_GROWTH_KIB: u64 = 32 << 10;
const MAX_FINDINGS: usize = 20;

const USAGE: &str = "\
usage: anymetal-misuse [--seconds N] [--seed S] [--one SEED]

  --seconds N  run for N seconds (60)
  --seed S     the first seed (by default from the time)
  --one SEED   run the one sequence of this seed, in this process
";

fn main() -> ExitCode {
    let (mut seconds, mut seed) = (60, None);
    let mut arguments = std::env::args().skip(1);
    while let Some(option) = arguments.next() {
        let Some(number) = arguments.next().and_then(|number| number.parse::<u64>().ok()) else {
            print!("{USAGE}");
            return ExitCode::FAILURE;
        };
        match option.as_str() {
            "--seconds" => seconds = number,
            "--seed" => seed = Some(number),
            "--one" => {
                println!("{:?}", sequence::run(number));
                return ExitCode::SUCCESS;
            }
            // What a campaign starts: the sequences from a seed on.
            "--child" => return child(number),
            _ => {
                print!("{USAGE}");
                return ExitCode::FAILURE;
            }
        }
    }
    let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let first = seed.unwrap_or_else(|| since_epoch.map_or(1, |time| time.as_secs() << 20));
    campaign(first, Duration::from_secs(seconds))
}

/// Runs sequences, each announced on standard output before it runs.
fn child(first: u64) -> ExitCode {
    let mut total = Counts::default();
    let mut before = 0;
    for seed in first..first + SEQUENCES {
        println!("seed {seed}");
        match sequence::run(seed) {
            Ok(counts) => {
                total.calls += counts.calls;
                total.succeeded += counts.succeeded;
                total.refused += counts.refused;
            }
            Err(problem) => {
                println!("problem {problem}");
                return ExitCode::FAILURE;
            }
        }
        if seed == first + WARM {
            before = resident_kib();
        }
    }
    let grown = resident_kib().saturating_sub(before);
    println!("counts {} {} {} {grown}", total.calls, total.succeeded, total.refused);
    if grown > MAX_GROWTH_KIB {
        println!("problem memory grew by {grown} KiB in {} sequences", SEQUENCES - WARM);
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

/// Resident memory of this process, as Linux reports it; 0 elsewhere.
fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or("");
    line.split_whitespace().next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

fn campaign(first: u64, time: Duration) -> ExitCode {
    let start = Instant::now();
    let (mut seed, mut children, mut findings) = (first, 0u64, 0);
    let (mut total, mut most_grown) = (Counts::default(), 0);
    println!("seeds from {first}");
    while start.elapsed() < time && findings < MAX_FINDINGS {
        let outcome = run_child(seed);
        children += 1;
        seed += SEQUENCES;
        match outcome {
            Ok((counts, grown)) => {
                total.calls += counts.calls;
                total.succeeded += counts.succeeded;
                total.refused += counts.refused;
                most_grown = most_grown.max(grown);
            }
            Err(finding) => {
                println!("{finding}");
                findings += 1;
            }
        }
    }
    println!(
        "{} sequences in {children} processes and {} s: {} calls, {} succeeded, {} refused; memory grew by at most \
         {most_grown} KiB; {findings} findings",
        seed - first,
        start.elapsed().as_secs(),
        total.calls,
        total.succeeded,
        total.refused
    );
    if findings == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs a child; a finding is text with the seed.
fn run_child(first: u64) -> Result<(Counts, u64), String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let output = Command::new(program)
        .args(["--child", &first.to_string()])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| error.to_string())?;
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let last = out.lines().filter_map(|line| line.strip_prefix("seed ")).next_back().unwrap_or("?");
    let problem = out.lines().find_map(|line| line.strip_prefix("problem "));
    let is_loud = err.contains("panicked") || err.contains("bug of anymetal");
    if !output.status.success() || problem.is_some() || is_loud {
        let text = problem.map_or_else(|| ending(output.status), str::to_owned);
        return Err(format!("seed {last}: {text}\n{err}"));
    }
    let counts = out.lines().find_map(|line| line.strip_prefix("counts ")).unwrap_or("");
    let numbers: Vec<u64> = counts.split_whitespace().filter_map(|number| number.parse().ok()).collect();
    match numbers[..] {
        [calls, succeeded, refused, grown] => Ok((Counts { calls, succeeded, refused }, grown)),
        _ => Err(format!("seed {last}: the process ended early without an error\n{err}")),
    }
}

fn ending(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match status.signal() {
        Some(signal) => format!("signal {signal}"),
        None => status.to_string(),
    }
}

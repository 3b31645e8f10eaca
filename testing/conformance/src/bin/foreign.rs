//! Runs third-party kernels on the interpreter and on the CPU, and compares the results.
//!
//! `foreign [--math safe|fast] [--seeds A..B] [-I FOLDER] [-D NAME[=VALUE]] [--kernel TEXT] [--most N]
//! [--unchecked] FILE…` A child process runs each file, so that a crash or a hang costs one entry point. What
//! differs is printed with its file, entry point and seed, which show it again; the exit status says whether
//! anything did.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for people")]

use anymetal_conformance::execute::{Math, Source};
use anymetal_conformance::foreign::{Foreign, Settings, Verdict};
use anymetal_harness::panics;
use clap::Parser;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// A child that says nothing for so long hangs.
const PATIENCE: Duration = Duration::from_secs(120);

/// Runs third-party kernels on the interpreter and on the CPU, and compares the results.
#[derive(Parser, Clone, Debug)]
struct Options {
    /// The files.
    files: Vec<PathBuf>,
    /// Folders for `#include`.
    #[arg(short = 'I')]
    include: Vec<PathBuf>,
    /// Macros, `NAME` or `NAME=VALUE`.
    #[arg(short = 'D')]
    define: Vec<String>,
    /// `safe`: compared to the bit; `fast`: closely.
    #[arg(long, default_value = "safe")]
    math: String,
    /// The range of seeds, the last one excluded: a launch of every entry point for each.
    #[arg(long, default_value = "0..2")]
    seeds: String,
    /// Only entry points whose name contains this.
    #[arg(long, default_value = "")]
    kernel: String,
    /// Maximum number of entry points of a file, spread evenly.
    #[arg(long, default_value_t = usize::MAX)]
    most: usize,
    /// Steps that the interpreter may take for a launch.
    #[arg(long, default_value_t = 4_000_000)]
    steps: u64,
    /// Code without bounds checks: only launches that stay in bounds are compared.
    #[arg(long)]
    unchecked: bool,
    /// Processes at once.
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// Lists every launch.
    #[arg(long)]
    verbose: bool,
    /// Used by the program itself: does the work of one file from this entry point on.
    #[arg(long, hide = true)]
    worker: Option<usize>,
}

fn main() -> ExitCode {
    let options = Options::parse();
    if let Some(first) = options.worker {
        return work(&options, first);
    }
    let tally = Mutex::new(Tally::default());
    let next = Mutex::new(options.files.iter());
    std::thread::scope(|scope| {
        for _ in 0..options.jobs.max(1) {
            scope.spawn(|| {
                while let Some(file) = next.lock().ok().and_then(|mut files| files.next()) {
                    if let Err(error) = supervise(&options, file, &tally) {
                        eprintln!("foreign: {}: {error}", file.display());
                    }
                }
            });
        }
    });
    let tally = tally.into_inner().unwrap_or_default();
    print!("{tally}");
    if tally.differences == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// What all children said.
#[derive(Default)]
struct Tally {
    entries: usize,
    same: usize,
    same_with_faults: usize,
    differences: usize,
    skipped: BTreeMap<String, usize>,
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { entries, same, same_with_faults: faults, differences, skipped } = self;
        writeln!(f, "{entries} entry points: {same} launches agree, {faults} of them out of bounds too")?;
        writeln!(f, "{differences} differ")?;
        skipped.iter().try_for_each(|(reason, count)| writeln!(f, "{count} skipped: {reason}"))
    }
}

impl Tally {
    fn note(&mut self, line: &str, options: &Options, file: &Path) {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let (subject, text) = rest.split_once('\t').unwrap_or((rest, ""));
        if options.verbose {
            println!("{}: {line}", file.display());
        }
        match word {
            "entry" => self.entries += 1,
            "same" => self.same += 1,
            "faults" => (self.same, self.same_with_faults) = (self.same + 1, self.same_with_faults + 1),
            "skipped" => *self.skipped.entry(text.to_owned()).or_default() += 1,
            _ => {
                self.differences += 1;
                println!("{} {word} {subject}: {text}", file.display());
            }
        }
    }
}

/// Runs a file in child processes; one that ends early is followed by another, after the entry point it was
/// at.
fn supervise(options: &Options, file: &Path, tally: &Mutex<Tally>) -> std::io::Result<()> {
    let note = |line: &str| tally.lock().map(|mut tally| tally.note(line, options, file)).unwrap_or_default();
    let mut first = 0;
    loop {
        let mut child = Command::new(std::env::current_exe()?)
            .args(arguments(options, first))
            .arg(file)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let (sender, receiver) = channel();
        let out = child.stdout.take().map(BufReader::new);
        let reader = std::thread::spawn(move || {
            let lines = out.into_iter().flat_map(BufRead::lines).map_while(Result::ok);
            lines.into_iter().try_for_each(|line| sender.send(line))
        });
        let (mut at, mut ended) = (String::new(), false);
        let hangs = loop {
            match receiver.recv_timeout(PATIENCE) {
                Ok(line) if line == "end" => ended = true,
                Ok(line) => {
                    if let Some((number, kernel)) =
                        line.strip_prefix("entry ").and_then(|rest| rest.split_once(' '))
                    {
                        first = number.parse::<usize>().unwrap_or(usize::MAX) + 1;
                        at = kernel.to_owned();
                    }
                    note(&line);
                }
                Err(RecvTimeoutError::Timeout) => break true,
                Err(RecvTimeoutError::Disconnected) => break false,
            }
        };
        let _ = child.kill();
        let status = child.wait()?;
        let _ = reader.join();
        if ended {
            return Ok(());
        }
        note(&format!("{} {at}\t{status}", if hangs { "hangs" } else { "dies" }));
        if at.is_empty() {
            return Ok(());
        }
    }
}

fn arguments(options: &Options, first: usize) -> Vec<String> {
    let mut arguments = vec![format!("--worker={first}"), format!("--math={}", options.math)];
    arguments.extend([format!("--seeds={}", options.seeds), format!("--kernel={}", options.kernel)]);
    arguments.extend([format!("--most={}", options.most), format!("--steps={}", options.steps)]);
    arguments.extend(options.unchecked.then(|| "--unchecked".to_owned()));
    arguments.extend(options.include.iter().map(|folder| format!("-I{}", folder.display())));
    arguments.extend(options.define.iter().map(|name| format!("-D{name}")));
    arguments
}

/// The child's work: a line per launch.
fn work(options: &Options, first: usize) -> ExitCode {
    let mut out = std::io::stdout();
    let mut say = |line: String| {
        let _ = writeln!(out, "{}", line.replace('\n', " | "));
        let _ = out.flush();
    };
    let Some(foreign) = open(options).unwrap_or_else(|error| {
        say(format!("skipped \t{error}"));
        None
    }) else {
        say("end".to_owned());
        return ExitCode::SUCCESS;
    };
    let (from, to) = options.seeds.split_once("..").unwrap_or(("0", "1"));
    let seeds = from.parse::<u64>().unwrap_or(0)..to.parse::<u64>().unwrap_or(1);
    let kernels = foreign.kernels();
    let wanted: Vec<&String> = kernels.iter().filter(|name| name.contains(&options.kernel)).collect();
    let step = wanted.len().div_ceil(options.most.max(1)).max(1);
    for (number, kernel) in wanted.iter().step_by(step).enumerate().skip(first) {
        say(format!("entry {number} {kernel}"));
        for seed in seeds.clone() {
            say(match panics::caught(|| foreign.check(kernel, seed)) {
                Ok(Verdict::Same { faults: false }) => format!("same {kernel} seed {seed}\t"),
                Ok(Verdict::Same { faults: true }) => format!("faults {kernel} seed {seed}\t"),
                Ok(Verdict::Skipped(reason)) => format!("skipped {kernel} seed {seed}\t{reason}"),
                Ok(Verdict::Differs(how)) => format!("differs {kernel} seed {seed}\t{how}"),
                Err(panic) => format!("panics {kernel} seed {seed}\t{}: {}", panic.place, panic.message),
            });
        }
    }
    say("end".to_owned());
    ExitCode::SUCCESS
}

fn open(options: &Options) -> Result<Option<Foreign>, String> {
    let Some(path) = options.files.first() else { return Ok(None) };
    let text = std::fs::read_to_string(path).map_err(|_| "file that cannot be read".to_owned())?;
    let define = |name: &String| format!("#define {}\n", name.replacen('=', " ", 1));
    let defines: String = options.define.iter().map(define).collect();
    let math = if options.math == "fast" { Math::Fast } else { Math::Safe };
    let include_dirs = path.parent().map(Path::to_owned).into_iter().chain(options.include.clone()).collect();
    let name = path.to_string_lossy().into_owned();
    let source =
        Source { name, text: defines + &text, include_dirs, defines: Vec::new(), math, ..Source::default() };
    let settings = Settings { max_steps: options.steps, checks: !options.unchecked };
    Foreign::open(source, settings).map(Some).map_err(|error| {
        if options.verbose || options.jobs == 1 {
            eprintln!("{error}");
        }
        "file refused by the front end".to_owned()
    })
}

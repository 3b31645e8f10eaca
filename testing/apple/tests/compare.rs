//! Runs the programs of `tests/exec` and the conformance suite on Apple's device and on the CPU device, and
//! compares both with the references and with each other: bit for bit, since off Apple's machines the same
//! processor runs both.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program reports to its terminal")]

use std::fmt;
use std::process::ExitCode;

use anymetal_conformance::candle;
use anymetal_conformance::case::{Case, Faults};
use anymetal_conformance::exec_file::{files_below, folder, parse};
use anymetal_conformance::execute::{Cpu, Executor, OnDevice, Opened, Source};
use anymetal_conformance::expectation::Expectations;
use anymetal_conformance::llama;
use anymetal_conformance::suite::{Level, Oracle, Outcome, run_cases};
use clap::Parser;

/// Compares Apple's device with the CPU device.
#[derive(Parser)]
struct Arguments {
    /// Runs one in so many kernels of each source, and of the programs.
    #[arg(long, default_value_t = 1)]
    every: usize,
    /// Runs sources and programs whose name contains the text only.
    #[arg(long, default_value = "")]
    only: String,
    /// Compares results of functions with a documented error as closely as the suite says, not bit for bit:
    /// for Apple's own compiler.
    #[arg(long)]
    tolerant: bool,
    /// Prints each failure in full, and each kernel before it runs.
    #[arg(long)]
    verbose: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let device = match anymetal_apple_tests::device() {
        Ok(device) => device,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    println!("{} against the CPU device", device.capabilities().hardware_name);
    let apple = OnDevice { name: "apple", device: anymetal::Device::from_hal(device) };
    let comparison = Comparison { arguments, apple, expectations: Expectations::of_repository() };
    let rows = [comparison.exec(), comparison.candle(), comparison.llama()];
    println!("{:<24} {:>8} {:>9} {:>11} {:>7}", "", "subjects", "launches", "known gaps", "failed");
    rows.iter().for_each(|row| println!("{row}"));
    let has_failed = rows.iter().any(|row| !row.outcome.failures.is_empty());
    if has_failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// A line of the report.
struct Row {
    name: &'static str,
    outcome: Outcome,
}

impl fmt::Display for Row {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Outcome { subjects, launches, failures, known_gaps } = &self.outcome;
        let failed = failures.len();
        write!(formatter, "{:<24} {subjects:>8} {launches:>9} {known_gaps:>11} {failed:>7}", self.name)
    }
}

struct Comparison {
    arguments: Arguments,
    apple: OnDevice,
    expectations: Expectations,
}

impl Comparison {
    /// The programs of `tests/exec`.
    fn exec(&self) -> Row {
        let mut outcome = Outcome::default();
        let folder = folder();
        let files = files_below(&folder).unwrap_or_default();
        for (at, path) in files.iter().enumerate() {
            let name = path.strip_prefix(&folder).unwrap_or(path).with_extension("");
            let name = name.to_string_lossy().into_owned();
            if at % self.arguments.every != 0 || !self.is_wanted(&name) {
                continue;
            }
            let parsed = std::fs::read_to_string(path).map_err(|error| error.to_string());
            let mut parsed = parsed.and_then(|text| parse(&name, &text, Level::Sample));
            if let Ok(file) = &mut parsed {
                // Metal's bounds are those of pages, so what is out of bounds here may not be there.
                file.cases.retain(|case| case.faults != Faults::Always);
                if file.cases.is_empty() {
                    continue;
                }
            }
            let result = parsed.and_then(|file| {
                outcome.launches += file.cases.len();
                let (name, text) = (format!("{name}.metal"), file.text.clone());
                let (math, whole_buffers) = (file.math, file.whole_buffers);
                let source = Source { name, text, math, whole_buffers, ..Source::default() };
                let (apple, cpu) = self.opened(&source)?;
                self.run(&*apple, &*cpu, file.cases)
            });
            self.note(&mut outcome, &name, result);
        }
        Row { name: "tests/exec", outcome }
    }

    /// candle's sources, without the entry points that it never calls.
    fn candle(&self) -> Row {
        let mut outcome = Outcome::default();
        for family in candle::FAMILIES.iter().filter(|family| self.is_wanted(family.name)) {
            let is_called = |kernel: &str| family.name != "quantized" || candle::quantized::is_called(kernel);
            self.family(&mut outcome, &family.source(), &is_called, &family.cases_of);
        }
        Row { name: "candle", outcome }
    }

    /// llama.cpp's sources, as far as their entry points have references.
    fn llama(&self) -> Row {
        let mut outcome = Outcome::default();
        for family in llama::FAMILIES.iter().filter(|family| self.is_wanted(family.name)) {
            self.family(&mut outcome, &family.source(), &family.covers, &family.cases_of);
        }
        Row { name: "llama.cpp", outcome }
    }

    fn is_wanted(&self, name: &str) -> bool {
        name.contains(&self.arguments.only)
    }

    fn family(
        &self,
        outcome: &mut Outcome,
        source: &Source,
        is_covered: &dyn Fn(&str) -> bool,
        cases_of: &dyn Fn(&str, Level) -> Option<Vec<Case>>,
    ) {
        let (apple, cpu) = match self.opened(source) {
            Ok(opened) => opened,
            Err(message) => return self.note(outcome, &source.name, Err(message)),
        };
        let kernels = apple.kernels();
        let covered = kernels.iter().filter(|kernel| is_covered(kernel));
        for kernel in covered.step_by(self.arguments.every.max(1)) {
            let result = match cases_of(kernel, Level::Sample) {
                None => Err("the family has no reference for this kernel".to_owned()),
                Some(cases) => {
                    outcome.launches += cases.len();
                    self.run(&*apple, &*cpu, cases)
                }
            };
            self.note(outcome, kernel, result);
        }
    }

    fn opened(&self, source: &Source) -> Result<(Box<dyn Opened>, Box<dyn Opened>), String> {
        let open = |executor: &dyn Executor| executor.open(source).map_err(|error| error.to_string());
        Ok((open(&self.apple)?, open(&Cpu)?))
    }

    fn run(&self, apple: &dyn Opened, cpu: &dyn Opened, cases: Vec<Case>) -> Result<(), String> {
        let library = |case: &Case| case.library && self.arguments.tolerant;
        let cases: Vec<Case> =
            cases.into_iter().map(|case| Case { library: library(&case), ..case }).collect();
        run_cases(apple, Some((cpu, Oracle::Bits)), &cases)
    }

    fn note(&self, outcome: &mut Outcome, subject: &str, result: Result<(), String>) {
        let before = outcome.failures.len();
        let (apple, checks) = (self.apple.expected_as(), self.apple.checks());
        let is_apples = self.expectations.reason(apple, checks, subject).is_some();
        let executor: &dyn Executor = if is_apples { &self.apple } else { &Cpu };
        outcome.note(&self.expectations, executor, subject, result);
        for failure in &outcome.failures[before..] {
            let end = if self.arguments.verbose { failure.len() } else { failure.len().min(300) };
            println!("- {}", failure.get(..end).unwrap_or(failure));
        }
    }
}

//! The programs of `tests/exec` on every executor. `ANYMETAL_EXEC=TEXT` runs those whose name contains it.
//!
//! The interpreter runs all of them. The tests that make machine code run samples, because that takes time:
//! half of the programs, or a fifth with other passes and features. They run all programs with
//! `ANYMETAL_FULL`, and all that `ANYMETAL_EXEC` names.

use anymetal_conformance::case::Faults;
use anymetal_conformance::exec_file::{ExecFile, files_below, folder, parse};
use anymetal_conformance::execute::{Cpu, CpuWithPasses, Executor, Interpreter, Source, UncheckedCpu};
use anymetal_conformance::expectation::Expectations;
use anymetal_conformance::suite::{Level, Outcome, run_cases};

/// One program of this many runs on the CPU device.
const EVERY_ON_CPU: usize = 2;

/// One program of this many is in the other samples.
const EVERY: usize = 5;

/// The part of the names that the environment selects; empty for all programs.
fn wanted() -> String {
    std::env::var("ANYMETAL_EXEC").unwrap_or_default()
}

fn files() -> Vec<ExecFile> {
    let folder = folder();
    let wanted = wanted();
    let mut files = Vec::new();
    for path in files_below(&folder).expect("tests/exec can be read") {
        let name = path.strip_prefix(&folder).unwrap_or(&path).with_extension("");
        let name = name.to_string_lossy().into_owned();
        if name.contains(&wanted) {
            let text = std::fs::read_to_string(&path).expect("the file can be read");
            files.push(parse(&name, &text, Level::of_environment()).expect("the directives are well formed"));
        }
    }
    files
}

/// One program of `every`.
fn sampled_files(every: usize) -> Vec<ExecFile> {
    let mut files = files();
    if wanted().is_empty() {
        files.retain(|file| Level::of_environment().includes(&file.name, every));
    }
    files
}

/// Runs each program on one executor of every `stride`, beginning with another for each program.
fn check_each(files: Vec<ExecFile>, executors: &[&dyn Executor], stride: usize) {
    let expectations = Expectations::of_repository();
    let mut outcome = Outcome::default();
    for (position, file) in files.into_iter().enumerate() {
        for executor in executors.iter().skip(position % stride).step_by(stride) {
            let mut cases = file.cases.clone();
            cases.retain(|case| executor.checks() || case.faults == Faults::Never);
            let source = Source {
                name: format!("{}.metal", file.name),
                text: file.text.clone(),
                math: file.math,
                whole_buffers: file.whole_buffers,
                ..Source::default()
            };
            let result = match executor.open(&source) {
                Ok(opened) => run_cases(opened.as_ref(), None, &cases),
                Err(error) => Err(error.to_string()),
            };
            outcome.note(&expectations, *executor, &file.name, result);
        }
    }
    outcome.assert_good("tests/exec");
}

#[test]
fn interpreter() {
    check_each(files(), &[&Interpreter::default()], 1);
}

#[test]
fn interpreter_without_passes() {
    check_each(sampled_files(EVERY), &[&Interpreter { unoptimised: true }], 1);
}

#[test]
fn cpu() {
    check_each(sampled_files(EVERY_ON_CPU), &[&Cpu], 1);
}

#[test]
fn cpu_without_checks() {
    check_each(sampled_files(EVERY), &[&UncheckedCpu], 1);
}

#[test]
fn cpu_without_features() {
    check_each(sampled_files(EVERY), &[&CpuWithPasses::without_features()], 1);
}

/// At lower levels, and without each pass and each feature of the code generator in turn: each program of the
/// sample in one of these ways, with `ANYMETAL_FULL=kernels` each program in one, and with `ANYMETAL_FULL=1`
/// each program in all.
#[test]
fn cpu_without_each_pass() {
    let variants = CpuWithPasses::variants();
    let executors: Vec<&dyn Executor> = variants.iter().map(|variant| variant as &dyn Executor).collect();
    let stride = match Level::of_environment() {
        Level::Full => 1,
        Level::Sample | Level::Kernels => executors.len(),
    };
    check_each(sampled_files(EVERY), &executors, stride);
}

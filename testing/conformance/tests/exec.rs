//! The programs of `tests/exec` on every executor. `ANYMETAL_EXEC=TEXT` runs those whose name contains it.

use anymetal_conformance::case::Faults;
use anymetal_conformance::exec_file::{ExecFile, files_below, folder, parse};
use anymetal_conformance::execute::{Cpu, Executor, Interpreter, Source, UncheckedCpu};
use anymetal_conformance::expectation::Expectations;
use anymetal_conformance::suite::{Level, Outcome, run_cases};

fn files() -> Vec<ExecFile> {
    let folder = folder();
    let wanted = std::env::var("ANYMETAL_EXEC").unwrap_or_default();
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

fn check(executor: &dyn Executor) {
    let expectations = Expectations::of_repository();
    let mut outcome = Outcome::default();
    for mut file in files() {
        file.cases.retain(|case| executor.checks() || case.faults == Faults::Never);
        let source = Source {
            name: format!("{}.metal", file.name),
            text: file.text.clone(),
            math: file.math,
            whole_buffers: file.whole_buffers,
            ..Source::default()
        };
        let result = match executor.open(&source) {
            Ok(opened) => run_cases(opened.as_ref(), None, &file.cases),
            Err(error) => Err(error.to_string()),
        };
        outcome.note(&expectations, executor, &file.name, result);
    }
    outcome.assert_good("tests/exec");
}

#[test]
fn interpreter() {
    check(&Interpreter::default());
}

#[test]
fn interpreter_without_passes() {
    check(&Interpreter { unoptimised: true });
}

#[test]
fn cpu() {
    check(&Cpu);
}

#[test]
fn cpu_without_checks() {
    check(&UncheckedCpu);
}

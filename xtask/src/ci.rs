//! What continuous integration runs, step by step; the first failure ends it.
//!
//! Tests run under `cargo nextest` where it is installed and under `cargo test` otherwise. Doc tests
//! always run under `cargo test`, since nextest has none.

use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use crate::{report, tidy};

/// One step: a name and a command line of cargo, or none for `tidy`, which runs in this process.
struct Step {
    name: &'static str,
    cargo: &'static [&'static str],
}

const FORMAT: Step = Step { name: "fmt", cargo: &["fmt", "--all", "--check"] };
const TIDY: Step = Step { name: "tidy", cargo: &[] };
const CLIPPY: Step = Step {
    name: "clippy",
    cargo: &["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"],
};
const NEXTEST: Step =
    Step { name: "tests", cargo: &["nextest", "run", "--workspace", "--locked", "--no-fail-fast"] };
const CARGO_TEST: Step =
    Step { name: "tests", cargo: &["test", "--workspace", "--all-targets", "--locked", "--no-fail-fast"] };
const DOC_TESTS: Step = Step { name: "doc tests", cargo: &["test", "--workspace", "--doc", "--locked"] };
/// Each checks its own results and fails when they are wrong.
const EXAMPLES: [Step; 3] = [
    Step { name: "pipeline", cargo: &["run", "--locked", "-p", "anymetal", "--example", "pipeline"] },
    Step { name: "graph_replay", cargo: &["run", "--locked", "-p", "anymetal", "--example", "graph_replay"] },
    Step {
        name: "async_service",
        cargo: &["run", "--locked", "-p", "anymetal", "--example", "async_service"],
    },
];

/// Runs the steps in `root` and prints how long each took.
pub(crate) fn run(root: &Path) -> ExitCode {
    let tests = if has_nextest(root) { NEXTEST } else { CARGO_TEST };
    let mut times = Vec::new();
    for step in [FORMAT, TIDY, CLIPPY, tests, DOC_TESTS].into_iter().chain(EXAMPLES) {
        println!("==> {}: {}", step.name, shown(&step));
        let start = Instant::now();
        let passed = run_step(root, &step);
        times.push((step.name, start.elapsed()));
        if !passed {
            print_times(&times);
            eprintln!("ci: failed at {}", step.name);
            return ExitCode::FAILURE;
        }
    }
    print_times(&times);
    println!("ci: passed");
    ExitCode::SUCCESS
}

fn run_step(root: &Path, step: &Step) -> bool {
    if step.cargo.is_empty() {
        return report(&tidy::check(root)) == ExitCode::SUCCESS;
    }
    match Command::new(cargo()).args(step.cargo).current_dir(root).status() {
        Ok(status) => status.success(),
        Err(error) => {
            eprintln!("cargo cannot be run: {error}");
            false
        }
    }
}

fn shown(step: &Step) -> String {
    if step.cargo.is_empty() {
        "cargo xtask tidy".to_owned()
    } else {
        format!("cargo {}", step.cargo.join(" "))
    }
}

fn has_nextest(root: &Path) -> bool {
    let output = Command::new(cargo()).args(["nextest", "--version"]).current_dir(root).output();
    output.is_ok_and(|output| output.status.success())
}

/// The cargo that runs this task.
fn cargo() -> std::ffi::OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

fn print_times(times: &[(&str, Duration)]) {
    for (name, time) in times {
        println!("{name:<13} {:>7.1} s", time.as_secs_f64());
    }
}

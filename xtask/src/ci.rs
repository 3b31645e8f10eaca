//! What continuous integration runs, step by step; the first failure ends it.
//!
//! Tests run under `cargo nextest` where it is installed and under `cargo test` otherwise. Doc tests
//! always run under `cargo test`, since nextest has none.

use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use crate::{apple, promtool, ptxas, report, tidy, wheel};

/// One step: a name and a command line of cargo, or none for `tidy`, which runs in this process.
struct Step {
    name: &'static str,
    cargo: &'static [&'static str],
    /// Variables that are set for it.
    environment: &'static [(&'static str, &'static str)],
}

/// A step without variables.
const fn step(name: &'static str, cargo: &'static [&'static str]) -> Step {
    Step { name, cargo, environment: &[] }
}

const FORMAT: Step = step("fmt", &["fmt", "--all", "--check"]);
const TIDY: Step = step("tidy", &[]);
const CLIPPY: Step =
    step("clippy", &["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"]);
const NEXTEST: Step = step("tests", &["nextest", "run", "--workspace", "--locked", "--no-fail-fast"]);
const CARGO_TEST: Step =
    step("tests", &["test", "--workspace", "--all-targets", "--locked", "--no-fail-fast"]);
/// What no default feature enables.
const FEATURES: [Step; 2] = [
    step(
        "feature lints",
        &[
            "clippy",
            "-p",
            "anymetal-policy",
            "--all-features",
            "--all-targets",
            "--locked",
            "--",
            "-D",
            "warnings",
        ],
    ),
    step("features", &["test", "-p", "anymetal-policy", "--all-features", "--lib", "--locked"]),
];
const DOC_TESTS: Step = step("doc tests", &["test", "--workspace", "--doc", "--locked"]);
/// Each checks its own results and fails when they are wrong.
const EXAMPLES: [Step; 3] = [
    step("pipeline", &["run", "--locked", "-p", "anymetal", "--example", "pipeline"]),
    step("graph_replay", &["run", "--locked", "-p", "anymetal", "--example", "graph_replay"]),
    step("async_service", &["run", "--locked", "-p", "anymetal", "--example", "async_service"]),
];
/// What `promtool` checks; it fails without one (Debian's package `prometheus`).
const METRICS: Step = step(
    "promtool",
    &["run", "--locked", "--quiet", "-p", "anymetal-telemetry-export", "--example", "every_metric"],
);
/// The PTX of the demo's kernels, of `tests/exec` and of a sample of the corpora, as NVIDIA's assembler
/// judges it; the arguments of `cargo xtask ptxas`.
const PTXAS: Step = step("ptxas", &ptxas::SAMPLE);
/// The Python package, built and tested as it is installed; the arguments of `cargo xtask wheel`.
const WHEEL: Step = step("wheel", &wheel::CHECK);
/// Apple's device for real Macs, as far as the compiler can tell.
const APPLE_TYPES: Step = step("apple types", &apple::TYPES);
/// Apple's device over Metal's API on the CPU device: its tests, the runtime's, and a sample of the
/// comparison; the arguments of `cargo xtask apple`.
const APPLE: Step = step("apple", &apple::SAMPLE);
/// Every interleaving of the hand-made concurrent structures, up to that many preemptions. In a folder of its
/// own, so that the flag does not have everything else built again, and without optimising what is built for
/// it: with that it takes longer to build than to run.
const MODELS: Step = Step {
    name: "models",
    cargo: &[
        "--config",
        "profile.dev.package.\"*\".opt-level=0",
        "test",
        "--locked",
        "-p",
        "anymetal-hal",
        "-p",
        "anymetal-policy",
        "-p",
        "anymetal-runtime",
        "-p",
        "anymetal-device-cpu",
        "--lib",
        "models",
    ],
    environment: &[
        ("RUSTFLAGS", "--cfg loom"),
        ("CARGO_TARGET_DIR", "target/loom"),
        ("LOOM_MAX_PREEMPTIONS", "3"),
    ],
};

/// Runs the steps in `root` and prints how long each took.
pub(crate) fn run(root: &Path) -> ExitCode {
    let tests = if has_nextest(root) { NEXTEST } else { CARGO_TEST };
    let mut times = Vec::new();
    let fixed = [FORMAT, TIDY, CLIPPY, tests, DOC_TESTS].into_iter();
    let last = [METRICS, PTXAS, WHEEL, APPLE_TYPES, APPLE, MODELS];
    for step in fixed.chain(FEATURES).chain(EXAMPLES).chain(last) {
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
    if step.name == METRICS.name {
        return promtool::check(root, METRICS.cargo);
    }
    if step.name == PTXAS.name {
        return ptxas::run(root, PTXAS.cargo).unwrap_or_else(|error| {
            eprintln!("ptxas: {error}");
            false
        });
    }
    if step.name == WHEEL.name {
        return wheel::run(root, WHEEL.cargo).unwrap_or_else(|error| {
            eprintln!("wheel: {error}");
            false
        });
    }
    if step.name == APPLE.name {
        return apple::run(root, APPLE.cargo).unwrap_or_else(|error| {
            eprintln!("apple: {error}");
            false
        });
    }
    let variables = step.environment.iter().copied();
    match Command::new(cargo()).args(step.cargo).envs(variables).current_dir(root).status() {
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
        let variables = step.environment.iter().map(|(name, value)| format!("{name}='{value}' "));
        let task = match step.name {
            name if name == PTXAS.name => "xtask ptxas ",
            name if name == WHEEL.name => "xtask wheel ",
            name if name == APPLE.name => "xtask apple ",
            _ => "",
        };
        format!("{}cargo {task}{}", variables.collect::<String>(), step.cargo.join(" "))
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

//! What continuous integration runs, step by step; the first failure ends it.
//!
//! Tests come first. They run under `cargo nextest` where it is installed, with the doc tests as a separate
//! step because nextest has none, and by the README's command otherwise. `.ci/run` runs the README's command
//! itself, before it installs the tools that later steps need, and passes `--tested`.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use crate::{apple, libmetal, promtool, ptxas, report, tidy, wheel};

/// One step of it.
struct Step {
    name: &'static str,
    work: Work,
}

/// What a step does.
enum Work {
    /// What this program does in its own process, told as the command that does only that.
    Task { shown: &'static str, arguments: &'static [&'static str], run: Task },
    /// A command line of cargo, with variables that are set for it.
    Cargo { arguments: &'static [&'static str], variables: &'static [(&'static str, &'static str)] },
    /// An example that the tests' step has built. `cargo run` with one package would build most of the
    /// workspace again, because that package alone asks for other features of what it uses.
    Example,
}

/// The tests of `libMetal.so` that need clang are a feature, since `cargo test` runs without it.
const CLIPPY: [&str; 9] = [
    "clippy",
    "--workspace",
    "--all-targets",
    "--features",
    "anymetal-libmetal/clang-tests",
    "--locked",
    "--",
    "-D",
    "warnings",
];

/// Programs of `tests/exec` that clang runs as well. The whole workspace, so that nothing is built with other
/// features than for the tests.
const CLANG: [&str; 7] = ["test", "--workspace", "--locked", "--test", "clang", "--", "--ignored"];

/// Does it in the workspace's folder; false if a check failed.
type Task = fn(&Path, &[&str]) -> Result<bool, String>;

const fn cargo_step(name: &'static str, arguments: &'static [&'static str]) -> Step {
    Step { name, work: Work::Cargo { arguments, variables: &[] } }
}

const fn task(
    name: &'static str,
    shown: &'static str,
    arguments: &'static [&'static str],
    run: Task,
) -> Step {
    Step { name, work: Work::Task { shown, arguments, run } }
}

/// As in the README.
const CARGO_TEST: [Step; 1] = [cargo_step("tests", &["test", "--workspace"])];
const NEXTEST: [Step; 2] = [
    cargo_step("tests", &["nextest", "run", "--workspace", "--locked", "--no-fail-fast"]),
    cargo_step("doc tests", &["test", "--workspace", "--doc", "--locked"]),
];

const AFTER_TESTS: [Step; 14] = [
    cargo_step("fmt", &["fmt", "--all", "--check"]),
    cargo_step("clippy", &CLIPPY),
    task("tidy", "cargo xtask tidy", &[], |root, _| Ok(report(&tidy::check(root)) == ExitCode::SUCCESS)),
    // Each checks its own results and fails when they are wrong.
    Step { name: "pipeline", work: Work::Example },
    Step { name: "graph_replay", work: Work::Example },
    Step { name: "async_service", work: Work::Example },
    task("promtool", "promtool check metrics", &["every_metric"], |root, arguments| {
        arguments.iter().try_fold(true, |passed, name| Ok(promtool::check(&example(root, name))? && passed))
    }),
    // The PTX of the demo's kernels, of `tests/exec` and of a sample of the corpora, as NVIDIA's assembler
    // judges it.
    task("ptxas", "cargo xtask ptxas", &ptxas::SAMPLE, |root, arguments| {
        ptxas::run_program(root, &programs(root).join("ptxas"), arguments)
    }),
    // Programs in C and Objective-C over libMetal.so, compiled by clang.
    cargo_step("libMetal", &libmetal::TESTS),
    cargo_step("clang", &CLANG),
    // The Python package, built and tested as it is installed.
    task("wheel", "cargo xtask wheel", &wheel::CHECK, |root, arguments| {
        wheel::run(root, arguments).map_err(|error| error.to_string())
    }),
    // Apple's device for real Macs, as far as the compiler can tell.
    cargo_step("apple types", &apple::TYPES),
    // Apple's device over Metal's API on the CPU device: its tests, the runtime's, and a sample of the
    // comparison.
    task("apple", "cargo xtask apple", &apple::SAMPLE, apple::run),
    // Every interleaving of the hand-made concurrent structures, up to that many preemptions. In a folder of
    // its own, so that the flag does not have everything else built again, and without optimising what is
    // built for it: with that it takes longer to build than to run.
    Step {
        name: "models",
        work: Work::Cargo {
            arguments: &[
                "--config",
                "profile.dev.package.\"*\".opt-level=0",
                "test",
                "--locked",
                "-p",
                "anymetal-hal",
                "-p",
                "anymetal-policy",
                "-p",
                "anymetal-core",
                "-p",
                "anymetal-cpu",
                "--lib",
                "models",
            ],
            variables: &[
                ("RUSTFLAGS", "--cfg loom"),
                ("CARGO_TARGET_DIR", "target/loom"),
                ("LOOM_MAX_PREEMPTIONS", "3"),
            ],
        },
    },
];

/// Runs the steps in `root` and prints how long each took; without the tests if they are known to pass.
pub(crate) fn run(root: &Path, tested: bool) -> ExitCode {
    let tests = match tested {
        true => Vec::new(),
        false if has_nextest(root) => Vec::from(NEXTEST),
        false => Vec::from(CARGO_TEST),
    };
    let mut times = Vec::new();
    for step in tests.into_iter().chain(AFTER_TESTS) {
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

/// Whether it passed; says why not, where the step itself does not.
fn run_step(root: &Path, step: &Step) -> bool {
    let outcome = match &step.work {
        Work::Task { arguments, run, .. } => run(root, arguments),
        Work::Cargo { arguments, variables } => {
            let variables = variables.iter().copied();
            succeeds(Command::new(cargo()).args(*arguments).envs(variables).current_dir(root))
        }
        Work::Example => succeeds(Command::new(example(root, step.name)).current_dir(root)),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("{}: {error}", step.name);
        false
    })
}

fn succeeds(command: &mut Command) -> Result<bool, String> {
    let status = command.status();
    let told = |error| format!("{} does not start: {error}", command.get_program().display());
    status.map(|status| status.success()).map_err(told)
}

fn shown(step: &Step) -> String {
    match &step.work {
        Work::Task { shown, arguments, .. } => [&[*shown], *arguments].concat().join(" "),
        Work::Cargo { arguments, variables } => {
            let variables = variables.iter().map(|(name, value)| format!("{name}='{value}' "));
            format!("{}cargo {}", variables.collect::<String>(), arguments.join(" "))
        }
        Work::Example => format!("cargo run --example {}", step.name),
    }
}

/// Where the tests' step leaves programs.
fn programs(root: &Path) -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    root.join(target).join("debug")
}

fn example(root: &Path, name: &str) -> PathBuf {
    programs(root).join("examples").join(name)
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

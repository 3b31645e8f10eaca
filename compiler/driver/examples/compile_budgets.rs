//! Compiles large generated kernels and prints what each took: one row of `docs/compile-budgets.md` each.
//!
//! `cargo run --release -p anymetal-driver --example compile_budgets -- KIND COUNT` compiles one kernel, so
//! that the peak of the memory is that kernel's.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program that prints measurements")]

#[path = "../tests/budgets/sources.rs"]
mod sources;

use std::process::ExitCode;
use std::time::Instant;

use anymetal_driver::{
    Budget, CacheConfig, Compiler, CompilerOptions, Source, SourceOptions, Specialisation, Target,
};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let source = match &arguments[..] {
        [kind, count] => count.parse().ok().and_then(|count| sources::source(kind, count)),
        _ => None,
    };
    let Some(text) = source else {
        eprintln!("usage: compile_budgets KIND COUNT, KIND of {}", sources::KINDS.join(", "));
        return ExitCode::from(2);
    };
    let options = CompilerOptions::with_cache(CacheConfig::memory_only());
    let compiler = Compiler::with_budget(&options, Budget::default());
    let start = Instant::now();
    let source = Source::from_text("budget.metal", text.as_str(), SourceOptions::default());
    let compiled = compiler
        .library(source)
        .and_then(|library| library.artifact("k", &Specialisation::default(), Target::Cpu));
    let seconds = start.elapsed().as_secs_f64();
    let step = match &compiled {
        Err(_) => "refused",
        Ok(artifact) => artifact.kernels[0].effort().word(),
    };
    println!("| {} | {seconds:.1} s | {} | {step} |", arguments.join(" "), peak_memory());
    if let Err(error) = compiled {
        eprint!("{}", error.render_text(false));
    }
    ExitCode::SUCCESS
}

/// The largest amount of memory that the process had, where the system tells.
fn peak_memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = peak.and_then(|peak| peak.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kibibytes.map_or_else(|| "?".to_owned(), |kibibytes| format!("{} MiB", kibibytes / 1024))
}

//! The anymetal command line: one subcommand per file.
//!
//! This file knows the list of subcommands and nothing about them. Each has an `Args` structure and a
//! function that does it; what goes wrong is a [`failure::Failure`], which knows its exit code. Start with
//! [`Command`].
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command line tool talks to its terminal")]

mod analyze;
mod audit;
mod bench;
mod call;
mod check;
mod compile;
mod constant;
mod demo;
mod device_choice;
mod devices;
mod doctor;
mod explain;
mod extent;
mod failure;
mod limits;
mod lint;
mod npy;
mod output;
mod report;
mod run;
mod scalar;
mod source_file;
mod top;
mod trace;
mod translate;
mod tune;
mod worker;
mod workload;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Metal compute on any machine.
///
/// Compiles and runs kernels written in Metal Shading Language on this machine's processor.
///
/// Exit codes: 0 success, 1 the input is wrong (diagnostics on stderr), 2 wrong usage, 3 findings of checks,
/// 4 device or run-time failure (out of bounds, deadline, out of memory).
#[derive(Parser)]
#[command(
    name = "anymetal",
    version,
    max_term_width = 110,
    args_conflicts_with_subcommands = true,
    arg_required_else_help = true
)]
struct Cli {
    /// Explain a diagnostic by its id, with an example
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    explain: Option<String>,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Tour of this machine: compile, run, verify and measure ten kernels; writes a report folder
    Demo(demo::DemoArgs),
    /// List the devices
    Devices(devices::DevicesArgs),
    /// Run one kernel
    Run(Box<run::RunArgs>),
    /// Run one kernel under the sanitizer: races, accesses out of bounds, undefined reads, barriers
    Check(Box<check::CheckArgs>),
    /// `anymetal check FILE.toml`
    #[command(hide = true, name = CHECK_WORKLOAD, display_name = "anymetal check")]
    CheckWorkload(Box<check::WorkloadArgs>),
    /// `anymetal check -- PROGRAM`
    #[command(hide = true, name = CHECK_PROGRAM, display_name = "anymetal check", bin_name = "anymetal check")]
    CheckProgram(Box<check::ProgramArgs>),
    /// Report all that is wrong with the functions of files and folders
    Lint(lint::LintArgs),
    /// Compile kernels down to device code, or show a stage on the way
    Compile(compile::CompileArgs),
    /// Show what kernels do for each thread: operations, bytes, access patterns, occupancy
    Analyze(analyze::AnalyzeArgs),
    /// Find the fastest threadgroup size by measuring
    Tune(tune::TuneArgs),
    /// Translate kernels in OpenCL C to the Metal Shading Language
    Translate(translate::TranslateArgs),
    /// Run a described workload and write when what ran, for Perfetto
    Trace(trace::TraceArgs),
    /// Measure against plain Rust, rayon and the machine's limits, all in one run
    Bench(bench::BenchArgs),
    /// Report what a workload did: table, JSON, CSV, or HTML with figures
    Report(report::ReportArgs),
    /// Watch a running process by its metrics
    Top(top::TopArgs),
    /// Check this machine: devices, compiler, cache, limits, settings
    Doctor(doctor::DoctorArgs),
    /// Check an audit log
    Audit(audit::AuditArgs),
    #[command(hide = true, name = anymetal_driver::WORKER_SUBCOMMAND)]
    Worker(worker::WorkerArgs),
}

/// The subcommand that `check` is for a workload.
const CHECK_WORKLOAD: &str = "check-workload";

/// The subcommand that `check` is for a program.
const CHECK_PROGRAM: &str = "check-program";

/// The command line; `check FILE.toml` and `check -- PROGRAM` have other options than `check FILE.metal`.
fn arguments() -> Vec<OsString> {
    let mut arguments: Vec<OsString> = std::env::args_os().collect();
    let is_workload = |file: &OsString| Path::new(file).extension().is_some_and(|ending| ending == "toml");
    if arguments.get(1).is_some_and(|command| command == "check") {
        if arguments.iter().any(|argument| argument == "--") {
            arguments[1] = CHECK_PROGRAM.into();
        } else if arguments.get(2).is_some_and(is_workload) {
            arguments[1] = CHECK_WORKLOAD.into();
        }
    }
    arguments
}

fn main() -> ExitCode {
    // `parse` itself ends with 2 on wrong usage and with 0 after `--help`.
    let Cli { explain, command } = Cli::parse_from(arguments());
    let outcome = match (explain, command) {
        (_, Some(command)) => start_service(&command).and_then(|()| run(command)),
        (Some(id), None) => explain::explain(&id),
        (None, None) => unreachable!("without arguments clap shows the help"),
    };
    // A collector that the settings name has what this process did before it ends.
    anymetal_service::telemetry::flush();
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.report();
            failure.exit_code()
        }
    }
}

/// Starts the exporters that the settings ask for, in commands that open a device.
fn start_service(command: &Command) -> Result<(), failure::Failure> {
    match command {
        // A worker works for another process; the others read files or a process's endpoint.
        Command::Worker(_)
        | Command::Audit(_)
        | Command::Top(_)
        | Command::Translate(_)
        | Command::Lint(_) => Ok(()),
        Command::Doctor(_) => {
            // Settings that are refused are among the findings.
            let _refused = anymetal_service::start();
            Ok(())
        }
        _ => Ok(anymetal_service::start().map_err(anymetal::Error::from)?),
    }
}

fn run(command: Command) -> Result<(), failure::Failure> {
    match command {
        Command::Devices(args) => devices::devices(&args),
        Command::Run(args) => run::run(&args),
        Command::Check(args) => check::check(&args),
        Command::CheckWorkload(args) => check::check_workload(&args),
        Command::CheckProgram(args) => check::check_program(&args),
        Command::Lint(args) => lint::lint(&args),
        Command::Compile(args) => compile::compile(&args),
        Command::Analyze(args) => analyze::analyze(&args),
        Command::Tune(args) => tune::tune(&args),
        Command::Translate(args) => translate::translate(&args),
        Command::Trace(args) => trace::trace(&args),
        Command::Report(args) => report::report(&args),
        Command::Top(args) => top::top(&args),
        Command::Doctor(args) => doctor::doctor(&args),
        Command::Audit(args) => audit::audit(&args),
        Command::Worker(args) => worker::worker(&args),
        Command::Demo(args) => verified(demo::run(&args).map_err(failure::Failure::Refused)),
        Command::Bench(args) => verified(bench::run(&args)),
    }
}

/// Wrong results were printed; the exit code says so too.
fn verified(outcome: Result<bool, failure::Failure>) -> Result<(), failure::Failure> {
    if outcome? { Ok(()) } else { Err(failure::Failure::Told(4)) }
}

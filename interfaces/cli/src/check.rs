//! `anymetal check`: one launch of one kernel, a described workload, or a program, under the sanitizer.
//!
//! Kernels run in the interpreter. Findings end the command with exit code 3; a kernel that could not run to
//! its end, and a program that failed, never count as clean.

mod program;

use std::path::PathBuf;

use clap::Args;

use anymetal::{CheckMode, Family, sanitizer};
use anymetal_driver::sanitizer::report::{Report, SourceTexts, Verdict};
use anymetal_driver::sanitizer::suppress::{self, Suppressions};
use anymetal_driver::sanitizer::{Filter, KernelPattern, KindSelector, LaunchRange, SanitizerOptions};

use crate::call::{KernelCall, SPECS};
use crate::device_choice;
use crate::failure::{Failure, has_colour};
use crate::output;
use crate::run::logs::lines;
use crate::run::timing::Times;
use crate::source_file::read_text;
use crate::trace;
pub(crate) use program::{ProgramArgs, check_program};

/// Run one kernel under the sanitizer.
///
/// Finds data races, accesses out of bounds, reads of memory that nobody wrote, barriers that not all threads
/// reach and misaligned accesses. Takes the arguments of `anymetal run`.
#[derive(Args, Debug)]
#[command(after_help = format!("{SPECS}\n\n`anymetal check FILE.toml` runs a workload as `anymetal trace` does, and `anymetal check -- PROGRAM ARGUMENTS…` a program; their\noptions: `anymetal check FILE.toml --help` and `anymetal check --help --`. docs/sanitizer.md explains every kind."))]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    call: KernelCall,
    #[command(flatten)]
    options: CheckOptions,
}

/// What is detected and how it is told: the same for a kernel, a workload and a program.
#[derive(Args, Debug)]
pub(crate) struct CheckOptions {
    /// Detect only these kinds, or groups of kinds
    #[arg(long, value_name = "KIND")]
    only: Vec<KindSelector>,
    /// Detect these kinds, too: lints are off unless they are given here
    #[arg(long, value_name = "KIND")]
    enable: Vec<KindSelector>,
    /// Do not detect these kinds
    #[arg(long, value_name = "KIND")]
    skip: Vec<KindSelector>,
    /// Findings that are known and allowed, in TOML
    #[arg(long, value_name = "FILE.toml")]
    suppressions: Vec<PathBuf>,
    /// Write suppressions for everything that was found
    #[arg(long, value_name = "FILE.toml")]
    generate_suppressions: Option<PathBuf>,
    /// Write the report as SARIF 2.1.0, too
    #[arg(long, value_name = "FILE.sarif")]
    sarif: Option<PathBuf>,
    /// Print workflow commands of GitHub Actions instead of text
    #[arg(long, conflicts_with = "json")]
    github: bool,
    /// Run the launch that often, each after the first with another order of threadgroups and SIMD-groups
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    schedules: u32,
    /// The seed of the second schedule; later ones count up from it
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    /// Take the contents of this argument's buffer as undefined: to read what the kernel has not written is a
    /// finding
    #[arg(long, value_name = "NAME")]
    undefined: Vec<String>,
    /// Check only that many threadgroups of a launch, spread evenly
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_threadgroups: Option<u64>,
    /// Keep that many different findings
    #[arg(long, value_name = "N", default_value_t = 1000)]
    max_findings: usize,
    /// The exit code if there are findings
    #[arg(long, value_name = "CODE", default_value_t = 3)]
    error_exitcode: u8,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

/// Which launches are checked, of those of a workload or a program.
#[derive(Args, Debug)]
pub(crate) struct LaunchesChecked {
    /// Check only launches of these kernels; a regular expression matches a part of the name
    #[arg(long, value_name = "GLOB|/REGEX/")]
    kernel: Vec<KernelPattern>,
    /// Check only these launches, by their number from 0: `3`, `3..10` (10 is not among them), `3..`
    #[arg(long, value_name = "A..B", default_value = "0..")]
    launches: LaunchRange,
}

impl CheckOptions {
    fn of_session(&self, checked: Option<&LaunchesChecked>) -> SanitizerOptions {
        let filter = Filter::default()
            .only(self.only.clone())
            .skip(self.skip.clone())
            .enable(self.enable.clone())
            .kernels(checked.map(|checked| checked.kernel.clone()).unwrap_or_default())
            .launches(checked.map(|checked| checked.launches).unwrap_or_default());
        let mut options = SanitizerOptions::of_filter(&filter);
        options.schedules = self.schedules;
        options.undefined_arguments = self.undefined.iter().cloned().collect();
        options.seed = self.seed;
        options.max_findings = self.max_findings;
        options.max_threadgroups = self.max_threadgroups;
        options
    }
}

/// Run a described workload under the sanitizer.
///
/// Takes the files of `anymetal trace`; every launch of the workload is checked.
#[derive(Args, Debug)]
pub(crate) struct WorkloadArgs {
    /// The workload
    #[arg(value_name = "FILE.toml")]
    file: PathBuf,
    /// The device to use (see `anymetal devices`)
    #[arg(long)]
    device: Option<String>,
    /// Refuse what GPUs of that family refuse, see `anymetal devices --families`
    #[arg(long, value_name = "FAMILY")]
    family: Option<Family>,
    #[command(flatten)]
    checked: LaunchesChecked,
    #[command(flatten)]
    options: CheckOptions,
}

/// Checks one kernel.
pub(crate) fn check(args: &CheckArgs) -> Result<(), Failure> {
    let suppressions = read_suppressions(&args.options.suppressions)?;
    sanitizer::configure(args.options.of_session(None));
    args.options.tell(run(args), || (sanitizer::report(&suppressions), sanitizer::sources()))
}

/// Checks a described workload.
pub(crate) fn check_workload(args: &WorkloadArgs) -> Result<(), Failure> {
    let suppressions = read_suppressions(&args.options.suppressions)?;
    sanitizer::configure(args.options.of_session(Some(&args.checked)));
    let ran = trace::run_under_sanitizer(&args.file, args.device.as_deref(), args.family);
    args.options.tell(ran, || (sanitizer::report(&suppressions), sanitizer::sources()))
}

impl CheckOptions {
    /// Prints and writes the report of what ran.
    fn tell(
        &self,
        ran: Result<(), Failure>,
        report: impl FnOnce() -> (Report, SourceTexts),
    ) -> Result<(), Failure> {
        use Failure as F;
        if let Err(failure @ (F::Usage(_) | F::Input(_) | F::Compile(_) | F::Refused(_))) = ran {
            return Err(failure);
        }
        let (report, sources) = report();
        if let Some(path) = &self.generate_suppressions {
            output::file(path, &suppress::generate(&report.findings))?;
        }
        if let Some(path) = &self.sarif {
            output::file(path, &report.sarif(&sources))?;
        }
        if self.json {
            output::write(&report.json())?;
        } else if self.github {
            output::write(&report.github())?;
        } else {
            output::write(&report.text(&sources, has_colour(&std::io::stdout())))?;
        }
        // A kernel that was stopped is no clean one; what was found until then counts first.
        if !report.findings.is_empty() {
            return Err(Failure::Told(self.error_exitcode));
        }
        match report.verdict {
            Verdict::Incomplete(_) => ran.and(Err(Failure::Told(4))),
            _ => ran,
        }
    }
}

fn read_suppressions(paths: &[PathBuf]) -> Result<Suppressions, Failure> {
    let mut all = Suppressions::default();
    for path in paths {
        let name = path.display().to_string();
        let text = read_text(path)?;
        all.parse(&name, &text).map_err(|error| Failure::Input(error.to_string()))?;
    }
    Ok(all)
}

fn run(args: &CheckArgs) -> Result<(), Failure> {
    let choice = device_choice::choose(args.call.device.as_deref(), args.call.family)?;
    let library = args.call.source.library(None, Some(&args.call.kernel))?;
    let pipeline = args.call.pipeline(&library, &choice, CheckMode::Sanitize)?;
    let launch = args.call.bind(&choice, pipeline)?;
    for argument in &launch.arguments {
        argument.fill()?;
    }
    launch.resources.textures.iter().try_for_each(|texture| texture.fill(true))?;
    let mut logs = Vec::new();
    let ended = launch.submit(&choice.device.queue()?, &mut Times::default(), &mut logs);
    // Stdout is the report's.
    lines(&logs).iter().for_each(|line| eprintln!("{line}"));
    ended
}

//! `anymetal check`: one launch of one kernel under the sanitizer.
//!
//! The kernel runs in the interpreter. Findings end the command with exit code 3; a kernel that could not run
//! to its end never counts as clean.

use clap::Args;
use serde_json::json;

use anymetal_compiler::SharedSession;
use anymetal_compiler::sanitizer::{
    FileSources, FindingKind, SanitizerOptions, UnknownKind, finding_text, summary_text,
};

use crate::call::{KernelCall, SPECS};
use crate::device_choice;
use crate::failure::Failure;
use crate::output;
use crate::run::timing::Times;

/// Run one kernel under the sanitizer.
///
/// Finds data races, accesses out of bounds, reads of memory that nobody wrote, barriers that not all threads
/// reach and misaligned accesses. Takes the arguments of `anymetal run`.
#[derive(Args, Debug)]
#[command(after_help = SPECS)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    call: KernelCall,
    /// Detect only these kinds, or groups of kinds
    #[arg(long, value_name = "KIND", value_parser = parse_kinds)]
    only: Vec<Kinds>,
    /// Detect these kinds, too: lints are off unless they are given here
    #[arg(long, value_name = "KIND", value_parser = parse_kinds)]
    enable: Vec<Kinds>,
    /// Do not detect these kinds
    #[arg(long, value_name = "KIND", value_parser = parse_kinds)]
    skip: Vec<Kinds>,
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

/// A kind, or all of a group.
#[derive(Clone, Debug)]
struct Kinds(Vec<FindingKind>);

fn parse_kinds(text: &str) -> Result<Kinds, String> {
    let of_group: Vec<FindingKind> =
        FindingKind::ALL.iter().copied().filter(|kind| kind.group().id() == text).collect();
    if text == "all" {
        return Ok(Kinds(FindingKind::ALL.to_vec()));
    }
    if !of_group.is_empty() {
        return Ok(Kinds(of_group));
    }
    text.parse().map(|kind| Kinds(vec![kind])).map_err(|error: UnknownKind| error.to_string())
}

impl CheckArgs {
    fn options(&self) -> SanitizerOptions {
        let mut options = SanitizerOptions::default();
        if !self.only.is_empty() {
            options.kinds.clear();
        }
        options.kinds.extend(self.only.iter().chain(&self.enable).flat_map(|kinds| kinds.0.iter().copied()));
        for kind in self.skip.iter().flat_map(|kinds| &kinds.0) {
            options.kinds.remove(kind);
        }
        options.schedules = self.schedules;
        options.undefined_arguments = self.undefined.iter().cloned().collect();
        options.seed = self.seed;
        options.max_findings = self.max_findings;
        options
    }
}

/// Does it.
pub(crate) fn check(args: &CheckArgs) -> Result<(), Failure> {
    let session = SharedSession::new(args.options());
    let ran = run(args, &session);
    let session = session.lock();
    let (findings, summary) = (session.findings(), session.summary());
    if args.json {
        output::json(&json!({ "findings": findings, "summary": summary }))?;
    } else {
        let sources = FileSources::default();
        findings.iter().try_for_each(|finding| output::line(&finding_text(finding, &sources)))?;
        output::write(&summary_text(findings, &summary))?;
    }
    if !findings.is_empty() { Err(Failure::Told(args.error_exitcode)) } else { ran }
}

fn run(args: &CheckArgs, session: &SharedSession) -> Result<(), Failure> {
    let choice = device_choice::choose(args.call.device.as_deref())?;
    let library = args.call.source.library(None)?;
    let specialisation = args.call.source.specialisation();
    let compiled = args.call.compile(&choice, &specialisation, |specialisation| {
        library.sanitized_artifact(&args.call.kernel, specialisation, session, None)
    })?;
    let launch = args.call.bind(&choice, compiled)?;
    for argument in &launch.arguments {
        argument.fill()?;
    }
    launch.submit(&choice.device.queue()?, &mut Times::default())
}

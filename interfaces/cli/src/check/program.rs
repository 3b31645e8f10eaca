//! `anymetal check -- PROGRAM ARGUMENTS…`: every launch of a program that uses the crate.
//!
//! The program, and the programs that it runs, are told by their environment to run kernels under the
//! sanitizer and to write what is found into files of a folder. Invariant: a program that fails, or launches
//! nothing, is never clean.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use anymetal_driver::sanitizer::SessionFile;
use anymetal_driver::sanitizer::report::{Report, RunOutcome, SourceTexts};
use anymetal_driver::sanitizer::suppress::Suppressions;
use clap::Args;

use super::{CheckOptions, LaunchesChecked, read_suppressions};
use crate::failure::Failure;

/// Run a program with all its kernels under the sanitizer.
///
/// For programs that use the crate `anymetal`, without a change to them. The report follows what the program
/// prints; with --json or --github, what it prints goes to stderr.
#[derive(Args, Debug)]
pub(crate) struct ProgramArgs {
    #[command(flatten)]
    checked: LaunchesChecked,
    #[command(flatten)]
    options: CheckOptions,
    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

/// Checks a program.
pub(crate) fn check_program(args: &ProgramArgs) -> Result<(), Failure> {
    let suppressions = read_suppressions(&args.options.suppressions)?;
    let folder = tempfile::tempdir()
        .map_err(|error| Failure::Input(format!("there is no temporary folder: {error}")))?;
    let status = run(args, folder.path())?;
    args.options.tell(Ok(()), || report(folder.path(), status, &suppressions))
}

fn run(args: &ProgramArgs, reports: &Path) -> Result<ExitStatus, Failure> {
    let (name, arguments) =
        args.program.split_first().ok_or_else(|| Failure::Usage("there is no program".to_owned()))?;
    let mut program = Command::new(name);
    program.args(arguments).env("ANYMETAL_CHECK", "sanitize").env("ANYMETAL_CHECK_REPORT", reports);
    program.env("ANYMETAL_CHECK_OPTIONS", args.options.of_session(Some(&args.checked)).to_string());
    if args.options.json || args.options.github {
        program.stdout(Stdio::from(std::io::stderr()));
    }
    program
        .status()
        .map_err(|error| Failure::Input(format!("cannot run {}: {error}", Path::new(name).display())))
}

/// The largest report of one process that is read.
const MAX_SESSION_BYTES: u64 = 1 << 30;

/// What all processes found.
fn sessions(folder: &Path) -> Result<SessionFile, String> {
    let unreadable = |error: std::io::Error| format!("its reports cannot be read: {error}");
    let entries = std::fs::read_dir(folder).map_err(unreadable)?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>();
    let mut paths = paths.map_err(unreadable)?;
    // A file that is still being written has another ending.
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "json"));
    paths.sort();
    let mut all: Option<SessionFile> = None;
    for path in paths {
        let text = anymetal_files::read_text(&path, MAX_SESSION_BYTES);
        let text = text.map_err(|error| unreadable(error.into()))?;
        let session = SessionFile::from_text(&text).map_err(|error| format!("its report: {error}"))?;
        match &mut all {
            Some(all) => all.merge(session),
            None => all = Some(session),
        }
    }
    all.ok_or_else(|| "the program launched no kernel under the sanitizer".to_owned())
}

fn report(folder: &Path, status: ExitStatus, suppressions: &Suppressions) -> (Report, SourceTexts) {
    let failure = (!status.success()).then(|| format!("the program failed: {status}"));
    match sessions(folder) {
        Ok(session) => {
            let report = session.report(suppressions, failure);
            (report, session.sources)
        }
        Err(reason) => {
            let reasons: Vec<String> = failure.into_iter().chain([reason]).collect();
            let run = RunOutcome::default().incomplete(Some(reasons.join("; ")));
            (Report::new(Vec::new(), run, suppressions, &Default::default()), SourceTexts::default())
        }
    }
}

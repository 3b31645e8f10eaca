//! `anymetal lint`: all that is wrong with the functions of files and folders, as text and for other
//! programs.
//!
//! Invariants: a diagnostic of a header that several files include is reported once, but for JSON, which has
//! all of each file; every file that was asked for is in every report, also if it cannot be read.

mod files;
mod finding;
mod reports;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anymetal_driver::{Compiler, Diagnostic, Diagnostics};
use clap::Args;
use rayon::prelude::*;
use serde_json::{Value, json};

use crate::failure::{Failure, stderr_has_colour};
use crate::output;
use crate::source_file::Reading;
use files::Root;
use finding::{Finding, Level};

const EXAMPLES: &str = "\
Examples:
  anymetal lint
  anymetal lint kernels shaders/blur.metal -Wall --deny warnings
  anymetal lint --github --sarif lint.sarif";

/// Report all that is wrong with the functions of files and folders.
///
/// Takes the files named, and of folders every `.metal` file that Git does not ignore; the folders are
/// include folders, too. Checks kernels, graphics functions and helpers, whether something calls them or not;
/// needs no LLVM. Diagnostics go to stderr; the last line of stdout is `N files: M errors, K warnings`. The
/// exit code is 1 if there are errors.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct LintArgs {
    /// Files and folders
    #[arg(value_name = "PATH", default_value = ".")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    reading: Reading,
    /// Make warnings errors: `warnings` for all, or those of a group, such as `unused-value`
    #[arg(long, value_name = "GROUP")]
    deny: Vec<String>,
    /// Print workflow commands of GitHub Actions
    #[arg(long, conflicts_with = "json")]
    github: bool,
    /// Write a report as SARIF 2.1.0
    #[arg(long, value_name = "FILE.sarif")]
    sarif: Option<PathBuf>,
    /// Write a report as JUnit XML: a test case for each file
    #[arg(long, value_name = "FILE.xml")]
    junit: Option<PathBuf>,
    /// Write a report of code quality for GitLab
    #[arg(long, value_name = "FILE.json")]
    gitlab: Option<PathBuf>,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

/// A file and what was found in it, or why it could not be checked.
pub(crate) struct Checked {
    pub(crate) path: PathBuf,
    pub(crate) outcome: Result<Diagnostics, Failure>,
    /// Also if they were reported with another file.
    pub(crate) has_errors: bool,
}

pub(crate) fn lint(args: &LintArgs) -> Result<(), Failure> {
    let denied = args.deny.iter().map(|group| match group.as_str() {
        "warnings" => "error".to_owned(),
        group => format!("error={group}"),
    });
    let folders = args.paths.iter().filter(|path| path.is_dir()).cloned();
    let reading = args.reading.clone().with_warnings(denied).with_include_folders(folders);
    reading.report_unknown_options();
    let files = files::collect(&args.paths)?;
    let mut checked = check(&reading, &files);
    if args.json {
        output::json(&to_json(&checked))?;
        leave_out_known(&mut checked);
    } else {
        tell(&mut checked);
    }
    let root = Root::find();
    let findings: Vec<Finding<'_>> = checked.iter().flat_map(|file| finding::of_file(file, &root)).collect();
    if let Some(path) = &args.sarif {
        output::file(path, &reports::sarif(&findings))?;
    }
    if let Some(path) = &args.gitlab {
        output::file(path, &reports::gitlab(&findings))?;
    }
    if let Some(path) = &args.junit {
        let name = |file: &Checked| (root.name(&file.path.display().to_string()), file.has_errors);
        output::file(path, &reports::junit(&checked.iter().map(name).collect::<Vec<_>>(), &findings))?;
    }
    if !args.json {
        if args.github {
            output::write(&reports::github(&findings))?;
        }
        let of = |level| findings.iter().filter(|finding| finding.level == level).count();
        let (errors, warnings) = (of(Level::Error), of(Level::Warning));
        output::line(&format!(
            "{}: {}, {}",
            counted(files.len(), "file"),
            counted(errors, "error"),
            counted(warnings, "warning")
        ))?;
    }
    outcome(&checked)
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Checks the files, several at once; the result is in their order.
pub(crate) fn check(reading: &Reading, files: &[PathBuf]) -> Vec<Checked> {
    let check = |path: &PathBuf| {
        let source = reading.source_at(path, None);
        let outcome =
            source.and_then(|source| Compiler::global().check_source(&source).map_err(Failure::Compile));
        let has_errors = outcome.as_ref().map_or(true, Diagnostics::has_errors);
        Checked { path: path.clone(), outcome, has_errors }
    };
    files.par_iter().map(check).collect()
}

/// Removes diagnostics that an earlier file has.
fn leave_out_known(checked: &mut [Checked]) {
    let mut known = BTreeSet::new();
    for diagnostics in checked.iter_mut().filter_map(|file| file.outcome.as_mut().ok()) {
        let Diagnostics { map, list } = diagnostics;
        let is_new = |diagnostic: &Diagnostic| match map.region(diagnostic.span) {
            Some(region) => {
                let file = files::normal(Path::new(region.file));
                let place = (file, region.start.line, region.start.column);
                known.insert((place, diagnostic.id, diagnostic.message.clone()))
            }
            None => true,
        };
        list.retain(is_new);
    }
}

/// Prints what was found to stderr, each diagnostic once.
pub(crate) fn tell(checked: &mut [Checked]) {
    leave_out_known(checked);
    for file in checked {
        match &file.outcome {
            Ok(diagnostics) => eprint!("{}", diagnostics.render_text(stderr_has_colour())),
            Err(failure) => eprintln!("error: {}: {}", file.path.display(), failure.message()),
        }
    }
}

/// All of it as one value.
pub(crate) fn to_json(checked: &[Checked]) -> Value {
    let failed = checked.iter().filter(|file| file.has_errors).count();
    json!({
        "files": checked.iter().map(|file| file_to_json(&file.path, &file.outcome)).collect::<Vec<_>>(),
        "checked": checked.len(),
        "failed": failed,
    })
}

fn file_to_json(path: &Path, outcome: &Result<Diagnostics, Failure>) -> Value {
    let mut object = json!({ "file": path, "status": "failed", "diagnostics": [], "error": null });
    match outcome {
        Ok(diagnostics) => add_outcome(&mut object, diagnostics),
        Err(failure) => object["error"] = failure.to_json(),
    }
    object
}

/// Adds what was found in a file.
pub(crate) fn add_outcome(object: &mut Value, diagnostics: &Diagnostics) {
    object["status"] = json!(if diagnostics.has_errors() { "failed" } else { "ok" });
    object["diagnostics"] =
        serde_json::from_str(&diagnostics.render_json()).expect("rendered diagnostics are JSON");
}

/// The exit code of what was found.
pub(crate) fn outcome(checked: &[Checked]) -> Result<(), Failure> {
    let is_bug = |file: &Checked| match &file.outcome {
        Err(Failure::Compile(error)) => !error.is_user_error(),
        _ => false,
    };
    match checked.iter().any(|file| file.has_errors) {
        true => Err(Failure::Told(if checked.iter().any(is_bug) { 4 } else { 1 })),
        false => Ok(()),
    }
}

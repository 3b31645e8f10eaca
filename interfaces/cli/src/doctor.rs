//! `anymetal doctor`: checks of this machine, or of a program, with advice where a check fails.
//!
//! Each part of the machine has a file that returns [`Finding`]s, which this file prints. Invariant: no check
//! changes anything, except that the check of the cache makes and removes a file there.

mod cache;
mod compiler;
mod device;
mod finding;
mod host;
mod isolation;
mod program;
mod settings;

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::output;
use finding::{Finding, State};

/// Check this machine.
///
/// Looks at devices, LLVM, the cache, limits of the process, settings and sensors, and compiles, runs and
/// verifies a kernel on each device. Each line is ok, a warning or a problem, with what to do. Exit code 4 if
/// a device fails.
///
/// With --program, checks a program written for Metal's API instead, without running it: which functions,
/// classes and methods it uses, and which of them anymetal lacks. Exit code 3 if there are any.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  anymetal doctor\n  anymetal doctor --json\n  anymetal doctor --program ./a.out"
)]
pub(crate) struct DoctorArgs {
    /// Check an ELF file (executable, library or object) or a script that uses Metal's API
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

/// Does it.
pub(crate) fn doctor(args: &DoctorArgs) -> Result<(), Failure> {
    if let Some(path) = &args.program {
        return doctor_program(args, path);
    }
    let (devices, all_work) = device::check();
    let mut findings = devices;
    findings.push(compiler::check());
    findings.push(isolation::check());
    findings.extend(cache::check());
    findings.extend(host::Host::of(&PathBuf::from("/")).check());
    findings.extend(settings::check());
    if args.json {
        output::json(&to_json(&findings, all_work))?
    } else {
        text(&findings)?
    }
    if all_work { Ok(()) } else { Err(Failure::Told(4)) }
}

fn doctor_program(args: &DoctorArgs, path: &Path) -> Result<(), Failure> {
    let findings = program::check(path)?;
    if args.json {
        output::json(&json!({
            "program": path.display().to_string(),
            "missing": count(&findings, State::Problem),
            "checks": checks_to_json(&findings),
        }))?
    } else {
        text(&findings)?
    }
    if count(&findings, State::Problem) == 0 { Ok(()) } else { Err(Failure::Told(3)) }
}

fn text(findings: &[Finding]) -> Result<(), Failure> {
    let mut part = "";
    for finding in findings {
        if finding.part != part {
            part = finding.part;
            output::line(part)?;
        }
        output::line(&format!("  {:8} {}: {}", finding.state.word(), finding.name, finding.value))?;
        if let Some(advice) = &finding.advice {
            output::line(&format!("           {advice}"))?;
        }
    }
    let [warnings, problems] = [State::Warning, State::Problem].map(|state| count(findings, state));
    output::line(&format!("{} checks, {warnings} warnings, {problems} problems", findings.len()))
}

fn count(findings: &[Finding], state: State) -> usize {
    findings.iter().filter(|finding| finding.state == state).count()
}

fn checks_to_json(findings: &[Finding]) -> Vec<Value> {
    let check = |finding: &Finding| {
        json!({
            "part": finding.part,
            "name": finding.name,
            "state": finding.state.word(),
            "value": finding.value,
            "advice": finding.advice,
        })
    };
    findings.iter().map(check).collect()
}

fn to_json(findings: &[Finding], all_work: bool) -> Value {
    json!({
        "devices_work": all_work,
        "warnings": count(findings, State::Warning),
        "problems": count(findings, State::Problem),
        "checks": checks_to_json(findings),
    })
}

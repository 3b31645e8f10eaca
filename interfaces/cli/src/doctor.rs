//! `anymetal doctor`: whether this machine is ready, and what to do where it is not.
//!
//! Each part of the machine has a file that gives [`Finding`]s; this one prints them. Invariant: no check
//! changes anything, except that the one of the cache makes and removes a file there.

mod cache;
mod compiler;
mod device;
mod finding;
mod host;
mod isolation;
mod settings;

use std::path::PathBuf;

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
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  anymetal doctor\n  anymetal doctor --json")]
pub(crate) struct DoctorArgs {
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

/// Does it.
pub(crate) fn doctor(args: &DoctorArgs) -> Result<(), Failure> {
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

fn to_json(findings: &[Finding], all_work: bool) -> Value {
    let checks = findings.iter().map(|finding| {
        json!({
            "part": finding.part,
            "name": finding.name,
            "state": finding.state.word(),
            "value": finding.value,
            "advice": finding.advice,
        })
    });
    json!({
        "devices_work": all_work,
        "warnings": count(findings, State::Warning),
        "problems": count(findings, State::Problem),
        "checks": checks.collect::<Vec<_>>(),
    })
}

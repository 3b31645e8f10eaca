//! Compiling kernels down to device code, several at once.

use std::collections::BTreeSet;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use anymetal_driver::hal::artifact::{Effort, KernelInfo};
use anymetal_driver::{CompileError, Library, Specialisation, Target};
use indicatif::{ProgressBar, ProgressStyle};
use rayon::prelude::*;
use serde_json::{Value, json};

use super::CompileArgs;
use super::stand_in::StandIns;
use crate::failure::{Failure, stderr_has_colour};
use crate::output;

/// Different diagnostics shown; many instantiations of one template fail alike.
const MAX_SHOWN: usize = 20;

/// What became of one kernel.
struct Compiled {
    name: String,
    time: Duration,
    /// The bytes of its code, and the effort that it was compiled with.
    outcome: Result<(usize, Effort), CompileError>,
}

/// Compiles the kernels for the target; `check` refuses some before.
pub(crate) fn compile(
    args: &CompileArgs,
    library: &Library,
    kernels: &[String],
    target: Target,
    check: impl Fn(&str, &Specialisation) -> Result<(), CompileError> + Sync,
) -> Result<(), Failure> {
    let mut specialisation = args.specialisation();
    specialisation.ignore_unknown_constants = args.kernel.is_none();
    let stand_ins = StandIns::default();
    let bar = progress(kernels.len());
    let compile = |name: &String| {
        let start = Instant::now();
        let outcome = stand_ins.fill(&specialisation, |given| {
            check(name, given)?;
            let artifact = library.artifact(name, given, target)?;
            let effort = artifact.kernel(name).map_or(Effort::Full, KernelInfo::effort);
            Ok((artifact.code.len(), effort))
        });
        bar.inc(1);
        Compiled { name: name.clone(), time: start.elapsed(), outcome }
    };
    let compiled: Vec<Compiled> = kernels.par_iter().map(compile).collect();
    bar.finish_and_clear();
    stand_ins.report();
    report_warnings(library, &compiled);
    let failures: Vec<(&str, &CompileError)> = compiled
        .iter()
        .filter_map(|kernel| Some((kernel.name.as_str(), kernel.outcome.as_ref().err()?)))
        .collect();
    report(&failures);
    let summary = format!("{} compiled, {} failed", compiled.len() - failures.len(), failures.len());
    if args.json {
        output::json(&json!({
            "kernels": compiled.iter().map(to_json).collect::<Vec<Value>>(),
            "compiled": compiled.len() - failures.len(),
            "failed": failures.len(),
        }))?;
    } else {
        if args.kernel.is_some() || !args.all {
            compiled.iter().try_for_each(|kernel| match &kernel.outcome {
                Ok((bytes, _)) => {
                    output::line(&format!("{}: {bytes} bytes in {:.1?}", kernel.name, kernel.time))
                }
                Err(_) => Ok(()),
            })?;
        }
        output::line(&summary)?;
    }
    match failures.first() {
        None => Ok(()),
        // The input is at fault only if nothing else is.
        Some(_) => {
            Err(Failure::Told(if failures.iter().all(|(_, error)| error.is_user_error()) { 1 } else { 4 }))
        }
    }
}

/// With `--json` there is an object even if nothing could be read.
pub(crate) fn report_no_library(failure: Failure) -> Result<(), Failure> {
    output::json(&json!({ "kernels": [], "compiled": 0, "failed": 0, "error": failure.to_json() }))?;
    Err(failure)
}

/// Tells each different diagnostic once, with the kernels that it concerns.
fn report(failures: &[(&str, &CompileError)]) {
    let mut told: Vec<(String, Vec<&str>)> = Vec::new();
    for (name, error) in failures {
        let text = error.render_text(stderr_has_colour());
        match told.iter_mut().find(|(known, _)| *known == text) {
            Some((_, names)) => names.push(name),
            None => told.push((text, vec![name])),
        }
    }
    for (text, names) in told.iter().take(MAX_SHOWN) {
        let shown = names.iter().take(5).copied().collect::<Vec<&str>>().join(", ");
        let more = names.len().saturating_sub(5);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        eprintln!("{}\nfailed: {shown}{more}\n", text.trim_end());
    }
    if told.len() > MAX_SHOWN {
        eprintln!("({} more different failures)", told.len() - MAX_SHOWN);
    }
}

/// Prints each warning about the kernels once; many kernels share functions.
fn report_warnings(library: &Library, kernels: &[Compiled]) {
    let mut told = BTreeSet::new();
    for kernel in kernels.iter().filter(|kernel| kernel.outcome.is_ok()) {
        // With many kernels, those whose code is cached are not parsed for their warnings.
        let warnings = match kernels {
            [only] => library.kernel_warnings(&only.name).unwrap_or_default(),
            _ => library.reported_warnings(&kernel.name),
        };
        for warning in warnings.split_inclusive("\n\n") {
            // An instance of a template differs from others in its notes only.
            let place = warning.lines().take(2).collect::<Vec<&str>>().join("\n");
            if told.insert(place) {
                eprint!("{warning}");
            }
        }
    }
}

fn to_json(kernel: &Compiled) -> Value {
    let mut object = json!({
        "name": kernel.name,
        "status": if kernel.outcome.is_ok() { "ok" } else { "failed" },
        "time_ns": kernel.time.as_nanos() as u64,
        "code_bytes": null,
        "effort": null,
        "error": null,
    });
    match &kernel.outcome {
        Ok((bytes, effort)) => {
            object["code_bytes"] = json!(bytes);
            object["effort"] = json!(effort.word());
        }
        Err(error) => {
            let diagnostics = serde_json::from_str(&error.render_json()).unwrap_or(Value::Null);
            object["error"] =
                json!({ "id": error.id(), "message": error.to_string(), "diagnostics": diagnostics });
        }
    }
    object
}

/// A bar on a terminal, nothing otherwise.
fn progress(kernels: usize) -> ProgressBar {
    if kernels < 2 || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("compiling {wide_bar} {pos}/{len} kernels, {eta} left");
    let bar = ProgressBar::new(kernels as u64);
    style.map(|style| bar.clone().with_style(style)).unwrap_or(bar)
}

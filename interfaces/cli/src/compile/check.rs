//! Checking all functions of many files, without code.

use std::path::Path;

use anymetal_driver::{Compiler, Diagnostics};
use rayon::prelude::*;
use serde_json::{Value, json};

use crate::failure::{Failure, stderr_has_colour};
use crate::output;
use crate::source_file::SourceFile;

/// Checks the files, several at once, and reports in the order given.
pub(crate) fn check(options: &SourceFile, files: &[&Path], as_json: bool) -> Result<(), Failure> {
    let check = |path: &&Path| {
        let source = options.source_at(path, None)?;
        Compiler::global().check_source(&source).map_err(Failure::Compile)
    };
    let checked: Vec<Result<Diagnostics, Failure>> = files.par_iter().map(check).collect();
    let failed =
        checked.iter().filter(|outcome| outcome.as_ref().map_or(true, Diagnostics::has_errors)).count();
    if as_json {
        let entry = |(path, outcome): (&&Path, &Result<Diagnostics, Failure>)| to_json(path, outcome);
        output::json(&json!({
            "files": files.iter().zip(&checked).map(entry).collect::<Vec<Value>>(),
            "checked": files.len(),
            "failed": failed,
        }))?;
    } else {
        for (path, outcome) in files.iter().zip(&checked) {
            match outcome {
                Ok(diagnostics) => eprint!("{}", diagnostics.render_text(stderr_has_colour())),
                Err(failure) => eprintln!("{}: {}", path.display(), failure.message()),
            }
        }
        output::line(&format!("{} checked, {failed} with errors", files.len()))?;
    }
    let is_bug = |outcome: &Result<Diagnostics, Failure>| match outcome {
        Err(Failure::Compile(error)) => !error.is_user_error(),
        _ => false,
    };
    match failed {
        0 => Ok(()),
        _ => Err(Failure::Told(if checked.iter().any(is_bug) { 4 } else { 1 })),
    }
}

fn to_json(path: &Path, outcome: &Result<Diagnostics, Failure>) -> Value {
    let mut object = json!({ "file": path, "status": "failed", "diagnostics": [], "error": null });
    match outcome {
        Ok(diagnostics) => add_outcome(&mut object, diagnostics),
        Err(failure) => object["error"] = failure.to_json(),
    }
    object
}

/// Adds what was found in a file.
pub(super) fn add_outcome(object: &mut Value, diagnostics: &Diagnostics) {
    object["status"] = json!(if diagnostics.has_errors() { "failed" } else { "ok" });
    object["diagnostics"] = serde_json::from_str(&diagnostics.render_json()).unwrap_or(Value::Null);
}

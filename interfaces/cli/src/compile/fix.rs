//! `--fix`: changes the given files as their diagnostics say, where that needs no judgement.
//!
//! Invariants: a file gets all changes of a round or none, and is not changed if it is not what was checked.
//! Only the files that the command line names are changed, not those that they include.

use std::io::Write;
use std::path::{Path, PathBuf};

use anymetal_driver::{Compiler, Diagnostics, Fixes, Source, apply_fixes};
use serde_json::{Value, json};

use crate::failure::{Failure, stderr_has_colour};
use crate::source_file::{self, SourceFile};
use crate::{lint, output};

/// Errors of the parser hide others, so that a file is checked again after each round of changes.
const MAX_ROUNDS: usize = 8;

/// The outcome for one file.
struct Fixed {
    path: PathBuf,
    /// Diagnostics that were mended.
    applied: usize,
    /// Diagnostics whose changes could not be made, in the last round.
    left_out: usize,
    /// The changes, as JSON.
    edits: Vec<Value>,
    /// What remains.
    rest: Diagnostics,
}

/// Mends the files one after the other, and reports what remains wrong with them.
pub(crate) fn fix(options: &SourceFile, files: &[PathBuf], as_json: bool) -> Result<(), Failure> {
    if let Some(foreign) = files.iter().find(|path| Source::is_foreign(path)) {
        let message = format!("--fix changes sources in Metal, which {} is not", foreign.display());
        return Err(Failure::Usage(message));
    }
    let fixed = files.iter().map(|path| fix_file(options, path)).collect::<Result<Vec<Fixed>, Failure>>()?;
    let failed = fixed.iter().filter(|file| file.rest.has_errors()).count();
    if as_json {
        let files: Vec<Value> = fixed.iter().map(to_json).collect();
        output::json(&json!({ "files": files, "checked": fixed.len(), "failed": failed }))?;
    } else {
        for file in &fixed {
            eprint!("{}", file.rest.render_text(stderr_has_colour()));
        }
        let (applied, left_out) = fixed
            .iter()
            .fold((0, 0), |(applied, left_out), file| (applied + file.applied, left_out + file.left_out));
        if left_out > 0 {
            eprintln!("note: {left_out} changes were left out, because they overlap others or are in macros");
        }
        let checked = fixed.len();
        output::line(&format!("{checked} checked, {failed} with errors, {applied} diagnostics fixed"))?;
    }
    if failed > 0 { Err(Failure::Told(1)) } else { Ok(()) }
}

fn fix_file(options: &SourceFile, path: &Path) -> Result<Fixed, Failure> {
    let (mut applied, mut edits) = (0, Vec::new());
    for round in 1.. {
        let source = options.source_at(path, None)?.with_all_errors();
        let rest = Compiler::global().check_source(&source).map_err(Failure::Compile)?;
        let name = path.display().to_string();
        let fixes = apply_fixes(&rest.map, &rest.list, |file| file == name);
        if fixes.files.is_empty() || round > MAX_ROUNDS {
            let left_out = fixes.left_out;
            return Ok(Fixed { path: path.to_owned(), applied, left_out, edits, rest });
        }
        write_changes(path, &rest, &fixes)?;
        applied += fixes.applied;
        edits.extend(edits_of(&rest, &fixes, round));
    }
    unreachable!("the last round returns")
}

/// Replaces the file, if it still has the text that was checked.
fn write_changes(path: &Path, checked: &Diagnostics, fixes: &Fixes) -> Result<(), Failure> {
    let [fixed] = &fixes.files[..] else { unreachable!("only the file that was checked is changed") };
    let old = &checked.map.file(fixed.file).expect("the changed file was checked").text;
    let refuse = |reason: &str| Failure::Input(format!("cannot change {}: {reason}", path.display()));
    if source_file::read(path)? != old.as_bytes() {
        return Err(refuse("it is not the text that was checked, or not UTF-8"));
    }
    let failed = |error: std::io::Error| refuse(&error.to_string());
    // A link stays one: the file that it leads to is replaced.
    let target = std::fs::canonicalize(path).map_err(failed)?;
    let folder = target.parent().expect("a file is in a folder");
    let mut new = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    new.write_all(fixed.text.as_bytes()).map_err(failed)?;
    let permissions = std::fs::metadata(&target).map_err(failed)?.permissions();
    new.as_file().set_permissions(permissions).map_err(failed)?;
    new.persist(&target).map_err(|error| failed(error.error))?;
    Ok(())
}

fn edits_of(checked: &Diagnostics, fixes: &Fixes, round: usize) -> Vec<Value> {
    let mut edits = Vec::new();
    for fixed in &fixes.files {
        let file = checked.map.file(fixed.file).expect("the changed file was checked");
        for edit in &fixed.edits {
            let (from, to) = (file.line_col(edit.span.lo), file.line_col(edit.span.hi));
            edits.push(json!({
                "round": round, "line": from.line, "column": from.column,
                "end_line": to.line, "end_column": to.column, "text": edit.text,
            }));
        }
    }
    edits
}

fn to_json(file: &Fixed) -> Value {
    let mut object = json!({
        "file": file.path, "fixed": file.applied, "left_out": file.left_out, "edits": file.edits,
    });
    lint::add_outcome(&mut object, &file.rest);
    object
}

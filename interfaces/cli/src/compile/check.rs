//! Checking all functions of many files, without code: `lint` without folders and reports.

use std::path::PathBuf;

use crate::failure::Failure;
use crate::source_file::SourceFile;
use crate::{lint, output};

/// Checks the files, several at once, and reports in the order given.
pub(crate) fn check(options: &SourceFile, files: &[PathBuf], as_json: bool) -> Result<(), Failure> {
    options.reading().report_unknown_options();
    let mut checked = lint::check(options.reading(), files);
    if as_json {
        output::json(&lint::to_json(&checked))?;
    } else {
        let failed = checked.iter().filter(|file| file.has_errors).count();
        lint::tell(&mut checked);
        output::line(&format!("{} checked, {failed} with errors", files.len()))?;
    }
    lint::outcome(&checked)
}

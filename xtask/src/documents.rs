//! Rules on the documents: decisions are numbered, dated and listed; links and mentioned documents exist.
//!
//! [`check`] runs them all on the files that [`crate::tidy`] has read. A finding reads
//! `path:line: what is wrong`.

mod decisions;
mod links;

use std::path::Path;

use crate::source_tree::SourceFile;

/// Everything that breaks a rule on documents.
pub(crate) fn check(root: &Path, files: &[SourceFile]) -> Vec<String> {
    let mut findings = decisions::check(files);
    findings.extend(links::check(files, &|path| root.join(path).exists()));
    findings
}

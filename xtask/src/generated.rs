//! Documents made from tables in the source: `cargo xtask gen` writes them, `tidy` compares them.

use std::path::Path;
use std::process::ExitCode;

use crate::source_tree::{SourceFile, text_files};
use crate::{coverage, diagnostics, environment, passes};

/// Makes a document's text from the files of the repository.
type Make = fn(&[SourceFile]) -> String;

/// Each document with what makes its text.
const DOCUMENTS: &[(&str, Make)] = &[
    ("docs/diagnostics.md", |_| diagnostics::document()),
    ("docs/environment.md", |_| environment::document()),
    ("docs/language-coverage.md", coverage::document),
    ("docs/passes.md", |_| passes::document()),
    ("docs/telemetry.md", |_| anymetal_telemetry::names::document::document()),
];

/// Writes all documents.
pub(crate) fn write(root: &Path) -> ExitCode {
    let files = match text_files(root) {
        Ok(files) => files,
        Err(error) => {
            eprintln!("the source tree cannot be read: {error}");
            return ExitCode::FAILURE;
        }
    };
    for (path, make) in DOCUMENTS {
        if let Err(error) = std::fs::write(root.join(path), make(&files)) {
            eprintln!("{path}: {error}");
            return ExitCode::FAILURE;
        }
        println!("wrote {path}");
    }
    ExitCode::SUCCESS
}

/// The documents that are not what their tables say.
pub(crate) fn check(files: &[SourceFile]) -> Vec<String> {
    let current = |path: &str, text: &str| files.iter().any(|file| file.path == path && file.text == text);
    let stale = DOCUMENTS.iter().filter(|(path, make)| !current(path, &make(files)));
    stale.map(|(path, _)| format!("{path}: out of date; run `cargo xtask gen`")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stale_document_is_found() {
        let file = |path: &str, text: String| SourceFile { path: path.to_owned(), text };
        let mut files: Vec<SourceFile> = DOCUMENTS.iter().map(|(path, make)| file(path, make(&[]))).collect();
        assert!(check(&files).is_empty());
        files[0].text = "# Diagnostics\n".to_owned();
        let found = check(&files);
        assert!(found.len() == 1 && found[0].contains("xtask gen"), "{found:?}");
    }
}

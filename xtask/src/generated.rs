//! Documents made from tables in the source: `cargo xtask gen` writes them, `tidy` compares them.

use std::path::Path;
use std::process::ExitCode;

use crate::layers::diagram;
use crate::ledger::results::Results;
use crate::source_tree::{SourceFile, text_files};
use crate::{coverage, diagnostics, environment, explanations, limits, passes};

/// Makes a document's text from the repository at a path and its files.
type Make = fn(&Path, &[SourceFile]) -> Result<String, String>;

/// Each document with what makes its text.
const DOCUMENTS: &[(&str, Make)] = &[
    (diagram::DOCUMENT, diagram::document),
    ("docs/diagnostics.md", |_, _| Ok(diagnostics::document())),
    ("docs/environment.md", |_, _| Ok(environment::document())),
    ("docs/language-coverage.md", |_, files| Ok(coverage::document(files))),
    ("docs/reference/limits.md", |_, files| Ok(limits::document(files))),
    ("docs/reference/passes.md", |root, files| Ok(passes::document(&Results::read(root)?, files))),
    (explanations::DOCUMENT, |_, files| Ok(explanations::document(files))),
    ("docs/telemetry.md", |_, _| Ok(anymetal_telemetry::names::document::document())),
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
        let text = make(root, &files);
        let written = text.and_then(|text| std::fs::write(root.join(path), text).map_err(|e| e.to_string()));
        if let Err(error) = written {
            eprintln!("{path}: {error}");
            return ExitCode::FAILURE;
        }
        println!("wrote {path}");
    }
    ExitCode::SUCCESS
}

/// The documents that differ from what their tables make.
pub(crate) fn check(root: &Path, files: &[SourceFile]) -> Vec<String> {
    let problem = |(path, make): &(&str, Make)| match make(root, files) {
        Ok(text) if files.iter().any(|file| file.path == *path && file.text == text) => None,
        Ok(_) => Some(format!("{path}: out of date; run `cargo xtask gen`")),
        Err(error) => Some(format!("{path}: {error}")),
    };
    DOCUMENTS.iter().filter_map(problem).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stale_document_is_found() {
        let root = crate::workspace_root();
        let mut files = text_files(&root).expect("the workspace is readable");
        assert_eq!(check(&root, &files), Vec::<String>::new());
        for (path, _) in DOCUMENTS {
            let file = files.iter_mut().find(|file| file.path == *path).expect("each document exists");
            let text = std::mem::take(&mut file.text);
            let found = check(&root, &files);
            assert!(found.len() == 1 && found[0].starts_with(path), "{path}: {found:?}");
            files.iter_mut().find(|file| file.path == *path).expect("as above").text = text;
        }
    }
}

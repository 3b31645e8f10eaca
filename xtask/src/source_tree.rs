//! The files of the repository, found by walking it, so that an exported copy without history works.

use std::path::{Path, PathBuf};

/// One text file.
#[derive(Debug)]
pub(crate) struct SourceFile {
    /// From the root, with `/` between the parts.
    pub(crate) path: String,
    pub(crate) text: String,
}

/// What holds no source (a linked checkout has a file of the first name): build output, history, reports.
/// Kept in step with `.gitignore`.
const SKIPPED: &[&str] = &[".git", "target", "anymetal-report", "fuzz/artifacts", "fuzz/corpus"];

/// Every UTF-8 file, sorted by path. Other files (images, arrays) are not looked into.
pub(crate) fn text_files(root: &Path) -> std::io::Result<Vec<SourceFile>> {
    let mut files = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(root.join(&folder))? {
            let entry = entry?;
            let path = folder.join(entry.file_name());
            let kind = entry.file_type()?;
            let shown = path.to_string_lossy().replace('\\', "/");
            if kind.is_dir() && !is_skipped(&shown) {
                folders.push(path);
            } else if kind.is_file()
                && !is_skipped(&shown)
                && let Ok(text) = String::from_utf8(std::fs::read(entry.path())?)
            {
                files.push(SourceFile { path: shown, text });
            }
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

/// A single name is skipped anywhere, a path only there.
fn is_skipped(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    SKIPPED.iter().any(|skipped| if skipped.contains('/') { path == *skipped } else { name == *skipped })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn build_output_is_skipped() {
        assert!(is_skipped("target") && is_skipped("fuzz/target") && is_skipped(".git"));
        assert!(is_skipped("fuzz/corpus") && !is_skipped("testing/corpus") && !is_skipped("compiler/llvm"));
    }

    #[test]
    fn this_file_is_found() {
        let files = text_files(&crate::workspace_root()).expect("the workspace is readable");
        assert!(files.iter().any(|file| file.path == "xtask/src/source_tree.rs"));
    }
}

//! The files that are checked, and the names that reports have for them.

use std::path::{Component, Path, PathBuf};

use ignore::WalkBuilder;

use crate::failure::Failure;

/// The endings of files that are taken from folders.
const ENDINGS: [&str; 1] = ["metal"];

/// The files named, and those of folders, in the order of their paths; each once.
pub(super) fn collect(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut all = Vec::new();
    for path in paths {
        let from = all.len();
        if path.is_dir() {
            for entry in WalkBuilder::new(path).require_git(false).sort_by_file_path(Path::cmp).build() {
                let entry = entry.map_err(|error| Failure::Input(format!("cannot read {error}")))?;
                let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
                let ending = entry.path().extension().and_then(|ending| ending.to_str());
                if is_file && ending.is_some_and(|ending| ENDINGS.contains(&ending)) {
                    all.push(without_dot(entry.path()));
                }
            }
            if all.len() == from {
                let message = format!("there is no .metal file in the folder {}", path.display());
                return Err(Failure::Input(message));
            }
        } else if path.exists() {
            all.push(path.clone());
        } else {
            return Err(Failure::Input(format!("there is no file or folder {}", path.display())));
        }
    }
    let mut known = std::collections::HashSet::new();
    all.retain(|path| known.insert(path.clone()));
    Ok(all)
}

/// `./a` as `a`.
fn without_dot(path: &Path) -> PathBuf {
    path.strip_prefix(".").unwrap_or(path).to_owned()
}

/// The folder that names in reports are relative to: that of the Git repository that the current folder is
/// in, or the current folder.
pub(super) struct Root {
    current: PathBuf,
    root: PathBuf,
}

impl Root {
    pub(super) fn find() -> Self {
        let current = std::env::current_dir().unwrap_or_default();
        let root = current.ancestors().find(|folder| folder.join(".git").exists());
        Root { root: root.unwrap_or(&current).to_owned(), current }
    }

    /// A file's name in reports, with `/` between its parts. Names of the library's headers, and of files
    /// elsewhere, stay as they are.
    pub(super) fn name(&self, file: &str) -> String {
        if file.starts_with('<') {
            return file.to_owned();
        }
        let path = normal(&self.current.join(file));
        let name = path.strip_prefix(&self.root).unwrap_or(&path);
        name.display().to_string().replace('\\', "/")
    }
}

/// Without `.` and `..`, as far as the text of the path says.
pub(super) fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            part => normal.push(part),
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_start_at_the_root_of_the_repository() {
        let root = Root { current: "/r/kernels".into(), root: "/r".into() };
        let names = ["a.metal", "./a.metal", "../b.h", "/r/x/../c.h", "/elsewhere/d.h", "<metal_stdlib>"];
        let expected =
            ["kernels/a.metal", "kernels/a.metal", "b.h", "c.h", "/elsewhere/d.h", "<metal_stdlib>"];
        assert_eq!(names.map(|name| root.name(name)), expected);
    }
}

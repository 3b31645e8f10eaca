//! Files in OpenCL C and CUDA C++, with the files that they include.
//!
//! Owns [`ForeignSource`]. Invariant: files are read only below the folder of the source and the include
//! folders.

use std::path::{Path, PathBuf};

use anymetal_diagnostics::{Diagnostic, Span};
use anymetal_files::MAX_SOURCE_BYTES;
use anymetal_files::roots::{NotFound, Roots};

use crate::{Options, Translation, cuda_to_msl, opencl_to_msl};

/// A source in another language than MSL.
#[derive(Clone, Debug)]
pub struct ForeignSource<'a> {
    /// Its name, whose extension decides the language.
    pub path: &'a Path,
    /// Its folder, from which it includes files; `None`: text in memory, which includes from `includes` only.
    pub folder: Option<&'a Path>,
    /// Folders of files that it includes.
    pub includes: &'a [PathBuf],
    /// Kernels with template arguments that are to be there.
    pub kernels: &'a [String],
}

impl ForeignSource<'_> {
    /// Whether it is one, by its name.
    pub fn is_foreign(path: &Path) -> bool {
        path.extension().is_some_and(|extension| extension == "cl" || extension == "cu")
    }

    /// The MSL of its text.
    pub fn translated(&self, bytes: &[u8], options: &Options) -> Translation {
        let (name, source) = (self.path.display().to_string(), String::from_utf8_lossy(bytes));
        let mut refused = Vec::new();
        let includes = &mut |name: &str, _: bool, from: &str| self.included(name, from, &mut refused);
        let mut translation = match self.path.extension() {
            Some(extension) if extension == "cu" => {
                cuda_to_msl(&name, &source, includes, self.kernels, options)
            }
            _ => opencl_to_msl(&name, &source, includes, options),
        };
        translation.diagnostics.extend(refused);
        translation
    }

    /// A file in the folder of the including file, or in an include folder. A refused file is left out with a
    /// warning, like headers of the host that are not found.
    fn included(&self, name: &str, from: &str, refused: &mut Vec<Diagnostic>) -> Option<(String, String)> {
        let include_folders = || self.includes.iter().map(PathBuf::as_path);
        let roots: Vec<&Path> =
            self.folder.map(folder_of_name).into_iter().chain(include_folders()).collect();
        let beside = match Path::new(from) {
            own if own == self.path => self.folder,
            included => included.parent(),
        };
        let beside = beside.map(folder_of_name);
        let allowed = Roots::new(roots.iter().copied());
        let shown = || roots.iter().map(|root| root.display().to_string()).collect::<Vec<_>>().join(", ");
        let mut first_refusal = None;
        for folder in beside.into_iter().chain(include_folders()) {
            let path = folder.join(name);
            let (id, message) = match allowed.read(folder, Path::new(name), MAX_SOURCE_BYTES) {
                Ok(found) => {
                    let text = String::from_utf8_lossy(&found.bytes).into_owned();
                    return Some((path.display().to_string(), text));
                }
                Err(NotFound::Absent) => continue,
                Err(NotFound::Outside) => {
                    ("include-outside-roots", "is outside of the include folders".to_owned())
                }
                Err(NotFound::Refused(error)) => {
                    ("unreadable-include", format!("cannot be read: {}", error.reason()))
                }
            };
            let message = format!("`{}`, which {from} includes, {message}", path.display());
            let diagnostic = Diagnostic::warning(id, Span::NONE, message);
            first_refusal.get_or_insert(
                diagnostic.with_note(Span::NONE, format!("files are read below: {}", shown())),
            );
        }
        refused.extend(first_refusal);
        None
    }
}

/// A folder as it is read: that of a name alone is the working folder.
fn folder_of_name(folder: &Path) -> &Path {
    if folder.as_os_str().is_empty() { Path::new(".") } else { folder }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_in_memory_includes_from_include_folders_only() {
        let translated = |folder: Option<&Path>, includes: &[PathBuf]| {
            let source = ForeignSource { path: Path::new("k.cl"), folder, includes, kernels: &[] };
            source.translated(b"#include \"Cargo.toml\"\n__kernel void k() { }\n", &Options::default()).text
        };
        // The tests' working folder is that of the crate.
        let includes_it = |text: String| text.contains("anymetal-diagnostics");
        assert!(includes_it(translated(Some(Path::new("")), &[])));
        assert!(includes_it(translated(Some(Path::new(".")), &[])));
        assert!(includes_it(translated(None, &[PathBuf::from(".")])));
        assert!(!includes_it(translated(None, &[])));
    }
}

//! Files in OpenCL C and CUDA C++, with the files that they include.
//!
//! Owns [`ForeignSource`]. Invariant: files are read only below the folder of the source and the include
//! folders.

use std::path::{Path, PathBuf};

use anymetal_diagnostics::{Diagnostic, Span};
use anymetal_files::MAX_SOURCE_BYTES;
use anymetal_files::roots::{NotFound, Roots};

use crate::{Options, Translation, cuda_to_msl, opencl_to_msl};

/// A file in another language than MSL.
#[derive(Clone, Copy, Debug)]
pub struct ForeignSource<'a> {
    /// Its file.
    pub path: &'a Path,
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

    /// The MSL of a text of that file. The extension decides the language.
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
        let folder_of = |path: &Path| match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
            _ => PathBuf::from("."),
        };
        let (own, beside) = (folder_of(self.path), folder_of(Path::new(from)));
        let roots: Vec<&Path> =
            std::iter::once(own.as_path()).chain(self.includes.iter().map(PathBuf::as_path)).collect();
        let allowed = Roots::new(roots.iter().copied());
        let shown = || roots.iter().map(|root| root.display().to_string()).collect::<Vec<_>>().join(", ");
        let mut first_refusal = None;
        for folder in std::iter::once(beside.as_path()).chain(self.includes.iter().map(PathBuf::as_path)) {
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

//! Public kernels: where cargo put them.
//!
//! The package `testing/corpora` names the crates; `cargo metadata` downloads and locates them.
//! Invariant: files come back sorted, so that tables and test lists are stable.

use cargo_metadata::MetadataCommand;
use std::path::{Path, PathBuf};

/// A Metal source file of a crate.
#[derive(Clone, Debug)]
pub struct CorpusFile {
    /// The crate.
    pub package: &'static str,
    /// The path within the crate, from the folder named in [`CORPORA`].
    pub name: String,
    /// Where it is on this machine.
    pub path: PathBuf,
    /// Folders its `#include`s need, beside its own.
    pub include_dirs: Vec<PathBuf>,
}

/// A crate with Metal sources.
#[derive(Debug)]
pub struct Corpus {
    /// The crate's name.
    pub package: &'static str,
    /// The folder of the sources.
    pub folder: &'static str,
    /// Include folders, from the crate's root.
    pub includes: &'static [&'static str],
    /// Files that are included by others and are no programs of their own.
    pub fragments: &'static [&'static str],
}

/// The crates that are tested.
pub const CORPORA: &[Corpus] = &[
    Corpus {
        package: "candle-metal-kernels",
        folder: "src/metal_src",
        includes: &[],
        fragments: &["utils.metal"],
    },
    Corpus {
        package: "llama-cpp-sys-2",
        folder: "llama.cpp/ggml/src/ggml-metal/kernels",
        includes: &["llama.cpp/ggml/src", "llama.cpp/ggml/src/ggml-metal"],
        fragments: &["fa_common.metal", "fa_vec_common.metal"],
    },
    Corpus { package: "metal", folder: "examples/compute", includes: &[], fragments: &[] },
    Corpus {
        package: "whisper-rs-sys",
        folder: "whisper.cpp/ggml/src/ggml-metal",
        includes: &["whisper.cpp/ggml/src", "whisper.cpp/ggml/src/ggml-metal"],
        fragments: &[],
    },
];

/// Why the corpora could not be found.
#[derive(Debug)]
pub enum CorpusError {
    /// `cargo metadata` failed (no network and nothing downloaded, perhaps).
    Cargo(cargo_metadata::Error),
    /// The crate is not among the dependencies.
    Missing(&'static str),
    /// A folder could not be read.
    Folder(PathBuf, std::io::Error),
}

impl std::fmt::Display for CorpusError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Cargo(error) => write!(f, "cargo metadata of testing/corpora failed: {error}"),
            Self::Missing(package) => write!(f, "testing/corpora does not depend on `{package}`"),
            Self::Folder(path, error) => write!(f, "cannot read {}: {error}", path.display()),
        }
    }
}

impl std::error::Error for CorpusError {}

/// All programs of the given crate, sorted by name.
pub fn files(package: &str) -> Result<Vec<CorpusFile>, CorpusError> {
    let corpus = CORPORA.iter().find(|c| c.package == package).ok_or(CorpusError::Missing("unknown"))?;
    let root = package_root(corpus.package)?;
    let folder = root.join(corpus.folder);
    let entries = std::fs::read_dir(&folder).map_err(|error| CorpusError::Folder(folder.clone(), error))?;
    let mut files: Vec<CorpusFile> = entries
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "metal"))
        .filter_map(|path| {
            let name = path.file_name()?.to_str()?.to_owned();
            (!corpus.fragments.contains(&name.as_str())).then(|| CorpusFile {
                package: corpus.package,
                name,
                path,
                include_dirs: corpus.includes.iter().map(|dir| root.join(dir)).collect(),
            })
        })
        .collect();
    files.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(files)
}

/// Where cargo keeps the crate's sources.
fn package_root(package: &'static str) -> Result<PathBuf, CorpusError> {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpora/Cargo.toml");
    let metadata = MetadataCommand::new()
        .manifest_path(manifest)
        .other_options(vec!["--locked".to_owned()])
        .exec()
        .map_err(CorpusError::Cargo)?;
    let found = metadata.packages.iter().find(|p| p.name.as_str() == package);
    let manifest = found.ok_or(CorpusError::Missing(package))?.manifest_path.as_std_path();
    Ok(manifest.parent().unwrap_or(manifest).to_path_buf())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candle_has_its_sixteen_programs() {
        let files = files("candle-metal-kernels").expect("cargo finds candle's sources");
        assert_eq!(files.len(), 16, "{files:?}");
    }
}

//! Finds included files on disk and records every look.
//!
//! Owns [`FileIncludes`] and [`Probe`]. Invariant: the probes of a parse are all that its result depends on
//! besides the source itself. A file that was looked for and not found is a probe too: if it appears later,
//! it comes before the one that was found.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use anymetal_msl::pp::{IncludeLoader, IncludedFile};
use serde::{Deserialize, Serialize};

use crate::key::{Key, KeyBuilder};
use crate::source::Source;

/// Larger files are not read; the preprocessor has the same limit.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// One look for a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Probe {
    /// Where.
    pub(crate) path: PathBuf,
    /// The hash of the contents, in hexadecimal; `None`: no readable file.
    pub(crate) content: Option<String>,
}

impl Probe {
    /// Whether the same would be found now.
    pub(crate) fn still_holds(&self) -> bool {
        content_hash(read(&self.path).as_deref()) == self.content
    }
}

/// Stands for a source and everything it includes.
pub(crate) fn content_key(source: &Key, probes: &[Probe]) -> Key {
    let key = KeyBuilder::new("library").field(source.as_bytes()).number(probes.len() as u64);
    let add = |key: KeyBuilder, probe: &Probe| {
        key.field(probe.path.as_os_str().as_encoded_bytes()).field(probe.content.as_deref().unwrap_or("none"))
    };
    probes.iter().fold(key, add).finish()
}

/// Looks in the including file's folder, then in the include folders.
#[derive(Debug)]
pub(crate) struct FileIncludes {
    main_folder: Option<PathBuf>,
    include_folders: Vec<PathBuf>,
    /// Everything looked at, so that one parse sees one state of each file.
    seen: BTreeMap<PathBuf, Option<String>>,
    probes: Vec<Probe>,
}

impl FileIncludes {
    pub(crate) fn new(source: &Source) -> Self {
        FileIncludes {
            main_folder: source.folder.clone(),
            include_folders: source.options.include_folders.clone(),
            seen: BTreeMap::new(),
            probes: Vec::new(),
        }
    }

    /// Every look so far, in order.
    pub(crate) fn into_probes(self) -> Vec<Probe> {
        self.probes
    }

    fn text(&mut self, path: &Path) -> Option<String> {
        if let Some(known) = self.seen.get(path) {
            return known.clone();
        }
        let bytes = read(path);
        self.probes.push(Probe { path: path.to_owned(), content: content_hash(bytes.as_deref()) });
        let text = bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        self.seen.insert(path.to_owned(), text.clone());
        text
    }

    /// Files that were included have their path as their name; everything else is the source itself.
    fn folder_of(&self, from: &str) -> Option<PathBuf> {
        let path = Path::new(from);
        let included = self.seen.get(path).is_some_and(Option::is_some);
        if included { path.parent().map(Path::to_owned) } else { self.main_folder.clone() }
    }
}

impl IncludeLoader for FileIncludes {
    fn load(&mut self, name: &str, angled: bool, from: &str) -> Option<IncludedFile> {
        let beside = if angled { None } else { self.folder_of(from) };
        let folders: Vec<PathBuf> = beside.into_iter().chain(self.include_folders.iter().cloned()).collect();
        for folder in folders {
            // `join` takes an absolute name as it is.
            let path = folder.join(name);
            if let Some(text) = self.text(&path) {
                return Some(IncludedFile { name: path.to_string_lossy().into_owned(), text });
            }
        }
        None
    }

    fn searched(&self) -> Vec<String> {
        let folders = self.main_folder.iter().chain(&self.include_folders);
        folders.map(|folder| folder.display().to_string()).collect()
    }
}

/// The bytes of a regular file of a sensible size. Devices and pipes might never end.
fn read(path: &Path) -> Option<Vec<u8>> {
    let metadata = std::fs::metadata(path).ok()?;
    if !metadata.is_file() || metadata.len() > MAX_FILE_BYTES {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(MAX_FILE_BYTES).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

fn content_hash(bytes: Option<&[u8]>) -> Option<String> {
    bytes.map(|bytes| Key::of_bytes(bytes).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::SourceOptions;

    fn source(folder: &Path, include_folders: &[PathBuf]) -> Source {
        let options = SourceOptions { include_folders: include_folders.to_vec(), ..SourceOptions::default() };
        Source::from_file(&folder.join("main.metal"), Vec::new(), options)
    }

    #[test]
    fn the_including_files_folder_comes_first_and_missing_files_are_probes() {
        let folder = tempfile::tempdir().unwrap();
        let (inner, other) = (folder.path().join("inner"), folder.path().join("other"));
        std::fs::create_dir_all(&inner).unwrap();
        std::fs::create_dir_all(&other).unwrap();
        std::fs::write(inner.join("a.h"), "a").unwrap();
        std::fs::write(inner.join("b.h"), "beside a").unwrap();
        std::fs::write(other.join("b.h"), "in the include folder").unwrap();
        let mut includes = FileIncludes::new(&source(folder.path(), std::slice::from_ref(&other)));
        let a = includes.load("inner/a.h", false, "main.metal").unwrap();
        assert_eq!(includes.load("b.h", false, &a.name).unwrap().text, "beside a");
        assert_eq!(includes.load("b.h", true, &a.name).unwrap().text, "in the include folder");
        assert_eq!(includes.load("b.h", false, "main.metal").unwrap().text, "in the include folder");
        assert!(includes.load("c.h", false, "main.metal").is_none());
        let probes = includes.into_probes();
        assert!(probes.iter().all(Probe::still_holds));
        std::fs::write(folder.path().join("b.h"), "now here").unwrap();
        let changed: Vec<&Probe> = probes.iter().filter(|probe| !probe.still_holds()).collect();
        assert_eq!(changed.len(), 1);
        assert_eq!(changed[0].path, folder.path().join("b.h"));
    }

    #[test]
    fn folders_and_devices_are_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let mut includes = FileIncludes::new(&source(folder.path(), &[]));
        assert!(includes.load(".", false, "main.metal").is_none());
        assert!(includes.load("/dev/zero", false, "main.metal").is_none());
    }
}

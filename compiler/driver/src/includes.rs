//! Finds included files on disk and records every look-up.
//!
//! Owns [`FileIncludes`] and [`Probe`]. Invariants: the probes of a parse are all that its result depends on
//! besides the source itself. A look-up that found no file is a probe: a file that
//! appears there later takes precedence. Only files below the include roots are read ([`Roots`]): the
//! source's own folder and the include folders.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anymetal_files::MAX_SOURCE_BYTES;
use anymetal_files::roots::{Found, NotFound, Roots};
use anymetal_msl::pp::{IncludeLoader, IncludedFile, NotLoaded};
use serde::{Deserialize, Serialize};

use crate::key::{Key, KeyBuilder};
use crate::source::Source;

/// Largest total size of the files that one parse loads; the preprocessor has the same limit for those that
/// it enters.
const MAX_TOTAL_BYTES: u64 = 256 << 20;

/// One look-up of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Probe {
    /// The folder in which the name was looked up, without symbolic links.
    pub(crate) folder: PathBuf,
    /// The name in the directive.
    pub(crate) name: String,
    /// The hash of the contents, in hexadecimal; `None`: no readable file.
    pub(crate) content: Option<String>,
}

impl Probe {
    /// Whether the same would be found now.
    pub(crate) fn still_holds(&self, roots: &Roots) -> bool {
        let found = roots.read(&self.folder, Path::new(&self.name), MAX_SOURCE_BYTES);
        content_hash(found.as_ref().ok()) == self.content
    }
}

/// The folders below which a source may read files.
pub(crate) fn roots_of(source: &Source) -> Roots {
    Roots::new(source.folder.iter().chain(&source.options.include_folders).map(PathBuf::as_path))
}

/// Stands for a source and everything it includes.
pub(crate) fn content_key(source: &Key, probes: &[Probe]) -> Key {
    let key = KeyBuilder::new("library").field(source.as_bytes()).number(probes.len() as u64);
    let add = |key: KeyBuilder, probe: &Probe| {
        key.field(probe.folder.as_os_str().as_encoded_bytes())
            .field(&probe.name)
            .field(probe.content.as_deref().unwrap_or("none"))
    };
    probes.iter().fold(key, add).finish()
}

/// Looks in the including file's folder, then in the include folders.
#[derive(Debug)]
pub(crate) struct FileIncludes {
    roots: Roots,
    main_folder: Option<Folder>,
    include_folders: Vec<Folder>,
    /// Every look-up so far, so that one parse sees one state of each file.
    seen: BTreeMap<(PathBuf, String), Result<Loaded, NotLoaded>>,
    /// The folders of the included files, by the names under which they were handed out.
    folders_of_files: BTreeMap<String, Folder>,
    total_bytes: u64,
    probes: Vec<Probe>,
}

/// A folder to look in.
#[derive(Debug, Clone)]
struct Folder {
    /// As messages name it: relative if the user's paths are.
    shown: PathBuf,
    /// Without symbolic links.
    real: PathBuf,
}

impl Folder {
    /// A folder that does not exist keeps its path; nothing is found in it.
    fn new(path: &Path) -> Self {
        let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        Folder { shown: path.to_owned(), real }
    }
}

#[derive(Debug, Clone)]
struct Loaded {
    text: String,
    /// The folder that the name was found in.
    folder: PathBuf,
}

impl FileIncludes {
    pub(crate) fn new(source: &Source) -> Self {
        FileIncludes {
            roots: roots_of(source),
            main_folder: source.folder.as_deref().map(Folder::new),
            include_folders: source.options.include_folders.iter().map(|path| Folder::new(path)).collect(),
            seen: BTreeMap::new(),
            folders_of_files: BTreeMap::new(),
            total_bytes: 0,
            probes: Vec::new(),
        }
    }

    /// Every look-up so far, in order.
    pub(crate) fn probes(&self) -> &[Probe] {
        &self.probes
    }

    /// Every look-up so far, in order.
    pub(crate) fn into_probes(self) -> Vec<Probe> {
        self.probes
    }

    fn look_up(&mut self, folder: &Folder, name: &str) -> Result<Loaded, NotLoaded> {
        let key = (folder.real.clone(), name.to_owned());
        if let Some(known) = self.seen.get(&key) {
            return known.clone();
        }
        let found = self.roots.read(&folder.real, Path::new(name), MAX_SOURCE_BYTES);
        let content = content_hash(found.as_ref().ok());
        self.probes.push(Probe { folder: folder.real.clone(), name: name.to_owned(), content });
        let path = || folder.shown.join(name).display().to_string();
        let loaded = match found {
            Ok(found) => self.load_within_total(found, path),
            Err(NotFound::Absent) => Err(NotLoaded::Missing),
            Err(NotFound::Outside) => Err(NotLoaded::OutsideRoots { path: path() }),
            Err(NotFound::Refused(error)) => {
                Err(NotLoaded::Unreadable { path: path(), reason: error.reason() })
            }
        };
        self.seen.insert(key, loaded.clone());
        loaded
    }

    fn load_within_total(
        &mut self,
        found: Found,
        path: impl FnOnce() -> String,
    ) -> Result<Loaded, NotLoaded> {
        self.total_bytes = self.total_bytes.saturating_add(found.bytes.len() as u64);
        if self.total_bytes > MAX_TOTAL_BYTES {
            let reason = format!("the included files together have more than {MAX_TOTAL_BYTES} bytes");
            return Err(NotLoaded::Unreadable { path: path(), reason });
        }
        let text = String::from_utf8_lossy(&found.bytes).into_owned();
        Ok(Loaded { text, folder: found.folder })
    }

    /// The folders in which a name in the file `from` is looked up, in order.
    fn folders(&self, angled: bool, from: &str) -> Vec<Folder> {
        // A name that was not handed out is that of the source itself.
        let beside = self.folders_of_files.get(from).or(self.main_folder.as_ref()).filter(|_| !angled);
        beside.into_iter().chain(&self.include_folders).cloned().collect()
    }
}

impl IncludeLoader for FileIncludes {
    fn load(&mut self, name: &str, angled: bool, from: &str) -> Result<IncludedFile, NotLoaded> {
        let mut folders = self.folders(angled, from);
        if Path::new(name).is_absolute() {
            // It means the same file in every folder, and in none.
            let root = PathBuf::from("/");
            folders = vec![Folder { shown: root.clone(), real: root }];
        }
        let mut refused = NotLoaded::Missing;
        for folder in folders {
            match self.look_up(&folder, name) {
                Ok(Loaded { text, folder: found_in }) => {
                    let path = folder.shown.join(name);
                    let shown = path.parent().unwrap_or(&folder.shown).to_owned();
                    let name = path.to_string_lossy().into_owned();
                    self.folders_of_files.insert(name.clone(), Folder { shown, real: found_in });
                    return Ok(IncludedFile { name, text });
                }
                // The first refusal is reported unless the file is found in a later folder.
                Err(reason) if refused == NotLoaded::Missing => refused = reason,
                Err(_) => {}
            }
        }
        Err(refused)
    }

    fn searched(&self) -> Vec<String> {
        let folders = self.main_folder.iter().chain(&self.include_folders);
        folders.map(|folder| folder.shown.display().to_string()).collect()
    }
}

fn content_hash(found: Option<&Found>) -> Option<String> {
    found.map(|found| Key::of_bytes(&found.bytes).to_string())
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
        assert_eq!(includes.load("c.h", false, "main.metal"), Err(NotLoaded::Missing));
        let (roots, probes) = (includes.roots.clone(), includes.into_probes());
        assert!(probes.iter().all(|probe| probe.still_holds(&roots)));
        std::fs::write(folder.path().join("b.h"), "now here").unwrap();
        let changed: Vec<&Probe> = probes.iter().filter(|probe| !probe.still_holds(&roots)).collect();
        assert_eq!(changed.len(), 1);
        let root = std::fs::canonicalize(folder.path()).unwrap();
        assert_eq!((&changed[0].folder, changed[0].name.as_str()), (&root, "b.h"));
    }

    #[test]
    fn files_outside_of_the_roots_are_refused_whether_they_exist_or_not() {
        let outer = tempfile::tempdir().unwrap();
        let (root, other) = (outer.path().join("root"), outer.path().join("other"));
        std::fs::create_dir_all(root.join("inner")).unwrap();
        std::fs::create_dir_all(&other).unwrap();
        std::fs::write(outer.path().join("secret"), "secret").unwrap();
        std::fs::write(other.join("c.h"), "c").unwrap();
        std::fs::write(root.join("inner/a.h"), "a").unwrap();
        let mut includes = FileIncludes::new(&source(&root, std::slice::from_ref(&other)));
        includes.load("inner/a.h", false, "main.metal").unwrap();
        let is_outside = |loaded| matches!(loaded, Err(NotLoaded::OutsideRoots { .. }));
        assert!(is_outside(includes.load("inner/../../secret", false, "main.metal")));
        for name in ["../secret", "../no-secret", "/etc/passwd", "/no/such/file"] {
            assert!(is_outside(includes.load(name, false, "main.metal")), "{name}");
            assert!(is_outside(includes.load(name, true, "main.metal")), "{name}");
        }
        // Probes of refused names do not look outside of the roots either.
        let roots = includes.roots.clone();
        assert_eq!(includes.load("../other/c.h", false, "main.metal").unwrap().text, "c");
        std::fs::write(outer.path().join("no-secret"), "now there").unwrap();
        assert!(includes.into_probes().iter().all(|probe| probe.still_holds(&roots)));
    }

    #[test]
    fn folders_and_devices_are_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let mut includes = FileIncludes::new(&source(folder.path(), &["/dev".into()]));
        for name in [".", "zero", "/dev/zero"] {
            let loaded = includes.load(name, false, "main.metal");
            assert!(matches!(loaded, Err(NotLoaded::Unreadable { .. })), "{name}: {loaded:?}");
        }
    }
}

//! `#include`d files of a corpus, read from disk: beside the including file, then in the include folders.

use anymetal_msl::pp::{IncludeLoader, IncludedFile, NotLoaded};
use std::path::{Path, PathBuf};

/// Finds included files in folders.
#[derive(Clone, Debug, Default)]
pub struct DiskIncludes {
    /// The folders, in the order of the search.
    pub folders: Vec<PathBuf>,
}

impl IncludeLoader for DiskIncludes {
    fn load(&mut self, name: &str, _angled: bool, from: &str) -> Result<IncludedFile, NotLoaded> {
        let beside = Path::new(from).parent().map(|folder| folder.join(name));
        let elsewhere = self.folders.iter().map(|folder| folder.join(name));
        let found = beside.into_iter().chain(elsewhere).find_map(|path| {
            let text = std::fs::read_to_string(&path).ok()?;
            Some(IncludedFile { name: path.to_string_lossy().into_owned(), text })
        });
        found.ok_or(NotLoaded::Missing)
    }

    fn searched(&self) -> Vec<String> {
        self.folders.iter().map(|folder| folder.display().to_string()).collect()
    }
}

//! Where the worker's executable is: named by the settings, next to the program or the library, or on the
//! path.

use std::path::{Path, PathBuf};

use crate::error::IsolationError;

/// The worker's name.
const NAME: &str = "anymetal";

/// The executable, or where it was looked for.
pub(crate) fn worker(named: Option<&Path>) -> Result<PathBuf, IsolationError> {
    let program = std::env::current_exe().ok();
    let library = library_of_this_code();
    let folders =
        [program, library].into_iter().flatten().filter_map(|file| file.parent().map(Path::to_owned));
    let path = std::env::var_os("PATH").unwrap_or_default();
    find(named, folders.chain(std::env::split_paths(&path).filter(|folder| folder.is_absolute())))
}

/// A named worker is taken or missing: another one would not be what the user requested.
fn find(named: Option<&Path>, folders: impl Iterator<Item = PathBuf>) -> Result<PathBuf, IsolationError> {
    let candidates: Vec<PathBuf> = match named {
        Some(named) => vec![named.to_owned()],
        None => folders.map(|folder| folder.join(NAME)).collect(),
    };
    let found = candidates.iter().find(|path| path.is_file()).cloned();
    found.ok_or(IsolationError::WorkerNotFound { tried: candidates })
}

/// The file that this function's code is mapped from: the program, or a library such as a Python extension.
fn library_of_this_code() -> Option<PathBuf> {
    let address = library_of_this_code as fn() -> Option<PathBuf> as usize;
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    maps.lines().find_map(|line| mapped_file(line, address))
}

/// The file of a line of `/proc/self/maps`, if the line is about that address.
fn mapped_file(line: &str, address: usize) -> Option<PathBuf> {
    let (from, rest) = line.split_once('-')?;
    let to = rest.split_once(' ')?.0;
    let [from, to] = [from, to].map(|text| usize::from_str_radix(text, 16).unwrap_or(0));
    let path = line.find('/').map(|at| PathBuf::from(&line[at..]))?;
    (from..to).contains(&address).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_worker_is_the_only_candidate() {
        let folder = tempfile::tempdir().unwrap();
        let worker = folder.path().join(NAME);
        std::fs::write(&worker, "").unwrap();
        let folders = || [PathBuf::from("/no/such/folder"), folder.path().to_owned()].into_iter();
        assert_eq!(find(None, folders()), Ok(worker));
        let missing = folder.path().join("missing");
        let tried = vec![missing.clone()];
        assert_eq!(find(Some(&missing), folders()), Err(IsolationError::WorkerNotFound { tried }));
    }

    #[test]
    fn this_code_is_of_the_test_program() {
        assert_eq!(library_of_this_code(), std::env::current_exe().ok());
    }
}

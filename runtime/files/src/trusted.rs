//! Files whose contents are executed or believed: only root and this user may be able to change them.
//!
//! The rule is that of ssh for keys: a file, its folder and all folders above belong to root or to the user
//! of this process, and neither group nor others can write them. A folder above may have the sticky bit
//! instead, as `/tmp` has. On systems without Unix permissions nothing is checked.
//!
//! Why there is no race between check and use: [`folder`] checks from the root of the file system downwards
//! and returns the path without symbolic links. Once a folder is found safe, no other user can exchange what
//! is in it, so the next one stays what it was when it was checked. [`open`] then checks the descriptor of
//! the file itself, without following a link.

use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};

use crate::error::{FileError, FileKind};
use crate::{check_kind, read_rest, system, text};

/// The path of a folder without symbolic links, if only root and this user can change the folder and those
/// above.
///
/// # Errors
/// [`FileError::Distrusted`] names the topmost folder that others can change.
pub fn folder(path: &Path) -> Result<PathBuf, FileError> {
    checked(path, false)
}

/// `holds_others`: whether the folder may be one with the sticky bit, because only those below it are used.
fn checked(path: &Path, holds_others: bool) -> Result<PathBuf, FileError> {
    let real = fs::canonicalize(path).map_err(FileError::system(path))?;
    let mut downwards: Vec<&Path> = real.ancestors().collect();
    downwards.reverse();
    for above in downwards {
        check_folder(above, holds_others || above != real)?;
    }
    Ok(real)
}

/// Checks one folder, not those above.
///
/// # Errors
/// As [`folder`]; a symbolic link is [`FileError::NotFolder`].
pub fn folder_alone(path: &Path) -> Result<(), FileError> {
    check_folder(path, false)
}

fn check_folder(path: &Path, holds_others: bool) -> Result<(), FileError> {
    let metadata = fs::symlink_metadata(path).map_err(FileError::system(path))?;
    match system::kind(metadata.file_type()) {
        FileKind::Folder => {}
        kind => return Err(FileError::NotFolder { path: path.to_owned(), kind }),
    }
    system::distrust(path, &metadata, holds_others).map_or(Ok(()), |found| Err(FileError::Distrusted(found)))
}

/// As [`folder`], and creates what is missing of it with access for this user only. Nothing is created below
/// a folder that others can change.
///
/// # Errors
/// As [`folder`].
pub fn create_folder(path: &Path) -> Result<PathBuf, FileError> {
    let absolute = std::path::absolute(path).map_err(FileError::system(path))?;
    if let Some(existing) = absolute.ancestors().find(|above| above.exists()) {
        checked(existing, existing != absolute)?;
    }
    system::create_private_folders(path).map_err(FileError::system(path))?;
    folder(path)
}

/// Opens a regular file that only root and this user can change for reading. A symbolic link is refused. The
/// folder is the caller's to check, with [`folder`].
///
/// # Errors
/// [`FileError::NotRegular`], [`FileError::Distrusted`].
pub fn open(path: &Path) -> Result<File, FileError> {
    open_with(path, File::options().read(true))
}

/// As [`open`], for appending; creates the file with access for this user only if there is none.
///
/// # Errors
/// As [`open`].
pub fn append(path: &Path) -> Result<File, FileError> {
    open_with(path, system::private(File::options().create(true).append(true)))
}

/// Creates a file that must not exist, with access for this user only.
///
/// # Errors
/// As [`open`].
pub fn create_new(path: &Path) -> Result<File, FileError> {
    open_with(path, system::private(File::options().create_new(true).write(true)))
}

/// Checks a file and the folders above it and reads it, within a bound on its size.
///
/// # Errors
/// As [`folder`] and [`open`]; [`FileError::TooLarge`].
pub fn read(path: &Path, most: u64) -> Result<Vec<u8>, FileError> {
    let real = below_trusted_folder(path)?;
    read_rest(path, &open(&real)?, most)
}

/// As [`read`], for UTF-8 text.
///
/// # Errors
/// As [`read`]; [`FileError::NotText`].
pub fn read_text(path: &Path, most: u64) -> Result<String, FileError> {
    text(path, read(path, most)?)
}

/// The path of a file with the real path of its folder, which is checked; the file itself is not.
///
/// # Errors
/// As [`folder`].
pub fn below_trusted_folder(path: &Path) -> Result<PathBuf, FileError> {
    let above = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = path
        .file_name()
        .ok_or_else(|| FileError::NotRegular { path: path.to_owned(), kind: FileKind::Folder })?;
    Ok(folder(above)?.join(name))
}

/// Reads the rest of a file that [`open`] opened, within a bound on its size.
///
/// # Errors
/// [`FileError::TooLarge`].
pub fn read_opened(path: &Path, file: &File, most: u64) -> Result<Vec<u8>, FileError> {
    read_rest(path, file, most)
}

fn open_with(path: &Path, options: &mut OpenOptions) -> Result<File, FileError> {
    let system = FileError::system(path);
    if let Ok(metadata) = fs::symlink_metadata(path) {
        check_kind(path, &metadata)?;
    }
    let file = system::nonblocking_without_links(options).open(path).map_err(&system)?;
    let metadata = file.metadata().map_err(&system)?;
    check_kind(path, &metadata)?;
    match system::distrust(path, &metadata, false) {
        Some(distrusted) => Err(FileError::Distrusted(distrusted)),
        None => Ok(file),
    }
}

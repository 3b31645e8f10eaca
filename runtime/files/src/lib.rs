//! Opens regular files, and files that no other user can write.
//!
//! Owns [`open`], [`read`] and [`read_text`] for every file that the crates read as a whole, [`append`] for
//! logs, [`roots`] for files that a source names, and [`trusted`] for files whose contents are executed or
//! believed. Invariants: opening never blocks
//! (a named pipe without a writer is refused, not waited for); the kind of file is checked on the opened
//! descriptor, so that a file exchanged after the check is not read; reading stops at the caller's bound even
//! if the file grows meanwhile.
#![forbid(unsafe_code)]

mod error;
pub mod roots;
#[cfg(unix)]
mod system;
#[cfg(not(unix))]
#[path = "system_other.rs"]
mod system;
pub mod trusted;

pub use error::{Distrusted, FileError, FileKind};

use std::fs::{self, File, OpenOptions};
use std::io::Read;
use std::path::Path;

/// The largest source file, included file or description that is read.
pub const MAX_SOURCE_BYTES: u64 = 64 << 20;

/// Opens a regular file for reading. Symbolic links are followed.
///
/// # Errors
/// [`FileError::NotRegular`] for folders, named pipes, sockets and devices, without waiting for them.
pub fn open(path: &Path) -> Result<File, FileError> {
    open_with(path, File::options().read(true))
}

/// Opens a regular file for appending, and creates it with access for its owner only if there is none.
///
/// # Errors
/// As [`open`].
pub fn append(path: &Path) -> Result<File, FileError> {
    open_with(path, system::private(File::options().create(true).append(true)))
}

/// Opens a regular file for writing and empties it, or creates it: for files that are read back.
///
/// # Errors
/// As [`open`].
pub fn create(path: &Path) -> Result<File, FileError> {
    let file = open_with(path, File::options().create(true).truncate(false).write(true))?;
    // Only now: what is not a regular file stays as it is.
    file.set_len(0).map_err(FileError::system(path))?;
    Ok(file)
}

/// Reads a regular file of at most `most` bytes.
///
/// # Errors
/// As [`open`]; [`FileError::TooLarge`].
pub fn read(path: &Path, most: u64) -> Result<Vec<u8>, FileError> {
    read_rest(path, &open(path)?, most)
}

/// As [`read`], for UTF-8 text.
///
/// # Errors
/// As [`read`]; [`FileError::NotText`].
pub fn read_text(path: &Path, most: u64) -> Result<String, FileError> {
    text(path, read(path, most)?)
}

/// As [`open`], without following a link as the last component.
fn open_without_links(path: &Path) -> Result<File, FileError> {
    if let Ok(metadata) = fs::symlink_metadata(path) {
        check_kind(path, &metadata)?;
    }
    open_checked(path, system::nonblocking_without_links(File::options().read(true)))
}

/// Opens a file with the given options if it is a regular one.
fn open_with(path: &Path, options: &mut OpenOptions) -> Result<File, FileError> {
    // Before opening, because that alone has an effect on some devices and on the other end of a pipe. The
    // check that counts is the one of the descriptor.
    if let Ok(metadata) = fs::metadata(path) {
        check_kind(path, &metadata)?;
    }
    open_checked(path, system::nonblocking(options))
}

fn open_checked(path: &Path, options: &mut OpenOptions) -> Result<File, FileError> {
    let system = FileError::system(path);
    let file = options.open(path).map_err(&system)?;
    check_kind(path, &file.metadata().map_err(&system)?)?;
    Ok(file)
}

fn check_kind(path: &Path, metadata: &fs::Metadata) -> Result<(), FileError> {
    match system::kind(metadata.file_type()) {
        FileKind::Regular => Ok(()),
        kind => Err(FileError::NotRegular { path: path.to_owned(), kind }),
    }
}

/// Reads the rest of an open file, within the bound.
fn read_rest(path: &Path, file: &File, most: u64) -> Result<Vec<u8>, FileError> {
    let system = FileError::system(path);
    let too_large = || FileError::TooLarge { path: path.to_owned(), most };
    let length = file.metadata().map_err(&system)?.len();
    if length > most {
        return Err(too_large());
    }
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
    // One byte more than the bound shows that the file grew beyond it.
    file.take(most.saturating_add(1)).read_to_end(&mut bytes).map_err(&system)?;
    if bytes.len() as u64 > most { Err(too_large()) } else { Ok(bytes) }
}

fn text(path: &Path, bytes: Vec<u8>) -> Result<String, FileError> {
    String::from_utf8(bytes).map_err(|_| FileError::NotText { path: path.to_owned() })
}

#[cfg(test)]
mod tests;

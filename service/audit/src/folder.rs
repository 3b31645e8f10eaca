//! The folder of a log: files of records in order, and the head.
//!
//! `audit-000000.jsonl`, `audit-000001.jsonl`, … hold the records. `audit.head` names the newest record: it
//! is what tells a log whose end was cut off from one that ended there. `audit.lock` is locked by the writer.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;

use anymetal_files::{FileError, trusted};
use serde::{Deserialize, Serialize};

use crate::durable;
use crate::error::AuditError;
use crate::log::Durability;
use crate::record::Digest;

const PREFIX: &str = "audit-";
const SUFFIX: &str = ".jsonl";
const HEAD: &str = "audit.head";
const LOCK: &str = "audit.lock";

/// The newest record of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// Its number.
    pub seq: u64,
    /// Its digest.
    pub digest: Digest,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct HeadFile {
    seq: u64,
    digest: String,
}

impl Head {
    fn to_text(self) -> String {
        let file = HeadFile { seq: self.seq, digest: self.digest.to_string() };
        // A number and a text can always be written.
        serde_json::to_string(&file).unwrap_or_default() + "\n"
    }

    /// Only the text that [`Head::to_text`] writes is accepted.
    fn from_text(text: &str) -> Option<Self> {
        let file: HeadFile = serde_json::from_str(text).ok()?;
        let head = Head { seq: file.seq, digest: Digest::parse(&file.digest)? };
        (head.to_text() == text).then_some(head)
    }
}

/// What the head file says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HeadState {
    Missing,
    Unreadable,
    Is(Head),
}

/// The name of the file of that number.
pub(crate) fn file_name(number: u32) -> String {
    format!("{PREFIX}{number:06}{SUFFIX}")
}

/// The numbers of the files in a folder, in order.
pub(crate) fn files(folder: &Path) -> io::Result<Vec<u32>> {
    let mut numbers = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        let number =
            name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?.parse().ok());
        // Other spellings of a number are other files.
        numbers.extend(number.filter(|&number| *name == *file_name(number)));
    }
    numbers.sort_unstable();
    Ok(numbers)
}

pub(crate) fn read_head(folder: &Path) -> HeadState {
    /// A head has about 90 bytes.
    const MAX_BYTES: u64 = 4096;
    let path = folder.join(HEAD);
    match anymetal_files::read_text(&path, MAX_BYTES) {
        Ok(text) => Head::from_text(&text).map_or(HeadState::Unreadable, HeadState::Is),
        Err(error) if error.is_absent() => HeadState::Missing,
        Err(_) => HeadState::Unreadable,
    }
}

pub(crate) fn write_head(folder: &Path, head: Head, durability: Durability) -> io::Result<()> {
    durable::replace(&folder.join(HEAD), head.to_text().as_bytes(), durability)
}

/// Creates the folder if there is none, and locks it until the file is dropped. A folder that another user
/// can change is refused: records could be replaced together with their chain.
pub(crate) fn lock(folder: &Path) -> Result<File, AuditError> {
    let unusable = |path: &Path, reason: String| AuditError::Unusable { path: path.to_owned(), reason };
    let refused = |path| move |error: FileError| unusable(path, error.reason());
    trusted::create_folder(folder).map_err(refused(folder))?;
    let path = folder.join(LOCK);
    let file = trusted::append(&path).map_err(refused(&path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(AuditError::InUse { path: folder.to_owned() }),
        Err(TryLockError::Error(error)) => Err(unusable(&path, error.to_string())),
    }
}

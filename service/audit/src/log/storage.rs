//! Where the bytes go: a folder, or what a test puts in its place.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anymetal_files::trusted;

use super::options::Durability;
use crate::durable;
use crate::folder::{self, Head};

/// What the writer needs of a disk.
pub(super) trait Storage: Send {
    /// Appends to the file of that number, and makes it if there is none. After an error the file is as it
    /// was before, or the next call makes it so.
    fn append(&mut self, file: u32, bytes: &[u8]) -> io::Result<()>;

    /// The bytes of a file; 0 if there is none.
    fn length(&mut self, file: u32) -> u64;

    /// Replaces the head.
    fn write_head(&mut self, head: Head) -> io::Result<()>;

    /// The numbers of all files, in order.
    fn files(&mut self) -> io::Result<Vec<u32>>;

    /// Number and digest of the newest record of a file.
    fn last_of(&mut self, file: u32) -> Option<Head>;

    /// Removes a file.
    fn remove(&mut self, file: u32) -> io::Result<()>;
}

/// The log's folder.
#[derive(Debug)]
pub(super) struct FolderStorage {
    folder: PathBuf,
    durability: Durability,
    /// The file that is appended to, with its number and its length in whole records.
    open: Option<(u32, File, u64)>,
    /// Bytes of a failed write may follow the length.
    torn: bool,
}

impl FolderStorage {
    pub(super) fn new(folder: &Path, durability: Durability) -> Self {
        FolderStorage { folder: folder.to_owned(), durability, open: None, torn: false }
    }

    fn path(&self, file: u32) -> PathBuf {
        self.folder.join(folder::file_name(file))
    }

    fn open(&mut self, number: u32) -> io::Result<()> {
        if self.open.as_ref().is_some_and(|(open, ..)| *open == number) {
            return Ok(());
        }
        let path = self.path(number);
        let file = trusted::append(&path)?;
        let length = file.metadata()?.len();
        if self.durability == Durability::Disk {
            durable::sync_folder_of(&path)?;
        }
        self.open = Some((number, file, length));
        self.torn = false;
        Ok(())
    }
}

impl Storage for FolderStorage {
    fn append(&mut self, number: u32, bytes: &[u8]) -> io::Result<()> {
        self.open(number)?;
        let Some((_, file, length)) = &mut self.open else { return Ok(()) };
        if self.torn {
            file.set_len(*length)?;
            self.torn = false;
        }
        let written = file.write_all(bytes).and_then(|()| match self.durability {
            Durability::Disk => file.sync_data(),
            Durability::System => Ok(()),
        });
        match written {
            Ok(()) => *length += bytes.len() as u64,
            // A full disk still lets a file become shorter; if not, the next call tries again.
            Err(_) => self.torn = file.set_len(*length).is_err(),
        }
        written
    }

    fn length(&mut self, file: u32) -> u64 {
        match &self.open {
            Some((open, _, length)) if *open == file => *length,
            _ => fs::metadata(self.path(file)).map_or(0, |metadata| metadata.len()),
        }
    }

    fn write_head(&mut self, head: Head) -> io::Result<()> {
        folder::write_head(&self.folder, head, self.durability)
    }

    fn files(&mut self) -> io::Result<Vec<u32>> {
        folder::files(&self.folder)
    }

    fn last_of(&mut self, file: u32) -> Option<Head> {
        crate::verify(&self.path(file)).last()
    }

    fn remove(&mut self, file: u32) -> io::Result<()> {
        fs::remove_file(self.path(file))
    }
}

//! Files that are either the old one or the new one, whatever happens meanwhile.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use anymetal_files::trusted;

use crate::log::Durability;

/// Replaces a file: writes beside it and renames, with [`Durability::Disk`] once the bytes are on the disk. A
/// reader sees the old file or the new one, never a part. One writer at a time.
pub(crate) fn replace(path: &Path, bytes: &[u8], durability: Durability) -> io::Result<()> {
    let on_disk = durability == Durability::Disk;
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".new");
    let temporary = Path::new(&temporary);
    let write = || {
        // Remove the remains of a failed write; never write through an existing link or pipe.
        match fs::remove_file(temporary) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = trusted::create_new(temporary)?;
        file.write_all(bytes)?;
        if on_disk {
            file.sync_all()?;
        }
        fs::rename(temporary, path)
    };
    let written = write();
    if written.is_err() {
        // What the failed write left; the next one replaces it anyway.
        let _ = fs::remove_file(temporary);
    }
    written?;
    if on_disk { sync_folder_of(path) } else { Ok(()) }
}

/// Waits until the names in the file's folder are on the disk.
#[cfg(unix)]
pub(crate) fn sync_folder_of(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}

/// Other systems have no such call for folders.
#[cfg(not(unix))]
pub(crate) fn sync_folder_of(_path: &Path) -> io::Result<()> {
    Ok(())
}

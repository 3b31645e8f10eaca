//! Files where there are no Unix permissions: folders of users are private there already.

use std::fs::{FileType, Metadata, OpenOptions};
use std::path::Path;

use crate::error::{Distrusted, FileKind};

/// Opening does not wait on these systems.
pub(crate) fn nonblocking(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

/// The caller checks the kind of file before it opens it.
pub(crate) fn nonblocking_without_links(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

/// The folder's permissions are inherited.
pub(crate) fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

/// The permissions of the folder above are inherited.
pub(crate) fn create_private_folders(folder: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)
}

pub(crate) fn kind(of: FileType) -> FileKind {
    match of {
        of if of.is_file() => FileKind::Regular,
        of if of.is_dir() => FileKind::Folder,
        of if of.is_symlink() => FileKind::Link,
        _ => FileKind::Other,
    }
}

/// Not checked.
pub(crate) fn distrust(_path: &Path, _metadata: &Metadata, _holds_others: bool) -> Option<Distrusted> {
    None
}

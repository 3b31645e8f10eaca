//! Flags, kinds and permissions of files on Unix.

use std::fs::{FileType, Metadata, OpenOptions};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;

use crate::error::{Distrusted, FileKind};

/// Opening a named pipe or a device with these flags does not wait for its other end, and does not make a
/// terminal the controlling one.
pub(crate) fn nonblocking(options: &mut OpenOptions) -> &mut OpenOptions {
    flags(options, OFlags::NONBLOCK | OFlags::NOCTTY)
}

/// As [`nonblocking`]; a symbolic link as the last component is an error.
pub(crate) fn nonblocking_without_links(options: &mut OpenOptions) -> &mut OpenOptions {
    flags(options, OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW)
}

fn flags(options: &mut OpenOptions, flags: OFlags) -> &mut OpenOptions {
    // The flags of the C interface are an `int`; none of these is its sign bit.
    options.custom_flags(flags.bits() as i32)
}

/// A new file is its owner's only.
pub(crate) fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    options.mode(0o600)
}

/// Creates a folder and its parents, which are the user's only.
pub(crate) fn create_private_folders(folder: &Path) -> std::io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

pub(crate) fn kind(of: FileType) -> FileKind {
    match of {
        of if of.is_file() => FileKind::Regular,
        of if of.is_dir() => FileKind::Folder,
        of if of.is_symlink() => FileKind::Link,
        of if of.is_fifo() => FileKind::Pipe,
        of if of.is_socket() => FileKind::Socket,
        of if of.is_char_device() => FileKind::CharacterDevice,
        of if of.is_block_device() => FileKind::BlockDevice,
        _ => FileKind::Other,
    }
}

/// Why another user can change a file or folder; `None` if only root and this user can.
///
/// `holds_others`: it is a folder above the one that is checked. Others may create files in such a folder if
/// its sticky bit keeps them from renaming and removing those of this user.
pub(crate) fn distrust(path: &Path, metadata: &Metadata, holds_others: bool) -> Option<Distrusted> {
    const WRITABLE_BY_OTHERS: u32 = 0o022;
    const STICKY: u32 = 0o1000;
    let (owner, mode) = (metadata.uid(), metadata.mode() & 0o7777);
    let is_of_other_user = owner != 0 && owner != rustix::process::geteuid().as_raw();
    let is_writable = mode & WRITABLE_BY_OTHERS != 0 && !(holds_others && mode & STICKY != 0);
    let distrusted = Distrusted { path: path.to_owned(), owner, mode, is_of_other_user };
    (is_of_other_user || is_writable).then_some(distrusted)
}

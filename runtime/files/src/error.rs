//! Why a file is not used.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// What a path refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileKind {
    /// A regular file.
    Regular,
    /// A folder.
    Folder,
    /// A symbolic link, where links are not followed.
    Link,
    /// A named pipe.
    Pipe,
    /// A socket.
    Socket,
    /// A character device such as a terminal.
    CharacterDevice,
    /// A block device such as a disk.
    BlockDevice,
    /// Anything else.
    Other,
}

impl fmt::Display for FileKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            FileKind::Regular => "a regular file",
            FileKind::Folder => "a folder",
            FileKind::Link => "a symbolic link",
            FileKind::Pipe => "a named pipe",
            FileKind::Socket => "a socket",
            FileKind::CharacterDevice => "a character device",
            FileKind::BlockDevice => "a block device",
            FileKind::Other => "a special file",
        })
    }
}

/// A file or folder that another user can change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Distrusted {
    /// The file or folder, which may be a parent of the requested one.
    pub path: PathBuf,
    /// The number of the user that owns it.
    pub owner: u32,
    /// Its permissions, including the sticky bit.
    pub mode: u32,
    /// Whether the owner is neither root nor the user of this process.
    pub is_of_other_user: bool,
}

impl Distrusted {
    /// The command that repairs it.
    pub fn repair(&self) -> String {
        let path = self.path.display();
        match self.is_of_other_user {
            true => format!("chown it to this user (`chown $(id -u) '{path}'`) or name another place"),
            false => format!("run `chmod go-w '{path}'`"),
        }
    }
}

impl Distrusted {
    /// What is wrong with it: path, owner and mode.
    pub fn fact(&self) -> String {
        let Distrusted { path, owner, mode, is_of_other_user } = self;
        let rule =
            if *is_of_other_user { "belongs to another user" } else { "can be written by other users" };
        format!("{} {rule} (owner {owner}, mode {mode:04o})", path.display())
    }
}

impl fmt::Display for Distrusted {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}; {}", self.fact(), self.repair())
    }
}

/// Why a file is not used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The system refuses.
    #[error("{}: {source}", .path.display())]
    System {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// It is not a regular file.
    #[error("{} is {kind}, not a regular file", .path.display())]
    NotRegular {
        /// The file.
        path: PathBuf,
        /// What it is.
        kind: FileKind,
    },
    /// It is not a folder.
    #[error("{} is {kind}, not a folder", .path.display())]
    NotFolder {
        /// The path.
        path: PathBuf,
        /// What it is.
        kind: FileKind,
    },
    /// It is larger than the caller accepts.
    #[error("{} has more than {most} bytes", .path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The largest accepted size in bytes.
        most: u64,
    },
    /// It is not UTF-8.
    #[error("{} is not UTF-8 text", .path.display())]
    NotText {
        /// The file.
        path: PathBuf,
    },
    /// Another user can change it.
    #[error("{0}")]
    Distrusted(Distrusted),
}

impl FileError {
    pub(crate) fn system(path: &Path) -> impl Fn(io::Error) -> FileError {
        |source| FileError::System { path: path.to_owned(), source }
    }

    /// The reason without the path, for messages that already name it.
    pub fn reason(&self) -> String {
        match self {
            FileError::System { source, .. } => source.to_string(),
            FileError::NotRegular { kind, .. } => format!("it is {kind}, not a regular file"),
            FileError::NotFolder { kind, .. } => format!("it is {kind}, not a folder"),
            FileError::TooLarge { most, .. } => format!("it has more than {most} bytes"),
            FileError::NotText { .. } => "it is not UTF-8 text".to_owned(),
            FileError::Distrusted(distrusted) => distrusted.to_string(),
        }
    }

    /// Whether there is no such file. A file where a folder is expected counts.
    pub fn is_absent(&self) -> bool {
        match self {
            FileError::System { source, .. } => {
                matches!(source.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
            }
            FileError::NotFolder { kind, .. } => *kind == FileKind::Regular,
            _ => false,
        }
    }
}

impl From<FileError> for io::Error {
    /// The system's own error, or one whose text is the [reason](FileError::reason).
    fn from(error: FileError) -> Self {
        match error {
            FileError::System { source, .. } => source,
            other => io::Error::other(other.reason()),
        }
    }
}

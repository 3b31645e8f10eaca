//! A session's file, in TOML or JSON by its ending.
//!
//! The file has a version, the session, and the BLAKE3 hash of the session's JSON text, by which a damaged
//! file is known. A file that is damaged or of a later version is renamed to `NAME.corrupt-N`.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use anymetal_files::{FileError, trusted};
use serde::{Deserialize, Serialize};

use super::{Session, TuningValue};
use crate::durable;
use crate::log::Durability;
use crate::record::Digest;

/// The version that this code writes, and the latest that it reads.
const VERSION: u64 = 1;
/// Larger files are not read.
const MAX_BYTES: u64 = 64 << 20;
/// Names that are tried for a damaged file.
const MAX_SET_ASIDE: u32 = 10_000;

/// Why a session could not be saved or restored. What a file contains is never the reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The file's ending is neither `.toml` nor `.json`.
    #[error("{} is no session file: its name ends in .toml or .json", path.display())]
    UnknownFormat {
        /// The file.
        path: PathBuf,
    },
    /// A file that cannot be read, written or renamed.
    #[error("the session file {} cannot be {action}: {reason}", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// `read`, `written` or `set aside`.
        action: &'static str,
        /// What the system says.
        reason: String,
    },
    /// A value that the file cannot hold.
    #[error("the session cannot be written: {what} is {value}, and {rule}")]
    Unwritable {
        /// The value's name.
        what: String,
        /// The value.
        value: String,
        /// What must hold.
        rule: &'static str,
    },
}

/// A session as it was found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Restored {
    /// The session; empty if there was no file, or if it was set aside.
    pub session: Session,
    /// The file that was set aside.
    pub set_aside: Option<SetAside>,
}

/// A file that was renamed because it cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetAside {
    /// Its name now.
    pub path: PathBuf,
    /// What is wrong with it.
    pub reason: SetAsideReason,
}

/// What is wrong with a session's file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SetAsideReason {
    /// It is of a later version.
    #[error("it is of version {found}, and this program reads up to {VERSION}")]
    LaterVersion {
        /// Its version.
        found: u64,
    },
    /// It has another form.
    #[error("it is no session file: {0}")]
    Malformed(String),
    /// It is not what its hash was made of.
    #[error("it was changed after it was written")]
    Changed,
    /// It is too large.
    #[error("it has more than 64 MiB")]
    TooLarge,
    /// It is a folder, a named pipe or another special file.
    #[error("{0}")]
    NotRegular(String),
}

impl fmt::Display for SetAside {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "the session file was set aside as {}: {}; starting without it",
            self.path.display(),
            self.reason
        )
    }
}

#[derive(Serialize)]
struct Document<'a> {
    version: u64,
    digest: String,
    session: &'a Session,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadDocument {
    #[serde(rename = "version")]
    _version: u64,
    digest: String,
    session: Session,
}

/// Of a file of any version.
#[derive(Deserialize)]
struct AnyDocument {
    version: u64,
}

#[derive(Clone, Copy)]
enum Format {
    Toml,
    Json,
}

impl Format {
    fn of(path: &Path) -> Result<Self, SessionError> {
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("toml") => Ok(Format::Toml),
            Some("json") => Ok(Format::Json),
            _ => Err(SessionError::UnknownFormat { path: path.to_owned() }),
        }
    }

    fn read<T: serde::de::DeserializeOwned>(self, text: &str) -> Result<T, SetAsideReason> {
        match self {
            Format::Toml => toml::from_str(text).map_err(|error| error.message().to_owned()),
            Format::Json => serde_json::from_str(text).map_err(|error| error.to_string()),
        }
        .map_err(SetAsideReason::Malformed)
    }
}

impl Session {
    /// Writes the file: whole and on the disk, or not at all.
    ///
    /// # Errors
    /// A file that cannot be written; a number that is not finite or above 2⁶³.
    pub fn save(&self, path: &Path) -> Result<(), SessionError> {
        let format = Format::of(path)?;
        self.check()?;
        let document = Document { version: VERSION, digest: digest(self)?, session: self };
        let text = match format {
            Format::Toml => toml::to_string_pretty(&document).map_err(|error| error.to_string()),
            Format::Json => serde_json::to_string_pretty(&document).map_err(|error| error.to_string()),
        };
        let unusable = |reason| SessionError::Unusable { path: path.to_owned(), action: "written", reason };
        let text = text.map_err(unusable)?;
        durable::replace(path, text.as_bytes(), Durability::Disk).map_err(|error| unusable(error.to_string()))
    }

    /// Reads the file. If there is none, or it cannot be used, the session is empty; a file that cannot be
    /// used is renamed, so that saving does not overwrite it.
    ///
    /// # Errors
    /// A file that cannot be read or renamed.
    pub fn restore(path: &Path) -> Result<Restored, SessionError> {
        let format = Format::of(path)?;
        let reason = match read(path, format)? {
            None => return Ok(Restored::default()),
            Some(Ok(session)) => return Ok(Restored { session, set_aside: None }),
            Some(Err(reason)) => reason,
        };
        let path = set_aside(path)?;
        Ok(Restored { session: Session::default(), set_aside: Some(SetAside { path, reason }) })
    }

    /// Refuses what a file would not give back.
    fn check(&self) -> Result<(), SessionError> {
        let constants = self.pipelines.iter().flat_map(|pipeline| &pipeline.constants);
        for (name, value) in self.tuning.iter().chain(constants) {
            if let TuningValue::Float(number) = value
                && !number.is_finite()
            {
                let (what, value) = (format!("`{name}`"), number.to_string());
                return Err(SessionError::Unwritable { what, value, rule: "numbers are finite" });
            }
        }
        match self.buffers.iter().find(|buffer| i64::try_from(buffer.bytes).is_err()) {
            Some(buffer) => Err(SessionError::Unwritable {
                what: format!("the size of buffer `{}`", buffer.label),
                value: buffer.bytes.to_string(),
                rule: "sizes are below 2^63",
            }),
            None => Ok(()),
        }
    }
}

/// The hash of the session's JSON text: the same for both formats.
fn digest(session: &Session) -> Result<String, SessionError> {
    match serde_json::to_vec(session) {
        Ok(text) => Ok(Digest::of(&text).to_string()),
        Err(error) => Err(SessionError::Unwritable {
            what: "the session".to_owned(),
            value: error.to_string(),
            rule: "it has a JSON form",
        }),
    }
}

/// The file's session, or why it cannot be used; `None` if there is no file.
fn read(path: &Path, format: Format) -> Result<Option<Result<Session, SetAsideReason>>, SessionError> {
    match trusted::read(path, MAX_BYTES) {
        Ok(bytes) => Ok(Some(parse(&bytes, format))),
        Err(error) if error.is_absent() => Ok(None),
        Err(FileError::TooLarge { .. }) => Ok(Some(Err(SetAsideReason::TooLarge))),
        Err(error @ FileError::NotRegular { .. }) => {
            Ok(Some(Err(SetAsideReason::NotRegular(error.reason()))))
        }
        Err(error) => {
            Err(SessionError::Unusable { path: path.to_owned(), action: "read", reason: error.reason() })
        }
    }
}

fn parse(bytes: &[u8], format: Format) -> Result<Session, SetAsideReason> {
    let malformed = |reason: String| SetAsideReason::Malformed(reason);
    let text = std::str::from_utf8(bytes).map_err(|error| malformed(error.to_string()))?;
    let AnyDocument { version } = format.read(text)?;
    if version > VERSION {
        return Err(SetAsideReason::LaterVersion { found: version });
    }
    let document: ReadDocument = format.read(text)?;
    match digest(&document.session) {
        Ok(found) if found == document.digest => Ok(document.session),
        _ => Err(SetAsideReason::Changed),
    }
}

/// Renames the file to the first free name.
fn set_aside(path: &Path) -> Result<PathBuf, SessionError> {
    let unusable =
        |reason: String| SessionError::Unusable { path: path.to_owned(), action: "set aside", reason };
    for number in 1..=MAX_SET_ASIDE {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".corrupt-{number}"));
        let aside = PathBuf::from(name);
        if fs::symlink_metadata(&aside).is_ok() {
            continue;
        }
        return match fs::rename(path, &aside) {
            Ok(()) => Ok(aside),
            Err(error) => Err(unusable(error.to_string())),
        };
    }
    Err(unusable(format!("{MAX_SET_ASIDE} files were set aside before; remove them")))
}

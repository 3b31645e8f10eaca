//! What verifying found.

use std::fmt;

use crate::folder::Head;
use crate::record::Digest;

/// What holds of a log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    pub(super) files: Vec<CheckedFile>,
    pub(super) last: Option<Head>,
    pub(super) notes: Vec<Note>,
    pub(super) broken: Option<Broken>,
    /// Of the records, in order; only what [`Report::digest_of`] needs.
    pub(super) digests: Vec<(u64, Digest)>,
}

/// A file, up to the first record that does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedFile {
    /// Its name.
    pub name: String,
    /// Records that hold.
    pub records: u64,
    /// The number of the first; `None`: it has no record.
    pub first: Option<u64>,
    /// The number of the last.
    pub last: Option<u64>,
}

/// Something that a reader should know although the chain holds.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Note {
    /// Records before this one were removed as the options say, and a later record says so.
    Removed {
        /// The newest removed record.
        through: u64,
    },
    /// A file ends in a part of a record; the log noticed and went on in the next file.
    Recovered {
        /// The file.
        file: String,
        /// The bytes of the part.
        bytes: u64,
    },
    /// Records that could not be written, as the log says.
    Lost {
        /// How many.
        count: u64,
        /// The record that says so.
        seq: u64,
    },
    /// The head is older than the newest record: the writer is at work, or ended without closing the log.
    HeadBehind {
        /// Records after the head.
        records: u64,
    },
    /// The last record is not the log's end: the writer is at work, or ended without closing the log.
    NotClosed,
    /// One file was checked by itself: what comes before and after it is not known.
    OneFile,
}

/// The first place where a log does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// The file.
    pub file: String,
    /// The line, from 1; 0: the file as a whole.
    pub line: u64,
    /// What is wrong.
    pub reason: BreakReason,
}

/// What is wrong at a place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BreakReason {
    /// The file or folder cannot be read.
    #[error("it cannot be read: {0}")]
    Unreadable(String),
    /// There is a head, but no file; or there is nothing at all.
    #[error("there are no records")]
    NoFiles,
    /// The line has another form.
    #[error("tampered: it is no record, {0}")]
    NotARecord(&'static str),
    /// The line is not what its digest was made of.
    #[error("tampered: it was changed after it was written")]
    Changed,
    /// The record does not follow the one before.
    #[error("tampered: it does not follow the record before it")]
    DoesNotFollow,
    /// A number was left out or comes again.
    #[error("tampered: it is record {found}, but record {expected} comes next")]
    Sequence {
        /// The number after the record before.
        expected: u64,
        /// The number there.
        found: u64,
    },
    /// The time goes back within one run of the writer.
    #[error("tampered: it is older than the record before it")]
    TimeGoesBack,
    /// The log begins later than with record 0, and no record says that the earlier ones were removed.
    #[error("tampered: records before {first} are missing, and the log does not say that they were removed")]
    MissingStart {
        /// The first record there.
        first: u64,
    },
    /// The last line is a part of a record.
    #[error("truncated: the last {bytes} bytes are a part of a record")]
    Torn {
        /// The bytes of the part.
        bytes: u64,
    },
    /// The head names a record that is not there any more.
    #[error("truncated: the log goes on to record {head}, but ends after {records} records")]
    Truncated {
        /// The newest record, as the head says.
        head: u64,
        /// The records there, from 0.
        records: u64,
    },
    /// The record that the head names is another one.
    #[error("tampered: record {seq} is not the one that the head names")]
    HeadDiffers {
        /// The record.
        seq: u64,
    },
    /// There is no head file.
    #[error("the head file is missing: records may be missing at the end")]
    HeadMissing,
    /// The head file is damaged.
    #[error("the head file is damaged: records may be missing at the end")]
    HeadUnreadable,
}

impl BreakReason {
    /// Whether the end is missing, as after a crash, rather than something changed.
    pub fn is_truncation(&self) -> bool {
        matches!(self, BreakReason::Torn { .. } | BreakReason::Truncated { .. })
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(formatter, "{}: {}", self.file, self.reason),
            line => write!(formatter, "{}:{line}: {}", self.file, self.reason),
        }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Note::Removed { through } => {
                write!(formatter, "records up to {through} were removed as the options say")
            }
            Note::Recovered { file, bytes } => {
                write!(
                    formatter,
                    "{file} ends in {bytes} bytes of a record that was cut off; the log went on"
                )
            }
            Note::Lost { count, seq } => {
                write!(formatter, "{count} records could not be written, says record {seq}")
            }
            Note::HeadBehind { records } => write!(formatter, "{records} records after the head"),
            Note::NotClosed => formatter.write_str("the log was not closed, or is being written"),
            Note::OneFile => {
                formatter.write_str("one file by itself: records before and after it are not known")
            }
        }
    }
}

impl Report {
    /// Whether nothing is broken.
    pub fn holds(&self) -> bool {
        self.broken.is_none()
    }

    /// The first place that does not hold.
    pub fn broken(&self) -> Option<&Broken> {
        self.broken.as_ref()
    }

    /// The files, in order, up to the first place that does not hold.
    pub fn files(&self) -> &[CheckedFile] {
        &self.files
    }

    /// What a reader should know although it holds.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// Records that hold.
    pub fn records(&self) -> u64 {
        self.files.iter().map(|file| file.records).sum()
    }

    /// The newest record that holds.
    pub fn last(&self) -> Option<Head> {
        self.last
    }

    /// The digest of a record that holds, to be compared with one that was noted elsewhere.
    pub fn digest_of(&self, seq: u64) -> Option<Digest> {
        let place = self.digests.binary_search_by_key(&seq, |(seq, _)| *seq).ok()?;
        Some(self.digests[place].1)
    }

    /// Whether a record with that digest is among those that hold, and its number.
    pub fn find(&self, digest: Digest) -> Option<u64> {
        self.digests.iter().find(|(_, known)| *known == digest).map(|(seq, _)| *seq)
    }
}

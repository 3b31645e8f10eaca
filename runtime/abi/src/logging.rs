//! Messages from kernels: the buffer that they are written to, and what is known of each when a kernel is
//! compiled.
//!
//! A kernel with messages has two more buffers ([`crate::textures::BindingRole::Log`] and `LogCommand`): the
//! log, of 32-bit words, and one word that is the number of the command. Of the log the first
//! [`HEADER_WORDS`] words are its header ([`USED`], [`DROPPED`], [`CAPACITY`]); records follow. A message
//! takes its words by adding to `USED`; one that does not fit adds 1 to `DROPPED` and is lost. A record is
//! the number of its [`LogSite`] in the kernel plus one, the number of the command, the thread's position in
//! the grid (x, y, z), and the words of its arguments. A record that begins with 0 was never written.
//!
//! Invariant: the words of a record follow from the format of its site ([`parse_format`]) alone.

mod format;

use serde::{Deserialize, Serialize};

pub use format::{Conversion, ConversionKind, Count, FormatError, MAX_COUNT, Piece, parse_format};

/// Words before the first record.
pub const HEADER_WORDS: u32 = 4;
/// Index of the header's word that counts the words of records taken.
pub const USED: u32 = 0;
/// Index of the header's word that counts messages lost.
pub const DROPPED: u32 = 1;
/// Index of the header's word that is the number of words for records; the kernel does not write it.
pub const CAPACITY: u32 = 2;
/// Words of a record before those of its arguments.
pub const RECORD_WORDS: u32 = 5;

/// How grave a message is, in the order of Metal's `log_type` (MSL specification, 6.19).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum LogLevel {
    /// `log_debug`.
    Debug,
    /// `log_info`.
    Info,
    /// `log`.
    Default,
    /// `log_error`.
    Error,
    /// `log_fault`.
    Fault,
}

impl LogLevel {
    /// All, from the least grave on.
    pub const ALL: [LogLevel; 5] = [Self::Debug, Self::Info, Self::Default, Self::Error, Self::Fault];

    /// Its name, in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            LogLevel::Debug => "debug",
            LogLevel::Info => "info",
            LogLevel::Default => "default",
            LogLevel::Error => "error",
            LogLevel::Fault => "fault",
        }
    }

    /// The level of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.name() == name)
    }
}

/// A message of a kernel's source, as far as it is known when the kernel is compiled.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LogSite {
    /// How grave it is.
    pub level: LogLevel,
    /// The subsystem of its log; empty for `os_log_default`.
    pub subsystem: String,
    /// The category of its log; empty for `os_log_default`.
    pub category: String,
    /// The format.
    pub format: String,
}

/// The words of a record with that format.
pub fn record_words(format: &[Piece]) -> u32 {
    let of = |piece: &Piece| match piece {
        Piece::Text(_) => 0,
        Piece::Value(conversion) => conversion.words(),
    };
    RECORD_WORDS + format.iter().map(of).sum::<u32>()
}

//! The lines of a file, one at a time, of bounded length.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use crate::record::MAX_LINE_BYTES;

/// A line as it was found.
pub(super) enum Line<'a> {
    /// With its end of line, which is left out here.
    Whole(&'a [u8]),
    /// The last one, without an end of line.
    Torn(u64),
    /// Longer than any record.
    TooLong,
}

/// Reads a file line by line.
pub(super) struct Lines {
    file: BufReader<File>,
    buffer: Vec<u8>,
}

impl Lines {
    /// Opens a regular file; devices and pipes might never end.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Ok(Lines { file: BufReader::new(anymetal_files::open(path)?), buffer: Vec::new() })
    }

    /// The next line; `None` at the end.
    pub(super) fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        self.buffer.clear();
        let read = (&mut self.file).take(MAX_LINE_BYTES).read_until(b'\n', &mut self.buffer)?;
        Ok(match self.buffer.strip_suffix(b"\n") {
            Some(line) => Some(Line::Whole(line)),
            None if read == 0 => None,
            None if read as u64 == MAX_LINE_BYTES => Some(Line::TooLong),
            None => Some(Line::Torn(read as u64)),
        })
    }
}

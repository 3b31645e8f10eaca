//! Writing results to stdout and files: a reader that went away ends the program quietly, never with a panic.

use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::Path;

use serde_json::Value;

use crate::failure::Failure;

/// Writes text as it is.
pub(crate) fn write(text: &str) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(()),
        // As with `anymetal … | head`: the reader has closed the pipe.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(Failure::Told(0)),
        Err(error) => Err(Failure::Input(format!("cannot write to standard output: {error}"))),
    }
}

/// Writes text and ends the line.
pub(crate) fn line(text: &str) -> Result<(), Failure> {
    write(&format!("{text}\n"))
}

/// Writes one JSON value, indented.
pub(crate) fn json(value: &Value) -> Result<(), Failure> {
    line(&format!("{value:#}"))
}

/// Writes a file whole, or says why it cannot.
pub(crate) fn file(path: &Path, text: &str) -> Result<(), Failure> {
    stream(path, |out| out.write_all(text.as_bytes()))
}

/// Writes a file piece by piece, or says why it cannot.
pub(crate) fn stream(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Failure> {
    let written = File::create(path).map(BufWriter::new).and_then(|mut out| {
        write(&mut out)?;
        out.flush()
    });
    written.map_err(|error| Failure::Input(format!("cannot write {}: {error}", path.display())))
}

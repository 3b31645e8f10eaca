//! Messages between host and worker: a kind, a header and bytes that the header refers to.
//!
//! Invariant: reading allocates no more than was received, whatever lengths a frame announces.

use std::io::{self, Read, Write};

/// Longest header.
const MAX_HEADER_BYTES: u32 = 64 << 20;
/// Most bytes after the header; sources and files have at most 64 MiB, all included files 256 MiB.
const MAX_BLOB_BYTES: u64 = 512 << 20;
/// Longest blob that is copied into one buffer with its header.
const SMALL_BLOB_BYTES: usize = 64 << 10;
/// Kind, length of the header, length of the bytes.
const PREFIX_BYTES: usize = 1 + 4 + 8;

/// A message.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Frame {
    /// What it is.
    pub kind: u8,
    /// Its structure.
    pub header: Vec<u8>,
    /// Bytes that the header refers to.
    pub blob: Vec<u8>,
}

impl Frame {
    /// Its size in bytes, if it can be sent.
    pub(crate) fn checked_len(&self) -> Result<(u32, u64), u64> {
        let (header, blob) = (self.header.len() as u64, self.blob.len() as u64);
        match u32::try_from(header) {
            Ok(len) if len <= MAX_HEADER_BYTES && blob <= MAX_BLOB_BYTES => Ok((len, blob)),
            _ => Err(header + blob),
        }
    }

    /// Writes a frame.
    pub(crate) fn write(&self, to: &mut impl Write) -> io::Result<()> {
        let (header, blob) = self.checked_len().map_err(|bytes| {
            io::Error::new(io::ErrorKind::InvalidInput, format!("a message of {bytes} bytes"))
        })?;
        let mut prefix = [self.kind; PREFIX_BYTES];
        prefix[1..5].copy_from_slice(&header.to_le_bytes());
        prefix[5..].copy_from_slice(&blob.to_le_bytes());
        // Small frames in one call: the reader is woken once.
        let mut bytes = prefix.to_vec();
        bytes.extend_from_slice(&self.header);
        if self.blob.len() <= SMALL_BLOB_BYTES {
            bytes.extend_from_slice(&self.blob);
            return to.write_all(&bytes);
        }
        to.write_all(&bytes)?;
        to.write_all(&self.blob)
    }

    /// Reads a frame. `InvalidData`: what is there is none.
    pub(crate) fn read(from: &mut impl Read) -> io::Result<Self> {
        let mut prefix = [0; PREFIX_BYTES];
        from.read_exact(&mut prefix)?;
        let [kind, h0, h1, h2, h3, blob @ ..] = prefix;
        let (header, blob) = (u32::from_le_bytes([h0, h1, h2, h3]), u64::from_le_bytes(blob));
        if header > MAX_HEADER_BYTES || blob > MAX_BLOB_BYTES {
            let message = format!("a header of {header} bytes and {blob} bytes after it");
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        Ok(Self { kind, header: exactly(from, header.into())?, blob: exactly(from, blob)? })
    }
}

fn exactly(from: &mut impl Read, len: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(len).read_to_end(&mut bytes)?;
    if bytes.len() as u64 == len { Ok(bytes) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_read_as_they_were_written() {
        let frame = Frame { kind: 7, header: b"{}".to_vec(), blob: vec![1, 2, 3] };
        let mut bytes = Vec::new();
        frame.write(&mut bytes).unwrap();
        assert_eq!(Frame::read(&mut bytes.as_slice()).unwrap(), frame);
        for len in 0..bytes.len() {
            let cut = Frame::read(&mut &bytes[..len]).unwrap_err();
            assert_eq!(cut.kind(), io::ErrorKind::UnexpectedEof);
        }
    }

    #[test]
    fn announced_lengths_are_bounded() {
        for (header, blob) in
            [(u32::MAX, 0), (0, u64::MAX), (MAX_HEADER_BYTES + 1, 0), (0, MAX_BLOB_BYTES + 1)]
        {
            let mut bytes = vec![1];
            bytes.extend(header.to_le_bytes());
            bytes.extend(blob.to_le_bytes());
            assert_eq!(Frame::read(&mut bytes.as_slice()).unwrap_err().kind(), io::ErrorKind::InvalidData);
        }
    }
}

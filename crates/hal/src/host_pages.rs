//! Host memory in whole pages, which a device may take over without a copy.
//!
//! Owns [`HostPages`] and [`ImportError`]. Invariant: the memory is aligned to, and a multiple of, the
//! largest page size of the machines that Metal's model runs on, and it keeps its address for life; the bytes
//! behind the length are part of it, so a device may map whole pages.

use std::fmt;
use std::io::{self, Read};
use std::ptr::NonNull;

use crate::error::DeviceError;
use crate::validate::check_range;

/// The page size of Apple's machines; a multiple of all others'.
pub const HOST_PAGE_BYTES: usize = 16 * 1024;

#[derive(Clone)]
#[repr(C, align(16384))]
struct Page([u8; HOST_PAGE_BYTES]);

/// Host memory in whole pages.
pub struct HostPages {
    pages: Vec<Page>,
    length: u64,
}

impl HostPages {
    /// That many bytes, all zero; `None` if there is no memory for them.
    pub fn zeroed(length: u64) -> Option<Self> {
        let count = usize::try_from(length.div_ceil(HOST_PAGE_BYTES as u64)).ok()?;
        let mut pages = Vec::new();
        pages.try_reserve_exact(count).ok()?;
        pages.resize(count, Page([0; HOST_PAGE_BYTES]));
        Some(HostPages { pages, length })
    }

    /// Reads that many bytes straight into pages.
    pub fn from_reader(mut reader: impl Read, length: u64) -> io::Result<Self> {
        let mut pages = Self::zeroed(length).ok_or(io::ErrorKind::OutOfMemory)?;
        let mut left = length;
        for page in &mut pages.pages {
            let part = left.min(HOST_PAGE_BYTES as u64);
            reader.read_exact(&mut page.0[..part as usize])?;
            left -= part;
        }
        Ok(pages)
    }

    /// Its length in bytes, as asked for.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Copies bytes in.
    pub fn write(&mut self, offset: u64, source: &[u8]) -> Result<(), DeviceError> {
        check_range(offset, source.len() as u64, self.length)?;
        let mut at = offset as usize;
        let mut left = source;
        while !left.is_empty() {
            let (page, within) = (at / HOST_PAGE_BYTES, at % HOST_PAGE_BYTES);
            let (part, rest) = left.split_at(left.len().min(HOST_PAGE_BYTES - within));
            self.pages[page].0[within..within + part.len()].copy_from_slice(part);
            (at, left) = (at + part.len(), rest);
        }
        Ok(())
    }

    /// Copies bytes out.
    pub fn read(&self, offset: u64, destination: &mut [u8]) -> Result<(), DeviceError> {
        check_range(offset, destination.len() as u64, self.length)?;
        let mut at = offset as usize;
        let mut left = destination;
        while !left.is_empty() {
            let (page, within) = (at / HOST_PAGE_BYTES, at % HOST_PAGE_BYTES);
            let (part, rest) = left.split_at_mut(left.len().min(HOST_PAGE_BYTES - within));
            part.copy_from_slice(&self.pages[page].0[within..within + part.len()]);
            (at, left) = (at + part.len(), rest);
        }
        Ok(())
    }

    /// The first byte, for a device that owns the pages; aligned and not null even if there are none.
    pub fn start(&mut self) -> NonNull<u8> {
        NonNull::from(self.pages.as_mut_slice()).cast()
    }
}

impl fmt::Debug for HostPages {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("HostPages").field("length", &self.length).finish_non_exhaustive()
    }
}

/// Why pages were not imported, and the pages.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
pub struct ImportError {
    /// The pages, unchanged.
    pub pages: HostPages,
    /// Why.
    pub error: DeviceError,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_aligned_and_written_across_their_borders() {
        let bytes: Vec<u8> = (0..HOST_PAGE_BYTES * 2 + 10).map(|at| (at % 251) as u8).collect();
        let mut read = HostPages::from_reader(bytes.as_slice(), bytes.len() as u64).unwrap();
        assert!(read.start().addr().get().is_multiple_of(HOST_PAGE_BYTES));
        let mut written = HostPages::zeroed(bytes.len() as u64).unwrap();
        written.write(5, &bytes[5..]).unwrap();
        written.write(0, &bytes[..5]).unwrap();
        let flat = |pages: &HostPages| pages.pages.iter().flat_map(|page| page.0).collect::<Vec<u8>>();
        assert!(flat(&read) == flat(&written) && flat(&read)[..bytes.len()] == bytes);
        assert!(written.write(bytes.len() as u64, &[1]).is_err());
        let mut copy = vec![0; bytes.len() - 7];
        written.read(7, &mut copy).unwrap();
        assert!(copy == bytes[7..] && written.read(8, &mut copy).is_err());
        assert!(HostPages::from_reader(&bytes[..3], 4).is_err());
        let mut empty = HostPages::zeroed(0).unwrap();
        assert!(empty.start().addr().get().is_multiple_of(HOST_PAGE_BYTES));
    }
}

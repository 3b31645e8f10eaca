//! Host memory in whole pages, which a device may take over without a copy.
//!
//! Owns [`HostPages`], [`HostMemory`] and [`ImportError`]. Invariant: the memory keeps its address for life.
//! What is allocated here is aligned to, and a multiple of, the largest page size of the machines that
//! Metal's model runs on, and the bytes behind the length are part of it, so a device may map whole pages.
//! Memory that was allocated elsewhere is aligned to [`MIN_MEMORY_ALIGNMENT`] and ends with its length.

use std::fmt;
use std::io::{self, Read};
use std::ptr::NonNull;

use crate::error::DeviceError;
use crate::validate::check_range;

/// The page size of Apple's machines; a multiple of all others'.
pub const HOST_PAGE_BYTES: usize = 16 * 1024;

/// The alignment of memory that was allocated elsewhere: the page size of most machines.
pub const MIN_MEMORY_ALIGNMENT: usize = 4096;

/// Memory that was allocated elsewhere. Its owner gives it up, and uses it no more until this is dropped,
/// except as the device's users do.
pub trait HostMemory: Send + Sync {
    /// All of it: the same bytes each time.
    fn bytes(&self) -> &[u8];

    /// As [`HostMemory::bytes`].
    fn bytes_mut(&mut self) -> &mut [u8];
}

#[derive(Clone)]
#[repr(C, align(16384))]
struct Page([u8; HOST_PAGE_BYTES]);

enum Storage {
    Pages(Vec<Page>),
    Elsewhere(Box<dyn HostMemory>),
}

/// Host memory in whole pages.
pub struct HostPages {
    storage: Storage,
    length: u64,
}

impl HostPages {
    /// That many bytes, all zero; `None` if there is no memory for them.
    pub fn zeroed(length: u64) -> Option<Self> {
        let count = usize::try_from(length.div_ceil(HOST_PAGE_BYTES as u64)).ok()?;
        let mut pages = Vec::new();
        pages.try_reserve_exact(count).ok()?;
        pages.resize(count, Page([0; HOST_PAGE_BYTES]));
        Some(HostPages { storage: Storage::Pages(pages), length })
    }

    /// Memory that was allocated elsewhere, until this is dropped; `None` if it is empty or not aligned to
    /// [`MIN_MEMORY_ALIGNMENT`].
    pub fn over(memory: Box<dyn HostMemory>) -> Option<Self> {
        let bytes = memory.bytes();
        let is_aligned = bytes.as_ptr().addr().is_multiple_of(MIN_MEMORY_ALIGNMENT);
        let length = bytes.len() as u64;
        let is_usable = is_aligned && length > 0;
        is_usable.then(|| HostPages { storage: Storage::Elsewhere(memory), length })
    }

    /// Reads that many bytes straight into pages.
    pub fn from_reader(mut reader: impl Read, length: u64) -> io::Result<Self> {
        let mut pages = Self::zeroed(length).ok_or(io::ErrorKind::OutOfMemory)?;
        pages.for_each_part(0, length, |part| reader.read_exact(part))?;
        Ok(pages)
    }

    /// Its length in bytes, as asked for.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Copies bytes in.
    pub fn write(&mut self, offset: u64, source: &[u8]) -> Result<(), DeviceError> {
        check_range(offset, source.len() as u64, self.length)?;
        let mut left = source;
        self.for_each_part(offset, source.len() as u64, |part| {
            let (here, rest) = left.split_at(part.len());
            part.copy_from_slice(here);
            left = rest;
            Ok(())
        })
    }

    /// Copies bytes out.
    pub fn read(&self, offset: u64, destination: &mut [u8]) -> Result<(), DeviceError> {
        check_range(offset, destination.len() as u64, self.length)?;
        let start = offset as usize;
        let pages = match &self.storage {
            Storage::Elsewhere(memory) => {
                destination.copy_from_slice(&memory.bytes()[start..start + destination.len()]);
                return Ok(());
            }
            Storage::Pages(pages) => pages,
        };
        let mut done = 0;
        while done < destination.len() {
            let (page, within) = ((start + done) / HOST_PAGE_BYTES, (start + done) % HOST_PAGE_BYTES);
            let part = (destination.len() - done).min(HOST_PAGE_BYTES - within);
            destination[done..done + part].copy_from_slice(&pages[page].0[within..within + part]);
            done += part;
        }
        Ok(())
    }

    /// Calls with the slices that make up a range within the length, in order.
    fn for_each_part<E>(
        &mut self,
        offset: u64,
        length: u64,
        mut call: impl FnMut(&mut [u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let (mut at, end) = (offset as usize, (offset + length) as usize);
        let pages = match &mut self.storage {
            Storage::Elsewhere(memory) => return call(&mut memory.bytes_mut()[at..end]),
            Storage::Pages(pages) => pages,
        };
        while at < end {
            let (page, within) = (at / HOST_PAGE_BYTES, at % HOST_PAGE_BYTES);
            let part = (end - at).min(HOST_PAGE_BYTES - within);
            call(&mut pages[page].0[within..within + part])?;
            at += part;
        }
        Ok(())
    }

    /// The first byte, for a device that owns the pages; aligned and not null even if there are none.
    pub fn start(&mut self) -> NonNull<u8> {
        match &mut self.storage {
            Storage::Pages(pages) => NonNull::from(pages.as_mut_slice()).cast(),
            Storage::Elsewhere(memory) => NonNull::from(memory.bytes_mut()).cast(),
        }
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
#[non_exhaustive]
pub struct ImportError {
    /// The pages, unchanged.
    pub pages: HostPages,
    /// Why.
    pub error: DeviceError,
}

impl ImportError {
    /// Returns the pages to the caller with the reason.
    pub fn new(pages: HostPages, error: DeviceError) -> Self {
        ImportError { pages, error }
    }
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
        let mut flat = [vec![0; bytes.len()], vec![0; bytes.len()]];
        read.read(0, &mut flat[0]).unwrap();
        written.read(0, &mut flat[1]).unwrap();
        assert!(flat[0] == bytes && flat[1] == bytes);
        assert!(written.write(bytes.len() as u64, &[1]).is_err());
        let mut copy = vec![0; bytes.len() - 7];
        written.read(7, &mut copy).unwrap();
        assert!(copy == bytes[7..] && written.read(8, &mut copy).is_err());
        assert!(HostPages::from_reader(&bytes[..3], 4).is_err());
        let mut empty = HostPages::zeroed(0).unwrap();
        assert!(empty.start().addr().get().is_multiple_of(HOST_PAGE_BYTES));
    }

    struct Elsewhere(HostPages, usize);

    impl HostMemory for Elsewhere {
        fn bytes(&self) -> &[u8] {
            match &self.0.storage {
                Storage::Pages(pages) => &pages[0].0[self.1..],
                Storage::Elsewhere(memory) => memory.bytes(),
            }
        }

        fn bytes_mut(&mut self) -> &mut [u8] {
            match &mut self.0.storage {
                Storage::Pages(pages) => &mut pages[0].0[self.1..],
                Storage::Elsewhere(memory) => memory.bytes_mut(),
            }
        }
    }

    #[test]
    fn memory_from_elsewhere_is_used_where_it_is_if_it_is_aligned() {
        let page = || HostPages::zeroed(HOST_PAGE_BYTES as u64).unwrap();
        let mut aligned = Elsewhere(page(), MIN_MEMORY_ALIGNMENT);
        let start = NonNull::from(aligned.bytes_mut()).cast();
        let mut pages = HostPages::over(Box::new(aligned)).unwrap();
        assert_eq!((pages.start(), pages.length()), (start, (HOST_PAGE_BYTES - MIN_MEMORY_ALIGNMENT) as u64));
        pages.write(3, &[1, 2]).unwrap();
        let mut found = [9; 4];
        pages.read(2, &mut found).unwrap();
        assert_eq!(found, [0, 1, 2, 0]);
        assert!(HostPages::over(Box::new(Elsewhere(page(), 64))).is_none());
        assert!(HostPages::over(Box::new(Elsewhere(page(), HOST_PAGE_BYTES))).is_none());
    }
}

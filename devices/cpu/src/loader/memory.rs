//! Pages of memory that are first written and then executed, never both at once.

use std::io;
use std::ops::Range;
use std::ptr::{self, NonNull};

use super::error::LoadError;
use super::instruction_cache;

/// What a finished range of pages is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// Read and executed.
    Code,
    /// Read.
    Constants,
}

/// A private mapping of whole pages, unmapped when dropped.
#[derive(Debug)]
pub(super) struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the mapping is plain memory owned by this value alone; no thread has a claim on it.
unsafe impl Send for Mapping {}
// SAFETY: a shared `Mapping` gives out its address only; it reads and writes nothing.
unsafe impl Sync for Mapping {}

/// Bytes of one page.
pub(super) fn page_bytes() -> usize {
    // SAFETY: sysconf takes a constant and has no other preconditions.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(bytes).ok().filter(|bytes| bytes.is_power_of_two()).unwrap_or(4096)
}

fn refused(operation: &'static str) -> LoadError {
    LoadError::System { operation, code: io::Error::last_os_error().raw_os_error().unwrap_or(0) }
}

impl Mapping {
    /// Maps at least one byte, readable and writable, all zero.
    pub(super) fn new(bytes: usize) -> Result<Self, LoadError> {
        let bytes = bytes.max(1);
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: an anonymous mapping at an address of the kernel's choice touches nothing of ours.
        let start = unsafe { libc::mmap(ptr::null_mut(), bytes, protection, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(refused("mmap"));
        }
        let start = NonNull::new(start.cast()).ok_or_else(|| refused("mmap"))?;
        Ok(Self { start, bytes })
    }

    /// Address of the first byte.
    pub(super) fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// Fills the mapping, then takes away the right to write the given page-aligned ranges.
    /// What is in no range stays readable and writable.
    pub(super) fn fill_and_protect(
        &mut self,
        fill: impl FnOnce(&mut [u8]) -> Result<(), LoadError>,
        ranges: &[(Range<usize>, Access)],
    ) -> Result<(), LoadError> {
        // SAFETY: the mapping has this many bytes, zeroed, writable until `protect` below, and
        // `&mut self` makes this the only reference to them.
        fill(unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.bytes) })?;
        for (range, access) in ranges {
            self.protect(range, *access)?;
        }
        Ok(())
    }

    fn protect(&self, range: &Range<usize>, access: Access) -> Result<(), LoadError> {
        if range.is_empty() {
            return Ok(());
        }
        assert!(range.end <= self.bytes, "a protected range lies inside its mapping");
        // SAFETY: the range was just checked to lie inside the mapping.
        let start = unsafe { self.start.as_ptr().add(range.start) };
        let protection = match access {
            Access::Code => {
                instruction_cache::forget(start, range.len());
                libc::PROT_READ | libc::PROT_EXEC
            }
            Access::Constants => libc::PROT_READ,
        };
        // SAFETY: these are whole pages of our own mapping (the kernel refuses anything else), and
        // no reference into them is alive.
        if unsafe { libc::mprotect(start.cast(), range.len(), protection) } != 0 {
            return Err(refused("mprotect"));
        }
        Ok(())
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped by `new` with this size and unmapped once; whoever kept an address out of
        // it was told that it ends with this value.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

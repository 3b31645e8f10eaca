//! The memory of all buffers: one file in memory, which the host and each worker map as a whole.
//!
//! Owns [`Arena`] with its [`Range`]s, and [`Mapping`]. Invariants: allocated ranges do not overlap; free
//! ranges are zero unless a hostile worker writes there; the file can neither shrink nor grow, so no worker
//! can make the host fault. Bytes are accessed through raw pointers only, because workers may write them at
//! any time.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::Arc;

use anymetal_hal::error::DeviceError;
use anymetal_hal::heap::RangeAllocator;
use anymetal_hal::sync::{Mutex, lock};
use rustix::fs::{
    FallocateFlags, MemfdFlags, SealFlags, fallocate, fcntl_add_seals, ftruncate, memfd_create,
};

/// Bytes after each range that no range has: the address of the end of a buffer is of no other buffer, so a
/// fault there is not attributed to a neighbour.
const GAP: u64 = 1;
/// A multiple of each page size: freed memory is given back to the system in these units.
const PAGE: u64 = 64 << 10;

/// A mapping of a whole memory file.
pub(crate) struct Mapping {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: the value carries an address and unmaps it once; code that dereferences it answers for races.
unsafe impl Send for Mapping {}
// SAFETY: no method reads or writes the bytes.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps `length` bytes of the file, at the address `near` if that is free.
    pub(crate) fn new(file: BorrowedFd<'_>, length: u64, near: usize) -> io::Result<Self> {
        let length = usize::try_from(length).map_err(|_| io::ErrorKind::OutOfMemory)?;
        let near = std::ptr::without_provenance_mut(near);
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_SHARED | libc::MAP_NORESERVE;
        // SAFETY: without MAP_FIXED the kernel chooses an address at which nothing is mapped.
        let start = unsafe { libc::mmap(near, length, protection, flags, file.as_raw_fd(), 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast::<u8>()).ok_or(io::ErrorKind::OutOfMemory)?;
        // SAFETY: the mapping that was just made; the advice changes no contents, and a refusal is fine.
        unsafe { libc::madvise(start.as_ptr().cast(), length, libc::MADV_DONTDUMP) };
        Ok(Mapping { start, length })
    }

    /// The first byte.
    pub(crate) fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// The address of a range of bytes, which must be within it.
    pub(crate) fn at(&self, offset: u64, length: u64) -> NonNull<u8> {
        let end = offset.checked_add(length);
        assert!(
            end.is_some_and(|end| end <= self.length as u64),
            "{offset}, {length}: not within the memory"
        );
        let start = self.start.as_ptr().wrapping_add(offset as usize);
        NonNull::new(start).expect("a mapping does not wrap around")
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: `new` mapped exactly these bytes, and the owner is going away.
        let result = unsafe { libc::munmap(self.start.as_ptr().cast(), self.length) };
        debug_assert_eq!(result, 0, "munmap of our own mapping failed");
    }
}

/// The host's side of the memory.
pub(crate) struct Arena {
    file: OwnedFd,
    mapping: Mapping,
    ranges: Mutex<RangeAllocator>,
}

/// A part of the arena. Dropping it zeroes and frees the bytes.
pub(crate) struct Range {
    arena: Arc<Arena>,
    offset: u64,
    length: u64,
}

impl Arena {
    /// An arena of `length` bytes of address space. Memory is taken when it is first touched.
    pub(crate) fn new(length: u64) -> io::Result<Self> {
        let file = memfd_create(c"anymetal", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        ftruncate(&file, length)?;
        fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        let mapping = Mapping::new(file.as_fd(), length, 0)?;
        Ok(Arena { file, mapping, ranges: Mutex::new(RangeAllocator::new(length)) })
    }

    /// The file, for a worker.
    pub(crate) fn file(&self) -> io::Result<OwnedFd> {
        self.file.try_clone()
    }

    /// Takes a range, all zero.
    pub(crate) fn range(self: &Arc<Self>, length: u64) -> Result<Range, DeviceError> {
        let offset = lock(&self.ranges).allocate(length.saturating_add(GAP));
        let offset = offset.map_err(|_full| DeviceError::OutOfMemory { requested: length })?;
        Ok(Range { arena: Arc::clone(self), offset, length })
    }
}

impl Range {
    /// The first byte in the arena.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// How many bytes.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// The address of a part in this process.
    pub(crate) fn at(&self, offset: u64, length: u64) -> NonNull<u8> {
        let end = offset.checked_add(length);
        assert!(end.is_some_and(|end| end <= self.length), "{offset}, {length}: not within the range");
        self.arena.mapping.at(self.offset + offset, length)
    }

    /// Copies bytes out, which must be within the range.
    pub(crate) fn read(&self, offset: u64, destination: &mut [u8]) {
        let source = self.at(offset, destination.len() as u64);
        // SAFETY: `at` checked that the bytes are within the mapping, which the arena holds; `destination` is
        // exclusively ours and not part of it. Bytes that a worker writes meanwhile are unspecified.
        unsafe {
            std::ptr::copy_nonoverlapping(source.as_ptr(), destination.as_mut_ptr(), destination.len())
        };
    }

    /// Copies bytes in, which must be within the range.
    pub(crate) fn write(&self, offset: u64, source: &[u8]) {
        let destination = self.at(offset, source.len() as u64);
        // SAFETY: as in `read`; no reference into the mapping exists.
        unsafe { std::ptr::copy_nonoverlapping(source.as_ptr(), destination.as_ptr(), source.len()) };
    }

    /// Sets bytes to zero, which must be within the range.
    pub(crate) fn zero(&self, offset: u64, length: u64) {
        let (start, end) = (self.offset + offset, self.offset + offset + length);
        let (first, last) = (start.next_multiple_of(PAGE), end - end % PAGE);
        let punched = first < last && {
            let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            fallocate(&self.arena.file, flags, first, last - first).is_ok()
        };
        let parts = if punched { [(start, first), (last, end)] } else { [(start, end), (end, end)] };
        for (start, end) in parts {
            let at = self.at(start - self.offset, end - start);
            // SAFETY: as in `write`.
            unsafe { at.write_bytes(0, (end - start) as usize) };
        }
    }
}

impl Drop for Range {
    fn drop(&mut self) {
        self.zero(0, self.length);
        lock(&self.arena.ranges).release(self.offset, self.length.saturating_add(GAP));
    }
}

impl fmt::Debug for Arena {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Arena").field("used", &lock(&self.ranges).used()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_begin_with_zeros_and_never_touch() {
        let arena = Arc::new(Arena::new(64 << 20).unwrap());
        for length in [0, 1, 64, 4096, 3 << 20] {
            let (one, other) = (arena.range(length).unwrap(), arena.range(length).unwrap());
            assert!(one.offset() + length < other.offset(), "{length}");
            let mut bytes = vec![9; length as usize];
            for range in [&one, &other] {
                range.read(0, &mut bytes);
                assert!(bytes.iter().all(|byte| *byte == 0), "{length}");
                range.write(0, &vec![7; length as usize]);
            }
            other.read(0, &mut bytes);
            assert!(bytes.iter().all(|byte| *byte == 7), "{length}");
        }
        assert_eq!(lock(&arena.ranges).used(), 0);
        assert_eq!(arena.range(65 << 20).map(drop), Err(DeviceError::OutOfMemory { requested: 65 << 20 }));
    }

    #[test]
    fn the_file_keeps_its_length() {
        let arena = Arena::new(1 << 20).unwrap();
        let file = arena.file().unwrap();
        assert!(ftruncate(&file, 0).is_err() && ftruncate(&file, 2 << 20).is_err());
        let mapped_twice = Mapping::new(file.as_fd(), 1 << 20, 0).unwrap();
        assert_ne!(mapped_twice.start(), arena.mapping.start());
    }
}

//! Memory beside pages that may not be accessed: for finding code that reaches outside of its buffers.
//!
//! Owns [`Guard`], which the device's options name, and [`GuardedPages`], a block with such a page in front
//! of it and one behind it. Invariant: on the side of the guard no byte lies between block and page, so that
//! the first byte read or written there ends the process; on the other side there may be up to a page.

use std::ptr::NonNull;

/// On which side of every block of memory an inaccessible page lies directly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guard {
    /// Behind the last byte. The start is then aligned as the length is: a buffer of 12 bytes to 4.
    Behind,
    /// Before the first byte.
    Before,
}

/// A block of zeroed bytes between two inaccessible pages.
#[derive(Debug)]
pub(crate) struct GuardedPages {
    /// The first byte of the page in front.
    mapping: NonNull<u8>,
    /// Bytes of everything mapped, both pages included.
    mapped: usize,
    start: NonNull<u8>,
    guard: Guard,
}

impl GuardedPages {
    /// A block of that many bytes; `None` if there is no memory for it. Of length 0, it is the guard's edge.
    pub(crate) fn zeroed(len: usize, guard: Guard) -> Option<Self> {
        let page = page_bytes();
        let inner = len.checked_next_multiple_of(page)?;
        let mapped = inner.checked_add(2 * page).filter(|&mapped| mapped <= isize::MAX as usize)?;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: an anonymous mapping at an address of the kernel's choice touches no existing memory.
        let address = unsafe { libc::mmap(std::ptr::null_mut(), mapped, libc::PROT_NONE, flags, -1, 0) };
        if address == libc::MAP_FAILED {
            return None;
        }
        let mapping = NonNull::new(address.cast::<u8>())?;
        let first = mapping.as_ptr().wrapping_add(page);
        let before = match guard {
            Guard::Behind => inner - len,
            Guard::Before => 0,
        };
        // From here on the mapping is given back if something fails.
        let start = NonNull::new(first.wrapping_add(before)).unwrap_or(mapping);
        let pages = GuardedPages { mapping, mapped, start, guard };
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: whole pages in the middle of the mapping just made, which nobody uses yet.
        let opened = inner == 0 || unsafe { libc::mprotect(first.cast(), inner, protection) } == 0;
        opened.then_some(pages)
    }

    /// The first byte.
    pub(crate) fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// On which side the page lies directly.
    pub(crate) fn guard(&self) -> Guard {
        self.guard
    }
}

impl Drop for GuardedPages {
    fn drop(&mut self) {
        // SAFETY: `zeroed` mapped exactly these bytes, and the owner is going away.
        let result = unsafe { libc::munmap(self.mapping.as_ptr().cast(), self.mapped) };
        debug_assert_eq!(result, 0, "munmap of our own mapping failed");
    }
}

/// The system's page size.
pub(crate) fn page_bytes() -> usize {
    // SAFETY: asks for a constant of the system.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    // Never refused; whatever it were, `mprotect` would fail rather than leave a page open.
    usize::try_from(bytes).ok().filter(|bytes| bytes.is_power_of_two()).unwrap_or(64 * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether the system may read a byte there: it says so instead of ending the process.
    fn is_readable(address: *const u8) -> bool {
        let mut ends = [0; 2];
        // SAFETY: two places for the ends of a pipe; `write` reads one byte, or fails if it may not; both
        // ends are closed once.
        unsafe {
            assert_eq!(libc::pipe(ends.as_mut_ptr()), 0);
            let written = libc::write(ends[1], address.cast(), 1);
            ends.into_iter().for_each(|end| _ = libc::close(end));
            written == 1
        }
    }

    #[test]
    fn the_page_is_directly_beside_the_block() {
        let page = page_bytes();
        for len in [0, 1, 12, 64, page - 1, page, page + 4, 300_000] {
            let behind = GuardedPages::zeroed(len, Guard::Behind).unwrap();
            let end = behind.start().as_ptr().wrapping_add(len);
            assert!(!is_readable(end), "{len}");
            assert_eq!(is_readable(end.wrapping_sub(1)), len > 0, "{len}");
            let before = GuardedPages::zeroed(len, Guard::Before).unwrap();
            let start = before.start().as_ptr();
            assert!(!is_readable(start.wrapping_sub(1)), "{len}");
            assert_eq!(is_readable(start), len > 0, "{len}");
            assert_eq!((behind.guard(), before.guard()), (Guard::Behind, Guard::Before));
        }
        assert!(GuardedPages::zeroed(usize::MAX, Guard::Behind).is_none());
        assert!(GuardedPages::zeroed(isize::MAX as usize - page, Guard::Before).is_none());
    }
}

//! Stacks for code that is left and resumed ([`crate::context`]).
//!
//! Owns [`Stacks`]. Invariant: an inaccessible page lies below each stack. Only the pages that are touched
//! take memory.

use std::ptr::NonNull;

use crate::guarded::page_bytes;

/// Stacks of equal size.
#[derive(Debug)]
pub(crate) struct Stacks {
    start: NonNull<u8>,
    /// From one to the next, the page below included.
    stride: usize,
    count: usize,
}

// SAFETY: the mapping is owned by this value alone; code that runs on a stack is responsible for it.
unsafe impl Send for Stacks {}

impl Stacks {
    /// `None` if the system has no room for them.
    pub(crate) fn new(count: usize, bytes: usize) -> Option<Self> {
        let page = page_bytes();
        let stride = bytes.checked_next_multiple_of(page)?.checked_add(page)?;
        let mapped = stride.checked_mul(count).filter(|&mapped| mapped <= isize::MAX as usize)?;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: an anonymous mapping at an address of the system's choice touches no existing memory.
        let address = unsafe { libc::mmap(std::ptr::null_mut(), mapped, protection, flags, -1, 0) };
        if address == libc::MAP_FAILED {
            return None;
        }
        // From here on the mapping is given back if something fails.
        let stacks = Stacks { start: NonNull::new(address.cast::<u8>())?, stride, count };
        let is_closed = |n: usize| {
            let below = stacks.start.as_ptr().wrapping_add(n * stride);
            // SAFETY: a whole page of the mapping just made, not in use yet.
            unsafe { libc::mprotect(below.cast(), page, libc::PROT_NONE) == 0 }
        };
        (0..count).all(is_closed).then_some(stacks)
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// The end of a stack, a multiple of the page size.
    pub(crate) fn end(&self, n: usize) -> *mut u8 {
        self.start.as_ptr().wrapping_add((n + 1) * self.stride)
    }
}

impl Drop for Stacks {
    fn drop(&mut self) {
        // SAFETY: `new` mapped exactly these bytes, and the owner is going away.
        let result = unsafe { libc::munmap(self.start.as_ptr().cast(), self.stride * self.count) };
        debug_assert_eq!(result, 0, "munmap of our own mapping failed");
    }
}

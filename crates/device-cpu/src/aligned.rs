//! Aligned memory with a fixed address: buffers, inline bytes, worker memory.
//!
//! Owns [`AlignedMemory`], zeroed at first. Large blocks come straight from the operating system, page-aligned
//! and filled with zeros as they are touched; small ones from the allocator at 64 bytes. Invariant: the address
//! is valid for `len` bytes and aligned to at least 64 until the value is dropped.

use std::alloc::Layout;
use std::ptr::NonNull;

/// The least alignment: a cache line, and the widest vector.
const ALIGNMENT: usize = 64;
/// From here on blocks are mapped pages: below, the page's tail would be wasted.
const MAPPED_FROM: usize = 64 * 1024;
/// From here on the kernel is asked for huge pages.
const HUGE_FROM: usize = 4 * 1024 * 1024;

/// A block of memory, aligned to at least 64 bytes, zeroed when made.
#[derive(Debug)]
pub(crate) struct AlignedMemory {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: the block is owned by this value alone, as a `Box<[u8]>` would be; all access to its bytes goes
// through raw pointers whose users answer for races.
unsafe impl Send for AlignedMemory {}
// SAFETY: as above; no method reads or writes the bytes through `&self`.
unsafe impl Sync for AlignedMemory {}

impl AlignedMemory {
    /// A zeroed block; `None` if there is no memory for it. Length 0 gives an address that is aligned and not
    /// null, and no memory.
    pub(crate) fn zeroed(len: usize) -> Option<Self> {
        let start = match len {
            0 => NonNull::new(std::ptr::without_provenance_mut(ALIGNMENT))?,
            MAPPED_FROM.. => map(len)?,
            _ => {
                // SAFETY: the layout's size is not zero.
                NonNull::new(unsafe { std::alloc::alloc_zeroed(layout(len)?) })?
            }
        };
        Some(AlignedMemory { start, len })
    }

    /// The first byte.
    pub(crate) fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// How many bytes.
    pub(crate) fn len(&self) -> usize {
        self.len
    }
}

impl Drop for AlignedMemory {
    fn drop(&mut self) {
        match self.len {
            0 => {}
            MAPPED_FROM.. => {
                // SAFETY: `map` mapped exactly these bytes, and the owner is going away.
                let result = unsafe { libc::munmap(self.start.as_ptr().cast(), self.len) };
                debug_assert_eq!(result, 0, "munmap of our own mapping failed");
            }
            len => {
                if let Some(layout) = layout(len) {
                    // SAFETY: `zeroed` allocated the block with the same layout.
                    unsafe { std::alloc::dealloc(self.start.as_ptr(), layout) }
                }
            }
        }
    }
}

fn layout(len: usize) -> Option<Layout> {
    Layout::from_size_align(len, ALIGNMENT).ok()
}

fn map(len: usize) -> Option<NonNull<u8>> {
    if len > isize::MAX as usize {
        return None;
    }
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: an anonymous mapping at an address of the kernel's choice touches no existing memory.
    let address = unsafe { libc::mmap(std::ptr::null_mut(), len, protection, flags, -1, 0) };
    if address == libc::MAP_FAILED {
        return None;
    }
    if len >= HUGE_FROM {
        advise_huge_pages(address, len);
    }
    NonNull::new(address.cast())
}

#[cfg(target_os = "linux")]
fn advise_huge_pages(address: *mut libc::c_void, len: usize) {
    // SAFETY: the range was just mapped by the caller; the advice changes no contents, and a refusal is fine.
    unsafe { libc::madvise(address, len, libc::MADV_HUGEPAGE) };
}

#[cfg(not(target_os = "linux"))]
fn advise_huge_pages(_address: *mut libc::c_void, _len: usize) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_every_size_are_aligned_and_zero() {
        for len in [0, 1, 63, 64, 4095, MAPPED_FROM - 1, MAPPED_FROM, HUGE_FROM + 1] {
            let memory = AlignedMemory::zeroed(len).unwrap();
            assert_eq!(memory.start().as_ptr() as usize % ALIGNMENT, 0);
            assert_eq!(memory.len(), len);
            // SAFETY: nobody else has the block.
            let bytes = unsafe { std::slice::from_raw_parts(memory.start().as_ptr(), len) };
            assert!(bytes.iter().all(|&byte| byte == 0));
        }
        assert!(AlignedMemory::zeroed(usize::MAX).is_none());
        assert!(AlignedMemory::zeroed(isize::MAX as usize - 4096).is_none());
    }
}

//! Aligned memory with a fixed address: buffers, inline bytes, worker memory.
//!
//! Owns [`AlignedMemory`], zeroed at first. Large blocks come straight from the operating system,
//! page-aligned and filled with zeros as they are touched; small ones from the allocator at 64 bytes.
//! Invariant: the address is valid for `len` bytes and aligned to at least 64 (guarded blocks: as [`Guard`]
//! says) until the value is dropped.
//!
//! Large blocks begin at different places of their first page. Processors tell a load from the stores before
//! it by the low 12 bits of their addresses first; where all blocks begin with a page, what a kernel loads
//! next to what it just stored, one row further on in another buffer, looks like the same place, and waits
//! for the store.

use std::alloc::Layout;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::guarded::{Guard, GuardedPages};

/// The least alignment: a cache line, and the widest vector.
const ALIGNMENT: usize = 64;
/// From here on blocks are mapped pages: below, the page's tail would be wasted.
const MAPPED_FROM: usize = 64 * 1024;
/// From here on the kernel is asked for huge pages.
const HUGE_FROM: usize = 4 * 1024 * 1024;
/// A huge page, as far as alignment goes.
const HUGE: usize = 2 * 1024 * 1024;
/// The bytes that a block may begin in, from the start of its mapping. No page is smaller.
const PAGE: usize = 4096;
/// How many places in them blocks take in turns.
const STARTS: usize = 8;

/// A block of memory, aligned to at least 64 bytes, zeroed when made.
#[derive(Debug)]
pub(crate) struct AlignedMemory {
    start: NonNull<u8>,
    len: usize,
    /// What holds the block if it has a guard; it gives the pages back itself.
    guarded: Option<GuardedPages>,
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
        Some(AlignedMemory { start, len, guarded: None })
    }

    /// A zeroed block, directly beside an inaccessible page if there is a guard; `None` if there is no memory
    /// for it.
    pub(crate) fn zeroed_beside(len: usize, guard: Option<Guard>) -> Option<Self> {
        let Some(guard) = guard else { return Self::zeroed(len) };
        let pages = GuardedPages::zeroed(len, guard)?;
        Some(AlignedMemory { start: pages.start(), len, guarded: Some(pages) })
    }

    /// The first byte.
    pub(crate) fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// How many bytes.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// On which side an inaccessible page lies directly.
    pub(crate) fn guard(&self) -> Option<Guard> {
        self.guarded.as_ref().map(GuardedPages::guard)
    }
}

impl Drop for AlignedMemory {
    fn drop(&mut self) {
        match self.len {
            _ if self.guarded.is_some() => {}
            0 => {}
            MAPPED_FROM.. => {
                let before = self.start.as_ptr() as usize % PAGE;
                // SAFETY: `map` mapped exactly these bytes, and the owner is going away.
                unsafe { unmap(self.start.as_ptr().wrapping_sub(before), before + self.len) }
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

/// Where the next block begins in its first page: near a half from the one before, and so on, as one reads
/// the bits of a counter from the other end.
fn next_start() -> usize {
    static BLOCKS: AtomicUsize = AtomicUsize::new(0);
    let count = BLOCKS.fetch_add(1, Ordering::Relaxed) % STARTS;
    let turned = count.reverse_bits() >> (usize::BITS - STARTS.trailing_zeros());
    turned * (PAGE / STARTS)
}

/// Maps so many bytes behind a start in the first page.
fn map(len: usize) -> Option<NonNull<u8>> {
    if len > isize::MAX as usize - HUGE {
        return None;
    }
    let before = next_start();
    let wanted = (before + len).next_multiple_of(PAGE);
    if wanted < HUGE_FROM {
        return NonNull::new(map_pages(wanted)?.as_ptr().wrapping_add(before));
    }
    // Some kernels align mappings for huge pages only if their length asks for it.
    let mapped = wanted.next_multiple_of(HUGE);
    let pages = map_pages(mapped)?.as_ptr();
    // SAFETY: the end of the mapping just made, which nobody uses.
    unsafe { unmap(pages.wrapping_add(wanted), mapped - wanted) };
    advise_huge_pages(pages.cast(), wanted);
    NonNull::new(pages.wrapping_add(before))
}

/// Gives the pages of these bytes back.
///
/// # Safety
///
/// They were mapped by [`map_pages`], and nobody uses them again.
unsafe fn unmap(start: *mut u8, len: usize) {
    if len > 0 {
        // SAFETY: as the caller promises.
        let result = unsafe { libc::munmap(start.cast(), len) };
        debug_assert_eq!(result, 0, "munmap of our own mapping failed");
    }
}

fn map_pages(len: usize) -> Option<NonNull<u8>> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: an anonymous mapping at an address of the kernel's choice touches no existing memory.
    let address = unsafe { libc::mmap(std::ptr::null_mut(), len, protection, flags, -1, 0) };
    if address == libc::MAP_FAILED {
        return None;
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
    use std::collections::BTreeSet;

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
        let apart = [(); STARTS].map(|()| AlignedMemory::zeroed(MAPPED_FROM).unwrap());
        let starts: BTreeSet<_> =
            apart.iter().map(|memory| memory.start().as_ptr() as usize % PAGE).collect();
        // Other tests allocate too.
        assert!(starts.len() > 1, "{starts:?}");
        assert!(AlignedMemory::zeroed(usize::MAX).is_none());
        assert!(AlignedMemory::zeroed(isize::MAX as usize - 4096).is_none());
    }
}

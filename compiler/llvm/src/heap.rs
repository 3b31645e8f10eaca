//! The heap of a thread that compiles.
//!
//! A compile takes some 20 MiB in small blocks, from the parser's tokens to LLVM's instructions. glibc gives
//! each thread but the first a heap that grows by what the next block lacks: three thousand system calls and
//! seven thousand page faults, a sixth of a cold compile's time. [`reserve`] grows the heap once. Invariant:
//! the reserved block is freed at once; until blocks are allocated there it is address space, not memory.

use std::cell::Cell;

thread_local! {
    /// Whether this thread's heap is prepared.
    static RESERVED: Cell<bool> = const { Cell::new(false) };
}

/// Prepares this thread's heap for compiles.
pub fn reserve() {
    if !RESERVED.replace(true) {
        grow();
    }
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn grow() {
    // The first block may get a mapping of its own. Freeing it makes glibc raise its threshold for
    // mappings; the second is then taken from the heap, which stays as large when that is freed, too.
    for _ in 0..2 {
        // SAFETY: takes any number of bytes; returns null or a block of that size.
        let block = std::hint::black_box(unsafe { libc::malloc(BYTES) }).cast::<u8>();
        if block.is_null() {
            return;
        }
        let first_page = block.align_offset(PAGE);
        // With pages of 2 MiB, where the system provides them on request, there are half as many faults.
        // SAFETY: these are whole pages of the block, and the advice leaves their contents alone.
        unsafe { libc::madvise(block.add(first_page).cast(), BYTES - PAGE, libc::MADV_HUGEPAGE) };
        // SAFETY: allocated above and not used again.
        unsafe { libc::free(block.cast()) };
    }
}

/// What most compiles stay below. glibc takes blocks of twice that from mappings of their own, always.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const BYTES: usize = 16 << 20;

/// The system's, at least; `madvise` refuses places that are none of its pages.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const PAGE: usize = 4096;

/// Heaps of other C libraries do not grow by so little.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn grow() {}

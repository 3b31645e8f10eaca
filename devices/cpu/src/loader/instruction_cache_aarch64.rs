//! 64-bit Arm: write the data cache back and drop stale instructions, line by line.

use std::arch::asm;

pub(super) fn forget(start: *const u8, bytes: usize) {
    let cache_type: usize;
    // SAFETY: reads the cache type register, which programs may read.
    unsafe { asm!("mrs {}, ctr_el0", out(reg) cache_type, options(nomem, nostack, preserves_flags)) };
    let data_line = 4usize << ((cache_type >> 16) & 0xf);
    let code_line = 4usize << (cache_type & 0xf);
    let (first, end) = (start as usize, start as usize + bytes);
    for line in (first & !(data_line - 1)..end).step_by(data_line) {
        // SAFETY: cleaning a line of mapped memory changes no memory's contents.
        unsafe { asm!("dc cvau, {}", in(reg) line, options(nostack, preserves_flags)) };
    }
    // SAFETY: a barrier.
    unsafe { asm!("dsb ish", options(nostack, preserves_flags)) };
    for line in (first & !(code_line - 1)..end).step_by(code_line) {
        // SAFETY: dropping cached instructions of mapped memory changes no memory's contents.
        unsafe { asm!("ic ivau, {}", in(reg) line, options(nostack, preserves_flags)) };
    }
    // SAFETY: barriers.
    unsafe { asm!("dsb ish", "isb", options(nostack, preserves_flags)) };
}

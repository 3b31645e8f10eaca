//! The convention of 64-bit Arm: `x19` to `x30` and `d8` to `d15` are preserved.

use std::arch::naked_asm;

use super::Start;

pub(crate) const IS_SUPPORTED: bool = true;

/// Words that a switch leaves on the stack: twelve of general registers, eight of vector registers.
const WORDS: usize = 20;

/// A stack that ends there (its highest address, a multiple of 16) made ready: the first switch to what is
/// returned calls `start` on it with the switch's argument.
pub(crate) fn on_stack(end: *mut u8, start: Start) -> *mut u8 {
    let mut words = [0u64; WORDS];
    words[0] = start as usize as u64;
    words[11] = begin as *const () as usize as u64;
    let first = end.cast::<u64>().wrapping_sub(WORDS);
    // SAFETY: the caller owns the stack, which is longer than that, and nothing runs on it yet.
    unsafe { first.cast::<[u64; WORDS]>().write(words) };
    first.cast()
}

/// Where a stack begins: `x19` is its function, `x2` the argument of the switch.
#[unsafe(naked)]
unsafe extern "C" fn begin() {
    naked_asm!("mov x0, x2", "blr x19", "brk #1")
}

/// Leaves the current stack, writing where to go on there to `save`, for the one at `to`.
///
/// # Safety
/// `to` is what [`on_stack`] returned or a switch saved, and is used once.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn switch(save: *mut *mut u8, to: *mut u8, argument: *mut u8) {
    naked_asm!(
        "sub sp, sp, #160",
        "stp x19, x20, [sp]",
        "stp x21, x22, [sp, #16]",
        "stp x23, x24, [sp, #32]",
        "stp x25, x26, [sp, #48]",
        "stp x27, x28, [sp, #64]",
        "stp x29, x30, [sp, #80]",
        "stp d8, d9, [sp, #96]",
        "stp d10, d11, [sp, #112]",
        "stp d12, d13, [sp, #128]",
        "stp d14, d15, [sp, #144]",
        "mov x9, sp",
        "str x9, [x0]",
        "mov sp, x1",
        "ldp x19, x20, [sp]",
        "ldp x21, x22, [sp, #16]",
        "ldp x23, x24, [sp, #32]",
        "ldp x25, x26, [sp, #48]",
        "ldp x27, x28, [sp, #64]",
        "ldp x29, x30, [sp, #80]",
        "ldp d8, d9, [sp, #96]",
        "ldp d10, d11, [sp, #112]",
        "ldp d12, d13, [sp, #128]",
        "ldp d14, d15, [sp, #144]",
        "add sp, sp, #160",
        "ret",
    )
}

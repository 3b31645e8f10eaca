//! The trampolines for AArch64.
//!
//! Registers: x8 is the address of a result in memory and is kept; x9 to x12, x16 and x17 are free.

use std::arch::naked_asm;

use super::super::cache::ENTRIES_OFFSET;
use super::super::class::Class;
use super::{find, find_super};

/// Saves what may hold arguments.
macro_rules! save {
    () => {
        "stp x29, x30, [sp, #-224]!
        .cfi_def_cfa_offset 224
        .cfi_offset x29, -224
        .cfi_offset x30, -216
        mov x29, sp
        stp x0, x1, [sp, #16]
        stp x2, x3, [sp, #32]
        stp x4, x5, [sp, #48]
        stp x6, x7, [sp, #64]
        str x8, [sp, #80]
        stp q0, q1, [sp, #96]
        stp q2, q3, [sp, #128]
        stp q4, q5, [sp, #160]
        stp q6, q7, [sp, #192]"
    };
}

/// Puts everything back; x16 keeps the code that was found.
macro_rules! restore {
    () => {
        "mov x16, x0
        ldp x0, x1, [sp, #16]
        ldp x2, x3, [sp, #32]
        ldp x4, x5, [sp, #48]
        ldp x6, x7, [sp, #64]
        ldr x8, [sp, #80]
        ldp q0, q1, [sp, #96]
        ldp q2, q3, [sp, #128]
        ldp q4, q5, [sp, #160]
        ldp q6, q7, [sp, #192]
        ldp x29, x30, [sp], #224
        .cfi_def_cfa sp, 0"
    };
}

/// Sends a message.
///
/// # Safety
///
/// It is called as a function of the type of the method that the message runs.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn objc_msgSend() {
    naked_asm!(
        ".cfi_startproc",
        "cbz x0, 5f",
        "tst x0, #7",
        "b.ne 4f",
        "ldr x16, [x0]",
        "cbz x16, 4f",
        "cbz x1, 4f",
        // x16: the table; x17: the key; x9: the mask; x10: the entry's number, as in
        // `cache::place`.
        "add x16, x16, #{cache}",
        "ldar x16, [x16]",
        "ldr x17, [x1]",
        "ldr x9, [x16]",
        "eor x10, x17, x17, lsr #7",
        "lsr x10, x10, #4",
        "2:",
        "and x10, x10, x9",
        "add x11, x16, x10, lsl #4",
        "add x11, x11, #{entries}",
        "ldar x12, [x11]",
        "cmp x12, x17",
        "b.ne 3f",
        "ldr x16, [x11, #8]",
        "br x16",
        "3:",
        "cbz x12, 4f",
        "add x10, x10, #1",
        "b 2b",
        "4:",
        save!(),
        "bl {find}",
        restore!(),
        "br x16",
        "5:",
        "mov x1, #0",
        "movi d0, #0",
        "movi d1, #0",
        "movi d2, #0",
        "movi d3, #0",
        "ret",
        ".cfi_endproc",
        cache = const Class::CACHE_OFFSET,
        entries = const ENTRIES_OFFSET,
        find = sym find,
    )
}

/// Sends a message to `super`; the first argument is the address of receiver and superclass.
///
/// # Safety
///
/// It is called as a function of the type of the method that the message runs.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn objc_msgSendSuper() {
    naked_asm!(
        ".cfi_startproc",
        save!(),
        "bl {find}",
        restore!(),
        "ldr x0, [x0]",
        "br x16",
        ".cfi_endproc",
        find = sym find_super,
    )
}

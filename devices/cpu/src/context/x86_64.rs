//! The System V convention of x86-64: `rbx`, `rbp`, `r12` to `r15`, and the control words of the vector unit
//! and the x87 are preserved.

use std::arch::naked_asm;

use super::Start;

pub(crate) const IS_SUPPORTED: bool = true;

/// Control words that a thread starts with: all exceptions masked, round to nearest.
const CONTROL_WORDS: u64 = 0x1f80 | (0x037f << 32);

/// A stack that ends there (its highest address, a multiple of 16) made ready: the first switch to what is
/// returned calls `start` on it with the switch's argument.
pub(crate) fn on_stack(end: *mut u8, start: Start) -> *mut u8 {
    let top = end.cast::<u64>();
    let words = [CONTROL_WORDS, 0, 0, 0, start as usize as u64, 0, 0, begin as *const () as usize as u64];
    // Two words stay free: at a call the stack's end is a multiple of 16.
    let first = top.wrapping_sub(2 + words.len());
    // SAFETY: the caller owns the stack, which is longer than that, and nothing runs on it yet.
    unsafe { first.cast::<[u64; 8]>().write(words) };
    first.cast()
}

/// Where a stack begins: `r12` is its function, `rdx` the argument of the switch.
#[unsafe(naked)]
unsafe extern "C" fn begin() {
    naked_asm!("mov rdi, rdx", "call r12", "ud2")
}

/// Leaves the current stack, writing where to go on there to `save`, for the one at `to`.
///
/// # Safety
/// `to` is what [`on_stack`] returned or a switch saved, and is used once.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn switch(save: *mut *mut u8, to: *mut u8, argument: *mut u8) {
    naked_asm!(
        "push rbp",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "sub rsp, 8",
        "stmxcsr [rsp]",
        "fnstcw [rsp + 4]",
        "mov [rdi], rsp",
        "mov rsp, rsi",
        "ldmxcsr [rsp]",
        "fldcw [rsp + 4]",
        "add rsp, 8",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        "ret",
    )
}

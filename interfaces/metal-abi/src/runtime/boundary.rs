//! Calls of a program's blocks on threads of this crate, which exceptions must not leave.
//!
//! Frames of Rust end the process for an exception of another language, without its text. The trampolines
//! here have a personality that the unwinder asks first: it reports the exception as Apple's frameworks do,
//! and ends the process. A panic of Rust passes.

use std::arch::naked_asm;
use std::ffi::{c_int, c_void};

use super::exception::{CONTINUE_UNWIND, Context, Exception, SEARCH_PHASE, terminate, thrown_object};

/// What a trampoline calls.
type Call = unsafe extern "C-unwind" fn(*mut c_void);

/// Calls `work`; an Objective-C exception that leaves it ends the process with the exception's text.
pub(crate) fn without_exceptions<F: FnOnce()>(work: F) {
    unsafe extern "C-unwind" fn call<F: FnOnce()>(work: *mut c_void) {
        // SAFETY: the address is that of `work` below, which is taken once.
        let work = unsafe { (*work.cast::<Option<F>>()).take() };
        work.expect("called once")();
    }
    let mut work = Some(work);
    // SAFETY: the function takes the address that is passed with it.
    unsafe { trampoline(call::<F>, (&raw mut work).cast()) };
}

/// # Safety
///
/// Called by the unwinder.
unsafe extern "C" fn personality(
    _version: c_int,
    phase: c_int,
    _class: u64,
    exception: *mut Exception,
    _context: *mut Context,
) -> c_int {
    if phase & SEARCH_PHASE != 0 {
        // SAFETY: the unwinder promises the exception.
        if let Some(object) = unsafe { thrown_object(exception) } {
            // SAFETY: a thrown object is held by its exception.
            unsafe { terminate(object) }
        }
    }
    CONTINUE_UNWIND
}

/// Calls `call` with `argument`.
///
/// # Safety
///
/// `call` may be called with `argument`.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
unsafe extern "C-unwind" fn trampoline(call: Call, argument: *mut c_void) {
    // 0x1b: the personality's address is relative, in 32 bits (`DW_EH_PE_pcrel | DW_EH_PE_sdata4`).
    naked_asm!(
        ".cfi_startproc",
        ".cfi_personality 0x1b, {personality}",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "mov rax, rdi",
        "mov rdi, rsi",
        "call rax",
        "pop rbp",
        ".cfi_def_cfa rsp, 8",
        "ret",
        ".cfi_endproc",
        personality = sym personality,
    )
}

/// Calls `call` with `argument`.
///
/// # Safety
///
/// `call` may be called with `argument`.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
unsafe extern "C-unwind" fn trampoline(call: Call, argument: *mut c_void) {
    naked_asm!(
        ".cfi_startproc",
        ".cfi_personality 0x1b, {personality}",
        "stp x29, x30, [sp, #-16]!",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset x29, -16",
        ".cfi_offset x30, -8",
        "mov x29, sp",
        "mov x9, x0",
        "mov x0, x1",
        "blr x9",
        "ldp x29, x30, [sp], #16",
        ".cfi_def_cfa sp, 0",
        "ret",
        ".cfi_endproc",
        personality = sym personality,
    )
}

//! The trampolines for x86-64.
//!
//! Registers: rax holds the number of vector registers of a variadic call and is kept; r10 and r11
//! are free; the 128 bytes below the stack pointer are the function's own.

use std::arch::naked_asm;

use super::super::cache::ENTRIES_OFFSET;
use super::super::class::Class;
use super::{find, find_super};

/// Saves what may hold arguments and aligns the stack for a call.
macro_rules! save {
    () => {
        "push rbp
        .cfi_def_cfa_offset 16
        .cfi_offset rbp, -16
        mov rbp, rsp
        .cfi_def_cfa_register rbp
        sub rsp, 192
        movups [rsp], xmm0
        movups [rsp + 16], xmm1
        movups [rsp + 32], xmm2
        movups [rsp + 48], xmm3
        movups [rsp + 64], xmm4
        movups [rsp + 80], xmm5
        movups [rsp + 96], xmm6
        movups [rsp + 112], xmm7
        mov [rsp + 128], rdi
        mov [rsp + 136], rsi
        mov [rsp + 144], rdx
        mov [rsp + 152], rcx
        mov [rsp + 160], r8
        mov [rsp + 168], r9
        mov [rsp + 176], rax"
    };
}

/// Puts everything back; r11 keeps the code that was found.
macro_rules! restore {
    () => {
        "mov r11, rax
        movups xmm0, [rsp]
        movups xmm1, [rsp + 16]
        movups xmm2, [rsp + 32]
        movups xmm3, [rsp + 48]
        movups xmm4, [rsp + 64]
        movups xmm5, [rsp + 80]
        movups xmm6, [rsp + 96]
        movups xmm7, [rsp + 112]
        mov rdi, [rsp + 128]
        mov rsi, [rsp + 136]
        mov rdx, [rsp + 144]
        mov rcx, [rsp + 152]
        mov r8, [rsp + 160]
        mov r9, [rsp + 168]
        mov rax, [rsp + 176]
        mov rsp, rbp
        pop rbp
        .cfi_def_cfa rsp, 8"
    };
}

/// Defines a trampoline whose result is in registers.
macro_rules! send_in_registers {
    ($(#[$documentation:meta])* $name:ident) => {
        $(#[$documentation])*
        ///
        /// # Safety
        ///
        /// It is called as a function of the type of the method that the message runs.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C-unwind" fn $name() {
            naked_asm!(
                ".cfi_startproc",
                "test rdi, rdi",
                "jz 5f",
                "test dil, 7",
                "jnz 4f",
                "mov r10, [rdi]",
                "test r10, r10",
                "jz 4f",
                "test rsi, rsi",
                "jz 4f",
                "mov [rsp - 8], rax",
                // r10: the table; r11: the key; rax: the entry's number, as in `cache::place`.
                "mov r10, [r10 + {cache}]",
                "mov r11, [rsi]",
                "mov rax, r11",
                "shr rax, 7",
                "xor rax, r11",
                "shr rax, 4",
                "2:",
                "and rax, [r10]",
                "shl rax, 4",
                "cmp r11, [r10 + rax + {entries}]",
                "jne 3f",
                "mov r11, [r10 + rax + {entries} + 8]",
                "mov rax, [rsp - 8]",
                "jmp r11",
                "3:",
                "cmp qword ptr [r10 + rax + {entries}], 0",
                "je 6f",
                "shr rax, 4",
                "inc rax",
                "jmp 2b",
                "6:",
                "mov rax, [rsp - 8]",
                "4:",
                save!(),
                "call {find}",
                restore!(),
                "jmp r11",
                "5:",
                "xor eax, eax",
                "xor edx, edx",
                "pxor xmm0, xmm0",
                "pxor xmm1, xmm1",
                "ret",
                ".cfi_endproc",
                cache = const Class::CACHE_OFFSET,
                entries = const ENTRIES_OFFSET,
                find = sym find,
            )
        }
    };
}

send_in_registers!(
    /// Sends a message whose result is in registers.
    objc_msgSend
);
send_in_registers!(
    /// The same. Metal's C++ wrapper sends messages with floating-point results by it.
    objc_msgSend_fpret
);

/// Sends a message whose result is in memory. A message to nothing leaves that memory alone.
///
/// # Safety
///
/// It is called as a function of the type of the method that the message runs.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn objc_msgSend_stret() {
    naked_asm!(
        ".cfi_startproc",
        "test rsi, rsi",
        "jz 5f",
        save!(),
        "mov rdi, rsi",
        "mov rsi, rdx",
        "call {find}",
        restore!(),
        "jmp r11",
        "5:",
        "mov rax, rdi",
        "ret",
        ".cfi_endproc",
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
        "call {find}",
        restore!(),
        "mov rdi, [rdi]",
        "jmp r11",
        ".cfi_endproc",
        find = sym find_super,
    )
}

/// The same for a result in memory.
///
/// # Safety
///
/// It is called as a function of the type of the method that the message runs.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn objc_msgSendSuper_stret() {
    naked_asm!(
        ".cfi_startproc",
        save!(),
        "mov rdi, rsi",
        "mov rsi, rdx",
        "call {find}",
        restore!(),
        "mov rsi, [rsi]",
        "jmp r11",
        ".cfi_endproc",
        find = sym find_super,
    )
}

//! Methods and functions with any number of arguments.
//!
//! Each is a trampoline, because Rust cannot define such functions: it writes the argument registers
//! to the stack, makes a `va_list` in the platform's layout, and calls a function of Rust with the
//! named arguments, which are in registers still, and the list's address after them.

use std::ffi::{CStr, c_int, c_long, c_void};

use objc2::rc::Retained;
use objc2::runtime::{AnyClass, AnyObject, Sel};
use objc2::{ClassType, msg_send};

use super::array::NSArray;
use super::exception;
use super::format::formatted;
use super::string::{NSMutableString, NSString};
use crate::arguments::{Argument, Site};
use crate::runtime::Sel as Selector;
use crate::runtime::class::Class;
use crate::runtime::class_builder::add_method;

/// A `va_list` of the System V ABI for x86-64.
#[cfg(target_arch = "x86_64")]
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Arguments {
    /// Bytes of `saved` that were taken, of 48 for integers and of 176 for all.
    integers: u32,
    vectors: u32,
    /// The next argument on the stack.
    stack: *const u8,
    saved: *const u8,
}

/// A `va_list` of the AArch64 procedure call standard.
#[cfg(target_arch = "aarch64")]
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Arguments {
    /// The next argument on the stack.
    stack: *const u8,
    /// The ends of the saved registers.
    integers_end: *const u8,
    vectors_end: *const u8,
    /// Where the next register is, counted from the end; 0: all were taken.
    integers: i32,
    vectors: i32,
}

impl Arguments {
    /// The next argument, an integer or a pointer.
    ///
    /// # Safety
    ///
    /// The caller passed such an argument here.
    pub(crate) unsafe fn integer(&mut self) -> i64 {
        // SAFETY: as promised.
        unsafe { self.next(false).cast::<i64>().read_unaligned() }
    }

    /// The next argument, a `double`.
    ///
    /// # Safety
    ///
    /// The caller passed such an argument here.
    pub(crate) unsafe fn double(&mut self) -> f64 {
        // SAFETY: as promised.
        unsafe { self.next(true).cast::<f64>().read_unaligned() }
    }

    #[cfg(target_arch = "x86_64")]
    unsafe fn next(&mut self, is_vector: bool) -> *const u8 {
        let (taken, bytes, end) =
            if is_vector { (&mut self.vectors, 16, 176) } else { (&mut self.integers, 8, 48) };
        if *taken + bytes <= end {
            let at = *taken as usize;
            *taken += bytes;
            return self.saved.wrapping_add(at);
        }
        let at = self.stack;
        self.stack = at.wrapping_add(8);
        at
    }

    #[cfg(target_arch = "aarch64")]
    unsafe fn next(&mut self, is_vector: bool) -> *const u8 {
        let (offset, bytes, end) = if is_vector {
            (&mut self.vectors, 16, self.vectors_end)
        } else {
            (&mut self.integers, 8, self.integers_end)
        };
        if *offset < 0 {
            let at = *offset as isize;
            *offset += bytes;
            return end.wrapping_offset(at);
        }
        let at = self.stack;
        self.stack = at.wrapping_add(8);
        at
    }
}

/// Defines a variadic function that passes its `$named` first arguments (integers or pointers) and the
/// address of the list of the others to a function of Rust.
macro_rules! variadic {
    ($(#[$attribute:meta])* $name:ident, $named:literal, $list:literal, $function:path) => {
        /// # Safety
        ///
        /// Its first arguments are those of the function of Rust; the others are those of the format.
        $(#[$attribute])*
        #[unsafe(naked)]
        pub(crate) unsafe extern "C-unwind" fn $name() {
            #[cfg(target_arch = "x86_64")]
            std::arch::naked_asm!(
                ".cfi_startproc",
                "sub rsp, 216",
                ".cfi_def_cfa_offset 224",
                "mov [rsp], rdi",
                "mov [rsp + 8], rsi",
                "mov [rsp + 16], rdx",
                "mov [rsp + 24], rcx",
                "mov [rsp + 32], r8",
                "mov [rsp + 40], r9",
                "movaps [rsp + 48], xmm0",
                "movaps [rsp + 64], xmm1",
                "movaps [rsp + 80], xmm2",
                "movaps [rsp + 96], xmm3",
                "movaps [rsp + 112], xmm4",
                "movaps [rsp + 128], xmm5",
                "movaps [rsp + 144], xmm6",
                "movaps [rsp + 160], xmm7",
                concat!("mov dword ptr [rsp + 176], 8*", $named),
                "mov dword ptr [rsp + 180], 48",
                "lea rax, [rsp + 224]",
                "mov [rsp + 184], rax",
                "mov [rsp + 192], rsp",
                concat!("lea ", $list, ", [rsp + 176]"),
                "call {function}",
                "add rsp, 216",
                ".cfi_def_cfa_offset 8",
                "ret",
                ".cfi_endproc",
                function = sym $function,
            );
            #[cfg(target_arch = "aarch64")]
            std::arch::naked_asm!(
                ".cfi_startproc",
                "stp x29, x30, [sp, #-240]!",
                ".cfi_def_cfa_offset 240",
                ".cfi_offset x29, -240",
                ".cfi_offset x30, -232",
                "stp x0, x1, [sp, #16]",
                "stp x2, x3, [sp, #32]",
                "stp x4, x5, [sp, #48]",
                "stp x6, x7, [sp, #64]",
                "stp q0, q1, [sp, #80]",
                "stp q2, q3, [sp, #112]",
                "stp q4, q5, [sp, #144]",
                "stp q6, q7, [sp, #176]",
                "add x9, sp, #240",
                "str x9, [sp, #208]",
                "add x9, sp, #80",
                "str x9, [sp, #216]",
                "add x9, sp, #208",
                "str x9, [sp, #224]",
                concat!("mov w9, #-(64 - 8*", $named, ")"),
                "mov w10, #-128",
                "stp w9, w10, [sp, #232]",
                concat!("add x", $named, ", sp, #208"),
                "bl {function}",
                "ldp x29, x30, [sp], #240",
                ".cfi_def_cfa_offset 0",
                "ret",
                ".cfi_endproc",
                function = sym $function,
            );
        }
    };
}

type Id = *mut AnyObject;
type ClassArgument<'a> = &'a AnyClass;

variadic!(string_with_format, "3", "rcx", string_with);
variadic!(init_with_format, "3", "rcx", init_with);
variadic!(appending_format, "3", "rcx", appending);
variadic!(append_format, "3", "rcx", append);
variadic!(raise_format, "4", "r8", raise);
variadic!(array_with_objects, "3", "rcx", array_with);
variadic!(
    #[unsafe(no_mangle)]
    NSLog,
    "1",
    "rsi",
    NSLogv
);

/// The text of a format.
///
/// # Safety
///
/// A sender passed it.
unsafe fn text_of(format: *const NSString, site: &Site) -> String {
    // SAFETY: as promised.
    unsafe { <&NSString as Argument>::take(format, site) }.to_string()
}

extern "C-unwind" fn string_with(
    class: ClassArgument<'_>,
    _: Sel,
    format: *const NSString,
    arguments: &mut Arguments,
) -> *mut NSString {
    const SITE: Site = Site::of_class("NSString", "method(stringWithFormat:)", "format");
    // SAFETY: the sender passed the format and promises its arguments.
    let text = unsafe { formatted(&text_of(format, &SITE), arguments) };
    if std::ptr::eq(class, NSMutableString::class()) {
        return Retained::autorelease_ptr(NSMutableString::of(&text)).cast();
    }
    Retained::autorelease_ptr(NSString::of(&text))
}

/// `init…` takes over its receiver and gives a reference.
unsafe extern "C-unwind" fn init_with(
    receiver: Id,
    _: Sel,
    format: *const NSString,
    arguments: &mut Arguments,
) -> Id {
    const SITE: Site = Site::of_instance("NSString", "method(initWithFormat:)", "format");
    // SAFETY: the sender promises a new string and the arguments of the format.
    unsafe {
        let text = NSString::of(&formatted(&text_of(format, &SITE), arguments));
        msg_send![receiver, initWithString: &*text]
    }
}

extern "C-unwind" fn appending(
    string: &NSString,
    _: Sel,
    format: *const NSString,
    arguments: &mut Arguments,
) -> *mut NSString {
    const SITE: Site = Site::of_instance("NSString", "method(stringByAppendingFormat:)", "format");
    // SAFETY: the sender passed the format and promises its arguments.
    let more = unsafe { formatted(&text_of(format, &SITE), arguments) };
    Retained::autorelease_ptr(NSString::of(&format!("{string}{more}")))
}

extern "C-unwind" fn append(
    string: &NSMutableString,
    _: Sel,
    format: *const NSString,
    arguments: &mut Arguments,
) {
    const SITE: Site = Site::of_instance("NSMutableString", "method(appendFormat:)", "format");
    // SAFETY: the sender promises the arguments of the format; a mutable string has the method.
    unsafe {
        let more = NSString::of(&formatted(&text_of(format, &SITE), arguments));
        let () = msg_send![string, appendString: &*more];
    }
}

extern "C-unwind" fn raise(
    _class: ClassArgument<'_>,
    _: Sel,
    name: *const NSString,
    format: *const NSString,
    arguments: &mut Arguments,
) {
    const NAME: Site = Site::of_class("NSException", "method(raise:format:)", "name");
    const FORMAT: Site = Site { name: "format", ..NAME };
    // SAFETY: the sender passed both and promises the arguments of the format.
    let (name, reason) = unsafe {
        (<&NSString as Argument>::take(name, &NAME), formatted(&text_of(format, &FORMAT), arguments))
    };
    exception::throw(name, &reason);
}

/// Objects up to the first null.
unsafe extern "C-unwind" fn array_with(
    _class: ClassArgument<'_>,
    _: Sel,
    first: Id,
    arguments: &mut Arguments,
) -> *mut NSArray {
    let mut objects = Vec::new();
    let mut next = first;
    // SAFETY: the sender promises live objects and a null after them.
    unsafe {
        while let Some(object) = Retained::retain(next) {
            objects.push(object);
            next = std::ptr::with_exposed_provenance_mut(arguments.integer() as usize);
        }
    }
    Retained::autorelease_ptr(NSArray::of(objects))
}

/// Writes a line to the standard error stream.
///
/// # Safety
///
/// The arguments are those of the format; either may be null.
#[unsafe(no_mangle)]
#[allow(clippy::print_stderr, reason = "it is what the function is for")]
pub(crate) unsafe extern "C-unwind" fn NSLogv(format: *const NSString, arguments: *mut Arguments) {
    const SITE: Site = Site::of_class("NSLog", "method(format:)", "format");
    // Apple's logs nil as this text.
    let text = if format.is_null() || arguments.is_null() {
        "(null)".to_owned()
    } else {
        // SAFETY: as promised.
        unsafe { formatted(&text_of(format, &SITE), &mut *arguments) }
    };
    eprintln!("{text}");
}

/// A method: its class, whether it is the class's own, its selector, code and types.
type Method = (&'static CStr, bool, &'static CStr, unsafe extern "C-unwind" fn(), &'static CStr);

const METHODS: [Method; 6] = [
    (c"NSString", true, c"stringWithFormat:", string_with_format, c"@24@0:8@16"),
    (c"NSString", false, c"initWithFormat:", init_with_format, c"@24@0:8@16"),
    (c"NSString", false, c"stringByAppendingFormat:", appending_format, c"@24@0:8@16"),
    (c"NSMutableString", false, c"appendFormat:", append_format, c"v24@0:8@16"),
    (c"NSException", true, c"raise:format:", raise_format, c"v32@0:8@16@24"),
    (c"NSArray", true, c"arrayWithObjects:", array_with_objects, c"@24@0:8@16"),
];

/// Adds the variadic methods of a class to it, which is being built.
pub(crate) fn add_to(class: &'static Class) {
    for (name, is_of_class, selector, code, types) in METHODS {
        let target = if is_of_class { class.metaclass() } else { Some(class) };
        if let Some(target) = target.filter(|_| class.name() == name) {
            add_method(target, Selector::of(selector), code, types);
        }
    }
}

/// Fails to link where C's types are not those that [`Arguments`] reads.
const _: () = assert!(size_of::<c_long>() == 8 && size_of::<c_int>() == 4 && size_of::<*mut c_void>() == 8);

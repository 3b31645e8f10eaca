//! Exceptions, and failures of this crate's own.
//!
//! A thrown object travels in an [`Exception`], which functions of compiled Objective-C catch
//! ([`super::personality`]). Frames of Rust only clean up: `catch_unwind` ends the program.
//!
//! [`without_exceptions`] calls a program's blocks on threads of this crate, which exceptions must not leave:
//! frames of Rust end the process for an exception of another language, without its text. Its trampoline has
//! a personality that the unwinder asks first, which reports the exception as Apple's frameworks do.
//!
//! [`raise`] is how this crate fails. In a Rust program that is a panic, which `catch_unwind` catches;
//! once [`objc_anymetal_throw_exceptions`] was called, as `libMetal.so` does when it is loaded, it
//! throws an `NSException`.

use std::arch::naked_asm;
use std::cell::{Cell, RefCell};
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering};

use objc2::runtime::AnyObject;

use super::arc::{objc_autorelease, objc_release, objc_retain};
use super::object::Object;
use crate::arguments::class_name;
use crate::foundation::exception::NSException;

/// The class of exceptions of this runtime, as GCC's runtime names it.
const CLASS: u64 = u64::from_be_bytes(*b"GNUCOBJC");

/// An exception that is being unwound: the unwinder's head, then the object.
#[repr(C, align(16))]
pub(crate) struct Exception {
    class: u64,
    clean_up: Option<unsafe extern "C" fn(c_int, *mut Exception)>,
    private: [usize; 6],
    object: *mut Object,
}

/// The state of a stack walk; opaque.
#[repr(C)]
pub(crate) struct Context {
    _opaque: [u8; 0],
}

/// `_UA_SEARCH_PHASE`: a personality looks for a handler, and nothing is unwound yet.
pub(super) const SEARCH_PHASE: c_int = 1;

/// `_URC_CONTINUE_UNWIND`: a personality has no handler.
pub(super) const CONTINUE_UNWIND: c_int = 8;

unsafe extern "C-unwind" {
    fn _Unwind_RaiseException(exception: *mut Exception) -> c_int;
    fn _Unwind_Resume_or_Rethrow(exception: *mut Exception) -> c_int;
    fn _Unwind_DeleteException(exception: *mut Exception);
}

thread_local! {
    /// The exceptions whose handlers are running, the innermost last.
    static CAUGHT: RefCell<Vec<*mut Exception>> = const { RefCell::new(Vec::new()) };
    /// Whether an exception was thrown and has not come to its handler. Handlers of C++ are seen at
    /// their end, which frees the exception.
    static UNWINDING: Cell<bool> = const { Cell::new(false) };
}

/// Whether a failure is unwinding this thread: an exception, or a panic of this library's Rust.
pub(crate) fn is_unwinding() -> bool {
    UNWINDING.get() || std::thread::panicking()
}

/// The name of the exceptions of failures that have no other.
const INTERNAL_INCONSISTENCY: &str = "NSInternalInconsistencyException";

static THROWS: AtomicBool = AtomicBool::new(false);

/// Makes failures of this crate exceptions from now on.
#[unsafe(no_mangle)]
pub extern "C" fn objc_anymetal_throw_exceptions() {
    THROWS.store(true, Ordering::Relaxed);
}

/// Raises a failure with that text.
///
/// An exception's text is printed too, as Apple's frameworks do: C++ takes the exception with
/// `catch (...)`, which cannot read it.
#[track_caller]
#[cold]
pub(crate) fn raise(reason: &str) -> ! {
    raise_named(INTERNAL_INCONSISTENCY, reason)
}

/// Raises a failure for an argument that the method's documentation excludes.
#[track_caller]
#[cold]
pub(crate) fn raise_invalid_argument(reason: &str) -> ! {
    raise_named("NSInvalidArgumentException", reason)
}

/// Raises a failure for an index or range beyond an end.
#[track_caller]
#[cold]
pub(crate) fn raise_range(reason: &str) -> ! {
    raise_named("NSRangeException", reason)
}

#[track_caller]
#[allow(clippy::print_stderr, reason = "a program's developer sees it nowhere else")]
fn raise_named(name: &str, reason: &str) -> ! {
    if THROWS.load(Ordering::Relaxed) {
        eprintln!("{reason}");
        let exception = crate::foundation::exception::failure(name, reason);
        // SAFETY: the exception is a live object.
        unsafe { objc_exception_throw(exception.cast()) }
    }
    panic!("{reason}")
}

/// Throws the object, which is held until it was caught and its handler ended.
///
/// # Safety
///
/// `object` is null or a live object.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn objc_exception_throw(object: *mut Object) -> ! {
    let exception = Exception {
        class: CLASS,
        clean_up: Some(clean_up),
        private: [0; 6],
        // SAFETY: as promised.
        object: unsafe { objc_retain(object) },
    };
    let exception = Box::into_raw(Box::new(exception));
    UNWINDING.set(true);
    // SAFETY: the exception is new; the function comes back only if nothing catches it.
    unsafe {
        _Unwind_RaiseException(exception);
    }
    // SAFETY: as promised.
    unsafe { terminate(object) }
}

/// Frees an exception.
unsafe extern "C" fn clean_up(_reason: c_int, exception: *mut Exception) {
    UNWINDING.set(false);
    // SAFETY: exceptions of this class were boxed by `objc_exception_throw`, and this is called once.
    let exception = unsafe { Box::from_raw(exception) };
    // SAFETY: the exception had a reference.
    unsafe { objc_release(exception.object) };
}

/// Ends the process with the text of an exception that nothing catches, as Apple's frameworks word it.
///
/// # Safety
///
/// `object` is null or a live object of a class below `NSObject`.
#[allow(clippy::print_stderr, reason = "the last words of a program that ends here")]
pub(super) unsafe fn terminate(object: *mut Object) -> ! {
    // SAFETY: as promised.
    let object = unsafe { object.cast::<AnyObject>().as_ref() };
    let exception = object.and_then(|object| object.downcast_ref::<NSException>());
    match (exception, object) {
        (Some(exception), _) => eprintln!("*** Terminating app due to uncaught exception {exception}"),
        (None, Some(object)) => {
            eprintln!("*** Terminating app due to uncaught exception of class '{}'", class_name(object));
        }
        (None, None) => eprintln!("*** Terminating app due to an uncaught exception"),
    }
    std::process::abort()
}

/// The object of an exception; `None` of another language's.
///
/// # Safety
///
/// The exception is null or one that is being unwound or handled.
pub(crate) unsafe fn thrown_object(exception: *mut Exception) -> Option<*mut Object> {
    if exception.is_null() {
        return None;
    }
    // SAFETY: as promised, it starts with its class.
    let is_own = unsafe { (&raw const (*exception).class).read() } == CLASS;
    // SAFETY: exceptions of this class are whole.
    is_own.then(|| unsafe { (*exception).object })
}

/// Begins a handler; gives the object, or null of another language's exception.
///
/// # Safety
///
/// `exception` is what a landing pad was given.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn objc_begin_catch(exception: *mut Exception) -> *mut Object {
    UNWINDING.set(false);
    CAUGHT.with_borrow_mut(|caught| caught.push(exception));
    // SAFETY: as promised.
    unsafe { thrown_object(exception) }.unwrap_or(null_mut())
}

/// Ends the innermost handler: its exception is gone, its object lives until the pool ends.
///
/// # Safety
///
/// The thread is in a handler.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn objc_end_catch() {
    let Some(exception) = CAUGHT.with_borrow_mut(Vec::pop) else { return };
    if exception.is_null() {
        // It was thrown again.
        return;
    }
    // SAFETY: the exception is the handler's, which ends here.
    unsafe {
        if let Some(object) = thrown_object(exception) {
            objc_autorelease(objc_retain(object));
        }
        _Unwind_DeleteException(exception);
    }
}

/// Throws the exception of the innermost handler again.
///
/// # Safety
///
/// `exception` is that exception.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn objc_exception_rethrow(exception: *mut Exception) -> ! {
    if exception.is_null() {
        raise_invalid_argument("objc_exception_rethrow: the exception must not be NULL");
    }
    // The handler is left through its landing pad, which calls `objc_end_catch`.
    CAUGHT.with_borrow_mut(|caught| {
        if let Some(innermost) = caught.last_mut() {
            *innermost = null_mut();
        }
    });
    UNWINDING.set(true);
    // SAFETY: as promised; the function comes back only if nothing catches it.
    unsafe {
        let object = thrown_object(exception);
        _Unwind_Resume_or_Rethrow(exception);
        terminate(object.unwrap_or(null_mut()))
    }
}

/// A function that [`guarded_call`] calls.
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
    unsafe { guarded_call(call::<F>, (&raw mut work).cast()) };
}

/// # Safety
///
/// Called by the unwinder.
unsafe extern "C" fn terminating_personality(
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
unsafe extern "C-unwind" fn guarded_call(call: Call, argument: *mut c_void) {
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
        personality = sym terminating_personality,
    )
}

/// Calls `call` with `argument`.
///
/// # Safety
///
/// `call` may be called with `argument`.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
unsafe extern "C-unwind" fn guarded_call(call: Call, argument: *mut c_void) {
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
        personality = sym terminating_personality,
    )
}

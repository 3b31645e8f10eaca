//! Statuses: how a call ended, and why.
//!
//! Owns [`Status`], [`run`] and the text of the last failure of each thread.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use anymetal::{DeviceError, Error, ErrorClass};

/// How a call ended: `anymetal_status`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Well.
    Ok = 0,
    /// The source is wrong.
    CompileError = 1,
    /// A kernel accessed memory outside what it was given.
    OutOfBounds = 2,
    /// A mistake in the call.
    Caller = 3,
    /// Trying again may help.
    Transient = 4,
    /// A resource is used up.
    Exhausted = 5,
    /// The device is lost, or a part of this machine is missing.
    Lost = 6,
    /// A bug of this library.
    Bug = 7,
}

/// Why a call failed.
pub(crate) struct Failure {
    status: Status,
    text: String,
}

impl Failure {
    /// A mistake in the call.
    pub(crate) fn caller(text: impl Into<String>) -> Failure {
        Failure { status: Status::Caller, text: text.into() }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        let status = match &error {
            Error::Compile(failure) if failure.is_users() => Status::CompileError,
            Error::Device(DeviceError::OutOfBounds(_)) => Status::OutOfBounds,
            _ => match error.class() {
                ErrorClass::Transient => Status::Transient,
                ErrorClass::Exhausted => Status::Exhausted,
                ErrorClass::Lost => Status::Lost,
                ErrorClass::Caller => Status::Caller,
            },
        };
        let text = match &error {
            Error::Compile(failure) => failure.render_text(false),
            _ => error.to_string(),
        };
        Failure { status, text }
    }
}

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// Runs a call, notes why it failed, and tells how it ended.
pub(crate) fn run(call: impl FnOnce() -> Result<(), Failure>) -> Status {
    let outcome = catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|_| {
        Err(Failure {
            status: Status::Bug,
            text: "a bug of anymetal; the panic's message is on stderr".to_owned(),
        })
    });
    let Err(Failure { status, text }) = outcome else { return Status::Ok };
    let text = CString::new(text.replace('\0', " ")).unwrap_or_default();
    // A thread that ends has no text any more.
    let _gone = LAST.try_with(|last| *last.borrow_mut() = text);
    status
}

/// The object behind a handle.
///
/// # Safety
///
/// The pointer is NULL or a handle of that type which was not given back.
pub(crate) unsafe fn object<'a, T>(handle: *const T, what: &str) -> Result<&'a T, Failure> {
    // SAFETY: the caller's promise.
    unsafe { handle.as_ref() }.ok_or_else(|| Failure::caller(format!("the {what} is NULL")))
}

/// Hands an object out.
///
/// # Safety
///
/// The place is NULL or may be written.
pub(crate) unsafe fn give<T>(place: *mut *mut T, object: T) -> Result<(), Failure> {
    if place.is_null() {
        return Err(Failure::caller("there is no place for the result: it is NULL"));
    }
    // SAFETY: the caller's promise.
    unsafe { place.write(Box::into_raw(Box::new(object))) };
    Ok(())
}

/// Takes a handle back.
///
/// # Safety
///
/// The pointer is NULL or a handle that [`give`] made and that was not given back.
pub(crate) unsafe fn release<T>(handle: *mut T) {
    if !handle.is_null() {
        let _bug = run(|| {
            // SAFETY: the caller's promise.
            drop(unsafe { Box::from_raw(handle) });
            Ok(())
        });
    }
}

/// A list of C.
///
/// # Safety
///
/// There are `count` items at `first`, unless it is NULL.
pub(crate) unsafe fn list<'a, T>(first: *const T, count: usize, what: &str) -> Result<&'a [T], Failure> {
    match count {
        0 => Ok(&[]),
        _ if first.is_null() => Err(Failure::caller(format!("the {what} are NULL"))),
        // SAFETY: the caller's promise.
        _ => Ok(unsafe { std::slice::from_raw_parts(first, count) }),
    }
}

/// Text of C.
///
/// # Safety
///
/// The pointer is NULL or a string that ends with a zero byte.
pub(crate) unsafe fn text<'a>(pointer: *const c_char, what: &str) -> Result<&'a str, Failure> {
    if pointer.is_null() {
        return Err(Failure::caller(format!("the {what} is NULL")));
    }
    // SAFETY: the caller's promise.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str().map_err(|_| Failure::caller(format!("the {what} is not UTF-8")))
}

/// `anymetal_last_error`.
#[unsafe(no_mangle)]
pub extern "C" fn anymetal_last_error() -> *const c_char {
    LAST.try_with(|last| last.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

/// `anymetal_version`.
#[unsafe(no_mangle)]
pub extern "C" fn anymetal_version() -> *const c_char {
    const VERSION: &CStr =
        match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
            Ok(version) => version,
            Err(_) => c"",
        };
    VERSION.as_ptr()
}

//! Statuses: how a call ended, and why.
//!
//! Owns [`Status`], [`run`] and the text of the last failure of each thread.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use anymetal::Error;
use anymetal::error::{DeviceError, ErrorClass};

/// How a call ended: `anymetal_status`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
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

    /// A resource that is used up.
    pub(crate) fn exhausted(text: impl Into<String>) -> Failure {
        Failure { status: Status::Exhausted, text: text.into() }
    }

    #[cfg(test)]
    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        let status = match &error {
            Error::Compile(failure) if failure.is_user_error() => Status::CompileError,
            Error::Device(DeviceError::OutOfBounds(_)) => Status::OutOfBounds,
            _ if error.is_bug() => Status::Bug,
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

/// `anymetal_last_error`.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn anymetal_last_error() -> *const c_char {
    LAST.try_with(|last| last.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

/// `anymetal_version`.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn anymetal_version() -> *const c_char {
    const VERSION: &CStr =
        match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
            Ok(version) => version,
            Err(_) => c"",
        };
    VERSION.as_ptr()
}

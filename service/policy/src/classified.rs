//! Errors that have a class.
//!
//! Owns [`Classified`], by which policies decide about any error type, and [`is_retried`], the one
//! rule of which classes are tried again (REL-1).

use anymetal_hal::error::{DeviceError, ErrorClass};

/// An error with a class.
pub trait Classified {
    /// The class, by which policies decide.
    fn class(&self) -> ErrorClass;
}

impl Classified for DeviceError {
    fn class(&self) -> ErrorClass {
        DeviceError::class(self)
    }
}

/// A class is an error without details.
impl Classified for ErrorClass {
    fn class(&self) -> ErrorClass {
        *self
    }
}

/// Whether the same work may succeed on the same device if it is tried again.
pub fn is_retried(class: ErrorClass) -> bool {
    match class {
        ErrorClass::Transient | ErrorClass::Exhausted => true,
        ErrorClass::Lost | ErrorClass::Caller => false,
    }
}

//! Failures that Objective-C raises as exceptions: panics here, which unwind through messages.
//!
//! `objc2` sends its messages as calls that may unwind, so a program can catch them with
//! `std::panic::catch_unwind`, and a test that does not fails with the text.

use super::message::send;
use super::object::Object;
use super::selector::Sel;

/// Raises a failure with that text.
#[track_caller]
#[cold]
pub(crate) fn raise(reason: &str) -> ! {
    panic!("{reason}")
}

/// # Safety
///
/// `exception` is null or a live object.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn objc_exception_throw(exception: *mut Object) -> ! {
    // SAFETY: as promised.
    let reason = match unsafe { exception.as_ref() } {
        // SAFETY: as promised; `description` gives a string.
        Some(_) => unsafe { described(exception) },
        None => "nil".to_owned(),
    };
    raise(&format!("an Objective-C exception was thrown: {reason}"))
}

/// # Safety
///
/// `object` is a live object of a class below `NSObject`.
unsafe fn described(object: *mut Object) -> String {
    // SAFETY: as promised, the object has the method, which gives a string.
    let text = unsafe { send(object, Sel::of(c"description")) };
    // SAFETY: the method gives null or a string.
    unsafe { crate::foundation::text_of(text.cast()) }
}

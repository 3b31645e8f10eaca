//! The classes of Foundation that programs for Metal touch.
//!
//! Strings are UTF-8 inside. Collections hold any objects. What is immutable may be used from
//! several threads; what is mutable has a lock, so that a race gives some order instead of
//! undefined behaviour.

pub(crate) mod array;
pub(crate) mod bundle;
pub(crate) mod constants;
mod core;
pub(crate) mod data;
pub(crate) mod description;
pub(crate) mod dictionary;
pub(crate) mod error;
pub(crate) mod exception;
pub(crate) mod extensions;
pub(crate) mod fast_enumeration;
pub(crate) mod file_manager;
mod format;
pub(crate) mod lock;
pub(crate) mod mutable_set;
pub(crate) mod number;
pub(crate) mod pool;
pub(crate) mod process_info;
pub(crate) mod range;
pub(crate) mod scanner;
pub(crate) mod set;
pub(crate) mod string;
pub(crate) mod url;
pub(crate) mod variadic;

#[cfg(test)]
mod tests;

use objc2::rc::{Allocated, Retained};
use objc2::runtime::{AnyObject, NSObject};
use objc2::{AnyThread, ClassType, DefinedClass, Message, msg_send};

pub(crate) use array::NSArray;
pub(crate) use error::NSError;
pub(crate) use range::Range;
pub(crate) use string::NSString;

/// An object with those instance variables, of a class directly below `NSObject`.
pub(crate) fn initialized<T>(allocated: Allocated<T>, ivars: T::Ivars) -> Retained<T>
where
    T: DefinedClass + ClassType<Super = NSObject>,
{
    let partial = allocated.set_ivars(ivars);
    // SAFETY: `init` of `NSObject` takes nothing and gives its receiver.
    unsafe { msg_send![super(partial), init] }
}

/// A new object with those instance variables, of a class directly below `NSObject`.
pub(crate) fn object<T>(ivars: T::Ivars) -> Retained<T>
where
    T: DefinedClass + ClassType<Super = NSObject> + AnyThread,
{
    initialized(T::alloc(), ivars)
}

/// The text of a string object; empty for null.
///
/// # Safety
///
/// `string` is null or a live object that answers `UTF8String`.
pub(crate) unsafe fn text_of(string: *mut AnyObject) -> String {
    // SAFETY: as promised.
    let Some(string) = (unsafe { string.as_ref() }) else { return String::new() };
    // SAFETY: as promised.
    let text: *const std::ffi::c_char = unsafe { msg_send![string, UTF8String] };
    if text.is_null() {
        return String::new();
    }
    // SAFETY: what the method gives is a C string that lives as long as its string.
    unsafe { std::ffi::CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// Whether two objects are equal, as `isEqual:` says.
pub(crate) fn are_equal(first: &AnyObject, second: &AnyObject) -> bool {
    // SAFETY: every object answers `isEqual:`.
    std::ptr::eq(first, second) || unsafe { msg_send![first, isEqual: second] }
}

/// A copy, as `copy` makes it.
pub(crate) fn copied(object: &AnyObject) -> Retained<AnyObject> {
    // SAFETY: the method gives a reference to a copy.
    let copy: Option<Retained<AnyObject>> = unsafe { msg_send![object, copy] };
    copy.unwrap_or_else(|| object.retain())
}

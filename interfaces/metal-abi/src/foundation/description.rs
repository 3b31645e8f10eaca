//! `description`: what every object says of itself, added to `NSObject`.

use objc2::rc::Retained;
use objc2::runtime::AnyObject;
use objc2::{Message, msg_send};

use super::string::NSString;
use crate::runtime::add_string_method;
use crate::runtime::class::Class;

/// Adds the methods to the root class, which is being built.
pub(crate) fn add(root: &'static Class) {
    add_string_method(root, c"description", description);
    add_string_method(root, c"debugDescription", debug_description);
}

extern "C-unwind" fn description(object: &AnyObject, _selector: objc2::runtime::Sel) -> *mut NSString {
    let text = format!("<{}: {:p}>", object.class().name().to_string_lossy(), object);
    Retained::autorelease_return(NSString::of(&text))
}

extern "C-unwind" fn debug_description(object: &AnyObject, _selector: objc2::runtime::Sel) -> *mut NSString {
    let object = object.retain();
    // SAFETY: every object answers `description` with a string.
    let text: Retained<NSString> = unsafe { msg_send![&*object, description] };
    Retained::autorelease_return(text)
}

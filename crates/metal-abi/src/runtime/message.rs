//! Messages: which code runs.
//!
//! `objc2` looks the code up with [`objc_msg_lookup`] and calls it. A message that nothing answers
//! finds code that raises a failure with the names of class and selector.

use super::class::Class;
use super::object::{Imp, Object};
use super::raise;
use super::selector::Sel;

/// The receiver of a message to `super`, in C's layout.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Super<'a> {
    receiver: Option<&'a Object>,
    superclass: Option<&'static Class>,
}

/// The code that runs for a message; of a message that nothing answers, code that says so.
#[inline]
pub(crate) fn implementation(class: &'static Class, selector: Sel) -> Imp {
    class.implementation(selector).unwrap_or_else(unrecognized)
}

#[cold]
fn unrecognized() -> Imp {
    let code: extern "C-unwind" fn(&Object, Sel) = refuse;
    // SAFETY: whoever calls a method's code casts it to the method's type first; extra arguments
    // are left alone.
    unsafe { std::mem::transmute::<extern "C-unwind" fn(&Object, Sel), Imp>(code) }
}

/// What runs for a message that nothing answers.
pub(crate) extern "C-unwind" fn refuse(receiver: &Object, selector: Sel) {
    let class = receiver.class();
    let kind = if class.is_meta() { '+' } else { '-' };
    let (class, selector) = (class.display_name(), selector.name().to_string_lossy());
    raise(&format!("{kind}[{class} {selector}]: anymetal has no such method"));
}

/// What runs for a message to nothing.
extern "C-unwind" fn nothing(_receiver: Option<&Object>, _selector: Sel) -> usize {
    0
}

/// The code for a message. `receiver` is null or an object, which only its class is read of.
#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn objc_msg_lookup(receiver: Option<&Object>, selector: Sel) -> Imp {
    let Some(receiver) = receiver else {
        let code: extern "C-unwind" fn(Option<&Object>, Sel) -> usize = nothing;
        // SAFETY: as in `unrecognized`; the caller takes a zero for any result that fits a
        // register.
        return unsafe {
            std::mem::transmute::<extern "C-unwind" fn(Option<&Object>, Sel) -> usize, Imp>(code)
        };
    };
    implementation(receiver.class(), selector)
}

/// The code for a message to `super`.
#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn objc_msg_lookup_super(receiver: &Super<'_>, selector: Sel) -> Imp {
    match (receiver.receiver, receiver.superclass) {
        (Some(_), Some(superclass)) => implementation(superclass.ready(), selector),
        _ => objc_msg_lookup(None, selector),
    }
}

/// Sends a message without arguments whose result is an object or nothing.
///
/// # Safety
///
/// `receiver` is a live object, and its method for the selector takes no arguments and gives a
/// pointer, or nothing, which is then not looked at.
pub(crate) unsafe fn send(receiver: *mut Object, selector: Sel) -> *mut Object {
    // SAFETY: as promised.
    let code = implementation(unsafe { &*receiver }.class(), selector);
    // SAFETY: as promised, this is the method's type.
    let code = unsafe {
        std::mem::transmute::<Imp, unsafe extern "C-unwind" fn(*mut Object, Sel) -> *mut Object>(code)
    };
    // SAFETY: as promised.
    unsafe { code(receiver, selector) }
}

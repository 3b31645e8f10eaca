//! Messages: which code runs.
//!
//! `objc2` looks the code up with [`objc_msg_lookup`] and calls it. A message that nothing answers
//! finds code that raises a failure with the names of class and selector.

use super::class::Class;
use super::object::{Imp, Object};
use super::raise_invalid_argument;
use super::selector::Sel;

/// The receiver of a message to `super`, in C's layout.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Super<'a> {
    receiver: Option<&'a Object>,
    superclass: Option<&'static Class>,
}

/// The code that runs for a message. For an unknown or NULL selector it raises a failure.
#[inline]
pub(crate) fn implementation(class: &'static Class, selector: Option<Sel>) -> Imp {
    selector.and_then(|selector| class.implementation(selector)).unwrap_or_else(unrecognized)
}

#[cold]
fn unrecognized() -> Imp {
    let code: extern "C-unwind" fn(&Object, Option<Sel>) = refuse;
    // SAFETY: whoever calls a method's code casts it to the method's type first; extra arguments
    // are left alone.
    unsafe { std::mem::transmute::<extern "C-unwind" fn(&Object, Option<Sel>), Imp>(code) }
}

/// What runs for a message that nothing answers.
pub(crate) extern "C-unwind" fn refuse(receiver: &Object, selector: Option<Sel>) {
    let class = receiver.class();
    let kind = if class.is_meta() { '+' } else { '-' };
    let selector = selector.map_or(c"<null selector>", Sel::name).to_string_lossy();
    let class = class.display_name();
    raise_invalid_argument(&format!("{kind}[{class} {selector}]: anymetal has no such method"));
}

/// What runs for a message to nothing.
extern "C-unwind" fn nothing(_receiver: Option<&Object>, _selector: Sel) -> usize {
    0
}

/// The code for a message. `receiver` is null or an object, which only its class is read of.
#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn objc_msg_lookup(receiver: Option<&Object>, selector: Option<Sel>) -> Imp {
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
pub(crate) extern "C-unwind" fn objc_msg_lookup_super(
    receiver: Option<&Super<'_>>,
    selector: Option<Sel>,
) -> Imp {
    let Some(receiver) = receiver else {
        raise_invalid_argument("objc_msg_lookup_super: the receiver's structure must not be NULL");
    };
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
    let code = implementation(unsafe { &*receiver }.class(), Some(selector));
    // SAFETY: as promised, this is the method's type.
    let code = unsafe {
        std::mem::transmute::<Imp, unsafe extern "C-unwind" fn(*mut Object, Sel) -> *mut Object>(code)
    };
    // SAFETY: as promised.
    unsafe { code(receiver, selector) }
}

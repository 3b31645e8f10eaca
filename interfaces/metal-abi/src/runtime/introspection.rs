//! Questions about classes.

use std::ffi::{CStr, c_char, c_int, c_uint};
use std::sync::atomic::Ordering;

use super::class::Class;
use super::lists::{copied_list, terminated_name, text};
use super::method::{Ivar, Method};
use super::object::{Imp, Truth};
use super::protocol::Protocol;
use super::selector::Sel;

/// The instance variable of that name, of the class or a superclass.
pub(crate) fn instance_variable(class: &'static Class, name: &CStr) -> Option<&'static Ivar> {
    class.ready().ancestry().find_map(|class| {
        let body = class.body();
        body.ivars.iter().copied().find(|ivar| ivar.name.as_c_str() == name)
    })
}

/// Whether the class or a superclass adopts the protocol.
pub(crate) fn conforms(class: &'static Class, protocol: &'static Protocol) -> bool {
    class.ready().ancestry().any(|class| {
        let adopted = class.body().protocols.clone();
        adopted.into_iter().any(|adopted| adopted.includes(protocol))
    })
}

/// Whether instances have a method for the selector.
pub(crate) fn responds(class: &'static Class, selector: Sel) -> bool {
    class.ready().implementation(selector).is_some()
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn class_getName(class: Option<&'static Class>) -> *const c_char {
    terminated_name(class.map(Class::name))
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn class_isMetaClass(class: Option<&'static Class>) -> Truth {
    Truth::from(class.is_some_and(Class::is_meta))
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn class_getSuperclass(class: Option<&'static Class>) -> Option<&'static Class> {
    class?.ready().superclass()
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn class_getInstanceSize(class: Option<&'static Class>) -> usize {
    class.map_or(0, |class| class.ready().instance_bytes())
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn class_getVersion(class: Option<&'static Class>) -> c_int {
    class.map_or(0, |class| class.version().load(Ordering::Relaxed))
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn class_setVersion(class: Option<&'static Class>, version: c_int) {
    if let Some(class) = class {
        class.version().store(version, Ordering::Relaxed);
    }
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn class_getInstanceMethod(
    class: Option<&'static Class>,
    selector: Option<Sel>,
) -> Option<&'static Method> {
    class?.ready().method(selector?)
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn class_getClassMethod(
    class: Option<&'static Class>,
    selector: Option<Sel>,
) -> Option<&'static Method> {
    class?.as_object().class().method(selector?)
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn class_respondsToSelector(
    class: Option<&'static Class>,
    selector: Option<Sel>,
) -> Truth {
    let (Some(class), Some(selector)) = (class, selector) else { return Truth::NO };
    Truth::from(responds(class, selector))
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn class_getMethodImplementation(
    class: Option<&'static Class>,
    selector: Option<Sel>,
) -> Option<Imp> {
    Some(super::message::implementation(class?.ready(), Some(selector?)))
}

#[cfg(not(target_arch = "aarch64"))]
#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn class_getMethodImplementation_stret(
    class: Option<&'static Class>,
    selector: Option<Sel>,
) -> Option<Imp> {
    class_getMethodImplementation(class, selector)
}

/// # Safety
///
/// `name` is null or a C string.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn class_getInstanceVariable(
    class: Option<&'static Class>,
    name: *const c_char,
) -> Option<&'static Ivar> {
    // SAFETY: as promised.
    instance_variable(class?, unsafe { text(name) })
}

/// Classes have no variables of their own.
#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn class_getClassVariable(
    _class: Option<&'static Class>,
    _name: *const c_char,
) -> Option<&'static Ivar> {
    None
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn class_conformsToProtocol(
    class: Option<&'static Class>,
    protocol: Option<&'static Protocol>,
) -> Truth {
    let (Some(class), Some(protocol)) = (class, protocol) else { return Truth::NO };
    Truth::from(conforms(class, protocol))
}

/// Layouts are for garbage collectors.
#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn class_getIvarLayout(_class: Option<&'static Class>) -> *const u8 {
    std::ptr::null()
}

/// Layouts are for garbage collectors.
#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn class_setIvarLayout(_class: Option<&'static Class>, _layout: *const u8) {}

/// # Safety
///
/// `length` is null or may be written.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn class_copyIvarList(
    class: Option<&'static Class>,
    length: *mut c_uint,
) -> *mut Option<&'static Ivar> {
    let of = |class: &'static Class| class.ready().body().ivars.iter().copied().map(Some).collect();
    let list: Vec<Option<&'static Ivar>> = class.map(of).unwrap_or_default();
    // SAFETY: as promised, and a null pointer is `None`.
    unsafe { copied_list(&list, length) }
}

/// # Safety
///
/// `length` is null or may be written.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn class_copyMethodList(
    class: Option<&'static Class>,
    length: *mut c_uint,
) -> *mut Option<&'static Method> {
    let of = |class: &'static Class| class.ready().body().methods.iter().copied().map(Some).collect();
    let list: Vec<Option<&'static Method>> = class.map(of).unwrap_or_default();
    // SAFETY: as promised, and a null pointer is `None`.
    unsafe { copied_list(&list, length) }
}

/// # Safety
///
/// `length` is null or may be written.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn class_copyProtocolList(
    class: Option<&'static Class>,
    length: *mut c_uint,
) -> *mut Option<&'static Protocol> {
    let of = |class: &'static Class| class.ready().body().protocols.iter().copied().map(Some).collect();
    let list: Vec<Option<&'static Protocol>> = class.map(of).unwrap_or_default();
    // SAFETY: as promised, and a null pointer is `None`.
    unsafe { copied_list(&list, length) }
}

//! Methods and instance variables.

use std::ffi::{CStr, CString, c_char, c_uint, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

use super::encoding;
use super::lists::{copied_text, copy_text_into};
use super::object::Imp;
use super::registry;
use super::selector::Sel;

/// A method of one class.
#[derive(Debug)]
pub(crate) struct Method {
    selector: Sel,
    types: CString,
    code: AtomicPtr<c_void>,
}

/// An instance variable.
#[derive(Debug)]
pub(crate) struct Ivar {
    pub(crate) name: CString,
    pub(crate) types: CString,
    /// Bytes from the object's start.
    pub(crate) offset: usize,
}

impl Method {
    pub(crate) fn new(selector: Sel, code: Imp, types: &CStr) -> Method {
        Method { selector, types: types.to_owned(), code: AtomicPtr::new(code as *mut c_void) }
    }

    pub(crate) fn selector(&self) -> Sel {
        self.selector
    }

    pub(crate) fn implementation(&self) -> Imp {
        to_code(self.code.load(Ordering::Acquire))
    }

    /// Replaces its code; gives the code before. The caller holds the mutation lock and clears
    /// caches.
    pub(crate) fn replace(&self, code: Imp) -> Imp {
        to_code(self.code.swap(code as *mut c_void, Ordering::AcqRel))
    }

    /// The encoding of its result (0) or of an argument, counted from the receiver (1).
    fn part(&self, number: usize) -> Option<&[u8]> {
        encoding::parts(self.types.to_bytes()).into_iter().nth(number)
    }
}

fn to_code(address: *mut c_void) -> Imp {
    // SAFETY: what is stored was an `Imp`.
    unsafe { std::mem::transmute::<*mut c_void, Imp>(address) }
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn method_getName(method: Option<&'static Method>) -> Option<Sel> {
    method.map(|method| method.selector)
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn method_getTypeEncoding(method: Option<&'static Method>) -> *const c_char {
    method.map_or(std::ptr::null(), |method| method.types.as_ptr())
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn method_getNumberOfArguments(method: Option<&'static Method>) -> c_uint {
    method.map_or(0, |method| 2 + method.selector.colons() as c_uint)
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn method_getImplementation(method: Option<&'static Method>) -> Option<Imp> {
    method.map(Method::implementation)
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn method_setImplementation(
    method: Option<&'static Method>,
    code: Option<Imp>,
) -> Option<Imp> {
    let (method, code) = (method?, code?);
    let change = registry::mutation();
    let before = method.replace(code);
    registry::clear_caches(&change);
    Some(before)
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn method_exchangeImplementations(
    first: Option<&'static Method>,
    second: Option<&'static Method>,
) {
    let (Some(first), Some(second)) = (first, second) else { return };
    let change = registry::mutation();
    second.replace(first.replace(second.implementation()));
    registry::clear_caches(&change);
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn method_copyReturnType(method: Option<&'static Method>) -> *mut c_char {
    copied_text(method.and_then(|method| method.part(0)))
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn method_copyArgumentType(
    method: Option<&'static Method>,
    index: c_uint,
) -> *mut c_char {
    copied_text(method.and_then(|method| method.part(index as usize + 1)))
}

/// # Safety
///
/// `destination` has room for `length` bytes.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn method_getReturnType(
    method: Option<&'static Method>,
    destination: *mut c_char,
    length: usize,
) {
    let part = method.and_then(|method| method.part(0));
    // SAFETY: as promised.
    unsafe { copy_text_into(part, destination, length) }
}

/// # Safety
///
/// `destination` has room for `length` bytes.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn method_getArgumentType(
    method: Option<&'static Method>,
    index: c_uint,
    destination: *mut c_char,
    length: usize,
) {
    let part = method.and_then(|method| method.part(index as usize + 1));
    // SAFETY: as promised.
    unsafe { copy_text_into(part, destination, length) }
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn ivar_getName(ivar: Option<&'static Ivar>) -> *const c_char {
    ivar.map_or(std::ptr::null(), |ivar| ivar.name.as_ptr())
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn ivar_getOffset(ivar: Option<&'static Ivar>) -> isize {
    ivar.map_or(0, |ivar| ivar.offset.cast_signed())
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn ivar_getTypeEncoding(ivar: Option<&'static Ivar>) -> *const c_char {
    ivar.map_or(std::ptr::null(), |ivar| ivar.types.as_ptr())
}

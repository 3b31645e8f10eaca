//! Selectors: the names of messages, one object for each name.
//!
//! Owns [`Sel`] and the table of names. Invariant: two selectors are equal exactly if their name
//! pointers are, so that code which is compiled with selectors of its own can be made to agree by
//! replacing the names.

use std::collections::HashMap;
use std::ffi::{CStr, CString, c_char};
use std::sync::{Mutex, PoisonError};

use super::object::Truth;

/// A selector as others see it: the layout of libobjc2's version 2.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Selector {
    name: &'static CStrPointer,
    /// A type encoding; always null here.
    types: *const c_char,
}

/// The first byte of an interned name.
#[repr(transparent)]
#[derive(Debug)]
struct CStrPointer(c_char);

// SAFETY: nothing in it changes after it was made, and the name is never freed.
unsafe impl Sync for Selector {}

/// A selector; C's `SEL`, not null.
#[repr(transparent)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sel(&'static Selector);

impl PartialEq for Sel {
    fn eq(&self, other: &Sel) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Sel {}

impl Sel {
    /// A compiled selector, whose name must be interned.
    pub(crate) fn of_static(selector: &'static Selector) -> Sel {
        Sel(selector)
    }

    /// The selector of that name.
    pub(crate) fn of(name: &CStr) -> Sel {
        static KNOWN: Mutex<Option<HashMap<&'static CStr, Sel>>> = Mutex::new(None);
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.get_or_insert_with(HashMap::new);
        if let Some(&found) = known.get(name) {
            return found;
        }
        let name: &'static CStr = Box::leak(CString::from(name).into_boxed_c_str());
        // SAFETY: a C string has at least its terminating zero, and this one is never freed.
        let first = unsafe { &*name.as_ptr().cast::<CStrPointer>() };
        let made = Sel(Box::leak(Box::new(Selector { name: first, types: std::ptr::null() })));
        known.insert(name, made);
        made
    }

    /// What it is found by in caches and lists of methods; never 0.
    pub(crate) fn key(self) -> usize {
        std::ptr::from_ref(self.0.name) as usize
    }

    /// Its name.
    pub(crate) fn name(self) -> &'static CStr {
        // SAFETY: the pointer is to an interned C string, which is never freed.
        unsafe { CStr::from_ptr(std::ptr::from_ref(self.0.name).cast()) }
    }

    /// How many arguments its name has a colon for.
    pub(crate) fn colons(self) -> usize {
        self.name().to_bytes().iter().filter(|&&byte| byte == b':').count()
    }
}

/// # Safety
///
/// `name` is null or a C string.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn sel_registerName(name: *const c_char) -> Option<Sel> {
    // SAFETY: as promised.
    (!name.is_null()).then(|| Sel::of(unsafe { CStr::from_ptr(name) }))
}

/// # Safety
///
/// `name` is null or a C string.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn sel_getUid(name: *const c_char) -> Option<Sel> {
    // SAFETY: as promised.
    unsafe { sel_registerName(name) }
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn sel_getName(selector: Option<Sel>) -> *const c_char {
    selector.map_or(c"<null selector>".as_ptr(), |selector| selector.name().as_ptr())
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn sel_isEqual(first: Option<Sel>, second: Option<Sel>) -> Truth {
    Truth::from(first == second)
}

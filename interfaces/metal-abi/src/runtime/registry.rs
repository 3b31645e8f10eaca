//! All classes by name, and the lock that orders changes of what messages find.
//!
//! Invariant: a class is listed from its registration on, once.

use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_int, c_uint};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::block_class;
use super::class::Class;
use super::lists::{copied_list, text};
use crate::classes;

/// Held while something changes that a message may find.
#[derive(Debug)]
pub(crate) struct Mutation(#[expect(dead_code, reason = "held, not read")] MutexGuard<'static, ()>);

/// Begins such a change.
pub(crate) fn mutation() -> Mutation {
    static CHANGING: Mutex<()> = Mutex::new(());
    Mutation(CHANGING.lock().unwrap_or_else(PoisonError::into_inner))
}

fn registered() -> MutexGuard<'static, BTreeMap<&'static CStr, &'static Class>> {
    static CLASSES: Mutex<BTreeMap<&'static CStr, &'static Class>> = Mutex::new(BTreeMap::new());
    CLASSES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Forgets what all classes have cached.
pub(crate) fn clear_caches(_change: &Mutation) {
    for class in registered().values() {
        class.cache().clear();
        if let Some(metaclass) = class.metaclass() {
            metaclass.cache().clear();
        }
    }
}

/// Lists a class.
pub(crate) fn register(class: &'static Class) {
    registered().insert(class.name(), class);
}

/// Lists a class by another name too.
pub(crate) fn register_alias(name: &'static CStr, class: &'static Class) {
    registered().entry(name).or_insert(class);
}

/// Whether there is a class of that name.
pub(crate) fn is_registered(name: &CStr) -> bool {
    registered().contains_key(name)
}

/// The place of this crate's own for a class of that name.
pub(crate) fn place_of(name: &CStr) -> Option<&'static Class> {
    let own = classes::ALL.iter().chain(&block_class::ALL);
    own.copied().find(|class| class.name() == name)
}

/// The class of that name, built if it was not used before. Classes that this crate only has a name
/// for are not found, so that a program which looks can do without them.
pub(crate) fn class_named(name: &CStr) -> Option<&'static Class> {
    let found = registered().get(name).copied();
    found.or_else(|| place_of(name)?.ready_if_implemented())
}

impl Class {
    fn ready_if_implemented(&'static self) -> Option<&'static Class> {
        self.is_implemented().then(|| self.ready())
    }
}

/// All classes but those that this crate only has a name for.
fn all() -> Vec<&'static Class> {
    for class in classes::ALL.iter().chain(&block_class::ALL) {
        class.ready_if_implemented();
    }
    registered().values().copied().collect()
}

/// # Safety
///
/// `name` is null or a C string.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn objc_getClass(name: *const c_char) -> Option<&'static Class> {
    // SAFETY: as promised.
    class_named(unsafe { text(name) })
}

/// # Safety
///
/// `name` is null or a C string.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn objc_lookUpClass(name: *const c_char) -> Option<&'static Class> {
    // SAFETY: as promised.
    class_named(unsafe { text(name) })
}

/// # Safety
///
/// `name` is null or a C string.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn objc_getMetaClass(name: *const c_char) -> Option<&'static Class> {
    // SAFETY: as promised.
    class_named(unsafe { text(name) })?.metaclass()
}

/// # Safety
///
/// `name` is null or a C string.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn objc_getRequiredClass(name: *const c_char) -> &'static Class {
    // SAFETY: as promised.
    let name = unsafe { text(name) };
    class_named(name)
        .unwrap_or_else(|| super::raise(&format!("objc_getRequiredClass: there is no class {name:?}")))
}

/// # Safety
///
/// `length` is null or may be written.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn objc_copyClassList(
    length: *mut c_uint,
) -> *mut Option<&'static Class> {
    let list: Vec<Option<&'static Class>> = all().into_iter().map(Some).collect();
    // SAFETY: as promised, and a null pointer is `None`.
    unsafe { copied_list(&list, length) }
}

/// # Safety
///
/// `buffer` is null or has room for `length` classes.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn objc_getClassList(
    buffer: *mut &'static Class,
    length: c_int,
) -> c_int {
    let list = all();
    if !buffer.is_null() {
        let copied = list.len().min(usize::try_from(length).unwrap_or(0));
        // SAFETY: as promised, there is room for `length` of them, and no more than that are
        // written.
        unsafe { std::ptr::copy_nonoverlapping(list.as_ptr(), buffer, copied) };
    }
    list.len() as c_int
}

//! Associated objects: values that are attached to other objects by a key.
//!
//! Invariant: a value is held until it is replaced or its object ends.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::arc::{is_counted, objc_autorelease, objc_release, objc_retain};
use super::instance::{HAS_ASSOCIATED, Head};
use super::message::send;
use super::object::Object;
use super::selector::Sel;

/// The policies that hold the value, as the bits of C's constants: retain (1), copy (3).
const RETAIN: usize = 1;
const COPY: usize = 3;

/// An attached value.
struct Value {
    object: *mut Object,
    is_held: bool,
}

// SAFETY: it is a reference that is only counted here, and counts are atomic.
unsafe impl Send for Value {}

/// The values by object and key.
type Table = BTreeMap<(usize, usize), Value>;

fn table() -> MutexGuard<'static, Table> {
    static TABLE: Mutex<Table> = Mutex::new(BTreeMap::new());
    TABLE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn give_back(value: Option<Value>) {
    if let Some(value) = value.filter(|value| value.is_held) {
        // SAFETY: the table had a reference.
        unsafe { objc_release(value.object) };
    }
}

/// Gives back everything that is attached to the object.
pub(crate) fn remove_all(object: *mut Object) {
    let keys = (object.addr(), 0)..=(object.addr(), usize::MAX);
    let found: Vec<(usize, usize)> = table().range(keys).map(|(key, _)| *key).collect();
    for key in found {
        let value = table().remove(&key);
        give_back(value);
    }
}

/// # Safety
///
/// `object` is null or a live object.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn objc_getAssociatedObject(
    object: *mut Object,
    key: *const c_void,
) -> *mut Object {
    let held = {
        let table = table();
        let Some(value) = table.get(&(object.addr(), key.addr())) else { return null_mut() };
        if !value.is_held {
            return value.object;
        }
        // SAFETY: the table has a reference.
        unsafe { objc_retain(value.object) }
    };
    // SAFETY: the reference was made above.
    unsafe { objc_autorelease(held) }
}

/// # Safety
///
/// `object` is null or a live instance; `value` is null or a live object, which lives long enough
/// if the policy does not hold it.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn objc_setAssociatedObject(
    object: *mut Object,
    key: *const c_void,
    value: *mut Object,
    policy: usize,
) {
    if object.is_null() {
        return;
    }
    let place = (object.addr(), key.addr());
    if value.is_null() {
        let before = table().remove(&place);
        return give_back(before);
    }
    // SAFETY: as promised.
    let (value, is_held) = unsafe {
        match policy & 0xff {
            RETAIN => (objc_retain(value), true),
            COPY => (send(value, Sel::of(c"copy")), true),
            _ => (value, false),
        }
    };
    // SAFETY: as promised, and only a counted object has a head; the others keep theirs for ever.
    unsafe {
        if is_counted(object) {
            Head::of(object).add_flags(HAS_ASSOCIATED);
        }
    }
    let before = table().insert(place, Value { object: value, is_held });
    give_back(before);
}

/// # Safety
///
/// `object` is null or a live object.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn objc_removeAssociatedObjects(object: *mut Object) {
    remove_all(object);
}

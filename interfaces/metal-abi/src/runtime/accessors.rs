//! What compilers call for properties whose accessors they write themselves.
//!
//! An atomic access holds one of a few locks, chosen by the variable's address, so that a reference
//! is taken before another thread can give it back.

use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::arc::{objc_autoreleaseReturnValue, objc_release, objc_retain};
use super::message::send;
use super::object::{Bool, Object};
use super::selector::Sel;
use super::{raise, raise_invalid_argument};
use crate::arguments::{may_read, may_write};

fn lock(place: *const c_void) -> MutexGuard<'static, ()> {
    static LOCKS: [Mutex<()>; 16] = [const { Mutex::new(()) }; 16];
    LOCKS[(place.addr() >> 4) % LOCKS.len()].lock().unwrap_or_else(PoisonError::into_inner)
}

/// # Safety
///
/// `object` is null or a live instance with an object variable at that offset.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn objc_getProperty(
    object: *mut Object,
    _selector: Option<Sel>,
    offset: isize,
    is_atomic: Bool,
) -> *mut Object {
    if object.is_null() {
        return object;
    }
    // SAFETY: as promised.
    unsafe {
        let place = object.byte_offset(offset).cast::<*mut Object>();
        if !is_atomic.is_yes() {
            return place.read();
        }
        let value = {
            let _alone = lock(place.cast());
            objc_retain(place.read())
        };
        objc_autoreleaseReturnValue(value)
    }
}

/// # Safety
///
/// `object` is null or a live instance with an object variable at that offset; `value` is null or a
/// live object.
unsafe fn set(object: *mut Object, value: *mut Object, offset: isize, is_atomic: bool, copies: bool) {
    if object.is_null() {
        return;
    }
    // SAFETY: as promised.
    unsafe {
        let place = object.byte_offset(offset).cast::<*mut Object>();
        let new = match value.is_null() {
            false if copies => send(value, Sel::of(c"copy")),
            _ => objc_retain(value),
        };
        let old = {
            let _alone = is_atomic.then(|| lock(place.cast()));
            place.replace(new)
        };
        objc_release(old);
    }
}

/// # Safety
///
/// As for [`objc_getProperty`]; `value` is null or a live object.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn objc_setProperty(
    object: *mut Object,
    _selector: Option<Sel>,
    offset: isize,
    value: *mut Object,
    is_atomic: Bool,
    copies: Bool,
) {
    // SAFETY: as promised.
    unsafe { set(object, value, offset, is_atomic.is_yes(), copies.is_yes()) }
}

macro_rules! setters {
    ($($name:ident: $is_atomic:literal, $copies:literal;)*) => {
        $(
            /// # Safety
            ///
            /// As for [`objc_getProperty`]; `value` is null or a live object.
            #[unsafe(no_mangle)]
            pub(crate) unsafe extern "C-unwind" fn $name(
                object: *mut Object,
                _selector: Option<Sel>,
                value: *mut Object,
                offset: isize,
            ) {
                // SAFETY: as promised.
                unsafe { set(object, value, offset, $is_atomic, $copies) }
            }
        )*
    };
}

setters! {
    objc_setProperty_atomic: true, false;
    objc_setProperty_nonatomic: false, false;
    objc_setProperty_atomic_copy: true, true;
    objc_setProperty_nonatomic_copy: false, true;
}

macro_rules! copiers {
    ($($name:ident)*) => {
        $(
            /// Copies a structure from or to a variable.
            ///
            /// # Safety
            ///
            /// Both are so many bytes and do not overlap.
            #[unsafe(no_mangle)]
            pub(crate) unsafe extern "C-unwind" fn $name(
                destination: *mut c_void,
                source: *const c_void,
                bytes: isize,
                is_atomic: Bool,
                _has_strong: Bool,
            ) {
                if !may_read(source, bytes.unsigned_abs()) || !may_write(destination, bytes.unsigned_abs()) {
                    raise_invalid_argument(concat!(stringify!($name), ": source or destination are not memory"));
                }
                // A variable is the source in one call and the destination in another: one lock for
                // all.
                let _alone = is_atomic.is_yes().then(|| lock(std::ptr::null()));
                // SAFETY: as promised.
                unsafe {
                    std::ptr::copy_nonoverlapping(source.cast::<u8>(), destination.cast(), bytes.unsigned_abs());
                }
            }
        )*
    };
}

copiers! { objc_copyStruct objc_getPropertyStruct objc_setPropertyStruct }

/// Fails: a collection was changed while a loop went over it.
#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn objc_enumerationMutation(_collection: *mut Object) {
    raise("objc_enumerationMutation: a collection was changed while a loop went over it")
}

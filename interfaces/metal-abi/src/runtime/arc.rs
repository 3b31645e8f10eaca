//! Reference counts: the functions that compilers and `objc2` call for automatic reference
//! counting.
//!
//! Invariant: a class is never counted; a block counts itself; an object whose class overrides
//! `retain` or `release` is sent those messages; every other instance is counted in its [`Head`].

use std::sync::atomic::Ordering;

use super::block::{copy_block, release_block};
use super::class::{COUNTS_ITSELF, Class, IS_BLOCK, IS_CONSTANT, IS_META};
use super::instance::{Head, dispose};
use super::message::send;
use super::object::Object;
use super::pool;
use super::selector::Sel;

/// The kinds of objects that live for ever: classes, compiled constants.
const IMMORTAL: u32 = IS_META | IS_CONSTANT;
const SPECIAL: u32 = IMMORTAL | IS_BLOCK | COUNTS_ITSELF;

/// The flags by which the object is counted; of a class that was not built, those of a class; of a
/// tagged pointer, those of a constant.
///
/// # Safety
///
/// `object` is a live object.
#[inline]
unsafe fn kind(object: *mut Object) -> u32 {
    // SAFETY: as promised.
    let object = unsafe { &*object };
    if object.is_tagged() { IS_CONSTANT } else { object.isa().map_or(IS_META, Class::flags) }
}

/// Whether the object is counted in a [`Head`], so that it ends and can be referred to weakly.
///
/// # Safety
///
/// `object` is a live object.
pub(crate) unsafe fn is_counted(object: *mut Object) -> bool {
    // SAFETY: as promised.
    let kind = unsafe { kind(object) };
    kind & (IMMORTAL | IS_BLOCK) == 0
}

/// # Safety
///
/// `object` is null or a live object.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn objc_retain(object: *mut Object) -> *mut Object {
    if object.is_null() {
        return object;
    }
    // SAFETY: as promised.
    let kind = unsafe { kind(object) };
    if kind & SPECIAL == 0 {
        // SAFETY: as promised, and it is neither a class nor a block.
        unsafe { Head::of(object) }.count().fetch_add(1, Ordering::Relaxed);
        return object;
    }
    // SAFETY: as promised.
    unsafe { retain_special(object, kind) }
}

/// # Safety
///
/// `object` is a live object of that kind.
#[cold]
unsafe fn retain_special(object: *mut Object, kind: u32) -> *mut Object {
    if kind & IMMORTAL != 0 {
        return object;
    }
    if kind & IS_BLOCK != 0 {
        // SAFETY: as promised, it is a block.
        return unsafe { copy_block(object.cast()) }.cast();
    }
    // SAFETY: as promised.
    unsafe { send(object, Sel::of(c"retain")) }
}

/// # Safety
///
/// `object` is null or a live object with a reference of the caller's.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn objc_release(object: *mut Object) {
    if object.is_null() {
        return;
    }
    // SAFETY: as promised.
    let kind = unsafe { kind(object) };
    if kind & SPECIAL == 0 {
        // SAFETY: as promised, and it is neither a class nor a block.
        return unsafe { release_counted(object) };
    }
    // SAFETY: as promised.
    unsafe { release_special(object, kind) }
}

/// # Safety
///
/// `object` is a live object of that kind with a reference of the caller's.
#[cold]
unsafe fn release_special(object: *mut Object, kind: u32) {
    if kind & IMMORTAL != 0 {
        return;
    }
    if kind & IS_BLOCK != 0 {
        // SAFETY: as promised, it is a block.
        return unsafe { release_block(object.cast()) };
    }
    // SAFETY: as promised.
    unsafe { send(object, Sel::of(c"release")) };
}

/// # Safety
///
/// `object` is a live instance with a reference of the caller's.
#[inline]
unsafe fn release_counted(object: *mut Object) {
    // SAFETY: as promised.
    let count = unsafe { Head::of(object) }.count();
    if count.fetch_sub(1, Ordering::Release) == 1 {
        // Sees what those did that gave theirs back before. A load, as the thread sanitizer knows no fences.
        count.load(Ordering::Acquire);
        // SAFETY: that was the last reference.
        unsafe { deallocate(object) };
    }
}

/// # Safety
///
/// `object` is an instance without references.
#[cold]
unsafe fn deallocate(object: *mut Object) {
    // SAFETY: as promised, the object still exists.
    let class = unsafe { &*object }.class();
    let selector = Sel::of(c"dealloc");
    match class.implementation(selector) {
        // SAFETY: the method takes nothing and gives nothing, and nothing uses the object after it.
        Some(_) => unsafe {
            send(object, selector);
        },
        // SAFETY: as promised.
        None => unsafe { dispose(object) },
    }
}

/// What `-[NSObject retain]` does.
///
/// # Safety
///
/// `object` is a live object, no block.
pub(crate) unsafe fn root_retain(object: *mut Object) -> *mut Object {
    // SAFETY: as promised.
    if unsafe { kind(object) } & IMMORTAL == 0 {
        // SAFETY: as promised, and it is no class.
        unsafe { Head::of(object) }.count().fetch_add(1, Ordering::Relaxed);
    }
    object
}

/// What `-[NSObject release]` does.
///
/// # Safety
///
/// `object` is a live object, no block, with a reference of the caller's.
pub(crate) unsafe fn root_release(object: *mut Object) {
    // SAFETY: as promised.
    if unsafe { kind(object) } & IMMORTAL == 0 {
        // SAFETY: as promised, and it is no class.
        unsafe { release_counted(object) };
    }
}

/// # Safety
///
/// `object` is null or a live object with a reference of the caller's, which the pool has from then
/// on.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn objc_autorelease(object: *mut Object) -> *mut Object {
    if object.is_null() {
        return object;
    }
    // SAFETY: as promised.
    let kind = unsafe { kind(object) };
    if kind & (COUNTS_ITSELF | IMMORTAL) == COUNTS_ITSELF {
        // SAFETY: as promised.
        return unsafe { send(object, Sel::of(c"autorelease")) };
    }
    pool::add(object);
    object
}

/// # Safety
///
/// As for [`objc_autorelease`].
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn objc_autoreleaseReturnValue(object: *mut Object) -> *mut Object {
    if !object.is_null() {
        pool::hand_over(object);
    }
    object
}

/// # Safety
///
/// `object` is null or a live object that a function gave whose last call was
/// `objc_autoreleaseReturnValue`.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn objc_retainAutoreleasedReturnValue(
    object: *mut Object,
) -> *mut Object {
    if pool::take_over(object) {
        return object;
    }
    // SAFETY: as promised.
    unsafe { objc_retain(object) }
}

/// # Safety
///
/// `object` is null or a live object.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn objc_retainAutorelease(object: *mut Object) -> *mut Object {
    // SAFETY: as promised.
    unsafe { objc_autorelease(objc_retain(object)) }
}

/// # Safety
///
/// `object` is null or a live object.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn objc_retainAutoreleaseReturnValue(object: *mut Object) -> *mut Object {
    // SAFETY: as promised.
    unsafe { objc_autoreleaseReturnValue(objc_retain(object)) }
}

/// # Safety
///
/// `block` is null or a block.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn objc_retainBlock(block: *mut Object) -> *mut Object {
    // SAFETY: as promised.
    unsafe { copy_block(block.cast()) }.cast()
}

/// # Safety
///
/// `place` holds null or an object with a reference of the place's; `value` is null or a live
/// object.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn objc_storeStrong(place: *mut *mut Object, value: *mut Object) {
    super::require_place("objc_storeStrong", place);
    // SAFETY: as promised; the old object goes last, because its end may look at the place.
    unsafe {
        let new = objc_retain(value);
        let old = place.replace(new);
        objc_release(old);
    }
}

/// # Safety
///
/// `class` is null or a class.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn objc_alloc(class: *mut Object) -> *mut Object {
    if class.is_null() {
        return class;
    }
    // SAFETY: as promised, and a class has the method.
    unsafe { send(class, Sel::of(c"alloc")) }
}

/// # Safety
///
/// `class` is null or a class.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn objc_alloc_init(class: *mut Object) -> *mut Object {
    // SAFETY: as promised.
    let object = unsafe { objc_alloc(class) };
    if object.is_null() {
        return object;
    }
    // SAFETY: the object was just allocated.
    unsafe { send(object, Sel::of(c"init")) }
}

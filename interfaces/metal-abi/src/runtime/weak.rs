//! Weak references: places that become null when their object ends.
//!
//! Owns the table from objects to the places that refer to them, in shards by the object's address.
//! Invariants: a place that holds an object is listed under it; places of an object are read and
//! written under its shard's lock; an object's places are cleared before its memory is freed. A
//! place itself is used by one thread at a time, except that the end of an object may clear it.

use std::collections::BTreeMap;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::arc::{is_counted, objc_autorelease, objc_release};
use super::instance::{HAS_WEAK, Head};
use super::object::Object;

const SHARDS: usize = 64;

/// The addresses of places by the address of their object.
type Places = BTreeMap<usize, Vec<usize>>;

fn shard(object: *mut Object) -> MutexGuard<'static, Places> {
    static TABLE: [Mutex<Places>; SHARDS] = [const { Mutex::new(BTreeMap::new()) }; SHARDS];
    TABLE[(object.addr() >> 5) % SHARDS].lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes every place that refers to the object null. The object must be without references.
pub(crate) fn clear(object: *mut Object) {
    let mut shard = shard(object);
    for place in shard.remove(&object.addr()).unwrap_or_default() {
        // SAFETY: a listed place exists until it is unlisted, which takes the shard's lock.
        unsafe { &*std::ptr::with_exposed_provenance::<AtomicPtr<Object>>(place) }
            .store(null_mut(), Ordering::Release);
    }
}

/// Lets an empty place refer to an object; gives what it refers to.
///
/// # Safety
///
/// `object` is null or a live object.
unsafe fn list(place: &AtomicPtr<Object>, object: *mut Object) -> *mut Object {
    // SAFETY: as promised.
    if object.is_null() || !unsafe { is_counted(object) } {
        place.store(object, Ordering::Release);
        return object;
    }
    let mut shard = shard(object);
    // SAFETY: as promised, and it is counted.
    let head = unsafe { Head::of(object) };
    if head.count().load(Ordering::Acquire) == 0 {
        // It is being deallocated.
        place.store(null_mut(), Ordering::Release);
        return null_mut();
    }
    head.add_flags(HAS_WEAK);
    shard.entry(object.addr()).or_default().push(std::ptr::from_ref(place).expose_provenance());
    place.store(object, Ordering::Release);
    object
}

/// Empties a place.
fn unlist(place: &AtomicPtr<Object>) {
    let object = place.load(Ordering::Acquire);
    if object.is_null() {
        return;
    }
    let mut shard = shard(object);
    if let Some(places) = shard.get_mut(&object.addr()) {
        places.retain(|&listed| listed != std::ptr::from_ref(place).addr());
        if places.is_empty() {
            shard.remove(&object.addr());
        }
    }
    place.store(null_mut(), Ordering::Release);
}

/// A reference to what the place refers to; null if it has ended.
fn load_retained(place: &AtomicPtr<Object>) -> *mut Object {
    let object = place.load(Ordering::Acquire);
    if object.is_null() {
        return object;
    }
    let _object_stays = shard(object);
    if place.load(Ordering::Acquire) != object {
        return null_mut();
    }
    // SAFETY: the place was not cleared, so the object's memory is not freed, and cannot be while
    // the shard is locked. Classes and blocks are only told apart by their class, which they keep.
    if !unsafe { is_counted(object) } {
        return object;
    }
    // SAFETY: as above.
    let count = unsafe { Head::of(object) }.count();
    let more = |count: usize| (count > 0).then(|| count + 1);
    match count.try_update(Ordering::AcqRel, Ordering::Acquire, more) {
        Ok(_) => object,
        Err(_) => null_mut(),
    }
}

/// # Safety
///
/// `place` may be written and is not used by others meanwhile; `object` is null or a live object.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn objc_initWeak(
    place: *mut *mut Object,
    object: *mut Object,
) -> *mut Object {
    super::require_place("objc_initWeak", place);
    // SAFETY: as promised.
    unsafe { list(AtomicPtr::from_ptr(place), object) }
}

/// # Safety
///
/// `place` was initialised by these functions; `object` is null or a live object.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn objc_storeWeak(
    place: *mut *mut Object,
    object: *mut Object,
) -> *mut Object {
    super::require_place("objc_storeWeak", place);
    // SAFETY: as promised.
    let place = unsafe { AtomicPtr::from_ptr(place) };
    unlist(place);
    // SAFETY: as promised.
    unsafe { list(place, object) }
}

/// # Safety
///
/// `place` was initialised by these functions.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn objc_destroyWeak(place: *mut *mut Object) {
    super::require_place("objc_destroyWeak", place);
    // SAFETY: as promised.
    unlist(unsafe { AtomicPtr::from_ptr(place) });
}

/// # Safety
///
/// `place` was initialised by these functions.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn objc_loadWeakRetained(place: *mut *mut Object) -> *mut Object {
    super::require_place("objc_loadWeakRetained", place);
    // SAFETY: as promised.
    load_retained(unsafe { AtomicPtr::from_ptr(place) })
}

/// # Safety
///
/// `place` was initialised by these functions.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn objc_loadWeak(place: *mut *mut Object) -> *mut Object {
    // SAFETY: as promised.
    unsafe { objc_autorelease(objc_loadWeakRetained(place)) }
}

/// # Safety
///
/// `to` may be written; `from` was initialised by these functions.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn objc_copyWeak(to: *mut *mut Object, from: *mut *mut Object) {
    super::require_place("objc_copyWeak", to);
    // SAFETY: as promised; the reference keeps the object until the place is listed.
    unsafe {
        let object = objc_loadWeakRetained(from);
        objc_initWeak(to, object);
        objc_release(object);
    }
}

/// # Safety
///
/// `to` may be written; `from` was initialised by these functions and is not used afterwards.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn objc_moveWeak(to: *mut *mut Object, from: *mut *mut Object) {
    // SAFETY: as promised.
    unsafe {
        objc_copyWeak(to, from);
        objc_destroyWeak(from);
    }
}

//! Objects of Grand Central Dispatch: counted references behind one opaque type.

use std::sync::Arc;

use super::group::Group;
use super::queue::Queue;
use super::semaphore::Semaphore;

/// What a program's pointer points to.
#[derive(Debug)]
pub(crate) enum Kind {
    Queue(Queue),
    Group(Group),
    Semaphore(Semaphore),
}

/// A reference of a program's, in C a pointer.
pub(crate) type Reference = *const Kind;

/// A reference for a program.
pub(crate) fn reference(kind: Kind) -> Reference {
    Arc::into_raw(Arc::new(kind))
}

/// A reference of our own to what a program's points to.
///
/// # Safety
///
/// `object` is null or a program's reference.
pub(crate) unsafe fn held(object: Reference) -> Option<Arc<Kind>> {
    if object.is_null() {
        return None;
    }
    // SAFETY: as promised, the program has a reference, and this makes another.
    unsafe {
        Arc::increment_strong_count(object);
        Some(Arc::from_raw(object))
    }
}

/// # Safety
///
/// `object` is null or a program's reference.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn dispatch_retain(object: Reference) {
    if !object.is_null() {
        // SAFETY: as promised.
        unsafe { Arc::increment_strong_count(object) };
    }
}

/// # Safety
///
/// `object` is null or a program's reference, which ends.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn dispatch_release(object: Reference) {
    if !object.is_null() {
        // SAFETY: as promised.
        unsafe { Arc::decrement_strong_count(object) };
    }
}

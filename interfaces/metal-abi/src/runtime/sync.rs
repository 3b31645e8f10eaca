//! `@synchronized`: a lock for each object, which its owner may take again.

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread::ThreadId;

use super::object::Object;

/// A lock that is held.
struct Held {
    owner: ThreadId,
    depth: usize,
}

static HELD: Mutex<BTreeMap<usize, Held>> = Mutex::new(BTreeMap::new());
static RELEASED: Condvar = Condvar::new();

/// Takes the object's lock; gives 0.
#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn objc_sync_enter(object: *mut Object) -> c_int {
    // Nothing is locked for nil.
    if object.is_null() {
        return 0;
    }
    let (me, key) = (std::thread::current().id(), object.addr());
    let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        let lock = held.entry(key).or_insert(Held { owner: me, depth: 0 });
        if lock.owner == me {
            lock.depth += 1;
            return 0;
        }
        held = RELEASED.wait(held).unwrap_or_else(PoisonError::into_inner);
    }
}

/// Gives the object's lock back; gives 0, or -1 if the thread has it not.
#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn objc_sync_exit(object: *mut Object) -> c_int {
    if object.is_null() {
        return 0;
    }
    let (me, key) = (std::thread::current().id(), object.addr());
    let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    match held.get_mut(&key) {
        Some(lock) if lock.owner == me => {
            lock.depth -= 1;
            if lock.depth == 0 {
                held.remove(&key);
                RELEASED.notify_all();
            }
            0
        }
        _ => -1,
    }
}

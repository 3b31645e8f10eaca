//! Semaphores.

use std::sync::{Condvar, Mutex, PoisonError};

use super::object::{Kind, Reference, held, reference};
use super::time::{Time, wait_until};

/// A semaphore.
#[derive(Debug)]
pub(crate) struct Semaphore {
    value: Mutex<isize>,
    raised: Condvar,
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn dispatch_semaphore_create(value: isize) -> Reference {
    reference(Kind::Semaphore(Semaphore { value: Mutex::new(value), raised: Condvar::new() }))
}

/// # Safety
///
/// `semaphore` is a program's reference.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn dispatch_semaphore_signal(semaphore: Reference) -> isize {
    const CALLED: &str = "dispatch_semaphore_signal";
    // SAFETY: as promised.
    let object = unsafe { held(CALLED, semaphore) };
    let semaphore = object.semaphore(CALLED);
    let mut value = semaphore.value.lock().unwrap_or_else(PoisonError::into_inner);
    *value = value.saturating_add(1);
    drop(value);
    semaphore.raised.notify_one();
    0
}

/// 0, or another number if the time was over first.
///
/// # Safety
///
/// `semaphore` is a program's reference.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn dispatch_semaphore_wait(semaphore: Reference, until: Time) -> isize {
    const CALLED: &str = "dispatch_semaphore_wait";
    // SAFETY: as promised.
    let object = unsafe { held(CALLED, semaphore) };
    let semaphore = object.semaphore(CALLED);
    let value = semaphore.value.lock().unwrap_or_else(PoisonError::into_inner);
    match wait_until(&semaphore.raised, value, until, |value| *value > 0) {
        Some(mut value) => {
            *value -= 1;
            0
        }
        None => 1,
    }
}

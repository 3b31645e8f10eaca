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
pub(crate) extern "C" fn dispatch_semaphore_create(value: isize) -> Reference {
    reference(Kind::Semaphore(Semaphore { value: Mutex::new(value), raised: Condvar::new() }))
}

/// # Safety
///
/// `semaphore` is a program's reference.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn dispatch_semaphore_signal(semaphore: Reference) -> isize {
    // SAFETY: as promised.
    if let Some(Kind::Semaphore(semaphore)) = unsafe { held(semaphore) }.as_deref() {
        *semaphore.value.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        semaphore.raised.notify_one();
    }
    0
}

/// 0, or another number if the time was over first.
///
/// # Safety
///
/// `semaphore` is a program's reference.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn dispatch_semaphore_wait(semaphore: Reference, until: Time) -> isize {
    // SAFETY: as promised.
    let Some(held) = (unsafe { held(semaphore) }) else { return 0 };
    let Kind::Semaphore(semaphore) = &*held else { return 0 };
    let value = semaphore.value.lock().unwrap_or_else(PoisonError::into_inner);
    match wait_until(&semaphore.raised, value, until, |value| *value > 0) {
        Some(mut value) => {
            *value -= 1;
            0
        }
        None => 1,
    }
}

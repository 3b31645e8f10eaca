//! The locks and atomics of this crate: the standard library's, or loom's when its models run (`--cfg loom`).
//!
//! Owns the choice and [`lock`]. Invariant: code that a model covers takes them from here and nowhere else. A
//! poisoned lock is entered all the same: no code here leaves its state half changed across a panic.

#[cfg(loom)]
pub(crate) use loom::sync::atomic::AtomicU64;
#[cfg(loom)]
pub(crate) use loom::sync::{Condvar, Mutex, MutexGuard};
#[cfg(not(loom))]
pub(crate) use std::sync::atomic::AtomicU64;
#[cfg(not(loom))]
pub(crate) use std::sync::{Condvar, Mutex, MutexGuard};

use std::sync::PoisonError;

/// Enters a lock, poisoned or not.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

//! The mutex of the hand-made concurrent structures: the standard one, or loom's under `cfg(loom)`, so
//! that loom's tests run the very code that ships.
//!
//! Invariant: no code panics while it holds such a lock, so a poisoned one is as good as any.

#[cfg(loom)]
pub use loom::sync::{Condvar, Mutex, MutexGuard};
#[cfg(not(loom))]
pub use std::sync::{Condvar, Mutex, MutexGuard};

/// Locks, poisoned or not.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

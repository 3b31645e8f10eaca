//! Locks, atomics and threads of the hand-made concurrent structures: the standard ones, or loom's under
//! `cfg(loom)`, so that loom's tests run the very code that ships.
//!
//! Invariant: no code panics while it holds such a lock, so a poisoned one is as good as any.

#[cfg(loom)]
pub use loom::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize};
#[cfg(loom)]
pub use loom::sync::{Condvar, Mutex, MutexGuard};
#[cfg(loom)]
pub use loom::thread;
#[cfg(not(loom))]
pub use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize};
#[cfg(not(loom))]
pub use std::sync::{Condvar, Mutex, MutexGuard};
#[cfg(not(loom))]
pub use std::thread;

/// Parks the thread for a time at most. Time does not pass in models.
#[cfg(loom)]
pub fn park_timeout(_most: std::time::Duration) {
    thread::park();
}
#[cfg(not(loom))]
pub use std::thread::park_timeout;

/// How long a thread looks at a flag before it sleeps: about what waking it would cost.
#[cfg(not(loom))]
pub const SPIN: std::time::Duration = std::time::Duration::from_micros(20);
/// Models do not spin: time does not pass in them.
#[cfg(loom)]
pub const SPIN: std::time::Duration = std::time::Duration::ZERO;

/// Locks, poisoned or not.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

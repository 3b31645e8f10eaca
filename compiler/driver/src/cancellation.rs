//! Compilations that nobody waits for any more.
//!
//! Owns [`CancellationToken`]. A compilation looks at the token of its thread when a stage of a kernel begins
//! ([`crate::observe::kernel_stage`]); a stage that has begun ends. Isolated workers know of no token, so
//! there the stages of one request are one. Invariant: what was left is an error in no other compilation;
//! whoever waits for the same artifact makes it.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::CompileError;

thread_local! {
    static CURRENT: RefCell<Option<CancellationToken>> = const { RefCell::new(None) };
}

/// Ends compilations at their next stage. Clones are the same token.
#[derive(Debug, Clone, Default)]
pub struct CancellationToken(Arc<AtomicBool>);

impl CancellationToken {
    /// Ends what runs under this token.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether [`Self::cancel`] was called.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Does what compiles on this thread under this token, in place of the one that the thread has.
    pub fn run<T>(&self, compile: impl FnOnce() -> T) -> T {
        let _outer = Restore(CURRENT.replace(Some(self.clone())));
        compile()
    }
}

/// Gives a thread its outer token back, even after a panic.
struct Restore(Option<CancellationToken>);

impl Drop for Restore {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

/// An error if this thread's compilation was cancelled.
pub(crate) fn check() -> Result<(), CompileError> {
    let is_cancelled =
        CURRENT.with_borrow(|current| current.as_ref().is_some_and(|token| token.is_cancelled()));
    if is_cancelled { Err(CompileError::Cancelled) } else { Ok(()) }
}

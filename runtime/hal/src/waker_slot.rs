//! The one registered waker of a future.
//!
//! Owns [`WakerSlot`]. Invariant: at most one waker is registered at a time, that of the last task that
//! polled.

use std::task::{Poll, Waker};

/// A registration, with what unregistering it needs, and its waker.
#[derive(Debug)]
pub(crate) struct WakerSlot<T>(Option<(T, Waker)>);

impl<T> Default for WakerSlot<T> {
    fn default() -> Self {
        WakerSlot(None)
    }
}

impl<T> WakerSlot<T> {
    /// Registers a task's waker in place of an earlier one. Ready if `register` returns `None`: there is
    /// nothing to wait for.
    pub(crate) fn register(
        &mut self,
        waker: &Waker,
        register: impl FnOnce(Waker) -> Option<T>,
        unregister: impl FnOnce(T),
    ) -> Poll<()> {
        if self.0.as_ref().is_some_and(|(_, known)| known.will_wake(waker)) {
            return Poll::Pending;
        }
        if let Some(old) = self.take() {
            unregister(old);
        }
        match register(waker.clone()) {
            None => Poll::Ready(()),
            Some(registration) => {
                self.0 = Some((registration, waker.clone()));
                Poll::Pending
            }
        }
    }

    /// Empties the slot; returns what unregistering needs.
    pub(crate) fn take(&mut self) -> Option<T> {
        self.0.take().map(|(registration, _)| registration)
    }
}

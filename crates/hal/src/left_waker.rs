//! The waker that a future leaves somewhere until it is ready.
//!
//! Owns [`LeftWaker`]. Invariant: at most one waker is left at a time, and it is that of the last task that polled.

use std::task::{Poll, Waker};

/// What taking the waker back needs, and the waker.
#[derive(Debug)]
pub(crate) struct LeftWaker<T>(Option<(T, Waker)>);

impl<T> Default for LeftWaker<T> {
    fn default() -> Self {
        LeftWaker(None)
    }
}

impl<T> LeftWaker<T> {
    /// Leaves a task's waker in the place of another's. Ready if `leave` has nothing to wait for.
    pub(crate) fn leave(
        &mut self,
        waker: &Waker,
        leave: impl FnOnce(Waker) -> Option<T>,
        take_back: impl FnOnce(T),
    ) -> Poll<()> {
        if self.0.as_ref().is_some_and(|(_, known)| known.will_wake(waker)) {
            return Poll::Pending;
        }
        if let Some(old) = self.take() {
            take_back(old);
        }
        match leave(waker.clone()) {
            None => Poll::Ready(()),
            Some(left) => {
                self.0 = Some((left, waker.clone()));
                Poll::Pending
            }
        }
    }

    /// What taking it back needs, if one is left.
    pub(crate) fn take(&mut self) -> Option<T> {
        self.0.take().map(|(left, _)| left)
    }
}

//! Tenants: a limit on work in flight that several streams share.
//!
//! Owns [`Tenant`]. Invariant: never more submissions of a tenant are with devices than its limit; a stream that
//! had to wait is asked again as soon as one of them ends, in the order of asking. Concurrency: one mutex;
//! streams are asked outside it.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::stream::StreamCore;
use crate::sync::{Mutex, lock};

/// Someone whose streams share a limit. Clones are the same tenant.
#[derive(Debug, Clone)]
pub struct Tenant {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    label: String,
    limit: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    in_flight: usize,
    waiting: VecDeque<Arc<StreamCore>>,
}

impl Tenant {
    /// At most so many submissions with devices at once, at least one.
    pub fn new(label: impl Into<String>, limit: usize) -> Self {
        let inner = Inner { label: label.into(), limit: limit.max(1), state: Mutex::default() };
        Tenant { inner: Arc::new(inner) }
    }

    /// Its name.
    pub fn label(&self) -> &str {
        &self.inner.label
    }

    /// The most submissions with devices at once.
    pub fn limit(&self) -> usize {
        self.inner.limit
    }

    /// Submissions that are with devices now.
    pub fn in_flight(&self) -> usize {
        lock(&self.inner.state).in_flight
    }

    /// Takes a place, or notes that the stream waits for one.
    pub(crate) fn try_enter(&self, stream: &Arc<StreamCore>) -> bool {
        let mut state = lock(&self.inner.state);
        if state.in_flight < self.inner.limit {
            state.in_flight += 1;
            return true;
        }
        if !state.waiting.iter().any(|waiting| Arc::ptr_eq(waiting, stream)) {
            state.waiting.push_back(Arc::clone(stream));
        }
        false
    }

    /// Gives a place back.
    pub(crate) fn leave(&self) {
        let waiting = {
            let mut state = lock(&self.inner.state);
            state.in_flight -= 1;
            // All of them: the first may have nothing to run any more, and the others line up again in order.
            std::mem::take(&mut state.waiting)
        };
        waiting.iter().for_each(|stream| stream.pump_soon());
    }
}

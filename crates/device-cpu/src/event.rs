//! Events of the CPU device: a value in host memory, waited for by threads and by queues.
//!
//! Owns [`CpuEvent`]. Invariant: the value never goes down; a subscriber is called exactly once, when its value
//! is reached, or dropped with the event.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anymetal_hal::event::Event;

/// What waits for an event without a thread.
pub(crate) trait Subscriber: Send + Sync {
    /// The value is reached.
    fn reached(self: Arc<Self>);
}

/// A monotonic value.
#[derive(Default)]
pub(crate) struct CpuEvent {
    state: Mutex<State>,
    raised: Condvar,
}

#[derive(Default)]
struct State {
    value: u64,
    subscribers: Vec<(u64, Arc<dyn Subscriber>)>,
}

impl CpuEvent {
    /// Has the subscriber called when the value is reached; says whether it already is, and then does nothing.
    pub(crate) fn subscribe(&self, value: u64, subscriber: Arc<dyn Subscriber>) -> bool {
        let mut state = self.lock();
        if state.value >= value {
            return true;
        }
        state.subscribers.push((value, subscriber));
        false
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Event for CpuEvent {
    fn signaled_value(&self) -> u64 {
        self.lock().value
    }

    fn signal(&self, value: u64) {
        let mut reached = Vec::new();
        {
            let mut state = self.lock();
            if value > state.value {
                state.value = value;
                reached.extend(state.subscribers.extract_if(.., |(wanted, _)| *wanted <= value));
                self.raised.notify_all();
            }
        }
        // Outside the lock: a subscriber may look at the event.
        reached.into_iter().for_each(|(_, subscriber)| subscriber.reached());
    }

    fn wait(&self, value: u64, timeout: Option<Duration>) -> bool {
        let limit = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let mut state = self.lock();
        while state.value < value {
            state = match limit.map(|limit| limit.saturating_duration_since(Instant::now())) {
                Some(Duration::ZERO) => return false,
                Some(left) => self.raised.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0,
                None => self.raised.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
        true
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl fmt::Debug for CpuEvent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("CpuEvent").field("value", &self.signaled_value()).finish_non_exhaustive()
    }
}

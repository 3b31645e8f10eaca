//! Events: monotonic values that queues and the host signal and wait for, as Metal's shared events.
//!
//! Owns the [`Event`] trait, [`HostEvent`] (a value in host memory, for every device whose commands the host
//! runs) and [`Reached`], a future. Invariant: the signalled value never goes down; a subscriber is woken
//! exactly once, when its value is reached, or dropped with the event or by [`Event::unsubscribe`].

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use crate::sync::{Condvar, Mutex, MutexGuard};
use crate::waker_slot::WakerSlot;

/// A monotonic value across queues and the host.
pub trait Event: Send + Sync + fmt::Debug {
    /// The highest value signalled so far; 0 at first.
    fn signaled_value(&self) -> u64;

    /// Signals from the host; a value not above the current one changes nothing.
    fn signal(&self, value: u64);

    /// Has the waker woken, on the signalling thread, when the value is reached. `None`: it already is, and
    /// the waker is dropped unused.
    fn subscribe(&self, value: u64, waker: Waker) -> Option<Subscription>;

    /// Forgets a subscriber; one that was woken is fine.
    fn unsubscribe(&self, subscription: Subscription);

    /// Blocks the calling thread until the value is reached or the (real) time is over; says which (`true`:
    /// reached). [`Reached`] waits by any clock.
    fn wait(&self, value: u64, timeout: Option<Duration>) -> bool;

    /// For the owning device to find its own type again.
    fn as_any(&self) -> &dyn Any;
}

/// Names a subscriber of one event: its value, then the order of subscribing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Subscription {
    /// The value waited for.
    pub value: u64,
    /// Counts the subscribers of the event.
    pub number: u64,
}

/// An event in host memory.
#[derive(Default)]
pub struct HostEvent {
    state: Mutex<EventState>,
    raised: Condvar,
}

#[derive(Default)]
struct EventState {
    value: u64,
    subscribers: BTreeMap<Subscription, Waker>,
    subscribed: u64,
    /// Threads inside [`Event::wait`].
    waiting: usize,
}

impl HostEvent {
    /// Subscribers that have not been woken.
    pub fn subscriber_count(&self) -> usize {
        self.lock().subscribers.len()
    }

    fn lock(&self) -> MutexGuard<'_, EventState> {
        crate::sync::lock(&self.state)
    }
}

impl Event for HostEvent {
    fn signaled_value(&self) -> u64 {
        self.lock().value
    }

    fn signal(&self, value: u64) {
        let reached = {
            let mut state = self.lock();
            if value <= state.value {
                return;
            }
            state.value = value;
            if state.waiting > 0 {
                self.raised.notify_all();
            }
            // What is left waits for higher values.
            let above = match value.checked_add(1) {
                Some(next) => state.subscribers.split_off(&Subscription { value: next, number: 0 }),
                None => BTreeMap::new(),
            };
            std::mem::replace(&mut state.subscribers, above)
        };
        // Outside the lock: a subscriber may look at the event.
        reached.into_values().for_each(Waker::wake);
    }

    fn subscribe(&self, value: u64, waker: Waker) -> Option<Subscription> {
        let mut state = self.lock();
        if state.value >= value {
            return None;
        }
        let subscription = Subscription { value, number: state.subscribed };
        state.subscribed += 1;
        state.subscribers.insert(subscription, waker);
        Some(subscription)
    }

    fn unsubscribe(&self, subscription: Subscription) {
        let waker = self.lock().subscribers.remove(&subscription);
        // Outside the lock: it may be the last handle of something that looks at the event.
        drop(waker);
    }

    fn wait(&self, value: u64, timeout: Option<Duration>) -> bool {
        let limit = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let mut state = self.lock();
        state.waiting += 1;
        while state.value < value {
            state = match limit.map(|limit| limit.saturating_duration_since(Instant::now())) {
                Some(Duration::ZERO) => break,
                Some(left) => self.raised.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0,
                None => self.raised.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
        state.waiting -= 1;
        state.value >= value
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl fmt::Debug for HostEvent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("HostEvent").field("value", &self.signaled_value()).finish_non_exhaustive()
    }
}

/// A future that is ready when an event reaches a value. Dropping it gives its subscription back.
#[derive(Debug)]
pub struct Reached {
    event: Arc<dyn Event>,
    value: u64,
    subscription: WakerSlot<Subscription>,
}

impl Reached {
    /// Ready when the event reaches the value.
    pub fn new(event: Arc<dyn Event>, value: u64) -> Self {
        Reached { event, value, subscription: WakerSlot::default() }
    }
}

impl Future for Reached {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Reached { event, value, subscription } = &mut *self;
        if event.signaled_value() >= *value {
            return Poll::Ready(());
        }
        let subscribe = |waker| event.subscribe(*value, waker);
        subscription.register(context.waker(), subscribe, |old| event.unsubscribe(old))
    }
}

impl Drop for Reached {
    fn drop(&mut self) {
        if let Some(subscription) = self.subscription.take() {
            self.event.unsubscribe(subscription);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::clock::{ManualClock, wait_for};

    #[test]
    fn waiters_are_woken_by_their_value_and_forgotten_with_their_future() {
        let event: Arc<HostEvent> = Arc::default();
        let shared: Arc<dyn Event> = event.clone();
        let clock = ManualClock::new();
        let waits = std::thread::spawn({
            let (shared, clock) = (Arc::clone(&shared), Arc::clone(&clock));
            move || wait_for(&*clock, None, Reached::new(shared, 3))
        });
        while event.subscriber_count() == 0 {
            std::thread::yield_now();
        }
        event.signal(2);
        assert_eq!(event.subscriber_count(), 1);
        event.signal(3);
        assert_eq!(waits.join().unwrap(), Some(()));
        let mut future = Box::pin(Reached::new(Arc::clone(&shared), 9));
        let mut context = Context::from_waker(Waker::noop());
        assert!(future.as_mut().poll(&mut context).is_pending());
        assert!(future.as_mut().poll(&mut context).is_pending());
        assert_eq!(event.subscriber_count(), 1);
        drop(future);
        assert_eq!(event.subscriber_count(), 0);
        event.signal(1);
        assert_eq!(event.signaled_value(), 3, "a value never goes down");
        assert!(event.subscribe(3, Waker::noop().clone()).is_none());
        event.signal(u64::MAX);
        assert!(event.wait(u64::MAX, Some(Duration::ZERO)));
    }
}

/// Run with `RUSTFLAGS="--cfg loom" cargo test -p anymetal-hal --lib --release models`.
#[cfg(all(test, loom))]
mod models {
    use loom::thread;

    use super::*;

    #[test]
    fn whoever_waits_is_woken_whatever_the_interleaving() {
        loom::model(|| {
            let event = loom::sync::Arc::new(HostEvent::default());
            let signals = {
                let event = loom::sync::Arc::clone(&event);
                thread::spawn(move || (1..=2).for_each(|value| event.signal(value)))
            };
            let waiter = {
                let event = loom::sync::Arc::clone(&event);
                thread::spawn(move || event.wait(2, None))
            };
            let woken = std::sync::Arc::new(Flag::default());
            let subscription = event.subscribe(2, Waker::from(std::sync::Arc::clone(&woken)));
            signals.join().unwrap();
            assert!(waiter.join().unwrap());
            let told = woken.0.load(std::sync::atomic::Ordering::SeqCst);
            assert_eq!(told, usize::from(subscription.is_some()), "once, or not at all if it was reached");
            assert_eq!((event.signaled_value(), event.subscriber_count()), (2, 0));
        });
    }

    #[derive(Default)]
    struct Flag(std::sync::atomic::AtomicUsize);

    impl std::task::Wake for Flag {
        fn wake(self: std::sync::Arc<Self>) {
            self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        }
    }
}

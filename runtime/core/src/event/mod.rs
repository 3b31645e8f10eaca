//! Events: monotonic values that streams, devices and the host signal and wait for.
//!
//! Owns [`Event`], a handle to a pooled device event, [`EventPool`], and [`Bridge`], which passes a signal
//! from one device's event to another's. Invariant: an event's value starts at 0 for its user and never goes
//! down; a device event is used again only when no handle and no submitted work has it any more; every wait
//! parks or is awaited.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Wake, Waker};
use std::time::Duration;

use anymetal_hal::clock::{Clock, wait_for};
use anymetal_hal::device::Device;
use anymetal_hal::error::DeviceError;
use anymetal_hal::event::{Event as DeviceEvent, Reached, Subscription};

use crate::stream::context::Context;

/// The most idle events that a pool keeps.
const MAX_IDLE: usize = 256;
/// Beyond that value an event is not used again.
const WORN_OUT: u64 = u64::MAX / 2;

/// A monotonic value. Clones are the same event.
#[derive(Debug, Clone)]
pub struct Event {
    inner: Arc<Inner>,
}

struct Inner {
    event: Arc<dyn DeviceEvent>,
    /// The device event's value when this one was made: 0 for its user.
    base: u64,
    pool: Arc<PoolShared>,
}

/// The events of a device.
#[derive(Debug, Clone)]
pub struct EventPool {
    shared: Arc<PoolShared>,
}

struct PoolShared {
    device: Arc<dyn Device>,
    idle: Mutex<Vec<Arc<dyn DeviceEvent>>>,
}

impl EventPool {
    pub(crate) fn new(device: Arc<dyn Device>) -> Self {
        EventPool { shared: Arc::new(PoolShared { device, idle: Mutex::default() }) }
    }

    /// An event with the value 0.
    pub fn event(&self) -> Result<Event, DeviceError> {
        let idle = self.shared.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let event = match idle {
            Some(event) => event,
            None => self.shared.device.event()?,
        };
        let (base, pool) = (event.signaled_value(), Arc::clone(&self.shared));
        Ok(Event { inner: Arc::new(Inner { event, base, pool }) })
    }

    /// Events that wait to be used again.
    pub fn idle(&self) -> usize {
        self.shared.idle.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

impl Event {
    /// The highest value signalled so far.
    pub fn value(&self) -> u64 {
        self.inner.event.signaled_value() - self.inner.base
    }

    /// Signals from the host; a value not above the current one changes nothing.
    pub fn signal(&self, value: u64) {
        self.inner.event.signal(self.inner.base.saturating_add(value));
    }

    /// A future that is ready when the value is reached.
    pub fn reached(&self, value: u64) -> Reached {
        Reached::new(Arc::clone(&self.inner.event), self.inner.base.saturating_add(value))
    }

    /// Parks the calling thread until the value is reached.
    pub fn wait(&self, value: u64) {
        self.inner.event.wait(self.inner.base.saturating_add(value), None);
    }

    /// Parks the calling thread until the value is reached or the time by that clock is over; says which
    /// (`true`: reached).
    pub fn wait_timeout(&self, value: u64, timeout: Duration, clock: &dyn Clock) -> bool {
        wait_for(clock, Some(clock.now().saturating_add(timeout)), self.reached(value)).is_some()
    }

    fn is_of(&self, device: &Arc<dyn Device>) -> bool {
        std::ptr::addr_eq(Arc::as_ptr(&self.inner.pool.device), Arc::as_ptr(device))
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Work in flight and waiting futures have handles of their own.
        let unused = Arc::strong_count(&self.event) == 1 && self.event.signaled_value() < WORN_OUT;
        let mut idle = self.pool.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if unused && idle.len() < MAX_IDLE {
            idle.push(Arc::clone(&self.event));
        }
    }
}

impl fmt::Debug for Inner {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Event").field("event", &self.event).field("base", &self.base).finish()
    }
}

impl fmt::Debug for PoolShared {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("EventPool").field("device", &self.device.name()).finish_non_exhaustive()
    }
}

/// What a command names for an event: the event itself, or one of the command's own device that the host
/// keeps in step with it. Passing on ends with the bridge.
pub(crate) struct Bridge {
    local: Arc<dyn DeviceEvent>,
    local_value: u64,
    /// The event subscribed to, and the subscription.
    subscription: Option<(Arc<dyn DeviceEvent>, Subscription)>,
    /// Keeps the events from being used again meanwhile.
    _events: (Event, Option<Event>),
}

/// Signals an event when woken.
struct PassOn {
    to: Arc<dyn DeviceEvent>,
    value: u64,
}

impl Wake for PassOn {
    fn wake(self: Arc<Self>) {
        self.to.signal(self.value);
    }
}

impl Bridge {
    /// For a wait by the context's device.
    pub(crate) fn to_wait(event: &Event, value: u64, context: &Context) -> Result<Bridge, DeviceError> {
        let foreign = event.inner.base.saturating_add(value);
        if event.is_of(context.device()) {
            return Ok(Bridge::native(event, foreign));
        }
        let local = context.event()?;
        let (to, local_value) = (Arc::clone(&local.inner.event), local.inner.base + 1);
        let waker = Waker::from(Arc::new(PassOn { to: Arc::clone(&to), value: local_value }));
        let from = &event.inner.event;
        let subscription = from.subscribe(foreign, waker);
        if subscription.is_none() {
            to.signal(local_value);
        }
        let subscription = subscription.map(|subscription| (Arc::clone(from), subscription));
        Ok(Bridge { local: to, local_value, subscription, _events: (event.clone(), Some(local)) })
    }

    /// For a signal by the context's device.
    pub(crate) fn to_signal(event: &Event, value: u64, context: &Context) -> Result<Bridge, DeviceError> {
        let foreign = event.inner.base.saturating_add(value);
        if event.is_of(context.device()) {
            return Ok(Bridge::native(event, foreign));
        }
        let local = context.event()?;
        let (from, local_value) = (Arc::clone(&local.inner.event), local.inner.base + 1);
        let to = Arc::clone(&event.inner.event);
        let waker = Waker::from(Arc::new(PassOn { to, value: foreign }));
        let subscription = from.subscribe(local_value, waker);
        let subscription = subscription.map(|subscription| (Arc::clone(&from), subscription));
        Ok(Bridge { local: from, local_value, subscription, _events: (event.clone(), Some(local)) })
    }

    fn native(event: &Event, value: u64) -> Bridge {
        let local = Arc::clone(&event.inner.event);
        Bridge { local, local_value: value, subscription: None, _events: (event.clone(), None) }
    }

    /// The event that the command names.
    pub(crate) fn local(&self) -> &Arc<dyn DeviceEvent> {
        &self.local
    }

    /// And the value.
    pub(crate) fn local_value(&self) -> u64 {
        self.local_value
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        if let Some((event, subscription)) = self.subscription.take() {
            event.unsubscribe(subscription);
        }
    }
}

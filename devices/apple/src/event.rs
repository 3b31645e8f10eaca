//! Events: shared events of Metal.
//!
//! Owns [`AppleEvent`]. The host's waiters block on Metal's event; subscribers are woken by a notification
//! of Metal's for their value. Invariant: a subscriber is woken once, or forgotten. The host never lowers the
//! value as far as it sees it; a queue that raises it in the same moment may be undone, which Metal leaves to
//! programs: let one side signal an event.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::Waker;
use std::time::Duration;

use anymetal_hal::error::DeviceError;
use anymetal_hal::event::{Event, Subscription};
use block2::RcBlock;
use objc2::rc::{Retained, autoreleasepool};
use objc2::runtime::ProtocolObject;
use objc2_metal::{MTLDevice, MTLSharedEvent, MTLSharedEventListener};

use crate::device::DeviceShared;
use crate::error;

/// A wait without a limit is many of these.
const LONG_WAIT_MILLISECONDS: u64 = 3_600_000;

/// A shared event.
pub(crate) struct AppleEvent {
    pub(crate) event: Retained<ProtocolObject<dyn MTLSharedEvent>>,
    listener: Retained<MTLSharedEventListener>,
    subscribers: Arc<Mutex<Subscribers>>,
    /// Held while the host signals, so that of two signals the higher stays.
    signalling: Mutex<()>,
    device: Arc<DeviceShared>,
}

#[derive(Default)]
struct Subscribers {
    wakers: BTreeMap<Subscription, Waker>,
    subscribed: u64,
}

impl AppleEvent {
    pub(crate) fn new(device: &Arc<DeviceShared>) -> Result<Self, DeviceError> {
        let made = autoreleasepool(|_| device.device.newSharedEvent());
        let event = made.ok_or_else(|| error::none(&device.name, "shared event"))?;
        Ok(AppleEvent {
            event,
            listener: device.listener(),
            subscribers: Arc::default(),
            signalling: Mutex::default(),
            device: Arc::clone(device),
        })
    }

    pub(crate) fn belongs_to(&self, device: &Arc<DeviceShared>) -> bool {
        Arc::ptr_eq(&self.device, device)
    }

    fn lock(&self) -> MutexGuard<'_, Subscribers> {
        lock(&self.subscribers)
    }

    /// Has Metal tell when the value is reached; at once if it is.
    fn notify_at(&self, value: u64) {
        let subscribers = Arc::downgrade(&self.subscribers);
        let block = RcBlock::new(move |_event: NonNull<ProtocolObject<dyn MTLSharedEvent>>, reached: u64| {
            wake(&subscribers, reached.max(value));
        });
        autoreleasepool(|_| {
            let block = RcBlock::as_ptr(&block);
            // SAFETY: Metal copies the block, which may be called on any thread: it holds a weak reference
            // to what a lock guards, and a number.
            unsafe { self.event.notifyListener_atValue_block(&self.listener, value, block) };
        });
    }
}

fn lock(subscribers: &Mutex<Subscribers>) -> MutexGuard<'_, Subscribers> {
    subscribers.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Wakes those who wait for at most that value.
fn wake(subscribers: &Weak<Mutex<Subscribers>>, value: u64) {
    let Some(subscribers) = subscribers.upgrade() else { return };
    let reached = {
        let mut subscribers = lock(&subscribers);
        let above = match value.checked_add(1) {
            Some(next) => subscribers.wakers.split_off(&Subscription { value: next, number: 0 }),
            None => BTreeMap::new(),
        };
        std::mem::replace(&mut subscribers.wakers, above)
    };
    // Outside the lock: a subscriber may look at the event.
    reached.into_values().for_each(Waker::wake);
}

impl Event for AppleEvent {
    fn signaled_value(&self) -> u64 {
        self.event.signaledValue()
    }

    fn signal(&self, value: u64) {
        let _alone = self.signalling.lock().unwrap_or_else(PoisonError::into_inner);
        if value > self.event.signaledValue() {
            autoreleasepool(|_| self.event.setSignaledValue(value));
        }
    }

    fn subscribe(&self, value: u64, waker: Waker) -> Option<Subscription> {
        let subscription = {
            let mut subscribers = self.lock();
            if self.event.signaledValue() >= value {
                return None;
            }
            let subscription = Subscription { value, number: subscribers.subscribed };
            subscribers.subscribed += 1;
            subscribers.wakers.insert(subscription, waker);
            subscription
        };
        self.notify_at(value);
        Some(subscription)
    }

    fn unsubscribe(&self, subscription: Subscription) {
        let waker = self.lock().wakers.remove(&subscription);
        // Outside the lock: it may be the last handle of something that looks at the event.
        drop(waker);
    }

    fn wait(&self, value: u64, timeout: Option<Duration>) -> bool {
        let wait = |milliseconds| {
            autoreleasepool(|_| self.event.waitUntilSignaledValue_timeoutMS(value, milliseconds))
        };
        let Some(timeout) = timeout else {
            while !wait(LONG_WAIT_MILLISECONDS) {}
            return true;
        };
        // Metal counts milliseconds: less than one is one, so that a wait never ends too early.
        let mut left = timeout.as_nanos().div_ceil(1_000_000);
        loop {
            let part = left.min(LONG_WAIT_MILLISECONDS.into());
            left -= part;
            if wait(part as u64) {
                return true;
            }
            if left == 0 {
                return self.event.signaledValue() >= value;
            }
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl fmt::Debug for AppleEvent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("AppleEvent").field("value", &self.signaled_value()).finish_non_exhaustive()
    }
}

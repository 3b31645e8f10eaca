//! Back-pressure of a queue: submitters wait while the limit of command buffers in flight is reached.
//!
//! Invariant: a waiting submitter is woken when enough command buffers have ended, or when its timeout has
//! passed by the device's clock; not for each one that ends, where waking would cost more than the work.

use std::sync::{Arc, PoisonError};
use std::task::{Wake, Waker};
use std::time::Duration;

use anymetal_hal::clock::AlarmGuard;
use anymetal_hal::error::DeviceError;
use anymetal_hal::queue::WhenFull;
use anymetal_hal::sync::MutexGuard;

use super::{QueueCore, QueueState, Role};

/// After work that took longer, waking whoever waits for its place costs little in comparison.
const WORTH_WAKING: Duration = Duration::from_micros(100);

impl QueueState {
    /// Whether submitters that wait for space are to be woken, by work that `took` so long. Waking them for
    /// each free place would cost more than brief work, for a quarter of the places it is worth it. While the
    /// queue waits for an event each place counts: the event may be what the submitter would do next.
    pub(super) fn frees_enough(&self, limit: usize, took: Duration) -> bool {
        let each_counts = self.role == Role::Blocked || took > WORTH_WAKING;
        let enough = if each_counts { limit - 1 } else { limit - limit / 4 };
        self.waiting_submitters > 0 && self.in_flight <= enough
    }
}

impl QueueCore {
    pub(super) fn wait_for_space(self: &Arc<Self>) -> Result<MutexGuard<'_, QueueState>, DeviceError> {
        let limit = self.limit();
        let state = self.lock();
        let until = match self.descriptor.when_full {
            _ if state.in_flight < limit => return Ok(state),
            WhenFull::Refuse => return Err(DeviceError::QueueFull { limit }),
            WhenFull::Wait(longest) => self.device.clock.now().saturating_add(longest),
        };
        let clock = self.device.clock.as_ref();
        let by_alarm = clock.real_time_until(until).is_none();
        drop(state);
        let waker = || Waker::from(Arc::new(SpaceAlarm(Arc::clone(self))));
        let _alarm = by_alarm.then(|| AlarmGuard::set(clock, until, waker()));
        let mut state = self.lock();
        state.waiting_submitters += 1;
        while state.in_flight >= limit {
            if clock.now() >= until {
                state.waiting_submitters -= 1;
                return Err(DeviceError::QueueFull { limit });
            }
            state = match clock.real_time_until(until) {
                Some(left) => self.space.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0,
                None => self.space.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
        state.waiting_submitters -= 1;
        Ok(state)
    }

    /// The place of what took so long is free.
    pub(super) fn release_slot(&self, took: Duration) {
        let mut state = self.lock();
        state.in_flight -= 1;
        self.device.serial_submissions.end();
        let wake = state.frees_enough(self.limit(), took);
        drop(state);
        if wake {
            self.space.notify_all();
        }
    }

    /// How many may be in flight.
    pub(super) fn limit(&self) -> usize {
        self.descriptor.max_in_flight.max(1)
    }
}

/// Has submitters that wait for space look at a manual clock again.
struct SpaceAlarm(Arc<QueueCore>);

impl Wake for SpaceAlarm {
    fn wake(self: Arc<Self>) {
        // Under the lock, so that a submitter is either before its look at the clock or in its wait.
        let _state = self.0.lock();
        self.0.space.notify_all();
    }
}

//! The watchdog: stops work that runs past its deadline.
//!
//! One thread per device, started by the first deadline. It sleeps until the earliest deadline it knows of, or
//! without limit if there is none, so it costs nothing while nothing runs. Invariant: an alarm goes off at most
//! once, and not after [`Watchdog::disarm`] returned, except that one already going off may still finish.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// What a deadline does.
pub(crate) trait Alarm: Send + Sync {
    /// The deadline has passed.
    fn go_off(&self);
}

/// Deadlines and the thread that watches them.
#[derive(Default)]
pub(crate) struct Watchdog {
    shared: Arc<Shared>,
}

/// Names an armed deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Armed {
    at: Instant,
    number: u64,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    earlier: Condvar,
}

#[derive(Default)]
struct State {
    alarms: BTreeMap<Armed, Arc<dyn Alarm>>,
    next_number: u64,
    thread_runs: bool,
    /// Until when the thread sleeps; `None`: without limit.
    sleeps_until: Option<Instant>,
    shutdown: bool,
}

impl Watchdog {
    /// Has the alarm go off at that time.
    pub(crate) fn arm(&self, at: Instant, alarm: Arc<dyn Alarm>) -> Armed {
        let mut state = self.shared.lock();
        let armed = Armed { at, number: state.next_number };
        state.next_number += 1;
        state.alarms.insert(armed, alarm);
        if !state.thread_runs {
            state.thread_runs = self.start_thread();
        } else if state.sleeps_until.is_none_or(|until| at < until) {
            self.shared.earlier.notify_one();
        }
        armed
    }

    /// Forgets an alarm.
    pub(crate) fn disarm(&self, armed: Armed) {
        let alarm = self.shared.lock().alarms.remove(&armed);
        // Dropped outside the lock: it may be the last handle of something large.
        drop(alarm);
    }

    /// Says whether the thread runs. Without one deadlines are not kept; the next call tries again.
    fn start_thread(&self) -> bool {
        let shared = Arc::clone(&self.shared);
        let builder = std::thread::Builder::new().name("anymetal-watchdog".to_owned());
        builder.spawn(move || shared.watch()).is_ok()
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.shared.lock().shutdown = true;
        self.shared.earlier.notify_one();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn watch(&self) {
        let mut state = self.lock();
        while !state.shutdown {
            let now = Instant::now();
            let first = state.alarms.first_key_value().map(|(armed, _)| *armed);
            state = match first {
                Some(armed) if armed.at <= now => {
                    let alarm = state.alarms.remove(&armed);
                    drop(state);
                    if let Some(alarm) = alarm {
                        alarm.go_off();
                    }
                    self.lock()
                }
                Some(armed) => {
                    state.sleeps_until = Some(armed.at);
                    let left = armed.at - now;
                    self.earlier.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0
                }
                None => {
                    state.sleeps_until = None;
                    self.earlier.wait(state).unwrap_or_else(PoisonError::into_inner)
                }
            };
        }
    }
}

impl std::fmt::Debug for Watchdog {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Watchdog").field("armed", &self.shared.lock().alarms.len()).finish()
    }
}

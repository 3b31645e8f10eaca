//! Idle memory goes back to the system by time, also while nothing is acquired.
//!
//! Owns the process's thread that trims pools: each is looked at once in its idle age, so that a block is
//! idle for at most twice that long. The thread starts with the first pooled buffer and keeps no device
//! alive.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, Once, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

/// A device with a pool that is trimmed by time.
pub(crate) trait Idle: Send + Sync {
    /// How long a block may be idle.
    fn idle_age(&self) -> Duration;

    /// Frees the blocks that have been idle for longer.
    fn trim_idle(&self);
}

/// The least time between two looks at a pool.
const SHORTEST: Duration = Duration::from_millis(10);

/// A device's pool and when it is looked at next.
struct Watched {
    device: Weak<dyn Idle>,
    next: Instant,
}

static WATCHED: Mutex<Vec<Watched>> = Mutex::new(Vec::new());
/// Notified when a pool is added.
static ADDED: Condvar = Condvar::new();

/// Trims the device's pool from now on.
pub(crate) fn watch(device: &Arc<dyn Idle>) {
    static STARTED: Once = Once::new();
    // An age beyond the end of time: nothing is ever too old.
    let Some(next) = Instant::now().checked_add(interval(&**device)) else { return };
    lock().push(Watched { device: Arc::downgrade(device), next });
    ADDED.notify_one();
    STARTED.call_once(|| {
        // Without the thread, pools are trimmed when they make a block.
        let _started = thread::Builder::new().name("anymetal-trim".to_owned()).spawn(trim_for_ever);
    });
}

fn trim_for_ever() {
    let mut watched = lock();
    loop {
        let now = Instant::now();
        let (due, next) = due(&mut watched, now);
        watched = if !due.is_empty() {
            drop(watched);
            for device in due {
                device.trim_idle();
                // The last handle may end here.
            }
            lock()
        } else if let Some(next) = next {
            let wait = next.saturating_duration_since(now);
            ADDED.wait_timeout(watched, wait).unwrap_or_else(PoisonError::into_inner).0
        } else {
            ADDED.wait(watched).unwrap_or_else(PoisonError::into_inner)
        };
    }
}

/// The devices whose pools are to be looked at, and when the next one is.
fn due(watched: &mut Vec<Watched>, now: Instant) -> (Vec<Arc<dyn Idle>>, Option<Instant>) {
    let mut due = Vec::new();
    watched.retain_mut(|watched| {
        if watched.next > now {
            return watched.device.strong_count() > 0;
        }
        // A device that is gone has no pool.
        let Some(device) = watched.device.upgrade() else { return false };
        watched.next = now + interval(&*device);
        due.push(device);
        true
    });
    (due, watched.iter().map(|watched| watched.next).min())
}

fn interval(device: &dyn Idle) -> Duration {
    device.idle_age().max(SHORTEST)
}

fn lock() -> MutexGuard<'static, Vec<Watched>> {
    WATCHED.lock().unwrap_or_else(PoisonError::into_inner)
}

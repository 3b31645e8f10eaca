//! Asks kernels to stop in place of a thread that is held up in the driver.
//!
//! Owns [`Watch`], which knows the command buffer in a slot, and the process's thread that looks at all of
//! them. Loading a module and freeing memory wait for running kernels in the driver, and hold up other
//! threads' calls meanwhile, those of the thread that looks at the deadline too. The thread here calls no
//! driver: it writes the flags that the host reaches ([`StopFlag`]). Invariants: it sets only the flag of an
//! active command buffer, so that one that was cleared after the end stays clear; it owns no memory of a
//! device, whose end would call the driver. Concurrency: a lock for each slot, and one for the list of slots,
//! on which the thread sleeps while no slot is active.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use anymetal_hal::clock::Clock;

use crate::device_shared::DeviceShared;
use crate::driver::DriverError;
use crate::stop_flag::{HostWord, StopFlag};

/// Between two looks at what is active.
const LOOKS_EVERY: Duration = Duration::from_millis(50);
/// Looks at nothing before the thread sleeps.
const IDLE_LOOKS: u32 = 20;

/// The stop flag of a slot, and who sets it.
#[derive(Debug)]
pub(crate) struct Watch {
    flag: StopFlag,
    state: Arc<Mutex<State>>,
}

/// What the thread knows of a slot.
#[derive(Debug)]
struct State {
    clock: Arc<dyn Clock>,
    /// While the flag lives and the host reaches it.
    word: Option<HostWord>,
    active: Option<Active>,
    /// Whether the thread has set the flag.
    has_asked: bool,
}

/// A command buffer.
#[derive(Debug)]
struct Active {
    /// Whether the submitter wants it to end.
    stop: Arc<AtomicBool>,
    /// When the thread asks, by the device's clock.
    limit: Option<Duration>,
}

impl Watch {
    /// Watches a new slot. The first one of the process starts the thread.
    pub(crate) fn new(device: &Arc<DeviceShared>, stream: u64) -> Result<Self, DriverError> {
        let flag = StopFlag::new(device, stream)?;
        let (clock, word) = (Arc::clone(&device.clock), flag.host_word());
        let state = Arc::new(Mutex::new(State { clock, word, active: None, has_asked: false }));
        let watched = WATCHDOG.watch(&state);
        watched.map_err(|error| DriverError::Other(format!("no thread that stops kernels: {error}")))?;
        Ok(Watch { flag, state })
    }

    pub(crate) fn flag(&self) -> &StopFlag {
        &self.flag
    }

    /// A command buffer is in the slot, to have ended by then.
    pub(crate) fn begin(&self, stop: &Arc<AtomicBool>, limit: Option<Duration>) {
        let active = lock(&self.state).active.replace(Active { stop: Arc::clone(stop), limit });
        assert!(active.is_none(), "a slot has one command buffer at a time");
        WATCHDOG.wake();
    }

    /// The command buffer is to have ended by then instead.
    pub(crate) fn set_limit(&self, limit: Option<Duration>) {
        if let Some(active) = &mut lock(&self.state).active {
            active.limit = limit;
        }
    }

    /// The command buffer has ended; whether the thread had set the flag, which is clear from here on.
    pub(crate) fn end(&self) -> bool {
        let state = &mut *lock(&self.state);
        if state.active.take().is_some() {
            WATCHDOG.active.fetch_sub(1, Ordering::SeqCst);
        }
        state.take_asked()
    }

    /// Whether the thread has set the flag; clears it then. It may be set again until [`Self::end`].
    pub(crate) fn take_asked(&self) -> bool {
        lock(&self.state).take_asked()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.end();
        lock(&self.state).word = None;
    }
}

impl State {
    fn take_asked(&mut self) -> bool {
        let has_asked = std::mem::take(&mut self.has_asked);
        if let Some(word) = self.word.as_ref().filter(|_| has_asked) {
            // SAFETY: as in `look`.
            unsafe { word.store(0) };
        }
        has_asked
    }

    fn look(&mut self) {
        let Some(active) = &self.active else { return };
        let is_late = active.limit.is_some_and(|limit| self.clock.now() >= limit);
        if !is_late && !active.stop.load(Ordering::Relaxed) {
            return;
        }
        if let Some(word) = &self.word {
            // SAFETY: the flag takes its word back under this lock before its memory goes.
            unsafe { word.store(1) };
            self.has_asked = true;
        }
    }
}

/// The thread, and what it sleeps on.
struct Watchdog {
    /// How many slots have a command buffer.
    active: AtomicUsize,
    sleeps: AtomicBool,
    list: Mutex<List>,
    changed: Condvar,
}

struct List {
    watched: Vec<Weak<Mutex<State>>>,
    has_thread: bool,
}

static WATCHDOG: Watchdog = Watchdog {
    active: AtomicUsize::new(0),
    sleeps: AtomicBool::new(false),
    list: Mutex::new(List { watched: Vec::new(), has_thread: false }),
    changed: Condvar::new(),
};

impl Watchdog {
    fn watch(&'static self, state: &Arc<Mutex<State>>) -> std::io::Result<()> {
        let mut list = lock(&self.list);
        if !list.has_thread {
            let thread = std::thread::Builder::new().name("nvidia watchdog".to_owned());
            thread.spawn(|| self.work())?;
            list.has_thread = true;
        }
        list.watched.retain(|watched| watched.strong_count() > 0);
        list.watched.push(Arc::downgrade(state));
        Ok(())
    }

    fn wake(&self) {
        self.active.fetch_add(1, Ordering::SeqCst);
        if self.sleeps.load(Ordering::SeqCst) {
            let _list = lock(&self.list);
            self.changed.notify_one();
        }
    }

    fn work(&self) {
        let (mut list, mut idle) = (lock(&self.list), 0);
        loop {
            if idle < IDLE_LOOKS {
                let slept = self.changed.wait_timeout(list, LOOKS_EVERY);
                list = slept.unwrap_or_else(PoisonError::into_inner).0;
            } else {
                self.sleeps.store(true, Ordering::SeqCst);
                // Whoever becomes active from here on sees that the thread sleeps, and waits for the lock.
                if self.active.load(Ordering::SeqCst) == 0 {
                    list = self.changed.wait(list).unwrap_or_else(PoisonError::into_inner);
                }
                self.sleeps.store(false, Ordering::SeqCst);
            }
            idle = if self.active.load(Ordering::SeqCst) == 0 { idle + 1 } else { 0 };
            if idle == 0 {
                list.watched.iter().filter_map(Weak::upgrade).for_each(|state| lock(&state).look());
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

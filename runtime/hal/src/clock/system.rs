//! Real time, and the thread that lets its alarms go off.
//!
//! Owns [`SystemClock`] and [`AlarmThread`], which is the same over any [`Time`], so that a model drives the
//! code that ships by hand. Invariant: an alarm whose time has come goes off without anything else happening.
//!
//! Concurrency: one mutex guards all of [`AlarmThreadState`]; the thread sleeps on `earlier` until the time
//! it left in `sleeps_until`, or without limit. A thread that sets an alarm for an earlier time, or ends the
//! clock, notifies it. A waker is woken, and dropped, outside the lock: it may set an alarm itself.

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock, PoisonError};
use std::task::Waker;
use std::time::{Duration, Instant};

use super::{AlarmId, Alarms, Clock};
use crate::coarse_time::CoarseStart;
use crate::sync::{Condvar, Mutex, MutexGuard, lock, thread};

/// Real time. One thread, started by the first alarm, sleeps until the earliest one; without alarms it costs
/// nothing.
#[derive(Default)]
pub struct SystemClock {
    alarms: AlarmThread<Start>,
}

/// When a clock was made.
struct Start(Instant, CoarseStart);

impl Default for Start {
    fn default() -> Self {
        Start(Instant::now(), CoarseStart::now())
    }
}

/// The time of an alarm thread.
trait Time: Send + Sync + 'static {
    fn now(&self) -> Duration;

    /// Waits until `woken` is notified, at most until that time; may come back for nothing.
    fn wait<'a>(
        &self,
        woken: &Condvar,
        state: MutexGuard<'a, AlarmThreadState>,
        until: Duration,
    ) -> MutexGuard<'a, AlarmThreadState>;
}

impl Time for Start {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }

    fn wait<'a>(
        &self,
        woken: &Condvar,
        state: MutexGuard<'a, AlarmThreadState>,
        until: Duration,
    ) -> MutexGuard<'a, AlarmThreadState> {
        let left = until.saturating_sub(self.now());
        woken.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0
    }
}

/// Alarms with a thread; dropping it ends the thread, soon.
#[derive(Default)]
struct AlarmThread<T: Time> {
    shared: Arc<ClockShared<T>>,
}

#[derive(Default)]
struct ClockShared<T> {
    time: T,
    state: Mutex<AlarmThreadState>,
    earlier: Condvar,
}

#[derive(Default)]
struct AlarmThreadState {
    alarms: Alarms,
    thread_runs: bool,
    /// Until when the thread sleeps; `None`: without limit.
    sleeps_until: Option<Duration>,
    shutdown: bool,
}

impl<T: Time> AlarmThread<T> {
    fn set(&self, at: Duration, waker: Waker) -> AlarmId {
        let mut state = lock(&self.shared.state);
        let alarm = state.alarms.insert(at, waker);
        if !state.thread_runs {
            state.thread_runs = self.start();
        } else if state.sleeps_until.is_none_or(|until| at < until) {
            self.shared.earlier.notify_one();
        }
        alarm
    }

    fn clear(&self, alarm: AlarmId) {
        let waker = lock(&self.shared.state).alarms.pending.remove(&alarm);
        // Dropped outside the lock: it may be the last handle of something large.
        drop(waker);
    }

    /// Says whether the thread runs. Without one alarms do not go off; the next alarm tries again.
    fn start(&self) -> bool {
        let shared = Arc::clone(&self.shared);
        let builder = thread::Builder::new().name("anymetal-clock".to_owned());
        builder.spawn(move || shared.watch()).is_ok()
    }
}

impl<T: Time> Drop for AlarmThread<T> {
    fn drop(&mut self) {
        lock(&self.shared.state).shutdown = true;
        self.shared.earlier.notify_one();
    }
}

impl<T: Time> ClockShared<T> {
    /// What the thread does.
    fn watch(&self) {
        let mut state = lock(&self.state);
        while !state.shutdown {
            state = match state.alarms.first() {
                Some(alarm) if alarm.at <= self.time.now() => {
                    let waker = state.alarms.pending.remove(&alarm);
                    drop(state);
                    // A waker that panics must not take the other alarms with it.
                    let wake = AssertUnwindSafe(|| waker.map(Waker::wake));
                    let _contained = std::panic::catch_unwind(wake);
                    lock(&self.state)
                }
                Some(alarm) => {
                    state.sleeps_until = Some(alarm.at);
                    self.time.wait(&self.earlier, state, alarm.at)
                }
                None => {
                    state.sleeps_until = None;
                    self.earlier.wait(state).unwrap_or_else(PoisonError::into_inner)
                }
            };
        }
    }
}

impl SystemClock {
    /// The clock that the whole process shares.
    pub fn shared() -> Arc<SystemClock> {
        static CLOCK: OnceLock<Arc<SystemClock>> = OnceLock::new();
        Arc::clone(CLOCK.get_or_init(Arc::default))
    }

    fn start(&self) -> &Start {
        &self.alarms.shared.time
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Duration {
        self.start().now()
    }

    fn recent(&self) -> Duration {
        self.start().1.elapsed().unwrap_or_else(|| self.now())
    }

    fn set_alarm(&self, at: Duration, waker: Waker) -> AlarmId {
        self.alarms.set(at, waker)
    }

    fn clear_alarm(&self, alarm: AlarmId) {
        self.alarms.clear(alarm);
    }

    fn real_time_until(&self, at: Duration) -> Option<Duration> {
        Some(at.saturating_sub(self.now()))
    }
}

impl fmt::Debug for SystemClock {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SystemClock").field("now", &self.now()).finish_non_exhaustive()
    }
}

/// Run with `RUSTFLAGS="--cfg loom" cargo test -p anymetal-hal --lib --release models`.
#[cfg(all(test, loom))]
mod models {
    use std::sync::atomic::Ordering;
    use std::task::Wake;

    use super::*;
    use crate::sync::AtomicU64;

    /// Time that the model moves.
    struct Hand {
        seconds: AtomicU64,
        /// The end of the wait that the thread is in; touched under the lock of the state alone.
        waits_until: std::sync::Mutex<Option<Duration>>,
    }

    impl Default for Hand {
        fn default() -> Self {
            Hand { seconds: AtomicU64::new(0), waits_until: Default::default() }
        }
    }

    impl Time for Hand {
        fn now(&self) -> Duration {
            seconds(self.seconds.load(Ordering::Acquire))
        }

        fn wait<'a>(
            &self,
            woken: &Condvar,
            state: MutexGuard<'a, AlarmThreadState>,
            until: Duration,
        ) -> MutexGuard<'a, AlarmThreadState> {
            if self.now() >= until {
                return state;
            }
            *self.waits_until.lock().unwrap() = Some(until);
            let state = woken.wait(state).unwrap();
            *self.waits_until.lock().unwrap() = None;
            state
        }
    }

    type Modelled = Arc<AlarmThread<Hand>>;

    fn seconds(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    /// Time comes that far, and a wait that was to last no longer ends, as the system would end it.
    fn move_to(clock: &Modelled, now: u64) {
        let ClockShared { time, state, earlier } = &*clock.shared;
        time.seconds.swap(now, Ordering::AcqRel);
        let _state = lock(state);
        if time.waits_until.lock().unwrap().is_some_and(|until| until <= seconds(now)) {
            earlier.notify_all();
        }
    }

    /// Counts how often it was woken.
    #[derive(Default)]
    struct Bell {
        rung: Mutex<u32>,
        rings: Condvar,
    }

    impl Bell {
        fn waker(self: &Arc<Self>) -> Waker {
            Waker::from(Arc::clone(self))
        }

        fn rung(&self) -> u32 {
            *lock(&self.rung)
        }

        fn wait(&self) {
            let mut rung = lock(&self.rung);
            while *rung == 0 {
                rung = self.rings.wait(rung).unwrap();
            }
        }
    }

    impl Wake for Bell {
        fn wake(self: Arc<Self>) {
            *lock(&self.rung) += 1;
            self.rings.notify_all();
        }
    }

    /// An alarm before the one that the thread sleeps for, or is about to, goes off at its own time; the
    /// other not before its own. The thread ends with the clock: it would hang the model otherwise.
    #[test]
    fn an_earlier_alarm_is_not_slept_through() {
        loom::model(|| {
            let (clock, late, early) = (Modelled::default(), Arc::<Bell>::default(), Arc::<Bell>::default());
            clock.set(seconds(9), late.waker());
            let other = thread::spawn({
                let (clock, early) = (Arc::clone(&clock), Arc::clone(&early));
                move || {
                    clock.set(seconds(5), early.waker());
                }
            });
            move_to(&clock, 5);
            early.wait();
            other.join().unwrap();
            assert_eq!(late.rung(), 0);
            move_to(&clock, 9);
            late.wait();
            assert_eq!((early.rung(), late.rung()), (1, 1));
        });
    }

    /// Who clears an alarm, while the thread sleeps for it or lets it go off, neither keeps another from
    /// going off nor has its own go off later.
    #[test]
    fn a_cleared_alarm_takes_no_other_with_it() {
        loom::model(|| {
            let (clock, cleared, kept) =
                (Modelled::default(), Arc::<Bell>::default(), Arc::<Bell>::default());
            let alarm = clock.set(seconds(5), cleared.waker());
            clock.set(seconds(6), kept.waker());
            let other = thread::spawn({
                let (clock, cleared) = (Arc::clone(&clock), Arc::clone(&cleared));
                move || {
                    clock.clear(alarm);
                    assert!(!lock(&clock.shared.state).alarms.pending.contains_key(&alarm));
                    // Nobody holds its waker but a thread that has taken it out and is about to wake it.
                    (cleared.rung(), Arc::strong_count(&cleared))
                }
            });
            move_to(&clock, 6);
            kept.wait();
            let (rung, holders) = other.join().unwrap();
            let now = cleared.rung();
            assert!(now <= 1 && kept.rung() == 1);
            assert!(now == rung || holders > 2, "it went off though nobody was at it when it was cleared");
        });
    }

    /// Sets another alarm when it is woken, as whoever waits again does.
    struct Again(Modelled, Arc<Bell>);

    impl Wake for Again {
        fn wake(self: Arc<Self>) {
            self.0.set(seconds(2), self.1.waker());
        }
    }

    /// The thread comes back to what a waker sets, and to what is set when it had nothing left.
    #[test]
    fn an_alarm_may_follow_an_alarm() {
        loom::model(|| {
            let (clock, bell, last) = (Modelled::default(), Arc::<Bell>::default(), Arc::<Bell>::default());
            clock.set(seconds(1), Waker::from(Arc::new(Again(Arc::clone(&clock), Arc::clone(&bell)))));
            move_to(&clock, 1);
            move_to(&clock, 2);
            bell.wait();
            clock.set(seconds(3), last.waker());
            move_to(&clock, 3);
            last.wait();
            assert_eq!((bell.rung(), last.rung()), (1, 1));
        });
    }
}

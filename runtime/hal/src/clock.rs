//! Time: the one trait through which deadlines, timeouts, latencies and timestamps see it.
//!
//! Owns [`Clock`] with [`SystemClock`] (real time, in `system`) and [`ManualClock`] (stands still until it is
//! told to go on, so that policies are tested without a sleep), and [`wait_for`], which blocks a thread on a
//! future with a time limit by any clock. Invariant: a clock never goes back; an alarm wakes its waker at
//! most once, and not after [`Clock::clear_alarm`] returned, except that one already going off may still
//! finish.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use crate::sync::{AtomicBool, park_timeout, thread};
use crate::waker_slot::WakerSlot;

mod system;

pub use system::SystemClock;

/// A source of time and of alarms. Times are counted from the clock's own start.
pub trait Clock: Send + Sync + fmt::Debug {
    /// The time now.
    fn now(&self) -> Duration;

    /// The time now or some milliseconds ago, whatever is cheaper to tell: for ages, not for order.
    fn recent(&self) -> Duration {
        self.now()
    }

    /// Has the waker woken once the time is reached; at once or soon if it already is. The waker runs on the
    /// clock's thread (or on the thread that moves a manual clock) and must be short.
    fn set_alarm(&self, at: Duration, waker: Waker) -> AlarmId;

    /// Forgets an alarm; one that has gone off is fine.
    fn clear_alarm(&self, alarm: AlarmId);

    /// How long a thread may sleep by itself until that time, if this clock goes with real time; `None`: only
    /// an alarm can tell.
    fn real_time_until(&self, at: Duration) -> Option<Duration>;
}

/// Names an alarm of one clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct AlarmId {
    at: Duration,
    number: u64,
}

/// Alarms in the order of their times, then of their making.
#[derive(Default)]
struct Alarms {
    pending: BTreeMap<AlarmId, Waker>,
    made: u64,
}

impl Alarms {
    fn insert(&mut self, at: Duration, waker: Waker) -> AlarmId {
        let alarm = AlarmId { at, number: self.made };
        self.made += 1;
        self.pending.insert(alarm, waker);
        alarm
    }

    fn first(&self) -> Option<AlarmId> {
        self.pending.first_key_value().map(|(alarm, _)| *alarm)
    }
}

/// A clock that a test moves by hand.
#[derive(Default)]
pub struct ManualClock {
    state: Mutex<ManualState>,
}

#[derive(Default)]
struct ManualState {
    now: Duration,
    alarms: Alarms,
}

impl ManualClock {
    /// A clock at zero.
    pub fn new() -> Arc<ManualClock> {
        Arc::default()
    }

    /// Moves on by that much. Alarms on the way go off in order, each at its own time, on this thread; alarms
    /// that they set go off too if they lie on the way.
    pub fn advance(&self, by: Duration) {
        let target = self.lock().now.saturating_add(by);
        while self.go_off(target) {}
        let mut state = self.lock();
        state.now = state.now.max(target);
    }

    /// Moves on to the next alarm and lets it go off; says whether there was one.
    pub fn advance_to_next_alarm(&self) -> bool {
        self.go_off(Duration::MAX)
    }

    /// When the next alarm goes off.
    pub fn next_alarm(&self) -> Option<Duration> {
        self.lock().alarms.first().map(|alarm| alarm.at)
    }

    /// Lets the first alarm not after `limit` go off.
    fn go_off(&self, limit: Duration) -> bool {
        let mut state = self.lock();
        let Some(alarm) = state.alarms.first().filter(|alarm| alarm.at <= limit) else {
            return false;
        };
        let waker = state.alarms.pending.remove(&alarm);
        state.now = state.now.max(alarm.at);
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
        true
    }

    fn lock(&self) -> MutexGuard<'_, ManualState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Duration {
        self.lock().now
    }

    fn set_alarm(&self, at: Duration, waker: Waker) -> AlarmId {
        let mut state = self.lock();
        if at <= state.now {
            drop(state);
            waker.wake();
            return AlarmId { at, number: u64::MAX };
        }
        state.alarms.insert(at, waker)
    }

    fn clear_alarm(&self, alarm: AlarmId) {
        let waker = self.lock().alarms.pending.remove(&alarm);
        drop(waker);
    }

    fn real_time_until(&self, _at: Duration) -> Option<Duration> {
        None
    }
}

impl fmt::Debug for ManualClock {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (now, next) = (self.now(), self.next_alarm());
        formatter.debug_struct("ManualClock").field("now", &now).field("next_alarm", &next).finish()
    }
}

/// An alarm that is cleared when this is dropped.
#[derive(Debug)]
pub struct AlarmGuard<'a> {
    clock: &'a dyn Clock,
    alarm: AlarmId,
}

impl<'a> AlarmGuard<'a> {
    /// Sets an alarm.
    pub fn set(clock: &'a dyn Clock, at: Duration, waker: Waker) -> Self {
        AlarmGuard { clock, alarm: clock.set_alarm(at, waker) }
    }
}

impl Drop for AlarmGuard<'_> {
    fn drop(&mut self) {
        self.clock.clear_alarm(self.alarm);
    }
}

/// Wakes a thread that waits in [`wait_for`].
struct ThreadWaker {
    woken: AtomicBool,
    thread: thread::Thread,
}

impl Wake for ThreadWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // A store would do; only loom does not know that it comes behind an exchange that did not see it.
        self.woken.swap(true, Ordering::AcqRel);
        self.thread.unpark();
    }
}

/// Blocks the calling thread until the future is ready, or until the clock reaches `until`: then `None`. The
/// thread is parked meanwhile.
pub fn wait_for<F: Future>(clock: &dyn Clock, until: Option<Duration>, future: F) -> Option<F::Output> {
    let thread_waker = Arc::new(ThreadWaker { woken: AtomicBool::new(false), thread: thread::current() });
    let waker = Waker::from(Arc::clone(&thread_waker));
    let by_alarm = until.filter(|&at| clock.real_time_until(at).is_none());
    let _alarm = by_alarm.map(|at| AlarmGuard::set(clock, at, waker.clone()));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return Some(output);
        }
        while !thread_waker.woken.swap(false, Ordering::Acquire) {
            if until.is_some_and(|until| clock.now() >= until) {
                return None;
            }
            match until.and_then(|until| clock.real_time_until(until)) {
                Some(left) => park_timeout(left),
                None => thread::park(),
            }
        }
    }
}

/// A future that is ready when the clock reaches a time.
#[derive(Debug)]
pub struct Sleep {
    clock: Arc<dyn Clock>,
    at: Duration,
    alarm: WakerSlot<AlarmId>,
}

impl Sleep {
    /// Ready at that time.
    pub fn until(clock: Arc<dyn Clock>, at: Duration) -> Self {
        Sleep { clock, at, alarm: WakerSlot::default() }
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: std::pin::Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Sleep { clock, at, alarm } = &mut *self;
        if clock.now() >= *at {
            return Poll::Ready(());
        }
        let set_alarm = |waker| Some(clock.set_alarm(*at, waker));
        alarm.register(context.waker(), set_alarm, |old| clock.clear_alarm(old))
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some(alarm) = self.alarm.take() {
            self.clock.clear_alarm(alarm);
        }
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use crate::sync::lock;

    /// Ready when set; whoever sets it wakes the waker left last.
    #[derive(Default)]
    struct Flag {
        state: crate::sync::Mutex<(bool, Option<Waker>)>,
    }

    struct Waits(Arc<Flag>);

    impl Future for Waits {
        type Output = ();

        fn poll(self: std::pin::Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
            let mut state = lock(&self.0.state);
            if state.0 {
                return Poll::Ready(());
            }
            state.1 = Some(context.waker().clone());
            Poll::Pending
        }
    }

    /// Whoever is woken comes back, whether it was about to park, parked, or woken in vain before.
    #[test]
    fn a_waiter_is_not_lost() {
        loom::model(|| {
            let flag = Arc::new(Flag::default());
            let waits = {
                let flag = Arc::clone(&flag);
                thread::spawn(move || wait_for(ManualClock::new().as_ref(), None, Waits(flag)))
            };
            // In vain, then in earnest.
            let waker = lock(&flag.state).1.clone();
            waker.into_iter().for_each(Waker::wake);
            let waker = {
                let mut state = lock(&flag.state);
                state.0 = true;
                state.1.take()
            };
            waker.into_iter().for_each(Waker::wake);
            assert_eq!(waits.join().unwrap(), Some(()));
        });
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    struct Note(Mutex<Vec<Duration>>, Arc<ManualClock>);

    impl Wake for Note {
        fn wake(self: Arc<Self>) {
            let now = self.1.now();
            self.0.lock().unwrap().push(now);
        }
    }

    fn seconds(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    #[test]
    fn alarms_of_a_manual_clock_go_off_in_order_and_at_their_time() {
        let clock = ManualClock::new();
        let note = Arc::new(Note(Mutex::default(), Arc::clone(&clock)));
        let waker = || Waker::from(Arc::clone(&note));
        clock.set_alarm(seconds(5), waker());
        clock.set_alarm(seconds(2), waker());
        let cleared = clock.set_alarm(seconds(3), waker());
        clock.clear_alarm(cleared);
        clock.advance(seconds(4));
        assert_eq!((clock.now(), note.0.lock().unwrap().as_slice()), (seconds(4), &[seconds(2)][..]));
        assert!(clock.advance_to_next_alarm() && !clock.advance_to_next_alarm());
        assert_eq!(*note.0.lock().unwrap(), [seconds(2), seconds(5)]);
        clock.set_alarm(seconds(1), waker());
        assert_eq!(note.0.lock().unwrap().len(), 3, "an alarm in the past goes off at once");
    }

    #[test]
    fn waiting_ends_with_the_future_or_with_the_time_by_either_clock() {
        let manual = ManualClock::new();
        let waits = {
            let clock = Arc::clone(&manual);
            std::thread::spawn(move || wait_for(&*clock, Some(seconds(9)), std::future::pending::<()>()))
        };
        while manual.next_alarm().is_none() {
            std::thread::yield_now();
        }
        manual.advance(seconds(9));
        assert_eq!(waits.join().unwrap(), None);
        assert_eq!(manual.next_alarm(), None, "the alarm was cleared");
        let system = SystemClock::shared();
        let at = system.now() + Duration::from_millis(2);
        assert_eq!(wait_for(&*system, Some(at), std::future::pending::<()>()), None);
        let clock: Arc<dyn Clock> = system;
        let sleep = Sleep::until(Arc::clone(&clock), clock.now() + Duration::from_millis(2));
        assert_eq!(wait_for(&*clock, None, sleep), Some(()), "woken by the clock's own thread");
    }

    #[test]
    fn recent_times_are_near_and_never_ahead() {
        let system = SystemClock::shared();
        for _ in 0..1000 {
            let (before, recent, after) = (system.now(), system.recent(), system.now());
            assert!(recent <= after && before <= recent + Duration::from_millis(100), "{recent:?} {after:?}");
        }
        assert_eq!(ManualClock::new().recent(), Duration::ZERO);
    }
}

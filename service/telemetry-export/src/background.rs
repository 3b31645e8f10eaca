//! A thread that does something again and again, by an injected clock.
//!
//! Owns [`Background`]. Invariant: the work runs at each interval, when it is woken, and once more when the
//! handle is dropped; never twice at the same time. The thread is parked in between.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread::JoinHandle;
use std::time::Duration;

use anymetal_hal::clock::{Clock, wait_for};

/// Work on a thread of its own. Dropping it does the work once more and ends the thread.
#[derive(Debug)]
pub struct Background {
    signal: Arc<Signal>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Signal {
    state: Mutex<BackgroundState>,
    done: Condvar,
}

#[derive(Debug, Default)]
struct BackgroundState {
    woken: bool,
    stopped: bool,
    waker: Option<Waker>,
    /// How often a flush was requested, and the last request that is done.
    requested: u64,
    answered: u64,
}

impl Background {
    /// Starts the thread.
    ///
    /// # Errors
    /// The system has no thread to give.
    pub fn start(
        name: &str,
        clock: Arc<dyn Clock>,
        interval: Duration,
        mut work: impl FnMut() + Send + 'static,
    ) -> std::io::Result<Self> {
        let signal = Arc::<Signal>::default();
        let its = Arc::clone(&signal);
        // From here on, so that a clock that is moved before the thread runs does not lose an interval.
        let mut next = clock.now().saturating_add(interval);
        let run = move || {
            let ended = Ended(its);
            let its = &ended.0;
            loop {
                wait_for(&*clock, Some(next), Woken(its));
                let (stopped, requested) = its.take();
                work();
                its.answer(requested);
                if stopped {
                    return;
                }
                let now = clock.now();
                if next <= now {
                    next = now.saturating_add(interval);
                }
            }
        };
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(run)?;
        Ok(Background { signal, thread: Some(thread) })
    }

    /// Has the work done now, and does not wait for it.
    pub fn wake(&self) {
        self.signal.wake(|_| {});
    }

    /// Has the work done now, and waits until that is done.
    pub fn flush(&self) {
        let requested = {
            let mut requested = 0;
            self.signal.wake(|state| {
                state.requested += 1;
                requested = state.requested;
            });
            requested
        };
        let mut state = self.signal.lock();
        while state.answered < requested && !state.stopped {
            state = self.signal.done.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.signal.wake(|state| state.stopped = true);
        if let Some(thread) = self.thread.take() {
            // A panic of the work has been told by the panic hook.
            let _ended = thread.join();
        }
    }
}

/// Tells those who wait that the thread has ended, by a panic too.
struct Ended(Arc<Signal>);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.lock().stopped = true;
        self.0.done.notify_all();
    }
}

impl Signal {
    fn lock(&self) -> MutexGuard<'_, BackgroundState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self, change: impl FnOnce(&mut BackgroundState)) {
        let waker = {
            let mut state = self.lock();
            change(&mut state);
            state.woken = true;
            state.waker.take()
        };
        waker.into_iter().for_each(Waker::wake);
    }

    fn take(&self) -> (bool, u64) {
        let mut state = self.lock();
        state.woken = false;
        (state.stopped, state.requested)
    }

    fn answer(&self, requested: u64) {
        self.lock().answered = requested;
        self.done.notify_all();
    }
}

/// Ready when the signal was given.
struct Woken<'a>(&'a Signal);

impl Future for Woken<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.0.lock();
        if state.woken {
            return Poll::Ready(());
        }
        state.waker = Some(context.waker().clone());
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use anymetal_hal::clock::ManualClock;

    use super::*;

    #[test]
    fn who_waits_for_work_that_panics_goes_on() {
        let work = || panic!("on purpose");
        let background = Background::start("test", ManualClock::new(), Duration::from_secs(1), work).unwrap();
        background.flush();
    }

    #[test]
    fn work_is_done_at_each_interval_when_flushed_and_at_the_end() {
        let clock = ManualClock::new();
        let (done, times) = channel();
        let (its, interval) = (Arc::clone(&clock), Duration::from_secs(5));
        let background = Background::start("test", clock.clone(), interval, move || {
            let _gone = done.send(its.now());
        })
        .unwrap();
        background.flush();
        assert_eq!(times.try_recv().map(|at| at.as_secs()), Ok(0));
        while clock.next_alarm().is_none() {
            std::thread::yield_now();
        }
        clock.advance(Duration::from_secs(5));
        assert_eq!(times.recv().map(|at| at.as_secs()), Ok(5));
        drop(background);
        assert_eq!(times.recv().map(|at| at.as_secs()), Ok(5));
        assert!(times.recv().is_err(), "the thread has ended");
    }
}

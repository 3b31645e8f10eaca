//! Runs futures in virtual time: a manual clock moves to the next alarm whenever none of them can
//! go on.
//!
//! Owns [`run_all`] and [`run`], for tests and simulations of policies: hours pass in microseconds
//! and nothing sleeps. Invariant: time moves only when every future waits, so a run is the same
//! each time.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use anymetal_hal::clock::ManualClock;

/// A future of a simulation.
pub type Simulated<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// Notes that some future may go on.
#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Release);
    }
}

/// Runs all futures on this thread until each has ended, or waits for something that no alarm of
/// the clock brings: then `None` in its place.
pub fn run_all<T>(clock: &ManualClock, futures: Vec<Simulated<'_, T>>) -> Vec<Option<T>> {
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(Arc::clone(&woken));
    let mut context = Context::from_waker(&waker);
    let mut running: Vec<_> = futures.into_iter().map(Some).collect();
    let mut outputs: Vec<Option<T>> = running.iter().map(|_| None).collect();
    loop {
        woken.0.store(false, Ordering::Release);
        for (slot, output) in running.iter_mut().zip(&mut outputs) {
            let Some(future) = slot else { continue };
            if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
                (*slot, *output) = (None, Some(value));
                woken.0.store(true, Ordering::Release);
            }
        }
        let ended = running.iter().all(Option::is_none);
        if ended || (!woken.0.load(Ordering::Acquire) && !clock.advance_to_next_alarm()) {
            return outputs;
        }
    }
}

/// Runs one future; `None`: it waits for something that no alarm of the clock brings.
pub fn run<T>(clock: &ManualClock, future: impl Future<Output = T>) -> Option<T> {
    run_all(clock, vec![Box::pin(future)]).pop().flatten()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::time::Duration;

    use anymetal_hal::clock::{Clock, Sleep};

    use super::*;

    #[test]
    fn time_moves_only_when_all_futures_wait() {
        let clock = ManualClock::new();
        let sleep = |seconds| {
            let clock = Arc::clone(&clock);
            async move {
                Sleep::until(clock.clone(), Duration::from_secs(seconds)).await;
                clock.now().as_secs()
            }
        };
        let futures: Vec<Simulated<'_, u64>> = vec![Box::pin(sleep(7200)), Box::pin(sleep(60))];
        assert_eq!(run_all(&clock, futures), [Some(7200), Some(60)]);
        assert_eq!(run(&clock, std::future::pending::<()>()), None, "nothing ends it");
    }
}

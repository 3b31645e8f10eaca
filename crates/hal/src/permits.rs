//! Permits: a counting semaphore that threads block on and futures await, first come first served.
//!
//! Owns [`Permits`]. Invariant: permits handed out and free ones always add up to the capacity; a free permit
//! belongs to the waiter who came first, so nobody is overtaken and no wake-up is lost. Concurrency: everything
//! is behind one mutex; a waiter stays in line until it has taken its permit or gives up, and whoever leaves
//! the line while permits are free wakes the next.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use crate::clock::{Clock, wait_for};
use crate::sync::{Mutex, MutexGuard};

/// A counting semaphore.
#[derive(Debug)]
pub struct Permits {
    capacity: usize,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    free: usize,
    line: VecDeque<Waiter>,
    came: u64,
}

#[derive(Debug)]
struct Waiter {
    number: u64,
    waker: Waker,
}

impl Permits {
    /// So many permits, at least one.
    pub fn new(capacity: usize) -> Self {
        let capacity = capacity.max(1);
        Permits { capacity, state: Mutex::new(State { free: capacity, line: VecDeque::new(), came: 0 }) }
    }

    /// How many there are, free or not.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// How many are handed out.
    pub fn used(&self) -> usize {
        self.capacity - self.lock().free
    }

    /// Takes one if one is free and nobody waits for it.
    pub fn try_acquire(&self) -> bool {
        let mut state = self.lock();
        let taken = state.free > 0 && state.line.is_empty();
        state.free -= usize::from(taken);
        taken
    }

    /// A future that takes one in its turn. Dropping it before it is ready leaves the line.
    pub fn acquire(&self) -> Acquire<'_> {
        Acquire { permits: self, number: None }
    }

    /// Takes one, blocking at most until the clock reaches `until`; says whether it did.
    pub fn acquire_until(&self, clock: &dyn Clock, until: Duration) -> bool {
        self.try_acquire() || wait_for(clock, Some(until), self.acquire()).is_some()
    }

    /// Gives one back.
    pub fn release(&self) {
        let mut state = self.lock();
        debug_assert!(state.free < self.capacity, "a permit is given back once");
        state.free = (state.free + 1).min(self.capacity);
        state.call_first().into_iter().for_each(Waker::wake);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        crate::sync::lock(&self.state)
    }
}

impl State {
    /// The waker of who is first in line, if it can have a permit.
    fn call_first(&self) -> Option<Waker> {
        let first = self.line.front().filter(|_| self.free > 0);
        first.map(|waiter| waiter.waker.clone())
    }
}

/// Takes a permit in its turn.
#[derive(Debug)]
pub struct Acquire<'a> {
    permits: &'a Permits,
    /// The place in line, once it has one.
    number: Option<u64>,
}

impl Future for Acquire<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.permits.lock();
        let first = state.line.front().map(|waiter| waiter.number);
        if state.free > 0 && (first.is_none() || first == self.number) {
            state.free -= 1;
            if self.number.take().is_some() {
                state.line.pop_front();
            }
            let next = state.call_first();
            drop(state);
            next.into_iter().for_each(Waker::wake);
            return Poll::Ready(());
        }
        let waker = context.waker().clone();
        match self.number {
            None => {
                let number = state.came;
                state.came += 1;
                state.line.push_back(Waiter { number, waker });
                drop(state);
                self.number = Some(number);
            }
            Some(number) => {
                if let Some(waiter) = state.line.iter_mut().find(|waiter| waiter.number == number) {
                    waiter.waker = waker;
                }
            }
        }
        Poll::Pending
    }
}

impl Drop for Acquire<'_> {
    fn drop(&mut self) {
        let Some(number) = self.number else { return };
        let mut state = self.permits.lock();
        state.line.retain(|waiter| waiter.number != number);
        let next = state.call_first();
        drop(state);
        next.into_iter().for_each(Waker::wake);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::pin::pin;

    use super::*;
    use crate::clock::ManualClock;

    #[test]
    fn nobody_is_overtaken_and_who_leaves_calls_the_next() {
        let permits = Permits::new(1);
        let mut context = Context::from_waker(Waker::noop());
        assert!(permits.try_acquire());
        let mut first = Box::pin(permits.acquire());
        let mut second = pin!(permits.acquire());
        assert!(first.as_mut().poll(&mut context).is_pending());
        assert!(second.as_mut().poll(&mut context).is_pending());
        permits.release();
        assert!(!permits.try_acquire(), "it is the first waiter's");
        assert!(second.as_mut().poll(&mut context).is_pending());
        drop(first);
        assert!(second.as_mut().poll(&mut context).is_ready());
        assert_eq!(permits.used(), 1);
        permits.release();
        assert_eq!(permits.used(), 0);
    }

    #[test]
    fn a_blocking_wait_ends_with_the_time_or_with_the_permit() {
        let (permits, clock) = (Permits::new(1), ManualClock::new());
        assert!(permits.try_acquire());
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| permits.acquire_until(&*clock, Duration::from_secs(1)));
            while clock.next_alarm().is_none() {
                std::thread::yield_now();
            }
            clock.advance(Duration::from_secs(1));
            assert!(!waits.join().unwrap());
            let waits = scope.spawn(|| permits.acquire_until(&*clock, Duration::from_secs(9)));
            while clock.next_alarm().is_none() {
                std::thread::yield_now();
            }
            permits.release();
            assert!(waits.join().unwrap());
        });
        assert_eq!(permits.used(), 1);
    }
}

/// Every interleaving; run with `RUSTFLAGS="--cfg loom" cargo test -p anymetal-hal --lib --release models`.
#[cfg(all(test, loom))]
mod models {
    use loom::sync::Arc;

    use super::*;

    #[test]
    fn every_waiter_gets_a_permit_whatever_the_interleaving() {
        loom::model(|| {
            let permits = Arc::new(Permits::new(1));
            let threads: Vec<_> = (0..2)
                .map(|_| {
                    let permits = Arc::clone(&permits);
                    loom::thread::spawn(move || {
                        loom::future::block_on(permits.acquire());
                        permits.release();
                    })
                })
                .collect();
            loom::future::block_on(permits.acquire());
            permits.release();
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            assert_eq!(permits.used(), 0);
        });
    }

    #[test]
    fn a_waiter_that_leaves_loses_no_permit() {
        loom::model(|| {
            let permits = Arc::new(Permits::new(1));
            assert!(permits.try_acquire());
            let leaves = Arc::clone(&permits);
            let leaver = loom::thread::spawn(move || {
                let mut acquire = Box::pin(leaves.acquire());
                let mut context = Context::from_waker(Waker::noop());
                if acquire.as_mut().poll(&mut context).is_ready() {
                    leaves.release();
                }
            });
            let gives = Arc::clone(&permits);
            let giver = loom::thread::spawn(move || gives.release());
            loom::future::block_on(permits.acquire());
            permits.release();
            leaver.join().unwrap();
            giver.join().unwrap();
            assert_eq!(permits.used(), 0);
        });
    }
}

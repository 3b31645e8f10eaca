//! A counting semaphore that threads block on and futures await, in FIFO order.
//!
//! Owns [`Semaphore`]. Invariant: acquired and free permits always add up to the capacity; a free permit goes
//! to the first waiter, so waiters are not overtaken and no wake-up is lost. Concurrency: one mutex guards
//! all state; a waiter stays in the queue until it has its permit or is dropped, and a waiter that leaves the
//! queue while permits are free wakes the next one.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use crate::clock::{Clock, wait_for};
use crate::sync::{Mutex, MutexGuard};

/// A counting semaphore.
#[derive(Debug)]
pub struct Semaphore {
    capacity: usize,
    state: Mutex<PermitState>,
}

#[derive(Debug)]
struct PermitState {
    free: usize,
    waiters: VecDeque<Waiter>,
    next_number: u64,
}

#[derive(Debug)]
struct Waiter {
    number: u64,
    waker: Waker,
}

impl Semaphore {
    /// A semaphore with `capacity` permits, at least one.
    pub fn new(capacity: usize) -> Self {
        let capacity = capacity.max(1);
        Semaphore {
            capacity,
            state: Mutex::new(PermitState { free: capacity, waiters: VecDeque::new(), next_number: 0 }),
        }
    }

    /// The number of permits, free or acquired.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// The number of acquired permits.
    pub fn used(&self) -> usize {
        self.capacity - self.lock().free
    }

    /// Acquires a permit if one is free and no waiter is queued.
    pub fn try_acquire(&self) -> bool {
        let mut state = self.lock();
        let taken = state.free > 0 && state.waiters.is_empty();
        state.free -= usize::from(taken);
        taken
    }

    /// A future that acquires a permit in FIFO order. Dropping it before it is ready leaves the queue.
    pub fn acquire(&self) -> Acquire<'_> {
        Acquire { semaphore: self, number: None }
    }

    /// Acquires a permit, blocking at most until the clock reaches `until`; returns whether it did.
    pub fn acquire_until(&self, clock: &dyn Clock, until: Duration) -> bool {
        self.try_acquire() || wait_for(clock, Some(until), self.acquire()).is_some()
    }

    /// Releases a permit.
    pub fn release(&self) {
        let mut state = self.lock();
        debug_assert!(state.free < self.capacity, "a permit is released once");
        state.free = (state.free + 1).min(self.capacity);
        state.first_to_wake().into_iter().for_each(Waker::wake);
    }

    fn lock(&self) -> MutexGuard<'_, PermitState> {
        crate::sync::lock(&self.state)
    }
}

impl PermitState {
    /// The waker of the first waiter, if a permit is free.
    fn first_to_wake(&self) -> Option<Waker> {
        let first = self.waiters.front().filter(|_| self.free > 0);
        first.map(|waiter| waiter.waker.clone())
    }
}

/// Acquires a permit in FIFO order; from [`Semaphore::acquire`].
#[derive(Debug)]
pub struct Acquire<'a> {
    semaphore: &'a Semaphore,
    /// Its number in the queue, once it has one.
    number: Option<u64>,
}

impl Future for Acquire<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.semaphore.lock();
        let first = state.waiters.front().map(|waiter| waiter.number);
        if state.free > 0 && (first.is_none() || first == self.number) {
            state.free -= 1;
            if self.number.take().is_some() {
                state.waiters.pop_front();
            }
            let next = state.first_to_wake();
            drop(state);
            next.into_iter().for_each(Waker::wake);
            return Poll::Ready(());
        }
        let waker = context.waker().clone();
        match self.number {
            None => {
                let number = state.next_number;
                state.next_number += 1;
                state.waiters.push_back(Waiter { number, waker });
                drop(state);
                self.number = Some(number);
            }
            Some(number) => {
                if let Some(waiter) = state.waiters.iter_mut().find(|waiter| waiter.number == number) {
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
        let mut state = self.semaphore.lock();
        state.waiters.retain(|waiter| waiter.number != number);
        let next = state.first_to_wake();
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
    fn waiters_are_served_in_order_and_one_that_leaves_wakes_the_next() {
        let semaphore = Semaphore::new(1);
        let mut context = Context::from_waker(Waker::noop());
        assert!(semaphore.try_acquire());
        let mut first = Box::pin(semaphore.acquire());
        let mut second = pin!(semaphore.acquire());
        assert!(first.as_mut().poll(&mut context).is_pending());
        assert!(second.as_mut().poll(&mut context).is_pending());
        semaphore.release();
        assert!(!semaphore.try_acquire(), "it is the first waiter's");
        assert!(second.as_mut().poll(&mut context).is_pending());
        drop(first);
        assert!(second.as_mut().poll(&mut context).is_ready());
        assert_eq!(semaphore.used(), 1);
        semaphore.release();
        assert_eq!(semaphore.used(), 0);
    }

    #[test]
    fn a_blocking_wait_ends_with_the_time_or_with_the_permit() {
        let (semaphore, clock) = (Semaphore::new(1), ManualClock::new());
        assert!(semaphore.try_acquire());
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| semaphore.acquire_until(&*clock, Duration::from_secs(1)));
            while clock.next_alarm().is_none() {
                std::thread::yield_now();
            }
            clock.advance(Duration::from_secs(1));
            assert!(!waits.join().unwrap());
            let waits = scope.spawn(|| semaphore.acquire_until(&*clock, Duration::from_secs(9)));
            while clock.next_alarm().is_none() {
                std::thread::yield_now();
            }
            semaphore.release();
            assert!(waits.join().unwrap());
        });
        assert_eq!(semaphore.used(), 1);
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
            let semaphore = Arc::new(Semaphore::new(1));
            let threads: Vec<_> = (0..2)
                .map(|_| {
                    let semaphore = Arc::clone(&semaphore);
                    loom::thread::spawn(move || {
                        loom::future::block_on(semaphore.acquire());
                        semaphore.release();
                    })
                })
                .collect();
            loom::future::block_on(semaphore.acquire());
            semaphore.release();
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            assert_eq!(semaphore.used(), 0);
        });
    }

    #[test]
    fn a_waiter_that_leaves_loses_no_permit() {
        loom::model(|| {
            let semaphore = Arc::new(Semaphore::new(1));
            assert!(semaphore.try_acquire());
            let leaves = Arc::clone(&semaphore);
            let leaver = loom::thread::spawn(move || {
                let mut acquire = Box::pin(leaves.acquire());
                let mut context = Context::from_waker(Waker::noop());
                if acquire.as_mut().poll(&mut context).is_ready() {
                    leaves.release();
                }
            });
            let gives = Arc::clone(&semaphore);
            let giver = loom::thread::spawn(move || gives.release());
            loom::future::block_on(semaphore.acquire());
            semaphore.release();
            leaver.join().unwrap();
            giver.join().unwrap();
            assert_eq!(semaphore.used(), 0);
        });
    }
}

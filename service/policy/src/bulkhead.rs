//! Bulkhead: so many calls at once, so many waiting, all others are refused.
//!
//! Owns [`BulkheadPolicy`] and [`Bulkhead`]. Invariant: at most `concurrency` places are taken and
//! at most `queue` callers wait; a place is given back exactly once, when its guard is dropped.
//! Waiters are served in order (`hal::semaphore`) and wait no longer than the policy and their
//! deadline allow.
//!
//! Concurrency: the semaphore guards the places; `waiting` counts callers between their refusal by
//! `try_acquire` and their end, and is changed by one atomic operation each way.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anymetal_hal::clock::{Clock, wait_for};
use anymetal_hal::semaphore::Semaphore;
use anymetal_hal::sync::AtomicUsize;

use crate::deadline::Deadline;
use crate::invalid::{InvalidPolicy, require};
use crate::timeout::within;

/// The bounds of a bulkhead. The default: 64 at once, 256 waiting for 10 s at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BulkheadPolicy {
    concurrency: usize,
    queue: usize,
    wait: Duration,
}

impl Default for BulkheadPolicy {
    fn default() -> Self {
        BulkheadPolicy { concurrency: 64, queue: 256, wait: Duration::from_secs(10) }
    }
}

impl BulkheadPolicy {
    /// A builder with the defaults.
    pub fn builder() -> BulkheadPolicyBuilder {
        BulkheadPolicyBuilder { policy: BulkheadPolicy::default() }
    }

    /// Calls at once.
    pub fn concurrency(&self) -> usize {
        self.concurrency
    }

    /// Callers that wait.
    pub fn queue(&self) -> usize {
        self.queue
    }

    /// How long a caller waits at most.
    pub fn wait(&self) -> Duration {
        self.wait
    }
}

/// Builds a [`BulkheadPolicy`].
#[derive(Debug, Clone, Copy)]
pub struct BulkheadPolicyBuilder {
    policy: BulkheadPolicy,
}

impl BulkheadPolicyBuilder {
    /// Calls at once.
    pub fn concurrency(mut self, concurrency: usize) -> Self {
        self.policy.concurrency = concurrency;
        self
    }

    /// Callers that may wait; 0: whoever finds no place is refused.
    pub fn queue(mut self, queue: usize) -> Self {
        self.policy.queue = queue;
        self
    }

    /// How long a caller waits at most.
    pub fn wait(mut self, wait: Duration) -> Self {
        self.policy.wait = wait;
        self
    }

    /// The policy, or the value that makes no sense.
    pub fn build(self) -> Result<BulkheadPolicy, InvalidPolicy> {
        let BulkheadPolicy { concurrency, queue, wait } = self.policy;
        require(concurrency > 0, "bulkhead.concurrency", concurrency, "without a place nothing runs")?;
        let waits = queue == 0 || !wait.is_zero();
        require(waits, "bulkhead.wait", wait, "a queue that waits for no time; use bulkhead.queue = 0")?;
        Ok(self.policy)
    }
}

/// Why a bulkhead refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BulkheadFull {
    /// All places are taken and the queue is full.
    #[error("{concurrency} calls are running and {queue} are waiting, which is the limit")]
    QueueFull {
        /// The places.
        concurrency: usize,
        /// The length of the queue.
        queue: usize,
    },
    /// No place became free in time.
    #[error("none of {concurrency} places became free within {} s", waited.as_secs_f64())]
    TimedOut {
        /// The places.
        concurrency: usize,
        /// How long the caller waited.
        waited: Duration,
    },
}

/// Bounds the calls at once; cheap to clone.
#[derive(Debug, Clone)]
pub struct Bulkhead {
    shared: Arc<BulkheadShared>,
}

#[derive(Debug)]
struct BulkheadShared {
    policy: BulkheadPolicy,
    clock: Arc<dyn Clock>,
    places: Semaphore,
    waiting: AtomicUsize,
}

impl Bulkhead {
    /// A bulkhead with all places free.
    pub fn new(policy: BulkheadPolicy, clock: Arc<dyn Clock>) -> Self {
        let places = Semaphore::new(policy.concurrency);
        let waiting = AtomicUsize::new(0);
        Bulkhead { shared: Arc::new(BulkheadShared { policy, clock, places, waiting }) }
    }

    /// The bounds.
    pub fn policy(&self) -> &BulkheadPolicy {
        &self.shared.policy
    }

    /// Calls that run.
    pub fn running(&self) -> usize {
        self.shared.places.used()
    }

    /// Callers that wait.
    pub fn waiting(&self) -> usize {
        self.shared.waiting.load(Ordering::Relaxed)
    }

    /// A place, if there is one at once.
    pub fn try_enter(&self) -> Option<BulkheadPermit> {
        self.shared.places.try_acquire().then(|| self.place())
    }

    /// A place; blocks until there is one, at most for the policy's wait and to the deadline.
    pub fn enter(&self, deadline: Deadline) -> Result<BulkheadPermit, BulkheadFull> {
        let clock = Arc::clone(&self.shared.clock);
        match wait_for(&*clock, None, self.enter_async(deadline)) {
            Some(entered) => entered,
            None => unreachable!("waiting without a limit ends with the future"),
        }
    }

    /// A place, awaited. Dropping the future leaves the queue.
    pub fn enter_async(
        &self,
        deadline: Deadline,
    ) -> impl Future<Output = Result<BulkheadPermit, BulkheadFull>> + Send + 'static {
        let bulkhead = self.clone();
        async move {
            if let Some(place) = bulkhead.try_enter() {
                return Ok(place);
            }
            let _queued = bulkhead.queue_up()?;
            let BulkheadShared { policy, clock, places, .. } = &*bulkhead.shared;
            let since = clock.now();
            let until = Deadline::after(since, policy.wait).earlier(deadline);
            match within(clock, until, places.acquire()).await {
                Some(()) => Ok(bulkhead.place()),
                None => Err(BulkheadFull::TimedOut {
                    concurrency: policy.concurrency,
                    waited: clock.now().saturating_sub(since),
                }),
            }
        }
    }

    fn place(&self) -> BulkheadPermit {
        BulkheadPermit { bulkhead: self.clone() }
    }

    fn queue_up(&self) -> Result<Queued, BulkheadFull> {
        let BulkheadPolicy { concurrency, queue, .. } = self.shared.policy;
        let count = &self.shared.waiting;
        // Not `try_update`, which loom's atomics do not have.
        let mut waiting = count.load(Ordering::Relaxed);
        while waiting < queue {
            match count.compare_exchange_weak(waiting, waiting + 1, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Ok(Queued { bulkhead: self.clone() }),
                Err(current) => waiting = current,
            }
        }
        Err(BulkheadFull::QueueFull { concurrency, queue })
    }
}

/// A place in a bulkhead, given back when dropped.
#[derive(Debug)]
pub struct BulkheadPermit {
    bulkhead: Bulkhead,
}

impl Drop for BulkheadPermit {
    fn drop(&mut self) {
        self.bulkhead.shared.places.release();
    }
}

/// A place in the queue.
struct Queued {
    bulkhead: Bulkhead,
}

impl Drop for Queued {
    fn drop(&mut self) {
        self.bulkhead.shared.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use anymetal_hal::clock::{ManualClock, Sleep};

    use super::*;
    use crate::virtual_time::{Simulated, run, run_all};

    fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    fn bulkhead(clock: &Arc<ManualClock>, concurrency: usize, queue: usize) -> Bulkhead {
        let policy =
            BulkheadPolicy::builder().concurrency(concurrency).queue(queue).wait(ms(50)).build().unwrap();
        Bulkhead::new(policy, clock.clone())
    }

    #[test]
    fn at_most_so_many_run_and_wait_and_the_rest_are_refused() {
        let clock = ManualClock::new();
        let bulkhead = bulkhead(&clock, 2, 3);
        let call = |_| -> Simulated<'_, Result<u128, BulkheadFull>> {
            Box::pin(async {
                let _place = bulkhead.enter_async(Deadline::NEVER).await?;
                assert!(bulkhead.running() <= 2 && bulkhead.waiting() <= 3);
                Sleep::until(clock.clone(), clock.now() + ms(20)).await;
                Ok(clock.now().as_millis())
            })
        };
        let ended = run_all(&clock, (0..7).map(call).collect());
        let full = Err(BulkheadFull::QueueFull { concurrency: 2, queue: 3 });
        let expected = [Ok(20), Ok(20), Ok(40), Ok(40), Ok(60), full.clone(), full];
        assert_eq!(ended.into_iter().flatten().collect::<Vec<_>>(), expected);
        assert_eq!((bulkhead.running(), bulkhead.waiting()), (0, 0));
    }

    #[test]
    fn a_wait_ends_with_the_policy_or_the_deadline_and_leaves_the_queue() {
        let clock = ManualClock::new();
        let bulkhead = bulkhead(&clock, 1, 1);
        let place = bulkhead.try_enter().unwrap();
        let timed_out = |waited| Some(BulkheadFull::TimedOut { concurrency: 1, waited });
        let enter = |deadline| run(&clock, bulkhead.enter_async(deadline)).and_then(Result::err);
        assert_eq!(enter(Deadline::NEVER), timed_out(ms(50)));
        assert_eq!(enter(Deadline::at(ms(60))), timed_out(ms(10)));
        assert_eq!(enter(Deadline::at(ms(60))), timed_out(ms(0)), "a deadline that has passed");
        assert_eq!(bulkhead.waiting(), 0);
        drop(place);
        assert!(bulkhead.enter(Deadline::NEVER).is_ok());
        assert_eq!(bulkhead.running(), 0);
    }

    #[test]
    fn a_blocked_thread_gets_the_place_that_is_given_back() {
        let clock = ManualClock::new();
        let bulkhead = bulkhead(&clock, 1, 1);
        let place = bulkhead.try_enter().unwrap();
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| bulkhead.enter(Deadline::NEVER).is_ok());
            while bulkhead.waiting() == 0 {
                std::thread::yield_now();
            }
            drop(place);
            assert!(waits.join().unwrap());
        });
    }

    #[test]
    fn impossible_bounds_are_refused() {
        let error = BulkheadPolicy::builder().concurrency(0).build().unwrap_err();
        assert_eq!(error.to_string(), "bulkhead.concurrency = 0: without a place nothing runs");
        let error = BulkheadPolicy::builder().wait(ms(0)).build().unwrap_err();
        assert_eq!(error.field(), "bulkhead.wait");
        assert!(BulkheadPolicy::builder().queue(0).wait(ms(0)).build().is_ok());
    }
}

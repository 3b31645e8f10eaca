//! A cache in memory, shared by threads, in which each entry is made once.
//!
//! Owns [`SharedCache`]. Invariant: while one thread makes an entry, others that request it wait for its
//! result; failures are returned to the waiting threads and not kept, except that of a maker that was
//! cancelled: then one of those that wait makes it. Concurrency: the map is locked for
//! look-ups only, never while something is made.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::cancellation;
use crate::error::CompileError;
use crate::key::Key;

/// The least recently used entries are dropped beyond a total weight.
pub(crate) struct SharedCache<V> {
    capacity: usize,
    weigh: fn(&V) -> usize,
    state: Mutex<State<V>>,
}

struct State<V> {
    entries: BTreeMap<Key, Entry<V>>,
    clock: u64,
}

enum Entry<V> {
    /// `made` names this making of the entry: no two have the same.
    Ready {
        value: V,
        made: u64,
        last_used: u64,
        weight: usize,
    },
    InFlight(Arc<Flight<V>>),
}

/// The result of a look-up.
enum Lookup<V> {
    Ready {
        value: V,
        made: u64,
    },
    /// Another thread makes it.
    InFlight(Arc<Flight<V>>),
    /// The caller makes it.
    Ours(Arc<Flight<V>>),
}

struct Flight<V> {
    result: Mutex<Option<Result<V, CompileError>>>,
    landed: Condvar,
}

impl<V: Clone> SharedCache<V> {
    /// A cache of a number of entries.
    pub(crate) fn new(capacity: usize) -> Self {
        Self::weighted(capacity.max(1), |_| 1)
    }

    /// A cache of entries that together weigh no more than `capacity`. An entry that weighs more alone is
    /// handed out and not kept, and drops no other.
    pub(crate) fn weighted(capacity: usize, weigh: fn(&V) -> usize) -> Self {
        let state = State { entries: BTreeMap::new(), clock: 0 };
        SharedCache { capacity, weigh, state: Mutex::new(state) }
    }

    /// The number of complete entries, and the sum of a figure of each.
    pub(crate) fn sum(&self, figure: impl Fn(&V) -> u64) -> (u64, u64) {
        let state = self.lock();
        let ready = state.entries.values().filter_map(|entry| match entry {
            Entry::Ready { value, .. } => Some(figure(value)),
            Entry::InFlight(_) => None,
        });
        ready.fold((0, 0), |(count, sum), figure| (count + 1, sum + figure))
    }

    /// Drops all complete entries.
    pub(crate) fn clear(&self) {
        let mut state = self.lock();
        let (ready, in_flight) = std::mem::take(&mut state.entries)
            .into_iter()
            .partition(|(_, entry)| matches!(entry, Entry::Ready { .. }));
        state.entries = in_flight;
        drop(state);
        // Outside the lock: an entry may be large.
        drop::<BTreeMap<Key, Entry<V>>>(ready);
    }

    /// The largest total weight.
    pub(crate) fn capacity(&self) -> u64 {
        self.capacity as u64
    }

    /// The entry, if it is there and complete.
    pub(crate) fn get(&self, key: Key) -> Option<V> {
        let mut state = self.lock();
        state.clock += 1;
        let now = state.clock;
        match state.entries.get_mut(&key)? {
            Entry::Ready { value, last_used, .. } => {
                *last_used = now;
                Some(value.clone())
            }
            Entry::InFlight(_) => None,
        }
    }

    /// The entry, made by this call, by another thread's, or long ago. A known entry that `is_valid` refuses
    /// is made anew.
    pub(crate) fn get_or_make(
        &self,
        key: Key,
        is_valid: impl Fn(&V) -> bool,
        make: impl FnOnce() -> Result<V, CompileError>,
    ) -> Result<V, CompileError> {
        let mut refused = None;
        let flight = loop {
            match self.find(key, refused) {
                // Outside the lock: validation may read files.
                Lookup::Ready { value, .. } if is_valid(&value) => return Ok(value),
                Lookup::Ready { made, .. } => refused = Some(made),
                Lookup::InFlight(flight) => match flight.wait() {
                    // It is the maker that nobody waits for.
                    Err(CompileError::Cancelled) => cancellation::check()?,
                    result => return result,
                },
                Lookup::Ours(flight) => break flight,
            }
        };
        let guard = Landing { cache: self, key, flight: &flight };
        let result = make();
        guard.land(result)
    }

    /// The entry as it is now; where there is none, or only the one made at `refused`, a flight that the
    /// caller must end. One critical section: the thread that finds no entry makes it.
    fn find(&self, key: Key, refused: Option<u64>) -> Lookup<V> {
        let mut state = self.lock();
        state.clock += 1;
        let now = state.clock;
        match state.entries.get_mut(&key) {
            Some(Entry::Ready { value, made, last_used, .. }) if refused != Some(*made) => {
                *last_used = now;
                return Lookup::Ready { value: value.clone(), made: *made };
            }
            Some(Entry::InFlight(flight)) => return Lookup::InFlight(Arc::clone(flight)),
            _ => {}
        }
        let flight = Arc::new(Flight { result: Mutex::new(None), landed: Condvar::new() });
        state.entries.insert(key, Entry::InFlight(Arc::clone(&flight)));
        Lookup::Ours(flight)
    }

    fn store(&self, key: Key, result: &Result<V, CompileError>) {
        let mut state = self.lock();
        state.clock += 1;
        let made = state.clock;
        match result {
            Ok(value) if (self.weigh)(value) <= self.capacity => {
                let (value, weight) = (value.clone(), (self.weigh)(value));
                state.entries.insert(key, Entry::Ready { value, made, last_used: made, weight });
            }
            Ok(_) | Err(_) => {
                state.entries.remove(&key);
            }
        }
        // Entries in flight weigh nothing yet.
        let ready = |entry: &Entry<V>| match entry {
            Entry::Ready { last_used, weight, .. } => Some((*last_used, *weight)),
            Entry::InFlight(_) => None,
        };
        let mut total: usize =
            state.entries.values().filter_map(ready).fold(0, |sum, (_, weight)| sum.saturating_add(weight));
        while total > self.capacity {
            let entries = state.entries.iter();
            let oldest = entries.filter_map(|(key, entry)| ready(entry).map(|of| (of, *key))).min();
            let Some(((_, weight), oldest)) = oldest else { break };
            total -= weight;
            state.entries.remove(&oldest);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<V>> {
        // Nothing panics while holding the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<V: Clone> Flight<V> {
    fn wait(&self) -> Result<V, CompileError> {
        let mut result = self.result.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match &*result {
                Some(result) => return result.clone(),
                None => result = self.landed.wait(result).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}

/// Ends a flight however its maker ends, so that no thread waits forever.
struct Landing<'a, V: Clone> {
    cache: &'a SharedCache<V>,
    key: Key,
    flight: &'a Flight<V>,
}

impl<V: Clone> Landing<'_, V> {
    fn land(self, result: Result<V, CompileError>) -> Result<V, CompileError> {
        self.cache.store(self.key, &result);
        *self.flight.result.lock().unwrap_or_else(PoisonError::into_inner) = Some(result.clone());
        result
    }
}

impl<V: Clone> Drop for Landing<'_, V> {
    fn drop(&mut self) {
        let mut result = self.flight.result.lock().unwrap_or_else(PoisonError::into_inner);
        if result.is_none() {
            let message = "the thread that compiled it panicked".to_owned();
            let failure = Err(CompileError::internal("cache", message));
            self.cache.store(self.key, &failure);
            *result = Some(failure);
        }
        self.flight.landed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::cancellation::CancellationToken;

    fn key(n: u8) -> Key {
        Key::of_bytes(&[n])
    }

    fn failure() -> CompileError {
        CompileError::NoThread { message: "none".into() }
    }

    #[test]
    fn whoever_waits_for_a_cancelled_maker_makes_the_entry() {
        let (cache, token) = (SharedCache::new(4), CancellationToken::default());
        let (began, has_begun) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            let maker = scope.spawn(|| {
                token.run(|| {
                    let make = || {
                        began.send(()).unwrap();
                        while !token.is_cancelled() {
                            std::thread::yield_now();
                        }
                        cancellation::check().map(|()| 1)
                    };
                    cache.get_or_make(key(0), |_| true, make)
                })
            });
            has_begun.recv().unwrap();
            let waiter = scope.spawn(|| cache.get_or_make(key(0), |_| true, || Ok(2)));
            token.cancel();
            assert!(matches!(maker.join().unwrap(), Err(CompileError::Cancelled)));
            assert_eq!(waiter.join().unwrap().unwrap(), 2);
        });
        assert_eq!(cache.get(key(0)), Some(2));
        let cancelled =
            token.run(|| cache.get_or_make(key(1), |_| true, || cancellation::check().map(|()| 3)));
        assert!(matches!(cancelled, Err(CompileError::Cancelled)));
        assert_eq!(cache.get_or_make(key(1), |_| true, || cancellation::check().map(|()| 4)).unwrap(), 4);
    }

    #[test]
    fn concurrent_requests_make_an_entry_once() {
        // Often, since a maker must land between another thread's look-up and its making to do harm.
        let rounds = 200;
        let (cache, made, start) = (SharedCache::new(4), AtomicUsize::new(0), Barrier::new(4));
        let ask = |round| {
            start.wait();
            cache.get_or_make(key(round), |_| true, || Ok(made.fetch_add(1, Ordering::SeqCst))).unwrap()
        };
        let all: Vec<Vec<usize>> = std::thread::scope(|scope| {
            let threads = [(); 4].map(|()| scope.spawn(|| (0..rounds).map(ask).collect()));
            threads.map(|thread| thread.join().unwrap()).into()
        });
        let once: Vec<usize> = (0..rounds.into()).collect();
        assert!(all.iter().all(|seen| *seen == once));
        assert_eq!(made.load(Ordering::SeqCst), once.len());
    }

    #[test]
    fn an_entry_replaced_during_validation_is_not_made_again() {
        let cache = SharedCache::new(4);
        cache.get_or_make(key(1), |_| true, || Ok(1)).unwrap();
        let is_valid = |value: &i32| {
            if *value == 1 {
                // Another thread finds the old entry stale too, and is faster.
                cache.get_or_make(key(1), |_| false, || Ok(2)).unwrap();
            }
            *value != 1
        };
        assert_eq!(cache.get_or_make(key(1), is_valid, || Ok(3)).unwrap(), 2);
    }

    #[test]
    fn failures_are_not_kept_and_invalid_entries_are_made_anew() {
        let cache = SharedCache::new(4);
        assert!(cache.get_or_make(key(1), |_| true, || Err(failure())).is_err());
        assert_eq!(cache.get_or_make(key(1), |_| true, || Ok(1)).unwrap(), 1);
        assert_eq!(cache.get_or_make(key(1), |_| false, || Ok(2)).unwrap(), 2);
        assert_eq!(cache.get_or_make(key(1), |_| true, || Err(failure())).unwrap(), 2);
    }

    #[test]
    fn a_panicking_maker_leaves_no_entry_behind() {
        let cache: SharedCache<u32> = SharedCache::new(4);
        let make = || -> Result<u32, CompileError> { panic!("bug") };
        let attempt = std::panic::AssertUnwindSafe(|| cache.get_or_make(key(1), |_| true, make));
        assert!(std::panic::catch_unwind(attempt).is_err());
        assert_eq!(cache.get_or_make(key(1), |_| true, || Ok(3)).unwrap(), 3);
    }

    #[test]
    fn entries_are_evicted_by_weight_and_one_too_heavy_is_not_kept() {
        let cache = SharedCache::weighted(10, |&weight: &usize| weight);
        let make = |n: u8, weight| cache.get_or_make(key(n), |_| true, || Ok(weight)).unwrap();
        assert_eq!([make(1, 4), make(2, 5), make(3, 11)], [4, 5, 11]);
        assert_eq!([1, 2, 3].map(|n| cache.get(key(n))), [Some(4), Some(5), None]);
        assert_eq!(make(3, 3), 3);
        assert_eq!([1, 2, 3].map(|n| cache.get(key(n))), [None, Some(5), Some(3)]);
    }

    #[test]
    fn the_least_recently_used_entry_is_evicted_first() {
        let cache = SharedCache::new(2);
        for n in [1, 2, 1, 3] {
            cache.get_or_make(key(n), |_| true, || Ok(n)).unwrap();
        }
        assert!(cache.get_or_make(key(1), |_| true, || Err(failure())).is_ok());
        assert!(cache.get_or_make(key(2), |_| true, || Err(failure())).is_err());
    }
}

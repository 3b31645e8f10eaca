//! A cache in memory, shared by threads, in which each entry is made once.
//!
//! Owns [`SharedCache`]. Invariant: while one thread makes an entry, others that want it wait for its result;
//! failures are told to those who waited and not kept. Concurrency: the map is locked for look-ups only, never
//! while something is made.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::error::CompileError;
use crate::key::Key;

/// The least recently used entries are dropped beyond a number.
pub(crate) struct SharedCache<V> {
    capacity: usize,
    state: Mutex<State<V>>,
}

struct State<V> {
    entries: BTreeMap<Key, Entry<V>>,
    clock: u64,
}

enum Entry<V> {
    Ready { value: V, last_used: u64 },
    InFlight(Arc<Flight<V>>),
}

struct Flight<V> {
    result: Mutex<Option<Result<V, CompileError>>>,
    landed: Condvar,
}

impl<V: Clone> SharedCache<V> {
    pub(crate) fn new(capacity: usize) -> Self {
        let state = State { entries: BTreeMap::new(), clock: 0 };
        SharedCache { capacity: capacity.max(1), state: Mutex::new(state) }
    }

    /// The entry, made by this call, by another thread's, or long ago. A known entry that `is_valid` refuses is
    /// made anew.
    pub(crate) fn get_or_make(
        &self,
        key: Key,
        is_valid: impl Fn(&V) -> bool,
        make: impl FnOnce() -> Result<V, CompileError>,
    ) -> Result<V, CompileError> {
        // Outside the lock: validation may read files.
        if let Some(value) = self.ready(key)
            && is_valid(&value)
        {
            return Ok(value);
        }
        let flight = {
            let mut state = self.lock();
            if let Some(Entry::InFlight(flight)) = state.entries.get(&key) {
                let flight = Arc::clone(flight);
                drop(state);
                return flight.wait();
            }
            let flight = Arc::new(Flight { result: Mutex::new(None), landed: Condvar::new() });
            state.entries.insert(key, Entry::InFlight(Arc::clone(&flight)));
            flight
        };
        let guard = Landing { cache: self, key, flight: &flight };
        let result = make();
        guard.land(result)
    }

    fn ready(&self, key: Key) -> Option<V> {
        let mut state = self.lock();
        state.clock += 1;
        let now = state.clock;
        match state.entries.get_mut(&key) {
            Some(Entry::Ready { value, last_used }) => {
                *last_used = now;
                Some(value.clone())
            }
            _ => None,
        }
    }

    fn store(&self, key: Key, result: &Result<V, CompileError>) {
        let mut state = self.lock();
        state.clock += 1;
        let last_used = state.clock;
        match result {
            Ok(value) => {
                state.entries.insert(key, Entry::Ready { value: value.clone(), last_used });
            }
            Err(_) => {
                state.entries.remove(&key);
            }
        }
        let ready = |entry: &Entry<V>| match entry {
            Entry::Ready { last_used, .. } => Some(*last_used),
            Entry::InFlight(_) => None,
        };
        while state.entries.len() > self.capacity {
            let oldest = state.entries.iter().filter_map(|(key, entry)| Some((ready(entry)?, *key))).min();
            let Some((_, oldest)) = oldest else { break };
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

/// Ends a flight however its maker ends, so that nobody waits for ever.
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
            let failure = Err(CompileError::Internal { stage: "cache", message });
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

    fn key(n: u8) -> Key {
        Key::of_bytes(&[n])
    }

    fn failure() -> CompileError {
        CompileError::NoThread { message: "none".into() }
    }

    #[test]
    fn an_entry_is_made_once_however_many_ask() {
        let cache = SharedCache::new(4);
        let (made, start) = (AtomicUsize::new(0), Barrier::new(4));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    start.wait();
                    let make = || Ok(made.fetch_add(1, Ordering::SeqCst));
                    assert_eq!(cache.get_or_make(key(1), |_| true, make).unwrap(), 0);
                });
            }
        });
        assert_eq!(made.load(Ordering::SeqCst), 1);
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
    fn the_least_recently_used_entry_goes_first() {
        let cache = SharedCache::new(2);
        for n in [1, 2, 1, 3] {
            cache.get_or_make(key(n), |_| true, || Ok(n)).unwrap();
        }
        assert!(cache.get_or_make(key(1), |_| true, || Err(failure())).is_ok());
        assert!(cache.get_or_make(key(2), |_| true, || Err(failure())).is_err());
    }
}

//! Breakers by key, such as device and kernel, in bounded number.
//!
//! Owns [`Breakers`]. Invariant: there are never more than `capacity`; only a closed breaker that
//! nobody uses is evicted, so an open one is not forgotten. Concurrency: one mutex guards the map.
//! It is held while a breaker's own lock is taken, never the other way round, and never while a
//! listener runs.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use anymetal_hal::clock::Clock;
use anymetal_hal::sync::{Mutex, lock};

use super::{
    Breaker, BreakerListener, BreakerPolicy, BreakerSnapshot, BreakerState, KeyedListener, Transition,
};
use crate::invalid::{InvalidPolicy, require};

/// Breakers by key.
pub struct Breakers<K> {
    policy: BreakerPolicy,
    clock: Arc<dyn Clock>,
    capacity: usize,
    listener: Option<Arc<dyn KeyedListener<K>>>,
    registry: Mutex<Registry<K>>,
}

struct Registry<K> {
    entries: BTreeMap<K, BreakerEntry>,
    uses: u64,
}

struct BreakerEntry {
    breaker: Breaker,
    /// The number of its last use.
    last_use: u64,
}

/// There is no room for another breaker: all are open, half-open or in use.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("all {capacity} circuit breakers are open or in use")]
pub struct BreakersFull {
    /// The most that the registry holds.
    pub capacity: usize,
}

/// Adds the key to what a breaker tells.
struct WithKey<K> {
    key: K,
    listener: Arc<dyn KeyedListener<K>>,
}

impl<K: Send + Sync> BreakerListener for WithKey<K> {
    fn changed(&self, transition: &Transition) {
        self.listener.changed(&self.key, transition);
    }
}

impl<K: Ord + Clone + Send + Sync + 'static> Breakers<K> {
    /// A registry of at most `capacity` breakers with that policy.
    pub fn new(policy: BreakerPolicy, clock: Arc<dyn Clock>, capacity: usize) -> Result<Self, InvalidPolicy> {
        require(capacity > 0, "breaker.capacity", capacity, "a registry without room refuses every key")?;
        let registry = Mutex::new(Registry { entries: BTreeMap::new(), uses: 0 });
        Ok(Breakers { policy, clock, capacity, listener: None, registry })
    }

    /// The same with a listener for all its breakers.
    pub fn with_listener(self, listener: Arc<dyn KeyedListener<K>>) -> Self {
        Breakers { listener: Some(listener), ..self }
    }

    /// The breaker of that key, made closed if there is none. If the registry is full it replaces a
    /// closed one that nobody uses: one without failures if there is one, and of those the one not
    /// used for longest.
    pub fn get(&self, key: &K) -> Result<Breaker, BreakersFull> {
        let mut registry = lock(&self.registry);
        registry.uses += 1;
        let last_use = registry.uses;
        if let Some(entry) = registry.entries.get_mut(key) {
            entry.last_use = last_use;
            return Ok(entry.breaker.clone());
        }
        let evicted = match registry.entries.len() < self.capacity {
            true => None,
            false => Some(registry.evict().ok_or(BreakersFull { capacity: self.capacity })?),
        };
        let breaker = Breaker::with(self.policy, Arc::clone(&self.clock), self.listener_of(key));
        registry.entries.insert(key.clone(), BreakerEntry { breaker: breaker.clone(), last_use });
        drop(registry);
        // It may hold the last handle of a listener, whose end is not for under the lock.
        drop(evicted);
        Ok(breaker)
    }

    /// The breakers of all keys that `wanted` takes, as to trip or reset those of one device.
    pub fn matching(&self, wanted: impl Fn(&K) -> bool) -> Vec<(K, Breaker)> {
        let registry = lock(&self.registry);
        let entries = registry.entries.iter().filter(|(key, _)| wanted(key));
        entries.map(|(key, entry)| (key.clone(), entry.breaker.clone())).collect()
    }

    /// All breakers in the order of their keys.
    pub fn snapshots(&self) -> Vec<(K, BreakerSnapshot)> {
        let all = self.matching(|_| true);
        all.into_iter().map(|(key, breaker)| (key, breaker.snapshot())).collect()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        lock(&self.registry).entries.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn listener_of(&self, key: &K) -> Option<Arc<dyn BreakerListener>> {
        let listener = Arc::clone(self.listener.as_ref()?);
        Some(Arc::new(WithKey { key: key.clone(), listener }))
    }
}

impl<K: Ord + Clone> Registry<K> {
    fn evict(&mut self) -> Option<BreakerEntry> {
        let unused = self.entries.iter().filter(|(_, entry)| entry.breaker.is_unused());
        let closed = unused.filter_map(|(key, entry)| {
            let snapshot = entry.breaker.snapshot();
            let is_closed = snapshot.state == BreakerState::Closed;
            is_closed.then_some(((snapshot.consecutive_failures, entry.last_use), key))
        });
        let key = closed.min_by_key(|(rank, _)| *rank).map(|(_, key)| key.clone())?;
        self.entries.remove(&key)
    }
}

impl<K> fmt::Debug for Breakers<K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let breakers = lock(&self.registry).entries.len();
        formatter
            .debug_struct("Breakers")
            .field("policy", &self.policy)
            .field("capacity", &self.capacity)
            .field("breakers", &breakers)
            .finish_non_exhaustive()
    }
}
